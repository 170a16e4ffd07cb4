//! The lease of a search for gangs, and the memory of these searches.

use rustc_hash::FxHashMap;

use super::lease::{CheckOut, Checkout, Leases, RETURNED};
use crate::ids::GangId;
use crate::sync::Ordering;

/// At most one proposer searches for gangs at a time: it has the memory of these searches.
#[derive(Debug, Default)]
pub(super) struct GangSlot {
    leased: bool,
    memory: Option<Box<GangMemory>>,
}

/// The gangs that found no room, with the version of the state in which they were looked for. Losing it costs a second
/// search.
#[derive(Clone, Debug, Default)]
pub(crate) struct GangMemory {
    no_room: FxHashMap<GangId, u64>,
    /// The version of the nodes in which a gang that held room was last told to begin again.
    begun_anew: FxHashMap<GangId, u64>,
}

/// Whether a gang that holds room may give it back to hold other room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Restart {
    Allowed,
    TooSoon,
}

impl GangMemory {
    /// Whether the gang found no room, and no node has gained room since.
    pub(crate) fn found_no_room_since(&self, gang: GangId, gained_at: u64) -> bool {
        self.no_room.get(&gang).is_some_and(|seen| *seen >= gained_at)
    }

    pub(crate) fn record_no_room(&mut self, gang: GangId, version: u64) {
        self.no_room.insert(gang, version);
    }

    /// A restart is allowed once for each version of the nodes, so that a gang does not alternate between places.
    pub(crate) fn restart(&self, gang: GangId, nodes_version: u64) -> Restart {
        let was_told = self.begun_anew.get(&gang) == Some(&nodes_version);
        if was_told { Restart::TooSoon } else { Restart::Allowed }
    }

    pub(crate) fn record_begun_anew(&mut self, gang: GangId, nodes_version: u64) {
        self.begun_anew.insert(gang, nodes_version);
    }

    /// Forgets that the gang was told to begin again, because the committer did not follow.
    pub(crate) fn forget_begun_anew(&mut self, gang: GangId) {
        self.begun_anew.remove(&gang);
    }

    /// Forgets gangs that wait no longer.
    pub(crate) fn forget_others(&mut self, waits: impl Fn(GangId) -> bool) {
        self.no_room.retain(|gang, _| waits(*gang));
        self.begun_anew.retain(|gang, _| waits(*gang));
    }
}

impl Leases {
    /// Publishes that waiting gangs are worth a search. The caller holds the write guard, or gives one back.
    pub(crate) fn want_gangs(&self) {
        self.gangs_wanted.swap(1, Ordering::AcqRel);
    }

    /// Takes the lease of a search for gangs, if one is wanted. The search counts as a set that is checked out.
    pub(crate) fn take_gang_search(&self) -> Checkout<GangMemory> {
        let mut slot = self.gang_slot.lock();
        if slot.leased {
            return Checkout::Nothing;
        }
        // Counted before the word is cleared, as in `take`.
        let check_out = CheckOut::begin(&self.checked_out);
        if self.gangs_wanted.swap(0, Ordering::AcqRel) == 0 {
            return Checkout::Undone;
        }
        check_out.keep();
        slot.leased = true;
        Checkout::Taken(slot.memory.take().unwrap_or_default())
    }

    /// Gives the lease of a search for gangs back.
    pub(crate) fn give_back_gang_search(&self, memory: Box<GangMemory>) {
        // Locked until the return is counted, as the slot of a set is.
        let mut slot = self.gang_slot.lock();
        *slot = GangSlot { leased: false, memory: Some(memory) };
        self.checked_out.fetch_add(RETURNED, Ordering::Release);
    }

    pub(super) fn is_searching_for_gangs(&self) -> bool {
        self.gang_slot.lock().leased
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::NodeOrderKind;
    use crate::ids::{AskId, SlotId};

    /// The engine is not quiet while a search for gangs is out.
    #[test]
    fn a_search_for_gangs_counts_as_leased() {
        let leases = Leases::new(1, NodeOrderKind::First);
        leases.want_gangs();
        let Checkout::Taken(memory) = leases.take_gang_search() else { panic!("a search is wanted") };
        assert_eq!(leases.count().1, 1);
        leases.give_back_gang_search(memory);
        assert_eq!(leases.count().1, 0);
    }

    /// The committer did not follow, so the gang may be told once more.
    #[test]
    fn a_restart_that_is_forgotten_is_allowed_again() {
        let gang = GangId::with_first(AskId::new(1, 0));
        let mut memory = GangMemory::default();
        memory.record_begun_anew(gang, 5);
        assert_eq!([4, 5].map(|version| memory.restart(gang, version)), [Restart::Allowed, Restart::TooSoon]);
        memory.forget_begun_anew(gang);
        assert_eq!(memory.restart(gang, 5), Restart::Allowed);
    }

    /// Its version counts as seen, so room that was gained in that version was searched too.
    #[test]
    fn a_gang_without_room_is_left_out_until_a_node_gains_room() {
        let [gang, other] = [1, 2].map(|slot| GangId::with_first(AskId::new(slot, 0)));
        let mut memory = GangMemory::default();
        assert!(!memory.found_no_room_since(gang, 0));
        memory.record_no_room(gang, 5);
        let known = [4, 5, 6].map(|gained_at| memory.found_no_room_since(gang, gained_at));
        assert_eq!((known, memory.found_no_room_since(other, 4)), ([true, true, false], false));
        memory.forget_others(|id| id == other);
        assert!(!memory.found_no_room_since(gang, 4));
    }
}
