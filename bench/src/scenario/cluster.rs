//! The engine under a scenario, on virtual time.

use std::sync::Arc;

use apportion::config::EngineConfig;
use apportion::engine::StartError;
use apportion::preempt::PreemptionPlan;
use apportion::{Engine, EventStream, Handle, ManualClock, Mode, ResourceTypes};

use super::containers::Told;
use super::names::Names;
use super::problem::{Done, StepError};

/// More events than any scenario causes between two steps.
const EVENTS_MAX: usize = 1 << 20;

/// An engine, the names of its objects, and the events received from it.
pub(super) struct Cluster {
    pub(super) engine: Engine,
    pub(super) handle: Handle,
    pub(super) stream: EventStream,
    pub(super) names: Names,
    pub(super) told: Told,
    /// The last plan of preemption that was not committed.
    pub(super) plan: Option<PreemptionPlan>,
    is_serial: bool,
    clock: ManualClock,
    now_ms: u64,
}

impl Cluster {
    pub(super) fn start(config: EngineConfig, mode: Mode) -> Result<Self, StartError> {
        let clock = ManualClock::new();
        let engine = Engine::start(config, mode, Arc::new(clock.clone()), None)?;
        let handle = engine.handle();
        let stream = handle.event_stream(EVENTS_MAX);
        let (names, told) = (Names::default(), Told::default());
        let is_serial = mode == Mode::Serial;
        Ok(Self { engine, handle, stream, names, told, plan: None, is_serial, clock, now_ms: 0 })
    }

    pub(super) fn types(&self) -> &ResourceTypes {
        &self.handle.config().resources
    }

    /// In serial mode, commits the messages that were sent, without proposing, so that every step begins with the
    /// effects of the previous one. In the other modes the threads continue by themselves.
    pub(super) fn commit_sent(&mut self) -> Done {
        if self.is_serial {
            self.engine.commit_waiting()?;
        }
        self.listen()
    }

    /// The same, but in the other modes it waits until the engine is quiet: for steps that need the engine's answer.
    pub(super) fn await_answers(&mut self) -> Done {
        if !self.is_serial {
            self.engine.run_until_quiet();
        }
        self.commit_sent()
    }

    pub(super) fn run_until_quiet(&mut self) -> Done {
        self.engine.run_until_quiet();
        self.listen()
    }

    pub(super) fn advance(&mut self, ms: u64) -> Done {
        self.now_ms = self.now_ms.saturating_add(ms);
        self.clock.set(self.now_ms);
        Ok(self.handle.tick()?)
    }

    /// Records the events received so far.
    fn listen(&mut self) -> Done {
        let mut events = Vec::new();
        let drained = self.stream.drain_into(&mut events);
        drained.map_err(|_| StepError::failed("more events came at once than a scenario can follow"))?;
        events.iter().for_each(|event| self.told.record(event, &self.names));
        Ok(())
    }
}
