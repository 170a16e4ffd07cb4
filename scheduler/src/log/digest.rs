//! The digest of a log.

use std::fmt;

use xxhash_rust::xxh3::Xxh3;

use super::LoggedGroup;

/// A digest over logged changes, independent of their grouping.
#[derive(Clone)]
pub struct LogDigest(Xxh3);

impl LogDigest {
    /// A digest without any change.
    #[must_use]
    pub fn new() -> Self {
        Self(Xxh3::new())
    }

    /// Adds a group.
    pub fn update(&mut self, group: &LoggedGroup<'_>) {
        self.0.update(group.payload());
    }

    /// The digest of everything added so far.
    #[must_use]
    pub fn value(&self) -> u128 {
        self.0.digest128()
    }
}

impl Default for LogDigest {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for LogDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LogDigest({:032x})", self.value())
    }
}
