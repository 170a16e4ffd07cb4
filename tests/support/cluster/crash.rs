//! The end of an engine by a crash, and another engine that goes on with its log.

use std::sync::Arc;

use apportion::engine::{Attachment, Recovered};
use apportion::log::SharedLog;
use apportion::replay::Replay;
use apportion::{ApplicationId, Engine, Mode};

use super::{Cluster, EVENTS_MAX, certainty};
use crate::support::appending::Appending;
use crate::support::oracle::Oracle;

/// What a new engine recovers from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The whole log.
    Log,
    /// A snapshot of the state at its end.
    Snapshot,
}

impl Cluster {
    /// Replaces the engine, as after a crash, by one that recovers, in any mode. Nothing may have been sent since the
    /// last [`run`](Self::run). The applications attach to a new stream, and the answers must list all that they have.
    pub fn crash(&mut self, source: Source, mode: Mode) {
        assert!(self.sent.is_empty(), "what was sent would be lost");
        let (log, digest) = (self.log.bytes(), self.engine.digest());
        self.log = SharedLog::of(&log);
        self.clock = self.clock.shared_with(mode != Mode::Serial);
        // What a parallel engine left may depend on its threads.
        let certainty = certainty(&self.checker.oracle.config, mode).min(self.checker.certainty);
        self.checker.expect_mode(certainty, mode == Mode::Serial);
        let clock = Arc::new(self.clock.clone());
        let (engine, recovered) = match source {
            Source::Log => {
                let sink = Box::new(self.log.clone());
                Engine::recover(&log[..], mode, clock, Some(sink)).unwrap()
            }
            Source::Snapshot => {
                let mut snapshot = Vec::new();
                Replay::read(&log[..], None).unwrap().write_snapshot(&mut snapshot).unwrap();
                let sink = Box::new(Appending(self.log.clone()));
                Engine::recover(&snapshot[..], mode, clock, Some(sink)).unwrap()
            }
        };
        assert_eq!(recovered.end.last, self.checker.seen);
        assert_eq!(recovered, Recovered { was_torn: false, ..recovered });
        self.handle = engine.handle();
        self.engine = Arc::new(engine);
        if mode == Mode::Serial {
            assert_eq!(self.engine.digest(), digest, "the state is as before");
            assert_eq!(self.log.bytes(), log, "nothing happened meanwhile");
        }
        self.events = self.handle.event_stream(EVENTS_MAX);
        let attach = |id: &ApplicationId| self.handle.attach(*id, &self.events).unwrap();
        let tickets: Vec<_> = self.checker.oracle.applications.keys().map(attach).collect();
        // Under some policies the engine looks again at asks that have waited.
        self.run();
        for ticket in tickets {
            expect_holdings(&self.checker.oracle, &ticket.try_take().unwrap().unwrap());
        }
        // Once more without waiting for the answers, as masters that restart twice: that ends no group of what follows.
        self.checker.oracle.applications.keys().for_each(|id| drop(self.handle.attach(*id, &self.events)));
    }
}

/// Whether the application has what the model says.
fn expect_holdings(oracle: &Oracle, attachment: &Attachment) {
    let id = attachment.application;
    let containers: Vec<_> = attachment.containers.iter().map(|one| Some(one.container)).collect();
    let expected = oracle.containers.values().filter(|one| one.application == id).map(|one| one.id);
    assert_eq!(containers, expected.collect::<Vec<_>>(), "containers of {id}");
    let mut asks: Vec<_> = attachment.asks.iter().map(|one| one.ask).collect();
    asks.sort();
    let expected = oracle.asks.iter().filter(|(_, ask)| ask.application == id).map(|(ask, _)| *ask);
    assert_eq!(asks, expected.collect::<Vec<_>>(), "asks of {id}");
}
