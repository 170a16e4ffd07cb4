//! Registered kinds of asks, each with the parts of its records that are identical for all asks of the kind.

use super::records::{Records, ask_bytes_max};
use crate::change::AskSpec;

/// A registered kind of asks.
#[derive(Clone, Debug)]
pub(crate) struct EncodedKind {
    /// The description of its asks, for one container and without an allocation request.
    pub(crate) spec: AskSpec,
    /// Only if its asks are encoded by hand and the parts are short. Other asks are encoded from the description.
    pub(super) parts: Option<KindParts>,
}

/// The parts of an ask's record before and after the number of containers.
#[derive(Clone, Debug)]
pub(super) struct KindParts {
    pub(super) before_count: Part,
    pub(super) after_count: Part,
}

/// A part of a record.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) bytes: [u8; Self::BYTES_MAX],
    pub(super) length: u8,
}

impl EncodedKind {
    pub(crate) fn new(spec: AskSpec) -> Self {
        let parts = KindParts::of(&spec);
        Self { spec, parts }
    }
}

impl KindParts {
    fn of(spec: &AskSpec) -> Option<Self> {
        ask_bytes_max(spec)?;
        let before_count = Part::written(|records| records.put_before_count(spec))?;
        let after_count = Part::written(|records| records.put_after_count(spec))?;
        Some(Self { before_count, after_count })
    }
}

impl Part {
    /// Most parts have about ten bytes. Two instructions copy a block of 16.
    pub(super) const BYTES_MAX: usize = 16;

    /// The bytes that `write` writes, if they are few enough.
    fn written(write: impl FnOnce(&mut Records)) -> Option<Self> {
        let mut records = Records::default();
        write(&mut records);
        let mut bytes = [0; Self::BYTES_MAX];
        let written = records.as_slice();
        bytes.get_mut(..written.len())?.copy_from_slice(written);
        Some(Self { bytes, length: written.len() as u8 })
    }
}
