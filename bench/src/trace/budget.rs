//! A bound on the work that a small file can request: one line may say "a million copies".

use crate::report::{count_text, counted};

/// The remaining number of containers that may be read.
#[derive(Debug)]
pub(super) struct Budget {
    most: u64,
    left: u64,
}

impl Budget {
    /// A budget for this many containers.
    pub(super) fn new(most: u64) -> Self {
        Self { most, left: most }
    }

    /// Reserves room for `count` containers before they are made.
    ///
    /// # Errors
    /// When less room is left.
    pub(super) fn take(&mut self, count: u64) -> Result<(), String> {
        let left = self.left.checked_sub(count);
        self.left = left.ok_or_else(|| {
            format!(
                "a further {} would be too many; the limit is {} (`containers_max`)",
                counted(count, "container"),
                count_text(self.most)
            )
        })?;
        Ok(())
    }
}
