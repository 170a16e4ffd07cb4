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
