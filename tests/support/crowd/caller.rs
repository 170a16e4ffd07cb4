//! One caller: it has its own applications and uses every method of a handle.

use std::sync::Arc;

use apportion::config::{Maximum, QueueUpdate};
use apportion::engine::BulkCall;
use apportion::event::{Event, EventKind};
use apportion::request::{AllocationProposal, ReservationProposal};
use apportion::{
    ApplicationEnd, ApplicationId, ApplicationSpec, AskId, AskSpec, CommitOutcome, CommitSeq, ContainerId,
    EventStream, Handle, ManualClock, NodeId, ResourceAllocationCommitRequest, Resources,
};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg32;

use super::add_node;
use crate::support::by_kind::submit_by_kind;

/// More events than any caller gets.
const EVENTS_MAX: usize = 1 << 16;

pub(super) struct Caller {
    handle: Handle,
    nodes: Arc<[NodeId]>,
    number: usize,
    random: Pcg32,
    events: EventStream,
    application: Option<ApplicationId>,
    asks: Vec<AskId>,
    running: Vec<ContainerId>,
    told: Vec<Event>,
    /// The commits of accepted requests made by hand.
    accepted: Vec<CommitSeq>,
}

impl Caller {
    pub(super) fn new(handle: Handle, nodes: Arc<[NodeId]>, number: usize, seeds: &mut Pcg32) -> Self {
        let random = Pcg32::seed_from_u64(seeds.random());
        let events = handle.event_stream(EVENTS_MAX);
        Self {
            handle,
            nodes,
            number,
            random,
            events,
            application: None,
            asks: Vec::new(),
            running: Vec::new(),
            told: Vec::new(),
            accepted: Vec::new(),
        }
    }

    /// Returns all its events, the commits of its accepted requests, and every ask that the engine took.
    pub(super) fn testimony(mut self) -> (Vec<Event>, Vec<CommitSeq>, Vec<AskId>) {
        self.listen();
        (self.told, self.accepted, self.asks)
    }

    /// Submits and cancels asks, releases containers, commits by hand, ends applications and starts new ones.
    pub(super) fn live(&mut self, steps: usize) {
        for _ in 0..steps {
            let application = self.application();
            self.ask(application);
            self.listen();
            match self.random.random_range(0..8u32) {
                0 => self.cancel(),
                1 | 2 => self.commit_by_hand(),
                3..=5 => self.give_back(),
                6 if self.random.random_range(0..4u32) == 0 => self.end(),
                _ => {}
            }
        }
    }

    /// Changes nodes and limits, and lets time jump.
    pub(super) fn operate(&mut self, steps: usize, clock: &ManualClock, prefix: &str) {
        let mut now_ms = 0;
        for step in 0..steps {
            let node = self.node();
            match self.random.random_range(0..7u32) {
                0 => self.handle.drain_node(node).unwrap(),
                1 => self.handle.activate_node(node).unwrap(),
                2 if step > 0 => drop(self.handle.remove_node(self.nodes[2]).unwrap()),
                3 => {
                    add_node(&self.handle, &format!("{prefix}late{step}"));
                }
                4 => self.change_limits(),
                5 => self.handle.heartbeat(&self.nodes).unwrap(),
                _ => {
                    now_ms += self.random.random_range(1..3_000u64);
                    clock.set(now_ms);
                    self.handle.tick().unwrap();
                }
            }
        }
        // The other callers' asks need a node in the end.
        self.handle.heartbeat(&self.nodes).unwrap();
        self.handle.activate_node(self.nodes[1]).unwrap();
    }

    fn change_limits(&mut self) {
        let maximum = Some(Maximum::absolute(&[self.random.random_range(8..40)]));
        let update = QueueUpdate { maximum, ..QueueUpdate::default() };
        let queue = self.handle.queue("root.a").unwrap();
        let answer = self.handle.update_queue(queue, update).unwrap().wait();
        assert!(answer.is_some(), "an engine that runs answers");
    }

    fn application(&mut self) -> ApplicationId {
        if let Some(application) = self.application {
            return application;
        }
        let queue = if self.number.is_multiple_of(2) { "root.a" } else { "root.b" };
        let spec = ApplicationSpec::new("application", queue, format!("user{}", self.number));
        let application = self.handle.submit_application(spec, &self.events).unwrap();
        *self.application.insert(application)
    }

    fn node(&mut self) -> NodeId {
        self.nodes[self.random.random_range(0..self.nodes.len())]
    }

    fn ask(&mut self, application: ApplicationId) {
        let size = Resources::new(&[self.random.random_range(1..6)]);
        let mut ask = AskSpec::new(size, self.random.random_range(1..4));
        match self.random.random_range(0..4u32) {
            0 => ask = ask.on_hosts([self.node()]),
            1 => ask = ask.on_hosts([self.node(), self.node()]).strictly_local(),
            _ => {}
        }
        let way = self.random.random_range(0..3u32);
        if way == 0 {
            self.asks.push(self.handle.submit_ask(application, ask).unwrap());
        } else if way == 1 {
            self.asks.extend(submit_by_kind(&self.handle, application, &ask, 2));
        } else {
            let [first, second] = [ask.clone(), ask].map(|spec| BulkCall::SubmitAsk { application, spec });
            let between = self.running.first().map(|container| BulkCall::CompleteContainer(*container));
            let calls = [first].into_iter().chain(between).chain([second]);
            self.asks.extend(self.handle.submit_all(calls).unwrap());
        }
    }

    fn listen(&mut self) {
        let from = self.told.len();
        self.events.drain_into(&mut self.told).unwrap();
        for event in &self.told[from..] {
            match event.kind {
                EventKind::Allocated { container, .. } => self.running.push(container),
                EventKind::ContainerEnded { container, .. } => {
                    self.running.retain(|other| *other != container);
                }
                _ => {}
            }
        }
    }

    fn one_ask(&mut self) -> AskId {
        // One of the last four asks. Most others are gone, which is worth a try as well.
        let last = self.asks.len().min(4);
        self.asks[self.asks.len() - 1 - self.random.random_range(0..last)]
    }

    fn cancel(&mut self) {
        let (ask, units) = (self.one_ask(), self.random.random_range(1..3));
        self.handle.cancel_ask(ask, units).unwrap();
    }

    fn give_back(&mut self) {
        for _ in 0..2 {
            if self.running.is_empty() {
                return;
            }
            // The container stays in the list: it may be named again before its end is reported.
            let container = self.running[self.random.random_range(0..self.running.len())];
            match self.random.random_range(0..4u32) {
                // The stop is confirmed if the container is picked again.
                3 => drop(self.handle.stop_container(container).unwrap()),
                0 => self.handle.complete_container(container).unwrap(),
                // Sometimes the same container twice.
                1 => self.handle.complete_containers([container, self.running[0]]).unwrap(),
                _ => self.handle.release_container(container).unwrap(),
            }
        }
    }

    fn end(&mut self) {
        if let Some(application) = self.application.take() {
            self.handle.end_application(application, ApplicationEnd::Killed).unwrap();
        }
    }

    /// Commits two containers at once, a swap of two containers, or a reservation.
    fn commit_by_hand(&mut self) {
        let ask = self.one_ask();
        let on = |node: NodeId| AllocationProposal { ask, node, from_reservation: None };
        let mut request = ResourceAllocationCommitRequest::default();
        match self.random.random_range(0..3u32) {
            0 => request.allocate.extend([self.node(), self.node()].map(on)),
            1 => {
                request.allocate.push(on(self.node()));
                request.release.extend(self.running.last().copied());
            }
            _ => request.reserve.push(ReservationProposal { ask, node: self.node() }),
        }
        let outcome = self.handle.commit(request).unwrap().wait();
        match outcome.expect("an engine that runs answers") {
            CommitOutcome::Accepted(seq) => self.accepted.push(seq),
            CommitOutcome::Rejected(_) => {}
        }
    }
}
