//! The engine: one public value that owns the state and, except in serial mode, the threads.
//!
//! # Quiet
//!
//! The engine is quiet when the inbox is empty, no set is worth a pass, all leases are pooled, and no timer is
//! due. The wanted sets and the leases are two separate words, and a set moves between them. Taking a set first
//! counts it as out and then clears its bit. Dropping its batch first publishes the set as wanted and then gives it
//! back. `Leases::is_idle` therefore reads the count, the bits, and the count again. The high half of the count
//! shows whether a set was taken in between.
//!
//! A proposer that finds no set is counted for a moment, and then sends the committer a message to look again. The
//! committer publishes quiet together with the number of messages processed, so `run_until_quiet` cannot miss a
//! message sent before the call. Each proposer is counted under the lock that waiters use. A proposer that ends
//! wakes the waiters, so no waiter waits for it.
//!
//! # Shutdown (I14)
//!
//! One word counts the messages sent and holds the state of the gate, so both change in one step. Another word and
//! a message tell the committer how many messages passed before the gate closed. If the inbox has no room for that
//! message, the committer is busy and reads the word afterwards. The committer ends when it has processed that many
//! messages and the inbox is empty. Later messages are dropped: tickets report that no answer will come, and
//! batches give back what they hold. In serial mode the caller's thread waits for callers that have passed the gate
//! but not yet reached the inbox.
//!
//! # Back-pressure
//!
//! The inbox holds 1,024 messages by default (`EngineLimits::inbox`); in serial mode it is unbounded. A full inbox
//! blocks callers and proposers, never the committer. If starved asks are left, the committer offers a message to
//! itself, without waiting. A group ends after G requests, so the committer holds the guard for a bounded time. A bulk
//! call is split into messages of 32 changes, or of 64 asks of kinds. The gate counts such a message once, and the
//! group counts each change. A full stream is marked as lagging, and its reader resynchronises.
//!
//! # Faults
//!
//! | fault | what happens | shown by |
//! |---|---|---|
//! | a proposer panics, at any step | unwinding drops its batch, which returns lease, units and amounts; `Health::proposer_panics` counts the panic; the proposer restarts, up to 100 times without a sent batch | `engine/tests/faults.rs`, `cargo soak` |
//! | a batch is late, out of order, or lost | late: validated against the state as it is then; lost: as above | the same, `models/batches.rs` |
//! | the clock jumps | the committer rings all due timers in one group | `cargo soak`, properties |
//! | clock or log sink hang | callers are held back; with a clock that hangs, readers of the state too; `Health` can be read meanwhile | `a_stalled_committer_holds_callers_back`, `cargo soak` |
//! | the log sink fails | logging stops (`Engine::log_error`), scheduling goes on; if the sink is required, the engine ends | `a_sink_that_fails_stops_the_log_and_nothing_else`, `cargo soak` |
//! | clock or sink panic | the committing half ends, also if an embedder catches the panic of a step; gate, signal and all streams close, waiters return, `Engine::is_running` is false | `a_sink_that_panics_ends_the_engine_and_nobody_waits_for_ever`, `a_step_that_panics_is_the_last` |
//! | a group ends in the middle by a panic | the guard is dropped before the remaining messages and the current batch, because a batch takes the guard to give back what it holds | `a_group_that_ends_in_the_middle_gives_back_what_it_has_not_come_to`, `a_group_that_panics_over_a_batch_ends_the_engine` |
//! | a caller panics while it looks at the state | the guard is given back; nothing was changed | `models/panics.rs` |
//!
//! A sink must not call the handle of its own engine: with a full inbox it would wait for its own thread. The
//! engine reads the embedder's clock under the write guard, and its measuring clock under the proposers' guards
//! too. So a clock must be quick and must not call the engine. A clock that panics on a proposer's thread counts as
//! a panic of that proposer.
//!
//! # Reports
//!
#![doc = include_str!("../../doc/tracing.md")]

mod answered_call;
mod applications;
mod ask_kinds;
mod ask_tags;
mod attach;
mod background;
mod bulk;
mod commit_loop;
mod commit_requests;
mod concurrency_limit;
mod containers;
mod directory;
mod drive;
mod due;
mod explain;
mod gangs;
mod group;
mod handle;
mod health;
mod lost_batches;
mod message;
mod mode;
#[cfg(all(test, apportion_loom))]
mod models;
mod nodes;
mod opportunistic;
mod parallel;
mod progress;
mod proposer;
mod proposer_panics;
mod publish;
mod queues;
mod racks;
mod reconciliation;
mod recover;
mod refusals;
mod reshard;
mod rounds;
mod serial;
mod shared;
mod single_step;
mod start;
mod state_and_time;
mod stream;
mod stream_registry;
mod submit_error;
mod task_groups;
#[cfg(test)]
mod tests;
mod timing;
mod trace;
mod victims;

use std::fmt;
use std::io;
use std::sync::Arc;

use thiserror::Error;

pub use attach::{AttachedAsk, Attachment};
pub use bulk::BulkCall;
pub use commit_loop::Step;
pub use drive::Driven;
pub use gangs::SubmittedGang;
pub use group::GroupCommitter;
pub use handle::Handle;
pub use health::Health;
pub use mode::Mode;
pub use nodes::Recovery;
pub use proposer::Proposer;
pub use reconciliation::{NodeReport, Reconciliation};
pub use recover::{RecoverError, Recovered};
pub use refusals::Refusals;
pub use single_step::{NotSerial, PassError};
pub use stream::{EventStream, Lagging};
pub use submit_error::SubmitError;
pub use task_groups::SubmittedGroupAsk;
pub use timing::EngineTiming;

use crate::audit::AuditReport;
use crate::clock::Clock;
use crate::config::{ConfigError, EngineConfig};
use crate::facts::StateDigest;
use crate::log::LogSink;
use crate::stats::EngineStats;
use crate::sync::Mutex;
use crate::view::View;
use message::Message;
use parallel::Threads;
use serial::SerialDriver;
use shared::Shared;
use start::Origin;

/// The most proposers of an engine; more would exceed the number of placement sets and have no work.
pub const PROPOSERS_MAX: usize = 1_024;

/// Why an engine could not start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// The configuration is not valid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The operating system could not start a thread.
    #[error("a thread could not be started: {0}")]
    Thread(io::Error),
    /// The log could not be begun and the sink [is required](LogSink::is_required), or a recovered log cannot go on.
    #[error("the log cannot be written: {0}")]
    Log(io::Error),
    /// Parallel mode with no proposer or more than [`PROPOSERS_MAX`].
    #[error("parallel mode needs 1 to {PROPOSERS_MAX} proposers, not {proposers}")]
    Proposers {
        /// The number of proposers requested.
        proposers: usize,
    },
}

/// A scheduler. Any number of independent engines can live in one process.
#[doc = include_str!("../../doc/engine.md")]
#[derive(Debug)]
pub struct Engine {
    shared: Arc<Shared>,
    driver: Mutex<Driver>,
}

enum Driver {
    Serial(Box<SerialDriver>),
    Threads(Threads),
    /// The caller runs the parts on its own threads.
    Elsewhere,
}

/// The working parts of an engine for callers that supply the threads: their own pool, pinned threads, or the
/// threads of a model checker.
#[derive(Debug)]
pub struct Parts {
    /// The committing half.
    pub committer: GroupCommitter,
    /// The proposing halves; they may run at the same time.
    pub proposers: Vec<Proposer>,
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Serial(_) => "Serial",
            Self::Threads(_) => "Threads",
            Self::Elsewhere => "Elsewhere",
        })
    }
}

impl Engine {
    /// Starts an engine that writes its log to `sink`, if there is one.
    ///
    /// # Errors
    /// If the configuration is not valid, a thread cannot be started, or a required log cannot be begun.
    pub fn start(
        config: EngineConfig,
        mode: Mode,
        clock: Arc<dyn Clock>,
        sink: Option<Box<dyn LogSink>>,
    ) -> Result<Self, StartError> {
        Self::begin(Origin::new(config)?, mode, clock, sink)
    }

    /// Makes an engine that runs on the caller's threads: one per part, or one that steps all parts. Otherwise the
    /// engine behaves as in parallel mode. A single thread must step the parts before it waits for quiet, for an event
    /// or for room in the inbox. Otherwise it waits for itself. [`run_until_quiet`](Self::run_until_quiet)
    /// waits for the threads; after [`shutdown`](Self::shutdown) they end by themselves.
    ///
    /// # Errors
    /// If the configuration is not valid, the number of proposers is not 1 to [`PROPOSERS_MAX`], or a required log
    /// cannot be begun.
    pub fn assemble(
        config: EngineConfig,
        proposers: usize,
        clock: Arc<dyn Clock>,
        sink: Option<Box<dyn LogSink>>,
    ) -> Result<(Self, Parts), StartError> {
        Self::assemble_from(Origin::new(config)?, proposers, clock, sink)
    }

    /// Returns a handle for calls to the engine. Handles are cheap and can be used from any thread.
    #[must_use]
    pub fn handle(&self) -> Handle {
        Handle::new(Arc::clone(&self.shared))
    }

    /// In serial mode, does all work due at the present time. In the other modes, waits until nothing is in flight,
    /// queued or due. It also returns once the engine has ended, or when no proposer is left because all [gave
    /// up](Health::proposers_given_up) or were dropped.
    pub fn run_until_quiet(&self) {
        if let Driver::Serial(driver) = &mut *self.driver.lock() {
            driver.run_until_quiet();
            return;
        }
        self.shared.wait_until_quiet();
    }

    /// The time at which the next timer or round of preemption is due: the target for a virtual clock if nothing else
    /// happens before.
    #[must_use]
    pub fn next_timer_ms(&self) -> Option<u64> {
        let timer_ms = self.shared.state.read().timers.next_ms();
        timer_ms.into_iter().chain(self.shared.round.due_ms()).min()
    }

    /// Calls `look` with a view of the state. The engine is blocked meanwhile, so `look` must be quick and must not
    /// call this engine.
    pub fn read<T>(&self, look: impl FnOnce(&View<'_>) -> T) -> T {
        let state = self.shared.state.read();
        look(&View::new(&state))
    }

    /// Checks the invariants on the whole state. Two checks are skipped while a set is wanted or out: that nothing is
    /// in flight, and that placement sets equal rebuilt ones.
    #[must_use]
    pub fn audit(&self) -> AuditReport {
        let state = self.shared.state.read();
        let mut report = state.audit();
        // While the guard is held, no set becomes wanted. So nothing can be put in flight, and the nodes that the
        // sets are compared with do not change.
        if self.shared.leases.is_idle() {
            state.audit_nothing_in_flight(&mut report);
            report.check_sets(&state, &self.shared.leases);
        }
        report
    }

    /// Returns the digest of the state.
    #[must_use]
    pub fn digest(&self) -> StateDigest {
        self.shared.state.read().digest()
    }

    /// Returns the canonical bytes of the state, from which the digest is computed.
    #[must_use]
    pub fn canonical_bytes(&self) -> Vec<u8> {
        self.shared.state.read().canonical_bytes()
    }

    /// Returns the counts of the engine's work so far.
    #[must_use]
    pub fn stats(&self) -> EngineStats {
        let proposer_panics = self.shared.proposer_panics.get();
        EngineStats { proposer_panics, ..self.shared.progress().stats }
    }

    /// Takes the times measured since the last call. Concurrent callers each get a part of them.
    #[must_use]
    pub fn take_timing(&self) -> EngineTiming {
        self.shared.timing.take()
    }

    /// False after [`shutdown`](Self::shutdown), after the committing thread panicked in the embedder's clock or log
    /// sink, and after a [required](LogSink::is_required) sink failed. The state then no longer changes.
    #[must_use]
    pub fn is_running(&self) -> bool {
        !self.shared.is_closed()
    }

    /// The error that stopped logging, if any.
    #[must_use]
    pub fn log_error(&self) -> Option<String> {
        self.shared.progress().log_error
    }

    #[cfg(test)]
    pub(crate) fn shared_state(&self) -> crate::state::State {
        self.shared.state.read().clone()
    }

    /// Refuses further calls, processes every message already taken, ends the threads and closes all streams. Asks
    /// not placed by then stay pending; the state can still be read. A second call does nothing.
    ///
    /// For an [assembled](Self::assemble) engine it does not wait: the committer ends on its own thread when it has
    /// processed every message.
    pub fn shutdown(&self) {
        let sent = self.shared.close_gate();
        // A thread that drives a serial engine sees that it ends, and gives the driver back.
        self.shared.outbox.offer(Message::LookAgain);
        match (&mut *self.driver.lock(), sent) {
            (Driver::Serial(driver), Some(sent)) => driver.stop(sent),
            (Driver::Serial(_), None) => {}
            // This also joins threads that ended by themselves.
            (Driver::Threads(threads), sent) => threads.stop(&self.shared, sent.unwrap_or(0)),
            (Driver::Elsewhere, sent) => {
                self.shared.work.close();
                sent.into_iter().for_each(|sent| self.shared.stop_after(sent));
            }
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.shutdown();
    }
}
