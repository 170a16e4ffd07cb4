//! Encodes changes in postcard's format.
//!
//! Three changes make up nearly all of a log: an ask, an accepted request for one container, and the end of a
//! container. `records.rs` writes them by hand, because serde's calls cost three times as many instructions. The tests
//! below compare the bytes with postcard's. Every other change goes through postcard.

use postcard::ser_flavors::ExtendFlavor;

use super::encoded_kind::EncodedKind;
use super::records::{BASE_BYTES_MAX, Records, ask_bytes_max};
use crate::change::{Change, SubmittedAsk};
use crate::facts::EndCause;
use crate::ids::ContainerId;
use crate::request::ResourceAllocationCommitRequest;

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
        match change {
            Change::AskSubmitted { ask, application, spec } if let Some(bytes_max) = ask_bytes_max(spec) => {
                let records = self.records_with_room(bytes_max);
                records.put_ask(*ask, *application, spec, spec.count, spec.allocation_request_id);
            }
            Change::ContainerEnded { container, cause } => {
                self.records_with_room(BASE_BYTES_MAX).put_end(*container, *cause);
            }
            Change::Committed { request } if let Some(proposal) = request.as_single() => {
                self.records_with_room(BASE_BYTES_MAX).put_committed(proposal);
            }
            _ => self.add_by_postcard(change),
        }
    }

    /// Appends the [`Change::AskSubmitted`] of an ask of this kind.
    pub(super) fn add_ask(&mut self, submitted: &SubmittedAsk, kind: &EncodedKind) {
        let SubmittedAsk { ask, of } = *submitted;
        if let Some(parts) = &kind.parts {
            self.records_with_room(BASE_BYTES_MAX).put_ask_of_kind(submitted, parts);
        } else if let Some(bytes_max) = ask_bytes_max(&kind.spec) {
            let records = self.records_with_room(bytes_max);
            records.put_ask(ask, of.application, &kind.spec, of.count, of.allocation_request_id);
        } else {
            self.add_by_postcard(&submitted.change(&kind.spec));
        }
    }

    /// Appends the [`Change::ContainerEnded`] of a container that has finished.
    pub(super) fn add_completion(&mut self, container: ContainerId) {
        self.records_with_room(BASE_BYTES_MAX).put_end(container, EndCause::Completed);
    }

    /// Appends a [`Change::Committed`].
    pub(super) fn add_request(&mut self, request: ResourceAllocationCommitRequest) {
        match request.as_single() {
            Some(proposal) => self.records_with_room(BASE_BYTES_MAX).put_committed(proposal),
            None => self.add_by_postcard(&Change::Committed { request }),
        }
    }

    /// The frame with everything appended so far.
    pub(super) fn into_frame(mut self) -> Vec<u8> {
        self.move_to_frame();
        self.frame
    }

    /// The buffer with at least `bytes_max` bytes free.
    #[inline]
    fn records_with_room(&mut self, bytes_max: usize) -> &mut Records {
        if !self.records.has_room(bytes_max) {
            self.move_to_frame();
        }
        &mut self.records
    }

    fn move_to_frame(&mut self) {
        self.frame.extend_from_slice(self.records.as_slice());
        self.records.clear();
    }

    fn add_by_postcard(&mut self, change: &Change) {
        self.move_to_frame();
        let frame = ExtendFlavor::new(std::mem::take(&mut self.frame));
        self.frame =
            postcard::serialize_with_flavor(change, frame).expect("changes have no unsizable sequences");
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;
    use smallvec::smallvec;
    use thin_vec::thin_vec;

    use super::*;
    use crate::change::{AskOfKind, AskSpec};
    use crate::facts::ExecutionType;
    use crate::ids::{ApplicationId, AskId, AskKindId, NodeId, PartitionId, RackId, ReservationId, SlotId};
    use crate::log::records::{BUFFER_BYTES_MAX, CONTAINER_ENDED, PREFERRED_BYTES_MAX, PREFERRED_MAX};
    use crate::request::AllocationProposal;
    use crate::resource::{AMOUNT_MAX, DeviceNeed, Resources};

    fn id<T: SlotId>() -> impl Strategy<Value = T> {
        (any::<u32>(), any::<u32>()).prop_map(|(index, generation)| T::new(index, generation))
    }

    fn asks() -> impl Strategy<Value = Change> {
        let spec = (
            prop::collection::vec(-AMOUNT_MAX..=AMOUNT_MAX, 0..=8),
            any::<(u32, u32, Option<u32>, bool, bool)>(),
            (0..=PREFERRED_MAX as u32, 0..3_u32, any::<bool>(), any::<bool>()),
        );
        let spec = spec.prop_map(|(size, numbers, (hosts, racks, devices, tagged))| {
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
            spec.preference.hosts.extend((0..hosts).map(|host| NodeId::new(u32::MAX >> (2 * host), host)));
            spec.preference.racks.extend((0..racks).map(|rack| RackId(u32::MAX >> (9 * rack))));
            spec.devices = devices.then_some(DeviceNeed { count: 1, milli: 500 });
            if tagged { spec.with_tag("web") } else { spec }
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

    /// Half of the kinds are short, so that their parts are encoded once. Ends before the asks move their records.
    fn submitted() -> impl Strategy<Value = (usize, SubmittedAsk, AskSpec)> {
        let short = (id(), id(), any::<(u16, u32, u8, bool)>()).prop_map(|(ask, application, numbers)| {
            let (size, count, priority, is_in_partition) = numbers;
            let size = Resources::new(&[size.into(), size.into()]);
            let mut spec = AskSpec { count, ..AskSpec::new(size, 1) }.with_priority(priority.into());
            spec.partition = is_in_partition.then_some(PartitionId(1));
            Change::AskSubmitted { ask, application, spec }
        });
        let ask = prop_oneof![short, asks()];
        (0..64_usize, ask, any::<u64>()).prop_map(|(ends, change, allocation_request_id)| {
            let Change::AskSubmitted { ask, application, spec } = change else { unreachable!() };
            let of = AskOfKind { application, kind: AskKindId(0), count: spec.count, allocation_request_id };
            (ends, SubmittedAsk { ask, of }, spec)
        })
    }

    /// Encodes these asks of kinds, each behind some ends, and compares with described asks.
    fn expect_as_described(all: Vec<(usize, SubmittedAsk, AskSpec)>) {
        let (mut encoder, mut expected) = (Encoder::new(Vec::new()), Vec::new());
        for (ends, ask, spec) in all {
            for _ in 0..ends {
                encoder.add_completion(ContainerId::new(1, 0));
                expected.extend([CONTAINER_ENDED, 1, 0, EndCause::Completed as u8]);
            }
            expected.extend(postcard::to_allocvec(&ask.change(&spec)).unwrap());
            encoder.add_ask(&ask, &EncodedKind::new(spec));
        }
        assert_eq!(encoder.into_frame(), expected);
    }

    proptest! {
        #[test]
        fn asks_of_kinds_equal_described_ones(all in prop::collection::vec(submitted(), 1..9)) {
            expect_as_described(all);
        }
    }

    /// The size of the first kind takes just the bytes of a part, that of the second one more.
    #[test]
    fn a_kind_with_a_long_part_is_encoded_with_each_ask() {
        for (bits, has_parts) in [(47, true), (48, false)] {
            let spec = AskSpec::new(Resources::new(&[1 << 47, 1 << bits]), 1);
            assert_eq!(EncodedKind::new(spec.clone()).parts.is_some(), has_parts, "{bits} bits");
            let of = AskOfKind {
                application: ApplicationId::new(u32::MAX, u32::MAX),
                kind: AskKindId(0),
                count: u32::MAX,
                allocation_request_id: u64::MAX,
            };
            let ask = SubmittedAsk { ask: AskId::new(u32::MAX, u32::MAX), of };
            (0..64).for_each(|ends| expect_as_described(vec![(ends, ask, spec.clone()); 3]));
        }
    }

    /// An ask whose parts are all as long as they can be, with this amount of each type and so many hosts.
    fn longest(amount: i64, hosts: usize) -> Change {
        let mut spec = AskSpec { priority: u32::MAX, ..AskSpec::new(Resources::new(&[amount; 8]), u32::MAX) }
            .in_partition(PartitionId(u32::MAX))
            .on_hosts(vec![NodeId::new(u32::MAX, u32::MAX); hosts]);
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
            for (amount, hosts) in
                [(AMOUNT_MAX, 0), (i64::MIN, 1), (i64::MIN, PREFERRED_MAX), (i64::MIN, PREFERRED_MAX + 1)]
            {
                let ask = longest(amount, hosts);
                let mut encoder = Encoder::new(Vec::new());
                let mut expected = Vec::new();
                let ends = (0..short).map(|_| end(1)).chain((0..long).map(|_| end(1 << 7)));
                for change in ends {
                    encoder.add(&change);
                    expected.extend(postcard::to_allocvec(&change).unwrap());
                }
                lengths.insert(encoder.records.as_slice().len());
                encoder.add(&ask);
                expected.extend(postcard::to_allocvec(&ask).unwrap());
                assert_eq!(encoder.into_frame(), expected, "{short} short and {long} long ends");
            }
        }
        let bytes = |hosts| postcard::to_allocvec(&longest(i64::MIN, hosts)).unwrap().len();
        assert_eq!(bytes(0), BASE_BYTES_MAX);
        assert_eq!(bytes(PREFERRED_MAX), BASE_BYTES_MAX + PREFERRED_MAX * PREFERRED_BYTES_MAX);
        for bytes in [bytes(0), bytes(1), bytes(PREFERRED_MAX)] {
            assert!(lengths.contains(&(BUFFER_BYTES_MAX - bytes)), "an ask of {bytes} bytes just fits");
        }
    }
}
