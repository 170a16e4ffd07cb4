//! Encodes changes in postcard's format.
//!
//! Three changes make up nearly all of a log: a plain ask, an accepted request for one container, and the end of a
//! container. Their records are written by hand, because serde's calls cost three times as many instructions. The
//! test below compares the bytes with postcard's. Every other change goes through postcard.

use postcard::ser_flavors::ExtendFlavor;

use crate::change::{AskSpec, Change, SubmittedAsk};
use crate::facts::EndCause;
use crate::ids::{ApplicationId, AskId, ContainerId, SlotId};
use crate::request::ResourceAllocationCommitRequest;
use crate::resource::{RESOURCE_TYPES_MAX, Resources};

// The positions of the variants of `Change`.
const ASK_SUBMITTED: u8 = 14;
const CONTAINER_ENDED: u8 = 22;
const COMMITTED: u8 = 27;
// The positions of the variants of `Option`.
const NONE: u8 = 0;
const SOME: u8 = 1;

/// Appends changes to a frame.
#[derive(Debug, Default)]
pub(super) struct Encoder {
    frame: Vec<u8>,
    records: Records,
}

impl Encoder {
    /// An encoder that appends to `frame`.
    pub(super) fn new(frame: Vec<u8>) -> Self {
        Self { frame, records: Records::default() }
    }

    /// Appends any change.
    pub(super) fn add(&mut self, change: &Change) {
        let is_plain = self.add_plain(|records| match change {
            Change::AskSubmitted { ask, application, spec } => {
                records.put_plain_ask(*ask, *application, spec, spec.count, spec.allocation_request_id)
            }
            Change::ContainerEnded { container, cause } => records.put_end(*container, *cause),
            Change::Committed { request } => records.put_single(request),
            _ => false,
        });
        if !is_plain {
            self.add_by_postcard(change);
        }
    }

    /// Appends the [`Change::AskSubmitted`] of an ask of this kind.
    pub(super) fn add_ask(&mut self, submitted: &SubmittedAsk, kind: &AskSpec) {
        let SubmittedAsk { ask, of } = *submitted;
        let is_plain = self.add_plain(|records| {
            records.put_plain_ask(ask, of.application, kind, of.count, of.allocation_request_id)
        });
        if !is_plain {
            self.add_by_postcard(&submitted.change(kind));
        }
    }

    /// Appends the [`Change::ContainerEnded`] of a container that has finished.
    pub(super) fn add_completion(&mut self, container: ContainerId) {
        self.add_plain(|records| records.put_end(container, EndCause::Completed));
    }

    /// Appends a [`Change::Committed`].
    pub(super) fn add_request(&mut self, request: ResourceAllocationCommitRequest) {
        if !self.add_plain(|records| records.put_single(&request)) {
            self.add_by_postcard(&Change::Committed { request });
        }
    }

    /// The frame with everything appended so far.
    pub(super) fn into_frame(mut self) -> Vec<u8> {
        self.move_to_frame();
        self.frame
    }

    /// Appends a record if `put` can write it.
    #[inline]
    fn add_plain(&mut self, put: impl FnOnce(&mut Records) -> bool) -> bool {
        if self.records.length > RECORDS_FULL {
            self.move_to_frame();
        }
        let before = self.records.length;
        let is_plain = put(&mut self.records);
        if !is_plain {
            self.records.length = before;
        }
        is_plain
    }

    fn move_to_frame(&mut self) {
        self.frame.extend_from_slice(&self.records.bytes[..usize::from(self.records.length)]);
        self.records.length = 0;
    }

    fn add_by_postcard(&mut self, change: &Change) {
        self.move_to_frame();
        let frame = ExtendFlavor::new(std::mem::take(&mut self.frame));
        self.frame =
            postcard::serialize_with_flavor(change, frame).expect("changes have no unsizable sequences");
    }
}

/// The most bytes of a number with this many bits.
const fn bytes_of(bits: usize) -> usize {
    bits.div_ceil(7)
}

/// The most bytes of the longest record, a plain ask. It has two identifiers and the size. Then come the parts from the
/// devices to the partition and from the hosts to the allocation request.
const RECORD_BYTES_MAX: usize = 1
    + 4 * bytes_of(32)
    + (1 + RESOURCE_TYPES_MAX * bytes_of(64))
    + (1 + 2 * bytes_of(32) + 1 + bytes_of(32))
    + (2 + 1 + 2 + 1 + bytes_of(64));

/// Beyond this length, the longest record may find no room.
const RECORDS_FULL: u8 = (u8::MAX as usize - RECORD_BYTES_MAX) as u8;

/// The bytes of a few records, on their way to the frame. A length of eight bits indexes without a check.
#[derive(Debug)]
struct Records {
    bytes: [u8; 256],
    length: u8,
}

impl Records {
    /// Writes an ask without devices, preferences, rule and tags. For any other ask it returns false, and its
    /// bytes are useless.
    fn put_plain_ask(
        &mut self,
        ask: AskId,
        application: ApplicationId,
        spec: &AskSpec,
        count: u32,
        allocation_request_id: u64,
    ) -> bool {
        // The pattern names all fields, so that a new field must be encoded here.
        #[rustfmt::skip]
        let AskSpec {
            size, devices, count: _, priority, partition, preference, rule, tags, is_master, allocation_request_id: _,
            execution_type,
        } = spec;
        if devices.is_some() || rule.is_some() || tags.is_some() || !preference.is_empty() {
            return false;
        }
        self.put(ASK_SUBMITTED);
        self.put_id(ask);
        self.put_id(application);
        self.put_resources(size);
        self.put(NONE);
        self.put_number(count.into());
        self.put_number((*priority).into());
        match partition {
            None => self.put(NONE),
            Some(partition) => {
                self.put(SOME);
                self.put_number(partition.0.into());
            }
        }
        // No hosts and no racks.
        self.put(0);
        self.put(0);
        self.put(preference.relax_locality.into());
        self.put(NONE);
        self.put(NONE);
        self.put(AskSpec::flags(*is_master, *execution_type));
        self.put_number(allocation_request_id);
        true
    }

    fn put_end(&mut self, container: ContainerId, cause: EndCause) -> bool {
        self.put(CONTAINER_ENDED);
        self.put_id(container);
        self.put(cause as u8);
        true
    }

    /// Writes a request for one container that uses no reservation. Returns false for any other request.
    fn put_single(&mut self, request: &ResourceAllocationCommitRequest) -> bool {
        let Some(proposal) = request.as_single() else { return false };
        self.put(COMMITTED);
        self.put(1);
        self.put_id(proposal.ask);
        self.put_id(proposal.node);
        self.put(NONE);
        // No reservation, no release, no end of a reservation.
        (0..3).for_each(|_| self.put(0));
        true
    }

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

impl Default for Records {
    fn default() -> Self {
        Self { bytes: [0; 256], length: 0 }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;
    use smallvec::smallvec;
    use thin_vec::thin_vec;

    use super::*;
    use crate::facts::ExecutionType;
    use crate::ids::{NodeId, PartitionId, RackId, ReservationId};
    use crate::request::AllocationProposal;
    use crate::resource::{AMOUNT_MAX, DeviceNeed};

    fn id<T: SlotId>() -> impl Strategy<Value = T> {
        (any::<u32>(), any::<u32>()).prop_map(|(index, generation)| T::new(index, generation))
    }

    fn asks() -> impl Strategy<Value = Change> {
        let spec = (
            prop::collection::vec(-AMOUNT_MAX..=AMOUNT_MAX, 0..=8),
            any::<(u32, u32, Option<u32>, bool, bool)>(),
            any::<(bool, bool, bool)>(),
        );
        let spec = spec.prop_map(|(size, numbers, (host, rack, devices))| {
            let (count, priority, partition, is_master, relax_locality) = numbers;
            let execution_type =
                if count % 2 == 0 { ExecutionType::Guaranteed } else { ExecutionType::Opportunistic };
            let mut spec = AskSpec {
                count,
                priority,
                is_master,
                execution_type,
                ..AskSpec::new(Resources::new(&size), 1)
            };
            spec.partition = partition.map(PartitionId);
            spec.preference.relax_locality = relax_locality;
            spec.preference.hosts.extend(host.then(|| NodeId::new(300, 1)));
            spec.preference.racks.extend(rack.then_some(RackId(200)));
            spec.devices = devices.then_some(DeviceNeed { count: 1, milli: 500 });
            if host && devices { spec.with_tag("web") } else { spec }
        });
        (id(), id(), spec).prop_map(|(ask, application, spec)| Change::AskSubmitted {
            ask,
            application,
            spec,
        })
    }

    fn requests() -> impl Strategy<Value = Change> {
        let lists = (any::<bool>(), any::<bool>(), any::<bool>(), 0_usize..3);
        (id(), id(), id(), id(), lists).prop_map(|(ask, node, reservation, container, lists)| {
            let (is_reserved, releases, reserves, count) = lists;
            let from_reservation = is_reserved.then_some(reservation);
            let mut request = ResourceAllocationCommitRequest {
                allocate: smallvec![AllocationProposal { ask, node, from_reservation }; count],
                ..ResourceAllocationCommitRequest::default()
            };
            if releases {
                request.release = thin_vec![container];
            }
            if reserves {
                request.reserve = ResourceAllocationCommitRequest::reserve(ask, node).reserve;
                request.unreserve = thin_vec![ReservationId::new(7, 8)];
            }
            Change::Committed { request }
        })
    }

    fn ends() -> impl Strategy<Value = Change> {
        let cause = prop::sample::select(vec![
            EndCause::Completed,
            EndCause::Released,
            EndCause::NodeLost,
            EndCause::ApplicationEnded,
            EndCause::Preempted,
            EndCause::StopTimedOut,
            EndCause::OpportunisticPreempted,
        ]);
        (id(), cause).prop_map(|(container, cause)| Change::ContainerEnded { container, cause })
    }

    proptest! {
        #[test]
        fn records_equal_those_of_postcard(changes in prop::collection::vec(prop_oneof![asks(), requests(), ends()], 1..9)) {
            let mut encoder = Encoder::new(vec![1, 2, 3]);
            let mut expected = vec![1, 2, 3];
            for change in changes {
                expected.extend(postcard::to_allocvec(&change).unwrap());
                match change {
                    Change::Committed { request } if request.reserve.is_empty() => encoder.add_request(request),
                    change => encoder.add(&change),
                }
            }
            prop_assert_eq!(encoder.into_frame(), expected);
        }
    }

    /// An ask whose parts are all as long as they can be, with this amount of each type.
    fn longest(amount: i64) -> Change {
        let mut spec = AskSpec { priority: u32::MAX, ..AskSpec::new(Resources::new(&[amount; 8]), u32::MAX) }
            .in_partition(PartitionId(u32::MAX));
        spec.allocation_request_id = u64::MAX;
        let (ask, application) = (AskId::new(u32::MAX, u32::MAX), ApplicationId::new(u32::MAX, u32::MAX));
        Change::AskSubmitted { ask, application, spec }
    }

    /// The length of eight bits must not wrap. Ends of four and five bytes fill the records to each length before it.
    #[test]
    fn the_longest_plain_ask_fits_behind_any_records() {
        let end = |index| Change::ContainerEnded {
            container: ContainerId::new(index, 0),
            cause: EndCause::Completed,
        };
        let mut lengths = BTreeSet::new();
        for (short, long) in (0..64).flat_map(|short| (0..4).map(move |long| (short, long))) {
            for ask in [longest(AMOUNT_MAX), longest(i64::MIN)] {
                let mut encoder = Encoder::new(Vec::new());
                let mut expected = Vec::new();
                let ends = (0..short).map(|_| end(1)).chain((0..long).map(|_| end(1 << 7)));
                for change in ends {
                    encoder.add(&change);
                    expected.extend(postcard::to_allocvec(&change).unwrap());
                }
                lengths.insert(encoder.records.length);
                encoder.add(&ask);
                expected.extend(postcard::to_allocvec(&ask).unwrap());
                assert_eq!(encoder.into_frame(), expected, "{short} short and {long} long ends");
            }
        }
        assert!(lengths.contains(&RECORDS_FULL));
        assert_eq!(postcard::to_allocvec(&longest(i64::MIN)).unwrap().len(), RECORD_BYTES_MAX);
    }
}
