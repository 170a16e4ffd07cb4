//! What each call with an unknown identifier gives.

use std::collections::BTreeSet;

use apportion::config::{ConfigError, QueueUpdate};
use apportion::engine::{BulkCall, NodeReport, SubmitError};
use apportion::event::Refusal;
use apportion::request::{AllocationProposal, RejectReason};
use apportion::{
    ApplicationEnd, ApplicationSpec, AskSpec, Blacklist, NodeAttributes, NodeSpec,
    ResourceAllocationCommitRequest, Resources, RunningContainer,
};

use super::answers::*;
use super::gang_rows::{gangs, task_groups};
use super::victims;
use super::world::World;

/// A method, the identifier that is unknown, the call, and the answer.
pub(super) struct Row {
    pub(super) method: &'static str,
    of: &'static str,
    pub(super) call: Answering,
    pub(super) expected: Answering,
}

pub(super) type Answering = fn(&World) -> Answer;

impl Row {
    pub(super) fn name(&self) -> String {
        format!("{}, {}", self.method, self.of)
    }
}

/// Methods whose calls change the state, which have tests of their own.
pub(super) const ELSEWHERE: [&str; 1] = ["recover_node"];

pub(super) fn rows() -> Vec<Row> {
    let of_tasks = [asks(), asks_of_kinds(), gangs(), task_groups(), bulk()];
    let of_containers = [containers(), victims::rows(), others()];
    [nodes(), applications()].into_iter().chain(of_tasks).chain(of_containers).flatten().collect()
}

pub(super) fn row(method: &'static str, of: &'static str, call: Answering, expected: Answering) -> Row {
    Row { method, of, call, expected }
}

pub(super) fn size() -> Resources {
    Resources::new(&[10, 1])
}

fn nodes() -> Vec<Row> {
    vec![
        row(
            "add_node",
            "partition",
            |w| {
                let spec = NodeSpec::new("new", size()).in_partition(w.partition);
                listed(w, w.handle.add_node(spec).map(drop))
            },
            no_partition,
        ),
        row(
            "update_node",
            "node",
            |w| listed(w, w.handle.update_node(w.unknown_ids.node, size(), NodeAttributes::new())),
            node_refused,
        ),
        row(
            "set_node_partition",
            "node",
            |w| listed(w, w.handle.set_node_partition(w.unknown_ids.node, apportion::PartitionId::DEFAULT)),
            node_refused,
        ),
        row(
            "set_node_partition",
            "partition",
            |w| listed(w, w.handle.set_node_partition(w.live.node, w.partition)),
            no_partition,
        ),
        row("drain_node", "node", |w| listed(w, w.handle.drain_node(w.unknown_ids.node)), node_refused),
        row("activate_node", "node", |w| listed(w, w.handle.activate_node(w.unknown_ids.node)), node_refused),
        row("remove_node", "node", |w| ticket(w, w.handle.remove_node(w.unknown_ids.node)), no_node),
        row("heartbeat", "node", |w| listed(w, w.handle.heartbeat(&[w.unknown_ids.node])), node_refused),
        row(
            "reconcile_node",
            "node",
            |w| ticket(w, w.handle.reconcile_node(w.unknown_ids.node, NodeReport::default())),
            no_node,
        ),
        row(
            "reconcile_node",
            "application of a container",
            |w| {
                let container = RunningContainer::new(w.unknown_ids.application, size());
                let running = [(w.unknown_ids.container, container)].into();
                let report = NodeReport { running, starting: BTreeSet::new(), told: Some(BTreeSet::new()) };
                let done = answer(w, w.handle.reconcile_node(w.live.node, report)).unwrap().unwrap();
                assert!(done.ended.is_empty() && done.adopted.is_empty(), "{done:?}");
                Answer::ToBeStopped(done.refused[&w.unknown_ids.container])
            },
            |_| Answer::ToBeStopped(Refusal::ApplicationEnded),
        ),
        row(
            "reconcile_node",
            "container that the node was told of",
            |w| {
                let container = RunningContainer::new(w.live.application, size());
                let running = [(w.unknown_ids.container, container)].into();
                let told = Some([w.unknown_ids.container].into());
                let report = NodeReport { running, starting: BTreeSet::new(), told };
                let done = answer(w, w.handle.reconcile_node(w.live.node, report)).unwrap().unwrap();
                assert!(done.ended.is_empty() && done.adopted.is_empty(), "{done:?}");
                Answer::ToBeStopped(done.refused[&w.unknown_ids.container])
            },
            |_| Answer::ToBeStopped(Refusal::UnknownContainer),
        ),
    ]
}

fn applications() -> Vec<Row> {
    vec![
        row(
            "submit_application",
            "partition of the master",
            |w| {
                let spec =
                    ApplicationSpec::new("new", "root.default", "ann").with_master(size(), w.partition);
                listed(w, w.handle.submit_application(spec, &w.handle.event_stream(1)).map(drop))
            },
            no_partition,
        ),
        row(
            "move_application",
            "application",
            |w| ticket(w, w.handle.move_application(w.unknown_ids.application, "root.default")),
            no_application,
        ),
        row(
            "set_application_priority",
            "application",
            |w| listed(w, w.handle.set_application_priority(w.unknown_ids.application, 7)),
            application_refused,
        ),
        row(
            "update_blacklist",
            "application",
            |w| {
                let add = Blacklist { hosts: ["live".into()].into(), ..Blacklist::default() };
                listed(w, w.handle.update_blacklist(w.unknown_ids.application, add, Blacklist::default()))
            },
            application_refused,
        ),
        row(
            "end_application",
            "application",
            |w| listed(w, w.handle.end_application(w.unknown_ids.application, ApplicationEnd::Killed)),
            application_refused,
        ),
        row(
            "attach",
            "application",
            |w| ticket(w, w.handle.attach(w.unknown_ids.application, &w.handle.event_stream(1))),
            no_application,
        ),
        row(
            "resync",
            "application",
            |w| {
                let events = w.handle.event_stream(1);
                let (_, running) = w.handle.resync(&events, &[w.unknown_ids.application]);
                if running.is_empty() { Answer::LeftOut } else { Answer::Accepted }
            },
            |_| Answer::LeftOut,
        ),
    ]
}

fn asks() -> Vec<Row> {
    vec![
        row(
            "submit_ask",
            "application",
            |w| {
                let spec = AskSpec::new(size(), 1);
                asked(w, w.handle.submit_ask(w.unknown_ids.application, spec).map(|ask| vec![ask]))
            },
            late_ask,
        ),
        row(
            "submit_ask",
            "partition",
            |w| {
                let spec = AskSpec::new(size(), 1).in_partition(w.partition);
                asked(w, w.handle.submit_ask(w.live.application, spec).map(|ask| vec![ask]))
            },
            no_partition,
        ),
        row(
            "submit_ask",
            "rack",
            |w| {
                let spec = AskSpec::new(size(), 1).on_racks([w.rack]);
                asked(w, w.handle.submit_ask(w.live.application, spec).map(|ask| vec![ask]))
            },
            no_rack,
        ),
        row(
            "submit_asks",
            "application",
            |w| asked(w, w.handle.submit_asks([(w.unknown_ids.application, AskSpec::new(size(), 1))])),
            late_ask,
        ),
        row("cancel_ask", "ask", |w| listed(w, w.handle.cancel_ask(w.unknown_ids.ask, 1)), ask_refused),
    ]
}

fn asks_of_kinds() -> Vec<Row> {
    vec![
        row(
            "submit_asks_of_kinds",
            "application",
            |w| {
                let kind = w.handle.register_ask_kind(AskSpec::new(size(), 1)).unwrap();
                asked(w, w.ask_of_kind(w.unknown_ids.application, kind))
            },
            late_ask,
        ),
        row(
            "submit_asks_of_kinds",
            "kind",
            |w| asked(w, w.ask_of_kind(w.live.application, w.kind)),
            |w| Answer::AtOnce(SubmitError::UnknownAskKind { kind: w.kind }),
        ),
        row(
            "submit_asks_of_kinds",
            "rack of the kind",
            |w| {
                let kind = w.handle.register_ask_kind(AskSpec::new(size(), 1).on_racks([w.rack])).unwrap();
                asked(w, w.ask_of_kind(w.live.application, kind))
            },
            no_rack,
        ),
        row(
            "register_ask_kind",
            "partition",
            |w| {
                let spec = AskSpec::new(size(), 1).in_partition(w.partition);
                listed(w, w.handle.register_ask_kind(spec).map(drop))
            },
            no_partition,
        ),
    ]
}

fn bulk() -> Vec<Row> {
    vec![
        row(
            "submit_all",
            "application",
            |w| {
                let spec = AskSpec::new(size(), 1);
                let application = w.unknown_ids.application;
                asked(w, w.handle.submit_all([BulkCall::SubmitAsk { application, spec }]))
            },
            late_ask,
        ),
        row(
            "submit_all",
            "ask",
            |w| {
                let call = BulkCall::CancelAsk { ask: w.unknown_ids.ask, units: 1 };
                listed(w, w.handle.submit_all([call]).map(drop))
            },
            ask_refused,
        ),
        row(
            "submit_all",
            "container to complete",
            |w| {
                listed(
                    w,
                    w.handle.submit_all([BulkCall::CompleteContainer(w.unknown_ids.container)]).map(drop),
                )
            },
            container_refused,
        ),
        row(
            "submit_all",
            "container to release",
            |w| {
                listed(
                    w,
                    w.handle.submit_all([BulkCall::ReleaseContainer(w.unknown_ids.container)]).map(drop),
                )
            },
            container_refused,
        ),
    ]
}

fn containers() -> Vec<Row> {
    let listed_rows = vec![
        row(
            "complete_container",
            "container",
            |w| listed(w, w.handle.complete_container(w.unknown_ids.container)),
            container_refused,
        ),
        row(
            "complete_containers",
            "container",
            |w| listed(w, w.handle.complete_containers([w.unknown_ids.container])),
            container_refused,
        ),
        row(
            "release_container",
            "container",
            |w| listed(w, w.handle.release_container(w.unknown_ids.container)),
            container_refused,
        ),
    ];
    let calls: [(&str, Answering); 6] = [
        ("stop_container", |w| ticket(w, w.handle.stop_container(w.unknown_ids.container))),
        ("preempt_container", |w| ticket(w, w.handle.preempt_container(w.unknown_ids.container))),
        ("demote_container", |w| ticket(w, w.handle.demote_container(w.unknown_ids.container))),
        ("promote_container", |w| ticket(w, w.handle.promote_container(w.unknown_ids.container))),
        ("request_promotion", |w| ticket(w, w.handle.request_promotion(w.unknown_ids.container))),
        ("resize_container", |w| ticket(w, w.handle.resize_container(w.unknown_ids.container, size()))),
    ];
    let with_ticket = calls.map(|(method, call)| row(method, "container", call, no_container));
    listed_rows.into_iter().chain(with_ticket).collect()
}

/// Commit requests and queues.
fn others() -> Vec<Row> {
    type Request = ResourceAllocationCommitRequest;
    vec![
        row(
            "commit",
            "ask",
            |w| commit(w, Request::allocate(w.unknown_ids.ask, w.live.node)),
            |_| Answer::Rejected(RejectReason::UnknownAsk),
        ),
        row(
            "commit",
            "node",
            |w| commit(w, Request::allocate(w.live.ask, w.unknown_ids.node)),
            |_| Answer::Rejected(RejectReason::UnknownNode),
        ),
        row(
            "commit",
            "ask of a reservation",
            |w| commit(w, Request::reserve(w.unknown_ids.ask, w.live.node)),
            |_| Answer::Rejected(RejectReason::UnknownAsk),
        ),
        row(
            "commit",
            "node of a reservation",
            |w| commit(w, Request::reserve(w.live.ask, w.unknown_ids.node)),
            |_| Answer::Rejected(RejectReason::UnknownNode),
        ),
        row(
            "commit",
            "container",
            |w| commit(w, Request { release: [w.unknown_ids.container].into(), ..Request::default() }),
            |_| Answer::Rejected(RejectReason::UnknownContainer),
        ),
        row(
            "commit",
            "reservation",
            |w| commit(w, Request { unreserve: [w.unknown_ids.reservation].into(), ..Request::default() }),
            |_| Answer::Rejected(RejectReason::UnknownReservation),
        ),
        row(
            "commit",
            "fulfilled reservation",
            |w| {
                let from_reservation = Some(w.unknown_ids.reservation);
                let proposal = AllocationProposal { ask: w.live.ask, node: w.live.node, from_reservation };
                commit(w, Request { allocate: [proposal].into_iter().collect(), ..Request::default() })
            },
            |_| Answer::Rejected(RejectReason::UnknownReservation),
        ),
        row(
            "update_queue",
            "queue",
            |w| match answer(w, w.handle.update_queue(w.unknown_ids.queue, QueueUpdate::default())) {
                Err(error) => Answer::AtOnce(error),
                Ok(Err(mistake)) => Answer::Mistake(mistake),
                Ok(Ok(_)) => Answer::Accepted,
            },
            |w| {
                let path = w.unknown_ids.queue.to_string();
                Answer::Mistake(ConfigError::UnknownQueue { path, nearest: None })
            },
        ),
    ]
}
