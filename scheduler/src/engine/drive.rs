//! A serial engine on the caller's thread that also waits: for messages of other threads, for timers, or until a
//! deadline.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::group::GroupCommitter;
use super::serial::SerialDriver;
use super::single_step::NotSerial;
use super::{Driver, Engine};
use crate::sync::Nothing;

/// Why [`Engine::drive`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Driven {
    /// The engine has done all work that was waiting. There may be events and answers.
    Worked,
    /// The time is over, and nothing had to be done.
    TimedOut,
    /// The engine is shut down.
    Ended,
}

impl Engine {
    /// Does all work that is waiting, or waits for work, at most for `patience` by the engine's clock. A thread that
    /// calls this in a loop, and reads events and answers in between, needs no other thread. Other threads may use
    /// handles meanwhile.
    ///
    /// If only the driver moves the clock, as a [`ManualClock`](crate::ManualClock), this waits for another thread's
    /// message; a [tick](crate::Handle::tick) suffices.
    ///
    /// ```
    /// # use apportion::config::{EngineConfig, QueueConfig};
    /// # use apportion::engine::Driven;
    /// # use apportion::{Engine, Mode, NodeSpec, ResourceTypes, SystemClock};
    /// # use std::sync::Arc;
    /// # use std::time::Duration;
    /// # let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
    /// let engine = Engine::start(config, Mode::Serial, Arc::new(SystemClock::new()), None)?;
    /// let handle = engine.handle();
    /// let size = handle.resources(&[("memory_mib", 1_024)])?;
    /// let agent = std::thread::spawn(move || handle.add_node(NodeSpec::new("alpha", size)).map(drop));
    /// assert_eq!(engine.drive(Duration::from_secs(60))?, Driven::Worked);
    /// assert!(engine.handle().node("alpha").is_some());
    /// # agent.join().unwrap()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the engine is not in serial mode.
    pub fn drive(&self, patience: Duration) -> Result<Driven, NotSerial> {
        let Driver::Serial(driver) = &mut *self.driver.lock() else { return Err(NotSerial) };
        let patience_ms = u64::try_from(patience.as_micros().div_ceil(1_000)).unwrap_or(u64::MAX);
        Ok(driver.drive(self.shared.clock.now_ms().saturating_add(patience_ms)))
    }
}

impl SerialDriver {
    fn drive(&mut self, deadline_ms: u64) -> Driven {
        loop {
            let (has_work, before) = (self.has_work(), self.committer.done());
            self.run_until_quiet();
            if self.shared.is_closed() {
                return Driven::Ended;
            }
            // Work may also have come after the first look.
            if has_work || self.committer.done() != before {
                return Driven::Worked;
            }
            if self.shared.clock.now_ms() >= deadline_ms {
                return Driven::TimedOut;
            }
            match self.committer.inbox.receive(self.committer.patience_until(deadline_ms)) {
                Ok(message) => {
                    self.committer.commit_group(Some(message));
                    self.run_until_quiet();
                    return if self.shared.is_closed() { Driven::Ended } else { Driven::Worked };
                }
                // A timer may be due.
                Err(Nothing::TimedOut) => {}
                Err(Nothing::Closed) => return Driven::Ended,
            }
        }
    }

    /// Whether a message waits, a timer is due, or a proposer has work.
    pub(super) fn has_work(&self) -> bool {
        !self.committer.inbox.is_empty() || self.committer.is_due() || self.shared.has_work_for_proposers()
    }
}

impl GroupCommitter {
    /// Changes with each message that is processed and each timer that rings.
    fn done(&self) -> (u64, Option<u64>) {
        (self.processed, self.next_timer_ms)
    }

    /// How long to wait for a message before a timer is due, until a deadline at the latest. `None`: only the driver
    /// moves the clock.
    fn patience_until(&self, deadline_ms: u64) -> Option<Duration> {
        let next_ms = self.next_timer_ms.map_or(deadline_ms, |next_ms| next_ms.min(deadline_ms));
        if self.is_due() { Some(Duration::ZERO) } else { self.shared.clock.until(next_ms) }
    }
}
