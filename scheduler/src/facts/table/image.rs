//! Tables and pools as they are written and read: with vacant slots, and as a whole.

use std::marker::PhantomData;

use super::{IdPool, Slot, Table};
use crate::ids::SlotId;

impl<I: SlotId, T> Table<I, T> {
    /// All slots, also the vacant ones.
    pub(in crate::facts) fn slots(&self) -> &[Slot<T>] {
        &self.slots
    }

    /// A table of these slots.
    pub(in crate::facts) fn of_slots(slots: Vec<Slot<T>>) -> Self {
        let live = slots.iter().filter(|slot| slot.value.is_some()).count();
        Self { slots, live, id: PhantomData }
    }

    /// All values by ascending slot.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (I, &mut T)> {
        self.slots.iter_mut().enumerate().filter_map(|(index, slot)| {
            let id = I::new(index as u32, slot.generation);
            slot.value.as_mut().map(|value| (id, value))
        })
    }
}

impl<I> IdPool<I> {
    /// A pool where `next` slots are used, and these of them are vacant.
    pub(crate) fn of(next: u32, vacant: Vec<I>) -> Self {
        Self { next, vacant }
    }
}

impl<I: SlotId> IdPool<I> {
    /// Whether the pool gives out the identifiers of a table with these slots. Then it lists the next identifier of
    /// each vacant slot once, and nothing else.
    pub(in crate::facts) fn fits<T>(&self, slots: &[Slot<T>]) -> bool {
        let next_of = |(index, slot): (u32, &Slot<T>)| I::new(index, slot.generation).successor();
        let is_vacant = |(_, slot): &(u32, &Slot<T>)| slot.value.is_none();
        let mut listed = self.vacant.clone();
        listed.sort_unstable_by_key(|id| id.index());
        slots.len() == self.next as usize && (0..).zip(slots).filter(is_vacant).map(next_of).eq(listed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ContainerId;

    /// A pool and the table that it serves, with a slot that was vacated twice, a live one, and one vacated once.
    fn pool_and_slots() -> (IdPool<ContainerId>, Vec<Slot<char>>) {
        let (mut pool, mut table) = (IdPool::new(), Table::new());
        let ids = [pool.take(), pool.take(), pool.take()];
        ids.into_iter().for_each(|id| assert!(table.insert(id, 'a')));
        let mut vacate = |pool: &mut IdPool<_>, id| {
            assert_eq!(table.remove(id), Some('a'));
            pool.give_back(id);
        };
        vacate(&mut pool, ids[0]);
        let again: ContainerId = pool.take();
        assert!(table.insert(again, 'a'));
        table.remove(again);
        pool.give_back(again);
        table.remove(ids[2]);
        pool.give_back(ids[2]);
        (pool, table.slots)
    }

    #[test]
    fn a_pool_fits_the_slots_whose_vacant_ones_it_lists() {
        type Damage = fn(&mut IdPool<ContainerId>);
        let (pool, slots) = pool_and_slots();
        assert!(pool.fits(&slots));
        assert!(IdPool::<ContainerId>::new().fits::<char>(&[]));
        let damages: [(&str, Damage); 6] = [
            ("a live slot", |pool| pool.vacant.push(ContainerId::new(1, 1))),
            ("a slot twice", |pool| pool.vacant.push(pool.vacant[0])),
            ("a slot beyond the table", |pool| pool.vacant.push(ContainerId::new(7, 0))),
            ("an earlier generation", |pool| pool.vacant[0] = ContainerId::new(0, 1)),
            ("a vacant slot less", |pool| pool.vacant.truncate(1)),
            ("another number of slots", |pool| pool.next += 1),
        ];
        for (damage, apply) in damages {
            let mut damaged = pool.clone();
            apply(&mut damaged);
            assert!(!damaged.fits(&slots), "{damage}");
        }
    }
}
