//! The records that are encoded by hand: asks, requests for one container, and ends of containers.

use super::encoded_kind::{KindParts, Part};
use crate::change::{AskSpec, SubmittedAsk};
use crate::facts::{EndCause, LocalityPreference};
use crate::ids::{ApplicationId, AskId, ContainerId, SlotId};
use crate::request::AllocationProposal;
use crate::resource::{RESOURCE_TYPES_MAX, Resources};

// The positions of the variants of `Change`.
const ASK_SUBMITTED: u8 = 14;
pub(super) const CONTAINER_ENDED: u8 = 22;
const COMMITTED: u8 = 27;
// The positions of the variants of `Option`.
const NONE: u8 = 0;
const SOME: u8 = 1;

/// The most bytes of a number with this many bits.
const fn bytes_of(bits: usize) -> usize {
    bits.div_ceil(7)
}

/// The most bytes of a record without hosts and racks. The longest is an ask. It has two identifiers and the size. Then
/// come the parts from the devices to the partition and from the hosts to the allocation request.
pub(super) const BASE_BYTES_MAX: usize = 1
    + 4 * bytes_of(32)
    + (1 + RESOURCE_TYPES_MAX * bytes_of(64))
    + (1 + 2 * bytes_of(32) + 1 + bytes_of(32))
    + (2 + 1 + 2 + 1 + bytes_of(64));
/// The most bytes that the buffer holds.
pub(super) const BUFFER_BYTES_MAX: usize = u8::MAX as usize;
/// The most bytes of a host or a rack.
pub(super) const PREFERRED_BYTES_MAX: usize = 2 * bytes_of(32);
/// The most hosts and racks of an ask that is encoded by hand.
pub(super) const PREFERRED_MAX: usize = (BUFFER_BYTES_MAX - BASE_BYTES_MAX) / PREFERRED_BYTES_MAX;

// The blocks of a kind's parts end within the bound of the record.
const _: () = assert!(1 + 5 * bytes_of(32) + 2 * Part::BYTES_MAX <= BASE_BYTES_MAX);

/// The most bytes of the ask's record. `None` if it is not encoded by hand: it has devices, a rule, tags, or more
/// than [`PREFERRED_MAX`] hosts and racks.
// The pattern names all fields, so that a new field must be encoded in this file.
#[rustfmt::skip]
#[inline]
pub(super) fn ask_bytes_max(spec: &AskSpec) -> Option<usize> {
    let AskSpec {
        size: _, devices, count: _, priority: _, partition: _, preference, rule, tags, is_master: _,
        allocation_request_id: _, execution_type: _,
    } = spec;
    let preferred = if preference.is_empty() { 0 } else { preference.hosts.len() + preference.racks.len() };
    let is_by_hand = devices.is_none() && rule.is_none() && tags.is_none() && preferred <= PREFERRED_MAX;
    is_by_hand.then_some(BASE_BYTES_MAX + preferred * PREFERRED_BYTES_MAX)
}

/// A buffer for a few records on their way to the frame. A length of eight bits indexes without a check. Callers make
/// sure that there is [room](Self::has_room).
#[derive(Debug)]
pub(super) struct Records {
    bytes: [u8; 256],
    length: u8,
}

impl Default for Records {
    fn default() -> Self {
        Self { bytes: [0; 256], length: 0 }
    }
}

// The buffer.
impl Records {
    /// Whether `bytes_max` more bytes fit.
    pub(super) fn has_room(&self, bytes_max: usize) -> bool {
        usize::from(self.length) + bytes_max <= BUFFER_BYTES_MAX
    }

    /// The bytes written so far.
    pub(super) fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// Forgets the bytes written so far.
    pub(super) fn clear(&mut self) {
        self.length = 0;
    }
}

// Whole records.
impl Records {
    /// Writes an ask that is encoded by hand: one with [`ask_bytes_max`].
    #[inline]
    pub(super) fn put_ask(
        &mut self,
        ask: AskId,
        application: ApplicationId,
        spec: &AskSpec,
        count: u32,
        allocation_request_id: u64,
    ) {
        self.put(ASK_SUBMITTED);
        self.put_id(ask);
        self.put_id(application);
        self.put_before_count(spec);
        self.put_number(count.into());
        self.put_after_count(spec);
        self.put_number(allocation_request_id);
    }

    /// Writes an ask with the parts of its kind.
    pub(super) fn put_ask_of_kind(&mut self, submitted: &SubmittedAsk, kind: &KindParts) {
        let SubmittedAsk { ask, of } = submitted;
        self.put(ASK_SUBMITTED);
        self.put_id(*ask);
        self.put_id(of.application);
        self.put_part(&kind.before_count);
        self.put_number(of.count.into());
        self.put_part(&kind.after_count);
        self.put_number(of.allocation_request_id);
    }

    pub(super) fn put_end(&mut self, container: ContainerId, cause: EndCause) {
        self.put(CONTAINER_ENDED);
        self.put_id(container);
        self.put(cause as u8);
    }

    /// Writes an accepted request for one container that uses no reservation.
    #[inline]
    pub(super) fn put_committed(&mut self, proposal: &AllocationProposal) {
        self.put(COMMITTED);
        self.put(1);
        self.put_id(proposal.ask);
        self.put_id(proposal.node);
        self.put(NONE);
        // No reservation, no release, no end of a reservation.
        (0..3).for_each(|_| self.put(0));
    }
}

// Parts of asks.
impl Records {
    /// Writes the part between the application and the number of containers.
    pub(super) fn put_before_count(&mut self, spec: &AskSpec) {
        self.put_resources(&spec.size);
        // No devices.
        self.put(NONE);
    }

    /// Writes the part between the number of containers and the allocation request.
    #[inline]
    pub(super) fn put_after_count(&mut self, spec: &AskSpec) {
        self.put_number(spec.priority.into());
        match spec.partition {
            None => self.put(NONE),
            Some(partition) => {
                self.put(SOME);
                self.put_number(partition.0.into());
            }
        }
        if spec.preference.is_empty() {
            // No hosts and no racks.
            self.put(0);
            self.put(0);
        } else {
            self.put_preferred(&spec.preference);
        }
        self.put(spec.preference.relax_locality.into());
        // No rule and no tags.
        self.put(NONE);
        self.put(NONE);
        self.put(AskSpec::flags(spec.is_master, spec.execution_type));
    }

    // Not inlined, because most asks name no hosts.
    #[inline(never)]
    fn put_preferred(&mut self, preference: &LocalityPreference) {
        let LocalityPreference { hosts, racks, relax_locality: _ } = preference;
        self.put(hosts.len() as u8);
        hosts.iter().for_each(|host| self.put_id(*host));
        self.put(racks.len() as u8);
        racks.iter().for_each(|rack| self.put_number(rack.0.into()));
    }

    /// Copies the whole block, because a fixed size is faster. Later writes overwrite the padding.
    fn put_part(&mut self, part: &Part) {
        let start = usize::from(self.length);
        self.bytes[start..start + Part::BYTES_MAX].copy_from_slice(&part.bytes);
        self.length += part.length;
    }
}

// Primitives.
impl Records {
    fn put_resources(&mut self, size: &Resources) {
        let amounts = size.without_trailing_zeros();
        self.put(amounts.len() as u8);
        for amount in amounts {
            self.put_number(((amount << 1) ^ (amount >> 63)) as u64);
        }
    }

    fn put_id(&mut self, id: impl SlotId) {
        self.put_number(id.index() as u64);
        self.put_number(id.generation().into());
    }

    /// Seven bits per byte, the lowest first; the top bit tells that more bytes follow.
    fn put_number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.put(number as u8 | 0x80);
            number >>= 7;
        }
        self.put(number as u8);
    }

    fn put(&mut self, byte: u8) {
        self.bytes[usize::from(self.length)] = byte;
        self.length = self.length.wrapping_add(1);
    }
}
