//! Placeholders: real containers replace them, or they are given up.

use std::sync::Arc;

use apportion::event::{EventKind, Refusal, TaskGroupRefusal};
use apportion::gang::{GangEnd, GangSpec, GangStyle, InvalidGang};
use apportion::nodes::DirectiveTracker;
use apportion::replay::Replay;
use apportion::view::TaskGroupView;
use apportion::{
    ApplicationEnd, ApplicationId, AskId, AskSpec, ContainerId, EndCause, Engine, ManualClock, Mode, NodeId,
    TagLimit,
};

use crate::{Cluster, amount, ask, has_started, placed};

/// A cluster on which a task group `worker` of three placeholders of two units runs, and its ask.
fn reserved(cluster: &Cluster, style: GangStyle) -> (ApplicationId, AskId) {
    cluster.nodes(3, 2);
    let job = cluster.application();
    let spec =
        GangSpec::new(job).with_placeholders("worker", ask(2, 3), 3).with_placeholder_timeout_ms(1_000);
    let gang = cluster.submit(GangSpec { style, ..spec });
    cluster.run();
    assert!(has_started(&cluster.events(), gang.gang));
    (job, gang.asks[0])
}

fn real(
    cluster: &Cluster,
    job: ApplicationId,
    group: &str,
    spec: AskSpec,
) -> (AskId, Result<(), TaskGroupRefusal>) {
    let submitted = cluster.handle.submit_ask_of_group(job, group, spec).unwrap();
    cluster.run();
    (submitted.ask, submitted.ticket.try_take().unwrap().map(drop))
}

fn group(cluster: &Cluster, job: ApplicationId) -> TaskGroupView {
    cluster.engine.read(|view| view.application(job).unwrap().task_groups()[0].clone())
}

fn used(cluster: &Cluster, job: ApplicationId) -> i64 {
    cluster.engine.read(|view| view.application(job).unwrap().used()[0])
}

fn ended(events: &[EventKind], wanted: EndCause) -> Vec<ContainerId> {
    let ended = |event: &EventKind| match *event {
        EventKind::ContainerEnded { container, cause, .. } if cause == wanted => Some(container),
        _ => None,
    };
    events.iter().filter_map(ended).collect()
}

fn node_of(cluster: &Cluster, container: ContainerId) -> NodeId {
    cluster.engine.read(|view| view.container(container).unwrap().node)
}

#[test]
fn real_containers_replace_placeholders_one_by_one() {
    for cluster in Cluster::of_each_mode() {
        let (job, placeholders) = reserved(&cluster, GangStyle::Soft);
        let before = group(&cluster, job).placeholders;
        let nodes: Vec<_> = before.iter().map(|id| node_of(&cluster, *id)).collect();
        let (asked, answer) = real(&cluster, job, "worker", ask(1, 2));
        answer.unwrap();
        let events = cluster.events();
        // The end of each placeholder stands right before its successor.
        assert_eq!(events.len(), 4, "{events:?}");
        for (pair, node) in events.chunks(2).zip(&nodes) {
            assert!(
                matches!(pair[0], EventKind::ContainerEnded { cause: EndCause::Replaced, .. }),
                "{pair:?}"
            );
            let EventKind::Allocated { ask, node: place, .. } = pair[1] else { panic!("{pair:?}") };
            assert_eq!((ask, place), (asked, *node));
        }
        assert_eq!(ended(&events, EndCause::Replaced), before[..2]);
        assert_eq!(used(&cluster, job), 4, "one placeholder of two, two containers of one");
        assert_eq!(group(&cluster, job).placeholders, before[2..]);
        assert!(cluster.engine.read(|view| view.is_ask_over(placeholders)));
        let view = cluster.engine.read(|view| view.container(before[2]).unwrap());
        assert_eq!(view.placeholder.map(|placeholder| placeholder.role), Some(0));
        // The third takes the last placeholder, and the fourth is an ordinary container in the room given back.
        let (_, answer) = real(&cluster, job, "worker", ask(1, 2));
        answer.unwrap();
        assert_eq!((used(&cluster, job), cluster.running(job)), (4, 4));
        assert_eq!(
            group(&cluster, job),
            TaskGroupView {
                name: "worker".into(),
                gang: None,
                placeholders: vec![],
                pending: 0,
                until_ms: None
            }
        );
        cluster.events();
        cluster.at(5_000);
        assert!(cluster.events().is_empty(), "nothing is left to give up");
    }
}

#[test]
fn a_larger_container_replaces_nothing_and_a_placeholder_is_released() {
    for cluster in Cluster::of_each_mode() {
        let (job, _) = reserved(&cluster, GangStyle::Soft);
        let before = group(&cluster, job).placeholders;
        let (asked, answer) =
            real(&cluster, job, "worker", AskSpec::new(apportion::Resources::new(&[1, 4]), 1));
        answer.unwrap();
        let events = cluster.events();
        assert_eq!(ended(&events, EndCause::PlaceholderReleased), before[..1]);
        assert!(placed(&events).is_empty());
        assert_eq!(cluster.engine.read(|view| view.ask(asked).unwrap().outstanding()), 1);
        assert_eq!(used(&cluster, job), 4);
        cluster.nodes(1, 4);
        assert_eq!(placed(&cluster.events()).len(), 1, "an ordinary ask");
    }
}

/// The limits of queues and users have not admitted the larger size.
#[test]
fn a_larger_container_replaces_nothing_even_where_it_has_room() {
    let cluster = Cluster::serial();
    cluster.nodes(1, 8);
    let job = cluster.application();
    cluster.submit(GangSpec::new(job).with_placeholders("worker", ask(2, 2), 2));
    cluster.run();
    cluster.events();
    let (_, answer) = real(&cluster, job, "worker", ask(3, 1));
    answer.unwrap();
    let events = cluster.events();
    assert!(ended(&events, EndCause::Replaced).is_empty());
    assert_eq!(ended(&events, EndCause::PlaceholderReleased).len(), 1);
    assert_eq!((placed(&events).len(), used(&cluster, job)), (1, 5), "a pass has placed it");
}

#[test]
fn only_the_named_task_group_is_replaced() {
    let cluster = Cluster::serial();
    cluster.nodes(2, 2);
    let job = cluster.application();
    let spec = GangSpec::new(job)
        .with_placeholders("worker", ask(1, 1), 1)
        .with_placeholders("server", ask(1, 1), 1)
        .with_role("master", ask(1, 1));
    cluster.submit(spec);
    cluster.run();
    cluster.events();
    let (asked, answer) = real(&cluster, job, "server", ask(1, 1));
    answer.unwrap();
    let events = cluster.events();
    let [EventKind::ContainerEnded { container, .. }, EventKind::Allocated { ask: placed_for, .. }] =
        events[..]
    else {
        panic!("{events:?}")
    };
    assert_eq!(placed_for, asked);
    let groups = cluster.engine.read(|view| view.application(job).unwrap().task_groups());
    assert!(groups[0].placeholders.is_empty() && groups[0].name == "server");
    assert_eq!(groups[1].placeholders.len(), 1);
    assert!(!groups[1].placeholders.contains(&container));
    let (_, answer) = real(&cluster, job, "wroker", ask(1, 1));
    let refusal = answer.unwrap_err();
    assert_eq!(refusal.refusal(), Refusal::UnknownTaskGroup);
    let text = "unknown task group `wroker`; the application has server, worker; did you mean `worker`?";
    assert_eq!(refusal.to_string(), text);
    let (_, answer) = real(&cluster, job, "master", ask(1, 1));
    assert_eq!(answer.unwrap_err().refusal(), Refusal::UnknownTaskGroup, "no placeholders");
    let (_, answer) = real(&cluster, cluster.application(), "worker", ask(1, 1));
    let text = "unknown task group `worker`; the application has none: submit a gang with placeholders first";
    assert_eq!(answer.unwrap_err().to_string(), text);
    let again = cluster.submit(GangSpec::new(job).with_placeholders("worker", ask(1, 1), 1));
    cluster.run();
    assert_eq!(again.ticket.try_take().unwrap().unwrap_err().refusal(), Refusal::TaskGroupInUse);
}

/// Two placeholders run and one is pending. The timeout passes.
fn timed_out(style: GangStyle) -> (Cluster, ApplicationId, AskId, AskId) {
    let cluster = Cluster::serial();
    cluster.nodes(2, 2);
    let job = cluster.application();
    let spec = GangSpec::new(job)
        .with_placeholders("worker", ask(2, 3), 2)
        .with_role_of_at_least("helper", ask(2, 1), 0)
        .with_placeholder_timeout_ms(1_000);
    let gang = cluster.submit(GangSpec { style, ..spec });
    cluster.run();
    let running = group(&cluster, job);
    assert_eq!((running.placeholders.len(), running.pending, running.until_ms), (2, 1, Some(1_000)));
    assert_eq!(cluster.engine.next_timer_ms(), Some(1_000));
    cluster.at(999);
    cluster.events();
    cluster.at(1_000);
    let events = cluster.events();
    assert_eq!(events[0], EventKind::PlaceholdersTimedOut { gang: gang.gang, style });
    assert_eq!(events[1], EventKind::AskCancelled { ask: gang.asks[0], units: 1 });
    let stopping = |event: &&EventKind| {
        matches!(event, EventKind::ContainerStopping { cause: EndCause::PlaceholderReleased, .. })
    };
    assert_eq!(events.iter().filter(stopping).count(), 2, "{events:?}");
    assert_eq!(used(&cluster, job), 4, "charged until their ends are confirmed");
    // A real container takes no placeholder that is about to end.
    let (_, answer) = real(&cluster, job, "worker", ask(1, 1));
    answer.unwrap();
    assert!(placed(&cluster.events()).is_empty());
    for (container, confirmed) in running.placeholders.into_iter().zip([1, 2]) {
        cluster.complete([container]);
        assert_eq!(ended(&cluster.events(), EndCause::PlaceholderReleased), [container]);
        assert!(used(&cluster, job) <= 4, "{confirmed}");
    }
    (cluster, job, gang.asks[0], gang.asks[1])
}

#[test]
fn a_soft_gang_goes_on_without_its_placeholders() {
    let (cluster, job, _, helper) = timed_out(GangStyle::Soft);
    assert!(group(&cluster, job).gang.is_none());
    assert_eq!(cluster.running(job), 2, "the helper and the real container");
    assert!(cluster.engine.read(|view| view.ask(helper).is_none()));
    let (_, answer) = real(&cluster, job, "worker", ask(1, 1));
    answer.unwrap();
    assert_eq!(cluster.running(job), 3, "the name of the task group stays known");
}

#[test]
fn a_hard_gang_fails_with_its_placeholders() {
    let (cluster, job, _, helper) = timed_out(GangStyle::Hard);
    assert!(cluster.engine.read(|view| view.is_ask_over(helper)));
    // The ask that came after the failure is an ordinary one.
    assert_eq!(cluster.running(job), 1);
}

#[test]
fn a_hard_gang_fails_with_pending_asks_of_its_task_groups() {
    let cluster = Cluster::serial();
    let (job, _) = reserved(&cluster, GangStyle::Hard);
    let (asked, answer) = real(&cluster, job, "worker", ask(5, 1));
    answer.unwrap();
    cluster.events();
    cluster.at(1_000);
    let events = cluster.events();
    assert!(events.contains(&EventKind::AskCancelled { ask: asked, units: 1 }), "{events:?}");
}

#[test]
fn a_stop_that_nobody_confirms_ends_after_its_timeout() {
    let cluster = Cluster::serial();
    let (job, _) = reserved(&cluster, GangStyle::Soft);
    let stop_ms = cluster.handle.config().stop_timeout_ms;
    cluster.at(1_000);
    cluster.at(1_000 + stop_ms);
    assert_eq!(ended(&cluster.events(), EndCause::StopTimedOut).len(), 3);
    assert_eq!(used(&cluster, job), 0);
}

#[test]
fn real_asks_wait_with_the_gang_and_take_its_placeholders_at_the_start() {
    for cluster in Cluster::of_each_mode() {
        cluster.nodes(1, 2);
        let blocker = cluster.application();
        cluster.handle.submit_ask(blocker, ask(1, 1)).unwrap();
        cluster.run();
        let running = placed(&cluster.events());
        let job = cluster.application();
        cluster.submit(GangSpec::new(job).with_placeholders("worker", ask(1, 2), 2));
        let (asked, answer) = real(&cluster, job, "worker", ask(1, 3));
        answer.unwrap();
        assert_eq!(cluster.running(job), 0, "{:?}", cluster.events());
        cluster.complete(running.into_iter().map(|(container, _)| container));
        let events = cluster.events();
        assert_eq!(ended(&events, EndCause::Replaced).len(), 2);
        assert_eq!((used(&cluster, job), cluster.running(job)), (2, 2));
        assert_eq!(cluster.engine.read(|view| view.ask(asked).unwrap().outstanding()), 1);
    }
}

#[test]
fn a_gang_that_does_not_start_leaves_no_placeholders() {
    for (style, real_runs) in [(GangStyle::Soft, 1), (GangStyle::Hard, 0)] {
        let cluster = Cluster::serial();
        cluster.nodes(2, 1);
        let (blocker, job) = (cluster.application(), cluster.application());
        cluster.handle.submit_ask(blocker, ask(1, 1)).unwrap();
        cluster.run();
        let spec = GangSpec::new(job).with_placeholders("worker", ask(1, 2), 2).with_timeout_ms(500, style);
        let gang = cluster.submit(spec);
        let (_, answer) = real(&cluster, job, "worker", ask(1, 1));
        answer.unwrap();
        cluster.events();
        cluster.at(500);
        let events = cluster.events();
        assert_eq!(events[0], EventKind::GangEnded { gang: gang.gang, end: GangEnd::TimedOut, style });
        assert!(events.contains(&EventKind::AskCancelled { ask: gang.asks[0], units: 2 }));
        assert_eq!(cluster.running(job), real_runs);
        assert_eq!(group(&cluster, job).gang, None);
    }
}

#[test]
fn a_pending_placeholder_is_cancelled_for_a_real_unit() {
    let cluster = Cluster::serial();
    cluster.nodes(1, 2);
    let job = cluster.application();
    let gang = cluster.submit(GangSpec::new(job).with_placeholders("worker", ask(2, 3), 1));
    cluster.run();
    cluster.events();
    let (asked, answer) = real(&cluster, job, "worker", ask(2, 2));
    answer.unwrap();
    let events = cluster.events();
    assert_eq!(ended(&events, EndCause::Replaced).len(), 1);
    assert!(events.contains(&EventKind::AskCancelled { ask: gang.asks[0], units: 1 }), "{events:?}");
    assert_eq!(group(&cluster, job).pending, 1);
    let outstanding = |ask| cluster.engine.read(|view| view.ask(ask).map(|ask| ask.outstanding()));
    assert_eq!((outstanding(asked), outstanding(gang.asks[0])), (Some(1), Some(1)));
    // A placeholder that is placed after the start is one, too.
    cluster.handle.cancel_ask(asked, 1).unwrap();
    cluster.nodes(1, 2);
    assert_eq!(group(&cluster, job).placeholders.len(), 1);
}

/// Limits, blacklists and the state of the node hold for real containers as for others.
#[test]
fn a_placeholder_whose_node_may_not_serve_the_ask_is_released() {
    let cluster = Cluster::serial();
    let (job, _) = reserved(&cluster, GangStyle::Soft);
    let third = node_of(&cluster, group(&cluster, job).placeholders[2]);
    let (_, answer) = real(&cluster, job, "worker", ask(1, 1).on_hosts([third]).strictly_local());
    answer.unwrap();
    let events = cluster.events();
    assert_eq!(placed(&events).len(), 1, "the third placeholder is taken before another is released");
    assert_eq!(group(&cluster, job).placeholders.len(), 2);
    let apart = TagLimit::per_node("worker", 0);
    cluster.handle.drain_node(node_of(&cluster, group(&cluster, job).placeholders[0])).unwrap();
    let (_, answer) = real(&cluster, job, "worker", ask(2, 2).with_tag_limit(apart));
    answer.unwrap();
    let events = cluster.events();
    assert_eq!(ended(&events, EndCause::Replaced).len(), 1);
    assert_eq!(ended(&events, EndCause::PlaceholderReleased).len(), 1);
}

/// The use of the application does not grow, so a lower limit and a reservation of the node do not matter.
#[test]
fn a_replacement_needs_no_room() {
    let cluster = Cluster::serial();
    let (job, _) = reserved(&cluster, GangStyle::Soft);
    let node = node_of(&cluster, group(&cluster, job).placeholders[0]);
    cluster.handle.update_node(node, amount(1), Default::default()).unwrap();
    let (_, answer) = real(&cluster, job, "worker", ask(2, 3));
    answer.unwrap();
    assert_eq!(ended(&cluster.events(), EndCause::Replaced).len(), 3);
}

#[test]
fn placeholders_end_with_their_node_and_their_application() {
    let cluster = Cluster::serial();
    let (job, _) = reserved(&cluster, GangStyle::Soft);
    let node = node_of(&cluster, group(&cluster, job).placeholders[0]);
    drop(cluster.handle.remove_node(node).unwrap());
    cluster.run();
    assert_eq!(group(&cluster, job).placeholders.len(), 2);
    cluster.handle.end_application(job, ApplicationEnd::Finished).unwrap();
    cluster.run();
    assert_eq!(used_total(&cluster), 0);
    cluster.events();
    cluster.at(2_000);
    assert!(cluster.events().is_empty());
}

fn used_total(cluster: &Cluster) -> usize {
    cluster.engine.read(|view| view.container_count())
}

#[test]
fn placeholders_survive_a_crash() {
    let cluster = Cluster::serial();
    let (job, _) = reserved(&cluster, GangStyle::Soft);
    let log = cluster.log.bytes();
    let mut snapshot = Vec::new();
    Replay::read(&log[..], None).unwrap().write_snapshot(&mut snapshot).unwrap();
    for bytes in [log, snapshot] {
        for mode in [Mode::Serial, Mode::Parallel { proposers: 2 }] {
            let clock = Arc::new(ManualClock::new());
            let (engine, _) = Engine::recover(&bytes[..], mode, clock.clone(), None).unwrap();
            assert_eq!(engine.digest(), cluster.engine.digest());
            let handle = engine.handle();
            let submitted = handle.submit_ask_of_group(job, "worker", ask(1, 1)).unwrap();
            engine.run_until_quiet();
            submitted.ticket.try_take().unwrap().unwrap();
            assert!(engine.audit().is_clean());
            let groups = || engine.read(|view| view.application(job).unwrap().task_groups()[0].clone());
            assert_eq!(groups().placeholders.len(), 2);
            clock.set(1_000);
            handle.tick().unwrap();
            engine.run_until_quiet();
            assert_eq!(groups().until_ms, None, "the timer rang");
        }
    }
}

#[test]
fn impossible_placeholders_are_refused_at_once() {
    let cluster = Cluster::serial();
    let job = cluster.application();
    let check = |spec: GangSpec| spec.check().unwrap_err();
    let gang = GangSpec::new(job).with_placeholders("worker", ask(1, 1), 1);
    assert_eq!(check(gang.with_placeholder_timeout_ms(0)), InvalidGang::ZeroPlaceholderTimeout);
    let gang = GangSpec::new(job).with_role("worker", ask(1, 1));
    assert_eq!(check(gang.with_placeholder_timeout_ms(5)), InvalidGang::NoPlaceholders);
    assert!(cluster.handle.submit_ask_of_group(job, "worker", ask(1, 0)).is_err());
}

/// A placeholder is room, not a process.
#[test]
fn nodes_start_real_containers_only() {
    let cluster = Cluster::serial();
    let mut tracker = DirectiveTracker::new(cluster.handle.clone());
    cluster.nodes(1, 2);
    let job = cluster.application();
    cluster.submit(GangSpec::new(job).with_placeholders("worker", ask(1, 2), 2));
    cluster.run();
    let node = cluster.handle.node("n0").unwrap();
    let follow = |tracker: &mut DirectiveTracker| {
        while let Some(event) = cluster.events.try_next().unwrap() {
            tracker.on_event(&event);
        }
    };
    follow(&mut tracker);
    let first = tracker.since(node, 0);
    assert!(first.start.is_empty() && first.stop.is_empty(), "{first:?}");
    // A node that reports nothing keeps its placeholders.
    let report = cluster.handle.reconcile_node(node, Default::default()).unwrap();
    cluster.run();
    assert!(report.try_take().unwrap().unwrap().ended.is_empty());
    // So does a tracker that begins with them.
    let mut later = DirectiveTracker::new(cluster.handle.clone());
    real(&cluster, job, "worker", ask(1, 1)).1.unwrap();
    while let Some(event) = cluster.events.try_next().unwrap() {
        tracker.on_event(&event);
        later.on_event(&event);
    }
    for (tracker, version) in [(&mut tracker, first.version), (&mut later, 0)] {
        let next = tracker.since(node, version);
        assert_eq!((next.start.len(), next.stop.len()), (1, 0), "{next:?}");
    }
}
