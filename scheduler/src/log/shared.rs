//! A log in memory, for tests and models.

use std::io;
use std::sync::Arc;

use super::{LogEnd, LogSink, LoggedGroup};
use crate::sync::Mutex;

/// A log kept in memory; clones share it.
#[derive(Clone, Debug, Default)]
pub struct SharedLog(Arc<Mutex<Vec<u8>>>);

impl SharedLog {
    /// An empty log.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A log of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        let log = Self::new();
        log.0.lock().extend_from_slice(bytes);
        log
    }

    /// A copy of everything logged so far.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.0.lock().clone()
    }
}

impl LogSink for SharedLog {
    fn start(&mut self, header: &[u8]) -> io::Result<()> {
        self.0.lock().extend_from_slice(header);
        Ok(())
    }

    fn resume(&mut self, end: LogEnd) -> io::Result<()> {
        self.0.lock().truncate(usize::try_from(end.at).map_err(io::Error::other)?);
        Ok(())
    }

    fn append(&mut self, group: &LoggedGroup<'_>) -> io::Result<()> {
        self.0.lock().extend_from_slice(group.frame());
        Ok(())
    }
}
