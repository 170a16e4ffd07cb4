//! Nodes that report other containers than the engine has.

use std::sync::Arc;

use apportion::engine::{NodeReport, Reconciliation};
use apportion::event::{EventKind, Refusal};
use apportion::log::SharedLog;
use apportion::replay::Replay;
use apportion::{
    ApplicationEnd, ApplicationId, ApplicationSpec, AskSpec, ContainerId, EndCause, Engine, EventStream,
    Handle, ManualClock, Mode, NodeId, NodeSpec, Resources, RunningContainer,
};

use crate::{engine, leaf};

struct Reporting {
    engine: Engine,
    handle: Handle,
    log: SharedLog,
    node: NodeId,
    application: ApplicationId,
    events: EventStream,
    /// Four containers of one application.
    running: Vec<ContainerId>,
}

impl Reporting {
    fn new() -> Self {
        let log = SharedLog::new();
        let sink = Box::new(log.clone());
        let config = engine([leaf("default", 100)]);
        let engine = Engine::start(config, Mode::Serial, Arc::new(ManualClock::new()), Some(sink)).unwrap();
        let handle = engine.handle();
        let node = handle.add_node(NodeSpec::new("n", Resources::new(&[100, 100]))).unwrap();
        let events = handle.event_stream(100);
        let spec = ApplicationSpec::new("job", "root.default", "ann");
        let application = handle.submit_application(spec, &events).unwrap();
        handle.submit_ask(application, AskSpec::new(Resources::new(&[10, 1]), 4)).unwrap();
        engine.run_until_quiet();
        let mut told = Vec::new();
        events.drain_into(&mut told).unwrap();
        let running = told.iter().filter_map(|event| match event.kind {
            EventKind::Allocated { container, .. } => Some(container),
            _ => None,
        });
        let running: Vec<_> = running.collect();
        assert_eq!(running.len(), 4);
        Self { engine, handle, log, node, application, events, running }
    }

    fn report(&self, running: &[(ContainerId, ApplicationId)], starting: &[ContainerId]) -> Reconciliation {
        let size = Resources::new(&[10, 1]);
        let describe = |(id, application): &(ContainerId, ApplicationId)| {
            (*id, RunningContainer::new(*application, size))
        };
        let running = running.iter().map(describe).collect();
        let report = NodeReport { running, starting: starting.iter().copied().collect(), told: None };
        let reconciled = self.handle.reconcile_node(self.node, report).unwrap();
        self.engine.run_until_quiet();
        let audit = self.engine.audit();
        assert!(audit.is_clean(), "{audit}");
        let mut replay = Replay::read(&self.log.bytes()[..], None).unwrap();
        assert_eq!(replay.digest(), self.engine.digest());
        reconciled.try_take().unwrap().unwrap()
    }

    fn own(&self, containers: &[ContainerId]) -> Vec<(ContainerId, ApplicationId)> {
        containers.iter().map(|id| (*id, self.application)).collect()
    }

    fn told(&self) -> Vec<EventKind> {
        let mut told = Vec::new();
        self.events.drain_into(&mut told).unwrap();
        told.into_iter().map(|event| event.kind).collect()
    }
}

#[test]
fn a_report_of_what_is_known_changes_nothing() {
    let reporting = Reporting::new();
    let before = reporting.log.bytes();
    let reconciled = reporting.report(&reporting.own(&reporting.running), &[]);
    assert_eq!(reconciled, Reconciliation::default());
    assert_eq!(reporting.log.bytes(), before);
}

#[test]
fn a_container_that_its_node_does_not_run_has_ended() {
    let reporting = Reporting::new();
    let [kept, stopping, starting, missing] = reporting.running[..] else { panic!("four") };
    drop(reporting.handle.stop_container(stopping).unwrap());
    reporting.engine.run_until_quiet();
    reporting.told();
    let reconciled = reporting.report(&reporting.own(&[kept]), &[starting]);
    assert_eq!(reconciled, Reconciliation { ended: vec![stopping, missing], ..Reconciliation::default() });
    let causes = reporting.told().into_iter().map(|kind| match kind {
        EventKind::ContainerEnded { container, cause, .. } => (container, cause),
        other => panic!("{other:?}"),
    });
    let expected = [(stopping, EndCause::Released), (missing, EndCause::NodeLost)];
    assert_eq!(causes.collect::<Vec<_>>(), expected);
}

/// The node cannot run a container before it is told to, and a container that has ended does not come back.
#[test]
fn only_containers_of_which_the_node_was_told_end_or_are_refused() {
    let reporting = Reporting::new();
    let [kept, ended, missing, placed] = reporting.running[..] else { panic!("four") };
    reporting.handle.release_container(ended).unwrap();
    reporting.engine.run_until_quiet();
    reporting.told();
    let size = Resources::new(&[10, 1]);
    let running = [kept, ended].map(|id| (id, RunningContainer::new(reporting.application, size))).into();
    let told = Some([kept, ended, missing].into());
    let report = NodeReport { running, told, ..NodeReport::default() };
    let reconciled = reporting.handle.reconcile_node(reporting.node, report).unwrap();
    reporting.engine.run_until_quiet();
    let refused = [(ended, Refusal::UnknownContainer)].into();
    let expected = Reconciliation { ended: vec![missing], refused, ..Reconciliation::default() };
    assert_eq!(reconciled.try_take().unwrap(), Ok(expected));
    assert!(reporting.engine.read(|view| view.container(placed).is_some()));
}

#[test]
fn a_container_that_the_engine_does_not_know_is_adopted_or_to_be_stopped() {
    let reporting = Reporting::new();
    let handle = &reporting.handle;
    let ended = handle
        .submit_application(ApplicationSpec::new("over", "root.default", "ann"), &reporting.events)
        .unwrap();
    handle.end_application(ended, ApplicationEnd::Finished).unwrap();
    reporting.engine.run_until_quiet();
    reporting.told();
    let [unknown, stranger]: [ContainerId; 2] =
        ["container-90", "container-91"].map(|id| id.parse().unwrap());
    let mut running = reporting.own(&reporting.running);
    running.extend([(unknown, reporting.application), (stranger, ended)]);
    let reconciled = reporting.report(&running, &[]);
    let container = reconciled.adopted[&unknown];
    assert_eq!(reconciled.adopted.len(), 1);
    assert_eq!(reconciled.ended, []);
    assert_eq!(reconciled.refused, [(stranger, Refusal::ApplicationEnded)].into());
    let told = reporting.told();
    let is_adoption = |kind: &EventKind| matches!(kind, EventKind::ContainerRecovered { container: id, .. } if *id == container);
    assert!(told.len() == 1 && is_adoption(&told[0]), "{told:?}");
    assert_eq!(reporting.engine.read(|view| view.container_count()), 5);
    // The node has learned its identifier.
    let mut running = reporting.own(&reporting.running);
    running.push((container, reporting.application));
    assert_eq!(reporting.report(&running, &[]), Reconciliation::default());
}

/// A crash of the machine can take announced containers from the log. Their identifiers then go to other containers.
#[test]
fn a_container_of_another_application_under_the_same_identifier_is_another() {
    let reporting = Reporting::new();
    let other = ApplicationSpec::new("other", "root.default", "ann");
    let other = reporting.handle.submit_application(other, &reporting.events).unwrap();
    reporting.engine.run_until_quiet();
    reporting.told();
    let [reused, rest @ ..] = &reporting.running[..] else { panic!("four") };
    let mut running = reporting.own(rest);
    running.push((*reused, other));
    let reconciled = reporting.report(&running, &[]);
    assert_eq!(reconciled.ended, [*reused]);
    let container = reconciled.adopted[reused];
    assert_ne!(container, *reused);
    let told = reporting.told();
    let [EventKind::ContainerEnded { .. }, EventKind::ContainerRecovered { container: id, .. }] = told[..]
    else {
        panic!("{told:?}")
    };
    assert_eq!(id, container);
}

/// For example because the identifiers of a report are mixed up. Two nodes would count for one container.
#[test]
fn a_container_that_the_engine_has_on_another_node_is_to_be_stopped() {
    let reporting = Reporting::new();
    let other = reporting.handle.add_node(NodeSpec::new("other", Resources::new(&[100, 100]))).unwrap();
    reporting.engine.run_until_quiet();
    let before = reporting.log.bytes();
    let [container, ..] = reporting.running[..] else { panic!("four") };
    let description = RunningContainer::new(reporting.application, Resources::new(&[10, 1]));
    let report = NodeReport { running: [(container, description)].into(), ..NodeReport::default() };
    let reconciled = reporting.handle.reconcile_node(other, report).unwrap();
    reporting.engine.run_until_quiet();
    let refused = [(container, Refusal::IdentifierTaken)].into();
    assert_eq!(reconciled.try_take().unwrap(), Ok(Reconciliation { refused, ..Reconciliation::default() }));
    assert_eq!(reporting.log.bytes(), before);
}

#[test]
fn the_report_of_a_node_that_is_gone_is_refused() {
    let reporting = Reporting::new();
    drop(reporting.handle.remove_node(reporting.node).unwrap());
    let reconciled = reporting.handle.reconcile_node(reporting.node, NodeReport::default()).unwrap();
    reporting.engine.run_until_quiet();
    assert_eq!(reconciled.try_take(), Some(Err(Refusal::UnknownNode)));
}
