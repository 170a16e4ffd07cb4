//! A bound on the work that a small file can ask for: one line may say "a million copies".

/// Containers that may still be read.
#[derive(Debug)]
pub(super) struct Budget {
    most: u64,
    left: u64,
}

impl Budget {
    /// Room for this many.
    pub(super) fn new(most: u64) -> Self {
        Self { most, left: most }
    }

    /// Takes room for `count` containers before they are made.
    ///
    /// # Errors
    /// When that is more than is left.
    pub(super) fn take(&mut self, count: u64) -> Result<(), String> {
        let left = self.left.checked_sub(count);
        self.left = left.ok_or_else(|| {
            format!(
                "{count} containers more are too many; the limit is {} in all (`containers_max`)",
                self.most
            )
        })?;
        Ok(())
    }
}
