//! Commit times of changes, in wall time.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use apportion::CommitSeq;
use apportion::log::{LogDigest, LogSink, LoggedGroup};

/// Wraps a sink: digests the log, and records the commit time of each group.
pub struct LatencySink {
    inner: Option<Box<dyn LogSink>>,
    commit_times: CommitTimes,
}

/// The records of a [`LatencySink`], readable while the engine runs.
#[derive(Clone, Debug, Default)]
pub struct CommitTimes(Arc<Mutex<Recorded>>);

#[derive(Debug, Default)]
struct Recorded {
    digest: LogDigest,
    /// The last change and the commit time of each group since the last call of `take_groups`.
    groups: Vec<(CommitSeq, Instant)>,
}

impl LatencySink {
    /// A sink that passes the log on to `inner`.
    #[must_use]
    pub fn new(inner: Option<Box<dyn LogSink>>) -> (Self, CommitTimes) {
        let commit_times = CommitTimes::default();
        (Self { inner, commit_times: commit_times.clone() }, commit_times)
    }
}

impl CommitTimes {
    /// Groups committed since the last call, in order.
    #[must_use]
    pub fn take_groups(&self) -> Vec<(CommitSeq, Instant)> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner).groups)
    }

    /// The digest of the log so far.
    #[must_use]
    pub fn digest(&self) -> u128 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).digest.value()
    }
}

impl std::fmt::Debug for LatencySink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LatencySink").finish_non_exhaustive()
    }
}

impl LogSink for LatencySink {
    fn start(&mut self, header: &[u8]) -> io::Result<()> {
        self.inner.as_mut().map_or(Ok(()), |inner| inner.start(header))
    }

    fn append(&mut self, group: &LoggedGroup<'_>) -> io::Result<()> {
        let mut recorded = self.commit_times.0.lock().unwrap_or_else(PoisonError::into_inner);
        recorded.digest.update(group);
        recorded.groups.push((group.last(), Instant::now()));
        drop(recorded);
        self.inner.as_mut().map_or(Ok(()), |inner| inner.append(group))
    }
}
