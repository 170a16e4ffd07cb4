//! The lease pool: placement sets rest there between passes. Taking a set out of the pool takes its lease.

use crate::config::NodeOrderKind;
use crate::ids::{PartitionId, SETS_MAX, SetId};
use crate::place::PlacementSet;
use crate::sync::{AtomicU64, Mutex, Ordering};

/// Where placement sets rest between passes.
///
/// At most one proposer has a set at a time, until its batch is decided. That is an optimisation: the committer
/// resolves conflicts between batches either way.
#[derive(Debug)]
pub(crate) struct Leases {
    slots: Vec<Mutex<Slot>>,
    /// By partition: the sets over which a pass could find something, one bit each. Written under
    /// the write guard, before the signal is raised; taking a set clears its bit.
    wanted: Vec<AtomicU64>,
    /// Low half: how many sets are not in the pool, or about to go. High half: how often one came back.
    out: AtomicU64,
    /// How many may be out at a time; written by the committer. A set more for a moment does no harm.
    out_max: AtomicU64,
    order: NodeOrderKind,
}

#[derive(Debug, Default)]
struct Slot {
    leased: bool,
    set: Option<Box<PlacementSet>>,
}

/// The outcome of looking for a set.
#[derive(Debug)]
pub(crate) enum Checkout {
    Taken(Box<PlacementSet>),
    /// None is wanted, in the pool, and allowed out.
    Nothing,
    /// None, but for a moment one was counted as out. If the committer looked in that moment, it took the engine for
    /// busy, and has to look again.
    InVain,
}

#[cfg(all(test, apportion_loom))]
impl Checkout {
    pub(crate) fn taken(self) -> Option<Box<PlacementSet>> {
        if let Self::Taken(set) = self { Some(set) } else { None }
    }
}

const OUT: u64 = (1 << 32) - 1;
/// Added to the word that counts when a set comes back: one less out, one more return.
const RETURNED: u64 = (1 << 32) - 1;

/// A set about to be out; dropped, it was not.
struct CheckOut<'a>(&'a AtomicU64);

impl<'a> CheckOut<'a> {
    fn out(out: &'a AtomicU64) -> Self {
        out.fetch_add(1, Ordering::AcqRel);
        Self(out)
    }

    fn stay_out(self) {
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
            out: AtomicU64::new(0),
            out_max: AtomicU64::new(u64::MAX),
            order,
        }
    }

    /// Takes the set if it is in the pool, whether or not a pass over it is wanted.
    #[cfg(test)]
    pub(crate) fn try_take(&self, id: SetId) -> Option<Box<PlacementSet>> {
        let mut looked_in_vain = false;
        self.wanted[id.partition().index()].fetch_or(id.bit(), Ordering::AcqRel);
        self.take(id, &mut looked_in_vain)
    }

    /// Takes the set if it is in the pool and still wanted. It counts as wanted again once it is published.
    fn take(&self, id: SetId, looked_in_vain: &mut bool) -> Option<Box<PlacementSet>> {
        let mut slot = self.slots[id.index()].lock();
        if slot.leased {
            return None;
        }
        // Counted before the bit goes: who sees the bit gone sees the count.
        let check_out = CheckOut::out(&self.out);
        if self.wanted[id.partition().index()].fetch_and(!id.bit(), Ordering::AcqRel) & id.bit() == 0 {
            *looked_in_vain = true;
            return None;
        }
        check_out.stay_out();
        slot.leased = true;
        let set = slot.set.take();
        drop(slot);
        Some(set.unwrap_or_else(|| Box::new(PlacementSet::new(id, self.order))))
    }

    /// Lets so many sets be out at a time.
    pub(crate) fn set_out_max(&self, sets: u64) {
        self.out_max.store(sets, Ordering::Relaxed);
    }

    /// Takes a wanted set, looking from the `start`-th set on so that proposers spread out; none while as many are
    /// out as may be. Each of those comes back in a group commit or in an undo, after which the signal is raised.
    pub(crate) fn take_wanted(&self, start: u32) -> Checkout {
        let mut looked_in_vain = false;
        if self.count_out() >= self.out_max.load(Ordering::Relaxed) {
            return Checkout::Nothing;
        }
        // All sets from `start` on, then those before it: a proposer that starts behind its last set reaches them all.
        let (first, behind) =
            (start as usize / SETS_MAX % self.wanted.len(), u64::MAX << (start as usize % SETS_MAX));
        let others = (1..self.wanted.len()).map(|offset| ((first + offset) % self.wanted.len(), u64::MAX));
        let mut looks =
            std::iter::once((first, behind)).chain(others).chain(std::iter::once((first, !behind)));
        let taken = looks.find_map(|(partition, mask)| {
            let wanted = self.wanted[partition].load(Ordering::Acquire) & mask;
            SetId::from_bits(PartitionId(partition as u32), wanted)
                .find_map(|set| self.take(set, &mut looked_in_vain))
        });
        match taken {
            Some(set) => Checkout::Taken(set),
            None if looked_in_vain => Checkout::InVain,
            None => Checkout::Nothing,
        }
    }

    /// How many proposers could take a wanted set now; some of those sets may be out.
    pub(crate) fn takeable(&self) -> usize {
        let may_go_out = self.out_max.load(Ordering::Relaxed).saturating_sub(self.count_out());
        u64::from(self.count_wanted()).min(may_go_out) as usize
    }

    /// Gives a set back.
    pub(crate) fn give_back(&self, set: Box<PlacementSet>) {
        let mut slot = self.slots[set.id().index()].lock();
        debug_assert!(slot.leased, "a set comes back once");
        *slot = Slot { leased: false, set: Some(set) };
        self.out.fetch_add(RETURNED, Ordering::Release);
    }

    /// Looks at the set in its slot, if it is in the pool. Meanwhile it cannot be taken, but it counts as in the pool,
    /// so looking changes no count.
    pub(crate) fn look_at<T>(&self, id: SetId, look: impl FnOnce(&mut PlacementSet) -> T) -> Option<T> {
        let mut slot = self.slots[id.index()].lock();
        slot.set.as_mut().map(|set| look(set))
    }

    /// Says which sets of a partition are worth a pass. A bit that is taken meanwhile is seen: the swap acquires what
    /// its taker released.
    pub(crate) fn publish_wanted(&self, partition: PartitionId, sets: u64) {
        let wanted = &self.wanted[partition.index()];
        if wanted.load(Ordering::Acquire) != sets {
            wanted.swap(sets, Ordering::AcqRel);
        }
    }

    /// How many sets are worth a pass.
    pub(crate) fn count_wanted(&self) -> u32 {
        self.wanted.iter().map(|sets| sets.load(Ordering::Acquire).count_ones()).sum()
    }

    /// How many sets are not in the pool.
    pub(crate) fn count_out(&self) -> u64 {
        self.out.load(Ordering::Acquire) & OUT
    }

    /// How many sets are worth a pass, and how many somebody has. One that came back meanwhile counts as out, so that
    /// none is missed which was out at the first look and wanted at the second. A look in vain does not count: a
    /// proposer may look at old bits long after everybody was told that all is quiet.
    pub(crate) fn count(&self) -> (u32, u64) {
        let returns = || self.out.load(Ordering::Acquire) & !OUT;
        let before = returns();
        let wanted = self.count_wanted();
        // A slot is locked until its set is counted, so between unchanged counts none has come back.
        let leased = self.slots.iter().filter(|slot| slot.lock().leased).count() as u64;
        let has_returned = returns() != before;
        (wanted, leased.max(u64::from(has_returned)))
    }

    /// Whether any set is worth a pass.
    pub(crate) fn any_wanted(&self) -> bool {
        self.count_wanted() > 0
    }

    /// Whether every set is in the pool and none is worth a pass. Then none can be taken before the next publication.
    /// A set that is taken is out before its bit is gone, and one that is dropped is wanted before it is in the pool,
    /// so neither is overlooked between the two looks at the count; the high half tells if one came back.
    pub(crate) fn is_idle(&self) -> bool {
        let before = self.out.load(Ordering::Acquire);
        before & OUT == 0 && !self.any_wanted() && self.out.load(Ordering::Acquire) == before
    }

    /// Whether every set is in the pool.
    #[cfg(test)]
    pub(crate) fn all_in_pool(&self) -> bool {
        self.count_out() == 0
    }

    /// Whether every set of one partition is in the pool.
    pub(crate) fn all_in_pool_of(&self, partition: PartitionId) -> bool {
        let first = SetId::new(partition, 0).index();
        self.slots[first..first + SETS_MAX].iter().all(|slot| !slot.lock().leased)
    }
}
