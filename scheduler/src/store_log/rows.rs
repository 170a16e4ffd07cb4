//! The bytes of a log, row after row.

use std::io::{self, Read};
use std::iter::Chain;

use redb::{OwnedAccessGuard, OwnedRange, StorageError};

/// Rows with bytes, in the order of their keys.
pub(super) type Range = OwnedRange<u64, &'static [u8]>;

/// The rows of a log as they were at one moment.
pub(super) struct Rows {
    left: Chain<Range, Range>,
    row: Option<OwnedAccessGuard<&'static [u8]>>,
    used: usize,
}

impl Rows {
    pub(super) fn new(beginning: Range, groups: Range) -> Self {
        Self { left: beginning.chain(groups), row: None, used: 0 }
    }

    /// The number of bytes in the rows that no read has begun.
    pub(super) fn length(self) -> Result<u64, StorageError> {
        self.left.map(|row| Ok(row?.1.value().len() as u64)).sum()
    }
}

impl Read for Rows {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(row) = &self.row {
                let length = (&row.value()[self.used..]).read(buffer)?;
                self.used += length;
                if length > 0 || buffer.is_empty() {
                    return Ok(length);
                }
            }
            let Some(next) = self.left.next() else { return Ok(0) };
            (self.row, self.used) = (Some(next.map_err(io::Error::other)?.1), 0);
        }
    }
}
