//! The lease pool: placement sets rest there between passes. Taking a set out of the pool takes its lease.

use super::gang_search::GangSlot;
use crate::config::NodeOrderKind;
use crate::ids::{PartitionId, SETS_MAX, SetId};
use crate::place::PlacementSet;
use crate::sync::{AtomicU64, Mutex, Ordering};

/// Where placement sets rest between passes.
///
/// At most one proposer has a set at a time, until its batch is decided. Leases are an optimisation: the committer
/// resolves conflicts between batches either way.
#[derive(Debug)]
pub(crate) struct Leases {
    slots: Vec<Mutex<Slot>>,
    /// By partition: the sets over which a pass could find something, one bit each. Written under
    /// the write guard, before the signal is raised; taking a set clears its bit.
    wanted: Vec<AtomicU64>,
    /// Low half: the sets that are checked out or about to leave it. High half: the number of returns.
    pub(super) checked_out: AtomicU64,
    /// The most sets that may be checked out at a time; written by the committer. Exceeding it by one set for a moment
    /// does no harm.
    checked_out_max: AtomicU64,
    order: NodeOrderKind,
    /// 1 if waiting gangs are worth a search. Written and taken as `wanted` is.
    pub(super) gangs_wanted: AtomicU64,
    pub(super) gang_slot: Mutex<GangSlot>,
}

#[derive(Debug, Default)]
struct Slot {
    leased: bool,
    set: Option<Box<PlacementSet>>,
}

/// The outcome of an attempt to take a lease: of a set, or of the search for gangs.
#[derive(Debug)]
pub(crate) enum Checkout<T> {
    Taken(Box<T>),
    /// No wanted set in the pool may leave it now.
    Nothing,
    /// None was taken. The attempt raised the count for a moment, in which the committer may have taken
    /// the engine for busy, so it has to look again.
    Undone,
}

#[cfg(all(test, apportion_loom))]
impl<T> Checkout<T> {
    pub(crate) fn taken(self) -> Option<Box<T>> {
        if let Self::Taken(set) = self { Some(set) } else { None }
    }
}

const CHECKED_OUT: u64 = (1 << 32) - 1;
/// Added to `checked_out` when a set comes back: one set less, one more return.
pub(super) const RETURNED: u64 = (1 << 32) - 1;

/// Counts a set as checked out. Dropping the guard undoes that.
pub(super) struct CheckOut<'a>(&'a AtomicU64);

impl<'a> CheckOut<'a> {
    pub(super) fn begin(checked_out: &'a AtomicU64) -> Self {
        checked_out.fetch_add(1, Ordering::AcqRel);
        Self(checked_out)
    }

    pub(super) fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for CheckOut<'_> {
    fn drop(&mut self) {
        self.0.take_back(1, Ordering::Release);
    }
}

impl Leases {
    pub(crate) fn new(partitions: usize, order: NodeOrderKind) -> Self {
        Self {
            slots: (0..partitions * SETS_MAX).map(|_| Mutex::new(Slot::default())).collect(),
            wanted: (0..partitions).map(|_| AtomicU64::new(0)).collect(),
            checked_out: AtomicU64::new(0),
            checked_out_max: AtomicU64::new(u64::MAX),
            order,
            gangs_wanted: AtomicU64::new(0),
            gang_slot: Mutex::new(GangSlot::default()),
        }
    }

    /// Whether waiting gangs are worth a search.
    #[inline]
    pub(crate) fn wants_gangs(&self) -> bool {
        self.gangs_wanted.load(Ordering::Acquire) != 0
    }

    /// Takes the set if it is in the pool, whether or not a pass over it is wanted.
    #[cfg(test)]
    pub(crate) fn try_take(&self, id: SetId) -> Option<Box<PlacementSet>> {
        let mut was_undone = false;
        self.wanted[id.partition().index()].fetch_or(id.bit(), Ordering::AcqRel);
        self.take(id, &mut was_undone)
    }

    /// Takes the set if it is in the pool and still wanted. It counts as wanted again once it is published.
    fn take(&self, id: SetId, was_undone: &mut bool) -> Option<Box<PlacementSet>> {
        let mut slot = self.slots[id.index()].lock();
        if slot.leased {
            return None;
        }
        // Counted before the bit is cleared: a thread that sees the bit cleared also sees the count.
        let check_out = CheckOut::begin(&self.checked_out);
        if self.wanted[id.partition().index()].fetch_and(!id.bit(), Ordering::AcqRel) & id.bit() == 0 {
            *was_undone = true;
            return None;
        }
        check_out.keep();
        slot.leased = true;
        let set = slot.set.take();
        drop(slot);
        Some(set.unwrap_or_else(|| Box::new(PlacementSet::new(id, self.order))))
    }

    /// Sets the most sets that may be checked out at a time.
    pub(crate) fn set_checked_out_max(&self, sets: u64) {
        self.checked_out_max.store(sets, Ordering::Relaxed);
    }

    /// Takes a wanted set, searching from the `start`-th set on so that proposers spread out. Takes none while the
    /// maximum is checked out. Each of those comes back in a group commit or an undo, which raises the signal.
    pub(crate) fn take_wanted(&self, start: u32) -> Checkout<PlacementSet> {
        let mut was_undone = false;
        if self.count_checked_out() >= self.checked_out_max.load(Ordering::Relaxed) {
            return Checkout::Nothing;
        }
        // All sets from `start` on, then those before it: a proposer that starts after its last set reaches all sets.
        let (first, behind) =
            (start as usize / SETS_MAX % self.wanted.len(), u64::MAX << (start as usize % SETS_MAX));
        let others = (1..self.wanted.len()).map(|offset| ((first + offset) % self.wanted.len(), u64::MAX));
        let mut words =
            std::iter::once((first, behind)).chain(others).chain(std::iter::once((first, !behind)));
        let taken = words.find_map(|(partition, mask)| {
            let wanted = self.wanted[partition].load(Ordering::Acquire) & mask;
            SetId::from_bits(PartitionId(partition as u32), wanted)
                .find_map(|set| self.take(set, &mut was_undone))
        });
        match taken {
            Some(set) => Checkout::Taken(set),
            None if was_undone => Checkout::Undone,
            None => Checkout::Nothing,
        }
    }

    /// The number of proposers that could take a wanted set now. Some of the counted sets may be checked out.
    pub(crate) fn takeable(&self) -> usize {
        let allowed = self.checked_out_max.load(Ordering::Relaxed).saturating_sub(self.count_checked_out());
        u64::from(self.count_wanted()).min(allowed) as usize
    }

    /// Gives a set back.
    pub(crate) fn give_back(&self, set: Box<PlacementSet>) {
        let mut slot = self.slots[set.id().index()].lock();
        debug_assert!(slot.leased, "a set comes back once");
        *slot = Slot { leased: false, set: Some(set) };
        self.checked_out.fetch_add(RETURNED, Ordering::Release);
    }

    /// Passes the set to `inspect` in its slot, if it is in the pool. Meanwhile no proposer can take the set. It still
    /// counts as in the pool.
    pub(crate) fn inspect<T>(&self, id: SetId, inspect: impl FnOnce(&mut PlacementSet) -> T) -> Option<T> {
        let mut slot = self.slots[id.index()].lock();
        slot.set.as_mut().map(|set| inspect(set))
    }

    /// Publishes which sets of a partition are worth a pass. If a proposer takes a set meanwhile, the swap acquires its
    /// release, so the caller sees that.
    pub(crate) fn publish_wanted(&self, partition: PartitionId, sets: u64) {
        let wanted = &self.wanted[partition.index()];
        if wanted.load(Ordering::Acquire) != sets {
            wanted.swap(sets, Ordering::AcqRel);
        }
    }

    /// The number of sets that are worth a pass, and one more if gangs are worth a search.
    pub(crate) fn count_wanted(&self) -> u32 {
        let sets: u32 = self.wanted.iter().map(|sets| sets.load(Ordering::Acquire).count_ones()).sum();
        sets + self.gangs_wanted.load(Ordering::Acquire) as u32
    }

    /// The number of sets that are not in the pool.
    pub(crate) fn count_checked_out(&self) -> u64 {
        self.checked_out.load(Ordering::Acquire) & CHECKED_OUT
    }

    /// The number of wanted sets, and the number of leased sets. A set that came back meanwhile counts as leased.
    /// Otherwise a set that was checked out at the first count and wanted at the second would be missed. A failed try
    /// does not count: a proposer may read old bits long after the engine reported that it is quiet.
    pub(crate) fn count(&self) -> (u32, u64) {
        let returns = || self.checked_out.load(Ordering::Acquire) & !CHECKED_OUT;
        let before = returns();
        let wanted = self.count_wanted();
        // A slot stays locked until its set's return is counted. So if the returns are unchanged, no set has come back.
        let leased = self.slots.iter().filter(|slot| slot.lock().leased).count() as u64
            + u64::from(self.is_searching_for_gangs());
        let has_returned = returns() != before;
        (wanted, leased.max(u64::from(has_returned)))
    }

    /// Whether any set is worth a pass.
    pub(crate) fn any_wanted(&self) -> bool {
        self.count_wanted() > 0
    }

    /// Whether every set is in the pool and none is worth a pass. Then no set can be taken before the next publication.
    /// A taken set is checked out before its bit is cleared, and a dropped set is wanted before it is in the pool. So
    /// the two reads of the count overlook neither; the high half shows whether a set came back.
    pub(crate) fn is_idle(&self) -> bool {
        let before = self.checked_out.load(Ordering::Acquire);
        before & CHECKED_OUT == 0 && !self.any_wanted() && self.checked_out.load(Ordering::Acquire) == before
    }

    /// Whether every set is in the pool.
    #[cfg(test)]
    pub(crate) fn all_in_pool(&self) -> bool {
        self.count_checked_out() == 0
    }

    /// Whether every set of one partition is in the pool.
    pub(crate) fn all_in_pool_of(&self, partition: PartitionId) -> bool {
        let first = SetId::new(partition, 0).index();
        self.slots[first..first + SETS_MAX].iter().all(|slot| !slot.lock().leased)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both partitions want every set. Starts count through the sets of the first one, then of the second, and begin
    /// again behind the last.
    #[test]
    fn the_first_set_to_be_taken_is_the_start_th_of_all() {
        for (start, partition, number) in
            [(0, 0, 0), (3, 0, 3), (63, 0, 63), (64, 1, 0), (69, 1, 5), (130, 0, 2)]
        {
            let leases = Leases::new(2, NodeOrderKind::First);
            [0, 1].iter().for_each(|number| leases.publish_wanted(PartitionId(*number), u64::MAX));
            let Checkout::Taken(set) = leases.take_wanted(start) else { panic!("a set is wanted") };
            assert_eq!(set.id(), SetId::new(PartitionId(partition), number), "from {start}");
        }
    }

    /// A set that is checked out keeps its partition from being cut anew, and no other partition.
    #[test]
    fn a_partition_is_in_the_pool_while_none_of_its_sets_is_out() {
        let leases = Leases::new(2, NodeOrderKind::First);
        let set = leases.try_take(SetId::new(PartitionId(0), 3)).unwrap();
        let in_pool = || [0, 1].map(|number| leases.all_in_pool_of(PartitionId(number)));
        assert_eq!(in_pool(), [false, true]);
        leases.give_back(set);
        assert_eq!(in_pool(), [true, true]);
    }
}
