//! Damaged files, for the tests of all readers.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

/// Replaces some bytes of a file, and may cut it off.
#[derive(Clone, Debug)]
pub(crate) struct Damage {
    bytes: Vec<(Index, u8)>,
    end: Index,
}

/// Damage to one to three bytes.
pub(crate) fn damage() -> impl Strategy<Value = Damage> {
    (vec((any::<Index>(), any::<u8>()), 1..4), any::<Index>()).prop_map(|(bytes, end)| Damage { bytes, end })
}

impl Damage {
    /// Reads the damaged file, whole and cut off.
    pub(crate) fn read_with(&self, file: String, read: impl Fn(&[u8])) {
        let mut data = file.into_bytes();
        for (index, byte) in &self.bytes {
            let position = index.index(data.len());
            data[position] = *byte;
        }
        read(&data);
        data.truncate(self.end.index(data.len()));
        read(&data);
    }
}
