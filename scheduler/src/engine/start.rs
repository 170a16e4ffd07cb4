//! The making of an engine: from a configuration, or from the state at the end of a log.

use std::collections::VecDeque;
use std::sync::Arc;

use super::concurrency_limit::ConcurrencyLimit;
use super::group::{GroupCommitter, WEIGHTLESS_MAX};
use super::message::Message;
use super::parallel::Threads;
use super::proposer::Proposer;
use super::publish::Publisher;
use super::rounds::Rounds;
use super::serial::SerialDriver;
use super::shared::Shared;
use super::trace;
use super::{Driver, Engine, Mode, PROPOSERS_MAX, Parts, StartError};
use crate::change::Change;
use crate::clock::Clock;
use crate::config::EngineConfig;
use crate::ids::SETS_MAX;
use crate::log::{HEADER, LogEnd, LogSink};
use crate::replay::Identifiers;
use crate::state::State;
use crate::stats::EngineStats;
use crate::sync::{Inbox, Mutex, channel};

/// The state with which an engine begins.
pub(super) struct Origin {
    /// Boxed, because threads of a model checker have small stacks.
    pub(super) state: Box<State>,
    pub(super) identifiers: Identifiers,
    /// Where the log goes on; `None` for a new log.
    pub(super) log_end: Option<LogEnd>,
}

impl Origin {
    /// An empty state with this configuration.
    pub(super) fn new(config: EngineConfig) -> Result<Self, StartError> {
        config.validate()?;
        let state = Box::new(State::new(&Arc::new(config)));
        Ok(Self { state, identifiers: Identifiers::default(), log_end: None })
    }

    /// Prepares the sink. Returns the error that keeps the engine from logging, if it may run without a log.
    ///
    /// # Errors
    /// If the log must have every change, or has to go on.
    fn begin_log(&self, sink: &mut dyn LogSink) -> Result<Option<String>, StartError> {
        let begun = match self.log_end {
            None => sink.start(&HEADER),
            Some(end) => sink.resume(end),
        };
        match begun {
            Ok(()) => Ok(None),
            Err(error) if sink.is_required() || self.log_end.is_some() => Err(StartError::Log(error)),
            Err(error) => Ok(Some(error.to_string())),
        }
    }
}

impl Engine {
    pub(super) fn begin(
        origin: Origin,
        mode: Mode,
        clock: Arc<dyn Clock>,
        sink: Option<Box<dyn LogSink>>,
    ) -> Result<Self, StartError> {
        match mode {
            Mode::Serial => {
                let driver = SerialDriver::new(origin, None, clock, sink)?;
                Ok(Self {
                    shared: Arc::clone(&driver.shared),
                    driver: Mutex::new(Driver::Serial(Box::new(driver))),
                })
            }
            Mode::Background => {
                let inbox_capacity = Some(origin.state.facts.config.limits.inbox);
                let driver = SerialDriver::new(origin, inbox_capacity, clock, sink)?;
                let shared = Arc::clone(&driver.shared);
                let threads = Threads::start_one(driver).map_err(StartError::Thread)?;
                Ok(Self { shared, driver: Mutex::new(Driver::Threads(threads)) })
            }
            Mode::Parallel { proposers } => {
                let (engine, parts) = Self::assemble_from(origin, proposers, clock, sink)?;
                let threads = Threads::start(&engine.shared, parts.committer, parts.proposers);
                let threads = threads.map_err(StartError::Thread)?;
                *engine.driver.lock() = Driver::Threads(threads);
                Ok(engine)
            }
        }
    }

    pub(super) fn assemble_from(
        origin: Origin,
        proposers: usize,
        clock: Arc<dyn Clock>,
        sink: Option<Box<dyn LogSink>>,
    ) -> Result<(Self, Parts), StartError> {
        if !(1..=PROPOSERS_MAX).contains(&proposers) {
            return Err(StartError::Proposers { proposers });
        }
        let config = Arc::clone(&origin.state.facts.config);
        let inbox_capacity = Some(config.limits.inbox);
        let (shared, parts) = Self::make(origin, config, inbox_capacity, proposers, clock, sink)?;
        Ok((Self { shared, driver: Mutex::new(Driver::Elsewhere) }, parts))
    }

    /// Makes the parts of an engine with these limits, which may be others than the log's.
    pub(super) fn make(
        origin: Origin,
        config: Arc<EngineConfig>,
        inbox_capacity: Option<usize>,
        proposers: usize,
        clock: Arc<dyn Clock>,
        mut sink: Option<Box<dyn LogSink>>,
    ) -> Result<(Arc<Shared>, Parts), StartError> {
        let (outbox, inbox) = channel(inbox_capacity);
        let log_error = sink.as_mut().map_or(Ok(None), |sink| origin.begin_log(sink.as_mut()))?;
        let Origin { state, identifiers, .. } = origin;
        let shared = Arc::new(Shared::new(config, clock, *state, identifiers, outbox));
        let publisher = Publisher::new(Arc::clone(&shared), sink, log_error);
        let mut committer = GroupCommitter::new(Arc::clone(&shared), inbox, publisher);
        committer.commit_group(None);
        let start = |number: usize| (number * SETS_MAX / proposers) as u32;
        trace::engine_started(&shared, proposers);
        let proposers = (0..proposers).map(|number| Proposer::new(&shared, start(number))).collect();
        Ok((shared, Parts { committer, proposers }))
    }
}

impl GroupCommitter {
    pub(super) fn new(shared: Arc<Shared>, inbox: Inbox<Message>, publisher: Publisher) -> Self {
        // The configured partitions do not include the default one.
        let concurrency_limit = ConcurrencyLimit::new(shared.config.partitions.len() + 1);
        let stats = EngineStats {
            sets_checked_out_max: concurrency_limit.sets_checked_out_max(),
            ..EngineStats::default()
        };
        Self {
            shared,
            inbox,
            messages: VecDeque::with_capacity(WEIGHTLESS_MAX),
            publisher,
            stats,
            processed: 0,
            concurrency_limit,
            rounds: Rounds::default(),
            changes_before: 0,
            now_ms: 0,
            next_timer_ms: None,
        }
    }

    /// Lets the log begin with the configuration.
    pub(super) fn begin_with_configuration(&mut self, state: &mut State) {
        if state.facts.changes == 0 {
            let config = Arc::clone(&state.facts.config);
            self.committer(state).apply(Change::Configured { config });
        }
    }
}
