//! Changes with another owner's identifier. No handle sends them; the owner keeps the identifier.

use std::sync::Arc;

use super::{Bench, with_ask};
use crate::change::{ApplicationSpec, AskSpec, Change, NodeSpec};
use crate::engine::message::{Call, Message};
use crate::event::EventKind;
use crate::ids::{ApplicationId, AskId, PartitionId, RackId, SlotId};
use crate::resource::DeviceNeed;

impl Bench {
    fn forge(&self, change: Change) {
        let caller = Arc::default();
        self.shared.send(Message::Call { call: Call::Change(change), caller }).unwrap();
        self.commit();
    }

    fn an_application(&self) -> ApplicationId {
        self.shared.state.read().facts.applications.iter().next().unwrap().0
    }
}

#[test]
fn an_ask_with_a_taken_identifier_leaves_it_to_its_owner() {
    let bench = with_ask();
    let (application, ask) = (bench.an_application(), super::late::first_ask(&bench));
    let ended = bench.application("root.a");
    bench.engine.handle().end_application(ended, crate::ApplicationEnd::Finished).unwrap();
    for of in [application, ended] {
        let spec = AskSpec::new(super::memory(1), 1);
        bench.forge(Change::AskSubmitted { ask, application: of, spec });
    }
    assert_ne!(bench.ask(application, 1, 1), ask);
    bench.expect_running(6);
}

#[test]
fn a_node_with_a_taken_identifier_leaves_it_to_its_owner() {
    let bench = with_ask();
    let node = bench.engine.handle().node("n1").unwrap();
    bench.forge(Change::NodeAdded {
        node,
        rack: RackId(0),
        spec: Box::new(NodeSpec::new("n1", super::memory(1))),
    });
    assert_eq!(bench.engine.handle().node("n1"), Some(node));
    assert_ne!(bench.node("n2", 1), node);
    bench.expect_running(5);
}

/// The owner's events go to the owner's stream.
#[test]
fn an_application_with_a_taken_identifier_takes_over_no_stream() {
    let bench = with_ask();
    let (application, handle) = (bench.an_application(), bench.engine.handle());
    let stranger = handle.event_stream(100);
    let spec = Box::new(ApplicationSpec::new("stranger", "root.a", "stranger"));
    let (stream, caller) = (Arc::clone(stranger.core()), Arc::default());
    let call = Call::Application { application, spec, stream };
    bench.shared.send(Message::Call { call, caller }).unwrap();
    bench.expect_running(5);
    assert_eq!(stranger.try_next(), Ok(None));
    let told = std::iter::from_fn(|| bench.events.try_next().unwrap());
    assert_eq!(told.filter(|event| matches!(event.kind, EventKind::Allocated { .. })).count(), 5);
    assert_ne!(bench.application("root.a"), application);
}

/// The handle checks the master's size and partition, and so does the committer.
#[test]
fn an_application_with_an_impossible_master_is_refused() {
    let (bench, known) = (with_ask(), |bench: &Bench| bench.shared.state.read().facts.applications.len());
    let stranger = bench.engine.handle().event_stream(100);
    let before = known(&bench);
    let unknown = [1, 9].map(|number| (super::memory(1), PartitionId(number)));
    for (size, partition) in [(super::memory(-1), PartitionId::DEFAULT)].into_iter().chain(unknown) {
        let spec = ApplicationSpec::new("stranger", "root.a", "stranger").with_master(size, partition);
        let (application, spec) = (ApplicationId::new(1, 0), Box::new(spec));
        let (stream, caller) = (Arc::clone(stranger.core()), Arc::default());
        let call = Call::Application { application, spec, stream };
        bench.shared.send(Message::Call { call, caller }).unwrap();
        bench.commit();
        assert_eq!(known(&bench), before);
    }
    bench.expect_running(5);
}

/// Each of them is wrong in one way only.
#[test]
fn an_impossible_ask_is_refused() {
    let bench = with_ask();
    let (application, sound) = (bench.an_application(), AskSpec::new(super::memory(1), 1));
    let known = || bench.shared.state.read().facts.asks.len();
    let before = known();
    for spec in [
        AskSpec { count: 0, ..sound.clone() },
        AskSpec { partition: Some(PartitionId(9)), ..sound.clone() },
        AskSpec::new(super::memory(-1), 1),
        sound.clone().with_devices(DeviceNeed { count: 0, milli: 500 }),
    ] {
        let said = format!("{spec:?}");
        bench.forge(Change::AskSubmitted { ask: AskId::new(1, 0), application, spec });
        assert_eq!(known(), before, "{said}");
    }
    bench.forge(Change::AskSubmitted { ask: AskId::new(1, 0), application, spec: sound });
    assert_eq!(known(), before + 1);
}
