//! A second state beside an engine, made from the groups that it logs.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Read, Write};
use std::sync::{Arc, Weak};

use super::Replay;
use crate::log::{LogEnd, LogError, LogReader, LogSink, LoggedGroup};
use crate::request::CommitSeq;
use crate::sync::Mutex;

/// Groups that were logged and not followed yet.
type Waiting = Mutex<VecDeque<Vec<u8>>>;

/// Follows an engine's log on another thread, so that snapshots need no guard of the engine. It works beside any sink.
///
/// The caller chooses the thread and calls [`follow`](Self::follow) now and then: until then, a copy of each group
/// waits in memory. The follower has a state of its own, as large as the engine's.
#[doc = include_str!("../../doc/follower.md")]
pub struct Follower {
    waiting: Arc<Waiting>,
    reader: LogReader<Groups>,
    replay: Option<Replay>,
    /// A group did not fit. Those behind it would be applied to the wrong state.
    has_failed: bool,
}

/// The log of an engine with a [`Follower`]. It writes to another sink, and keeps a copy of each group that was
/// written, as long as the follower is there.
pub struct FollowedLog {
    sink: Box<dyn LogSink>,
    waiting: Weak<Waiting>,
}

impl Follower {
    /// A follower for an engine that starts a new log on `sink`, and the sink to give to that engine.
    #[must_use]
    pub fn beside(sink: Box<dyn LogSink>) -> (FollowedLog, Self) {
        Self::new(sink, None)
    }

    /// The same for an engine that goes on with a log: `replay` is the state at the end of that log.
    #[must_use]
    pub fn from_replay(replay: Replay, sink: Box<dyn LogSink>) -> (FollowedLog, Self) {
        Self::new(sink, Some(replay))
    }

    fn new(sink: Box<dyn LogSink>, replay: Option<Replay>) -> (FollowedLog, Self) {
        let waiting = Arc::default();
        let log = FollowedLog { sink, waiting: Arc::downgrade(&waiting) };
        let groups = Groups { waiting: Arc::clone(&waiting), present: Vec::new(), read: 0 };
        (log, Self { waiting, reader: LogReader::behind_header(groups), replay, has_failed: false })
    }

    /// Follows all groups that were logged so far, and returns the last change; 0 if the engine has logged none.
    ///
    /// # Errors
    /// If a change does not fit. Nothing more is followed then: each later call is an error, too.
    pub fn follow(&mut self) -> Result<CommitSeq, LogError> {
        if self.has_failed {
            let seq = self.replay.as_ref().map_or(0, |replay| replay.seq().0) + 1;
            let problem = "an earlier group could not be followed".to_owned();
            return Err(LogError::Inconsistent { seq, problem });
        }
        self.follow_waiting().inspect_err(|_| self.has_failed = true)
    }

    fn follow_waiting(&mut self) -> Result<CommitSeq, LogError> {
        if self.replay.is_none() && !self.waiting.lock().is_empty() {
            self.replay = Some(Replay::begin(&mut self.reader)?);
        }
        if let Some(replay) = &mut self.replay {
            while let Some(change) = self.reader.next_change()? {
                replay.step(change)?;
            }
        }
        Ok(self.replay.as_ref().map_or(CommitSeq(0), Replay::seq))
    }

    /// Follows all groups that were logged so far, and writes a log that begins with that state, as
    /// [`Replay::write_snapshot`] does. Returns the last change in it.
    ///
    /// # Errors
    /// If a change does not fit, nothing was logged, the medium fails, or the state has more than 1 GiB.
    pub fn snapshot(&mut self, sink: impl Write) -> io::Result<CommitSeq> {
        let seq = self.follow().map_err(io::Error::other)?;
        let Some(replay) = &mut self.replay else {
            return Err(io::Error::other("the engine has logged nothing"));
        };
        replay.write_snapshot(sink)?;
        Ok(seq)
    }

    /// The state that was followed so far; `None` before the first group.
    pub fn replay(&mut self) -> Option<&mut Replay> {
        self.replay.as_mut()
    }
}

impl LogSink for FollowedLog {
    fn start(&mut self, header: &[u8]) -> io::Result<()> {
        self.sink.start(header)
    }

    fn resume(&mut self, end: LogEnd) -> io::Result<()> {
        self.sink.resume(end)
    }

    fn append(&mut self, group: &LoggedGroup<'_>) -> io::Result<()> {
        self.sink.append(group)?;
        if let Some(waiting) = self.waiting.upgrade() {
            waiting.lock().push_back(group.frame().to_vec());
        }
        Ok(())
    }

    fn is_required(&self) -> bool {
        self.sink.is_required()
    }
}

/// The bytes of the waiting groups; at the end while no group waits.
struct Groups {
    waiting: Arc<Waiting>,
    present: Vec<u8>,
    /// The bytes of `present` that were read.
    read: usize,
}

impl Read for Groups {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read == self.present.len() {
            let Some(next) = self.waiting.lock().pop_front() else { return Ok(0) };
            (self.present, self.read) = (next, 0);
        }
        let length = buffer.len().min(self.present.len() - self.read);
        buffer[..length].copy_from_slice(&self.present[self.read..self.read + length]);
        self.read += length;
        Ok(length)
    }
}

impl fmt::Debug for Follower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follower")
            .field("seq", &self.replay.as_ref().map(Replay::seq))
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for FollowedLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FollowedLog").finish_non_exhaustive()
    }
}
