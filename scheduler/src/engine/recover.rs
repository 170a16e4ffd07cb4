//! An engine that goes on where a log ends.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::start::Origin;
use super::{Engine, Mode, Parts, StartError};
use crate::clock::Clock;
use crate::log::{LogEnd, LogError, LogReader, LogSink};
use crate::replay::Replay;

/// The part of a log that an engine recovered from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recovered {
    /// The end of that part.
    pub end: LogEnd,
    /// Whether an incomplete group behind it is cut off: a crash interrupted its writer.
    pub was_torn: bool,
    /// The engine's time at the end of the log.
    pub now_ms: u64,
}

/// Why an engine could not go on where a log ends.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecoverError {
    /// The log could not be read or does not fit together.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The engine could not start, or the sink cannot go on with the log.
    #[error(transparent)]
    Start(#[from] StartError),
}

impl Engine {
    /// Starts an engine with the state at the end of `log`, and appends to that log: `sink` [resumes](LogSink::resume)
    /// there. Everything that was logged is as before: nodes, applications, asks, containers, reservations, their
    /// identifiers and order, queues and limits.
    ///
    /// The last group may be incomplete, because a crash interrupted its writer. It is cut off, as [`Recovered`] says.
    /// If whole groups follow, the log is damaged and nothing is recovered.
    ///
    /// A long log can be replaced by a shorter one that begins with the state:
    /// [`Replay::write_snapshot`](crate::replay::Replay::write_snapshot).
    ///
    /// The following is not in a log. The caller makes it again:
    ///
    /// * Event streams: [`Handle::attach`](crate::Handle::attach) connects one to an application, and returns its asks
    ///   and containers.
    /// * Kinds of asks: [`Handle::register_ask_kind`](crate::Handle::register_ask_kind). An identifier from the engine
    ///   before may name another kind.
    /// * Calls that no event or ticket has shown, although a view may have: a view can be ahead of the log.
    /// * Identifiers of refused objects. They may be given again.
    /// * Statistics, and under a locality delay in nodes the nodes offered so far to an ask.
    ///
    /// The engine's time goes on: if `clock` is behind the log, the engine adds the difference to it. If the clock
    /// counts the time of the crash, heartbeats and timeouts may be overdue at once.
    ///
    /// ```
    /// # use apportion::config::{EngineConfig, QueueConfig};
    /// # use apportion::{Engine, ManualClock, Mode, NodeSpec, ResourceTypes};
    /// use std::fs::File;
    /// use std::io::{self, Seek, SeekFrom, Write};
    /// use std::sync::Arc;
    ///
    /// use apportion::log::{LogEnd, LogSink, LoggedGroup};
    ///
    /// struct LogFile(File);
    ///
    /// impl LogSink for LogFile {
    ///     fn start(&mut self, header: &[u8]) -> io::Result<()> {
    ///         self.0.write_all(header)
    ///     }
    ///     fn resume(&mut self, end: LogEnd) -> io::Result<()> {
    ///         self.0.set_len(end.at)?;
    ///         self.0.seek(SeekFrom::Start(end.at)).map(drop)
    ///     }
    ///     fn append(&mut self, group: &LoggedGroup<'_>) -> io::Result<()> {
    ///         self.0.write_all(group.frame())
    ///     }
    /// }
    ///
    /// # let path = std::env::temp_dir().join(format!("apportion-recover-{}.log", std::process::id()));
    /// # let clock = Arc::new(ManualClock::new());
    /// # let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
    /// let sink = Box::new(LogFile(File::create(&path)?));
    /// let engine = Engine::start(config, Mode::Serial, clock.clone(), Some(sink))?;
    /// # let handle = engine.handle();
    /// let node = handle.add_node(NodeSpec::new("alpha", handle.resources(&[("memory_mib", 1_024)])?))?;
    /// engine.run_until_quiet();
    ///
    /// // After a crash:
    /// let sink = Box::new(LogFile(File::options().write(true).open(&path)?));
    /// let log = io::BufReader::new(File::open(&path)?);
    /// let (engine, recovered) = Engine::recover(log, Mode::Serial, clock, Some(sink))?;
    /// assert_eq!(engine.handle().node("alpha"), Some(node));
    /// assert!(!recovered.was_torn);
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the log cannot be read or is damaged, if the sink cannot go on with it, or if the engine cannot start.
    pub fn recover(
        log: impl Read,
        mode: Mode,
        clock: Arc<dyn Clock>,
        sink: Option<Box<dyn LogSink>>,
    ) -> Result<(Self, Recovered), RecoverError> {
        let (origin, recovered) = Origin::at_end_of(log)?;
        let engine = Self::begin(origin, mode, clock_from(clock, recovered.now_ms), sink)?;
        Ok((engine, recovered))
    }

    /// As [`recover`](Self::recover), without threads: the parts of [`assemble`](Self::assemble) for callers that
    /// supply their own. Nothing moves until the committer's first step, so streams can be attached before.
    ///
    /// # Errors
    /// As for `recover`, and if the number of proposers is out of range.
    pub fn recover_parts(
        log: impl Read,
        proposers: usize,
        clock: Arc<dyn Clock>,
        sink: Option<Box<dyn LogSink>>,
    ) -> Result<(Self, Parts, Recovered), RecoverError> {
        let (origin, recovered) = Origin::at_end_of(log)?;
        let clock = clock_from(clock, recovered.now_ms);
        let (engine, parts) = Self::assemble_from(origin, proposers, clock, sink)?;
        Ok((engine, parts, recovered))
    }
}

impl Origin {
    fn at_end_of(log: impl Read) -> Result<(Self, Recovered), LogError> {
        let mut reader = LogReader::new(log)?;
        let mut replay = Replay::begin(&mut reader)?;
        let was_torn = loop {
            match reader.next_change() {
                Ok(Some(change)) => drop(replay.step(change)?),
                Ok(None) => break false,
                Err(LogError::Torn { .. }) => break true,
                Err(error) => return Err(error),
            }
        };
        let end = reader.end();
        let (state, identifiers) = replay.into_parts();
        let recovered = Recovered { end, was_torn, now_ms: state.facts.now_ms };
        Ok((Self { state: Box::new(state), identifiers, log_end: Some(end) }, recovered))
    }
}

/// The clock, moved forward if it is behind `now_ms`.
fn clock_from(clock: Arc<dyn Clock>, now_ms: u64) -> Arc<dyn Clock> {
    let ahead_ms = now_ms.saturating_sub(clock.now_ms());
    if ahead_ms == 0 { clock } else { Arc::new(ClockAhead { clock, ahead_ms }) }
}

/// A clock that is ahead of another.
#[derive(Debug)]
struct ClockAhead {
    clock: Arc<dyn Clock>,
    ahead_ms: u64,
}

impl Clock for ClockAhead {
    fn now_ms(&self) -> u64 {
        self.clock.now_ms().saturating_add(self.ahead_ms)
    }

    fn until(&self, at_ms: u64) -> Option<Duration> {
        self.clock.until(at_ms.saturating_sub(self.ahead_ms))
    }

    fn measured_ns(&self) -> u64 {
        self.clock.measured_ns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock that reads 100, and waits as long as the time that it is asked for.
    #[derive(Debug)]
    struct Fixed;

    impl Clock for Fixed {
        fn now_ms(&self) -> u64 {
            100
        }

        fn until(&self, at_ms: u64) -> Option<Duration> {
            Some(Duration::from_millis(at_ms))
        }

        fn measured_ns(&self) -> u64 {
            7
        }
    }

    #[test]
    fn a_clock_that_is_moved_forward_waits_no_longer_and_measures_the_same() {
        let clock = clock_from(Arc::new(Fixed), 1_000);
        assert_eq!((clock.now_ms(), clock.measured_ns()), (1_000, 7));
        assert_eq!(clock.until(1_050), Some(Duration::from_millis(150)));
        assert_eq!(clock.until(800), Some(Duration::ZERO));
        assert_eq!(clock_from(Arc::new(Fixed), 99).until(150), Some(Duration::from_millis(150)));
    }
}
