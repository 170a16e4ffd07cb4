//! A log that another engine continues.

use std::io;

use apportion::log::{LogEnd, LogSink, LoggedGroup, SharedLog};

/// Appends to a log of which the engine has read a snapshot.
#[derive(Debug)]
pub struct Appending(pub SharedLog);

impl LogSink for Appending {
    fn start(&mut self, _: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn resume(&mut self, _: LogEnd) -> io::Result<()> {
        Ok(())
    }

    fn append(&mut self, group: &LoggedGroup<'_>) -> io::Result<()> {
        self.0.append(group)
    }
}
