//! Nodes that report other containers than the engine has.

use std::sync::Arc;

use apportion::engine::{NodeReport, SettledReport};
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

    fn report(&self, running: &[(ContainerId, ApplicationId)], starting: &[ContainerId]) -> SettledReport {
        let size = Resources::new(&[10, 1]);
        let describe = |(id, application): &(ContainerId, ApplicationId)| {
            (*id, RunningContainer::new(*application, size))
        };
        let running = running.iter().map(describe).collect();
        let report = NodeReport { running, starting: starting.to_vec() };
        let settled = self.handle.report_node(self.node, report).unwrap();
        self.engine.run_until_quiet();
        let audit = self.engine.audit();
        assert!(audit.is_clean(), "{audit}");
        let mut replay = Replay::read(&self.log.bytes()[..], None).unwrap();
        assert_eq!(replay.digest(), self.engine.digest());
        settled.try_take().unwrap().unwrap()
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
    let settled = reporting.report(&reporting.own(&reporting.running), &[]);
    assert_eq!(settled, SettledReport::default());
    assert_eq!(reporting.log.bytes(), before);
}

#[test]
fn a_container_that_its_node_does_not_run_has_ended() {
    let reporting = Reporting::new();
    let [kept, stopping, starting, missing] = reporting.running[..] else { panic!("four") };
    drop(reporting.handle.stop_container(stopping).unwrap());
    reporting.engine.run_until_quiet();
    reporting.told();
    let settled = reporting.report(&reporting.own(&[kept]), &[starting]);
    assert_eq!(settled, SettledReport { ended: vec![stopping, missing], ..SettledReport::default() });
    let causes = reporting.told().into_iter().map(|kind| match kind {
        EventKind::ContainerEnded { container, cause, .. } => (container, cause),
        other => panic!("{other:?}"),
    });
    let expected = [(stopping, EndCause::Released), (missing, EndCause::NodeLost)];
    assert_eq!(causes.collect::<Vec<_>>(), expected);
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
    let settled = reporting.report(&running, &[]);
    let [(was, container)] = settled.adopted[..] else { panic!("{settled:?}") };
    assert_eq!((was, settled.ended), (unknown, Vec::new()));
    assert_eq!(settled.refused, [(stranger, Refusal::ApplicationEnded)]);
    let told = reporting.told();
    let is_adoption = |kind: &EventKind| matches!(kind, EventKind::ContainerRecovered { container: id, .. } if *id == container);
    assert!(told.len() == 1 && is_adoption(&told[0]), "{told:?}");
    assert_eq!(reporting.engine.read(|view| view.container_count()), 5);
    // The node has learned its identifier.
    let mut running = reporting.own(&reporting.running);
    running.push((container, reporting.application));
    assert_eq!(reporting.report(&running, &[]), SettledReport::default());
}

#[test]
fn the_report_of_a_node_that_is_gone_is_refused() {
    let reporting = Reporting::new();
    drop(reporting.handle.remove_node(reporting.node).unwrap());
    let settled = reporting.handle.report_node(reporting.node, NodeReport::default()).unwrap();
    reporting.engine.run_until_quiet();
    assert_eq!(settled.try_take(), Some(Err(Refusal::UnknownNode)));
}
