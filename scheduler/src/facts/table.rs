//! Slot tables addressed by generational identifiers.
//!
//! # Records are built in their slots
//!
//! A record that is built on the stack, field by field, and then copied is read with wide loads. The processor cannot
//! forward several narrow stores to one wide load. So the load waits until the stores have reached the cache, behind
//! all earlier stores that miss it. Asks, containers, requests and entries of lanes are therefore built where they
//! stay.

mod image;

use std::marker::PhantomData;

use serde::ser::{SerializeSeq, Serializer};
use serde::{Deserialize, Serialize};

use crate::ids::SlotId;

/// Values in slots. An identifier resolves only while its value is in the slot.
#[derive(Clone, Debug)]
pub(crate) struct Table<I, T> {
    slots: Vec<Slot<T>>,
    live: usize,
    id: PhantomData<fn() -> I>,
}

/// In this order in memory, so that a comparison of the generation also loads the beginning of the value. Aligned, so
/// that an ask or a container takes one cache line. Slots of all tables are.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[repr(C, align(64))]
pub(super) struct Slot<T> {
    pub(super) generation: u32,
    pub(super) value: Option<T>,
}

impl<I: SlotId, T> Table<I, T> {
    pub(crate) fn new() -> Self {
        Self::with_capacity(0)
    }

    /// With room for this many slots. A page of it takes memory once it is used. Within its room a table never moves.
    pub(crate) fn with_capacity(slots: usize) -> Self {
        Self { slots: Vec::with_capacity(slots), live: 0, id: PhantomData }
    }

    pub(crate) fn len(&self) -> usize {
        self.live
    }

    /// Puts `value` into the slot of `id`. Returns false if the slot is taken.
    #[inline]
    pub(crate) fn insert(&mut self, id: I, value: T) -> bool {
        let slot = self.slot_of(id);
        if slot.value.is_some() {
            return false;
        }
        // By field, so that the value is built here.
        slot.generation = id.generation();
        slot.value = Some(value);
        self.live += 1;
        true
    }

    fn slot_of(&mut self, id: I) -> &mut Slot<T> {
        if id.index() >= self.slots.len() {
            // The generation before the first: no identifier of a skipped slot was removed.
            self.slots.resize_with(id.index() + 1, || Slot { generation: u32::MAX, value: None });
        }
        &mut self.slots[id.index()]
    }

    /// Whether the slot of `id` is free. The handle gives out identifiers, so a few may arrive out of order. An
    /// identifier far beyond the last slot was never given out.
    pub(crate) fn is_vacant(&self, id: I) -> bool {
        const AHEAD_MAX: usize = 1 << 20;
        id.index() < self.slots.len() + AHEAD_MAX
            && self.slots.get(id.index()).is_none_or(|slot| slot.value.is_none())
    }

    /// Whether the value of `id` was in the table and is gone.
    pub(crate) fn was_removed(&self, id: I) -> bool {
        self.slots.get(id.index()).is_some_and(|slot| {
            let age = slot.generation.wrapping_sub(id.generation());
            (age == 0 && slot.value.is_none()) || (age != 0 && age < u32::MAX / 2)
        })
    }

    pub(crate) fn get(&self, id: I) -> Option<&T> {
        let slot = self.slots.get(id.index())?;
        if slot.generation == id.generation() { slot.value.as_ref() } else { None }
    }

    pub(crate) fn get_mut(&mut self, id: I) -> Option<&mut T> {
        let slot = self.slots.get_mut(id.index())?;
        if slot.generation == id.generation() { slot.value.as_mut() } else { None }
    }

    /// The value for an identifier that the caller knows to be valid.
    pub(crate) fn at(&self, id: I) -> &T {
        self.get(id).unwrap_or_else(|| panic!("{id:?} is not alive"))
    }

    pub(crate) fn at_mut(&mut self, id: I) -> &mut T {
        self.get_mut(id).unwrap_or_else(|| panic!("{id:?} is not alive"))
    }

    /// The value in a slot that the caller knows to be taken.
    pub(crate) fn in_slot(&self, slot: u32) -> &T {
        let value = self.slots.get(slot as usize).and_then(|slot| slot.value.as_ref());
        value.unwrap_or_else(|| panic!("slot {slot} is vacant"))
    }

    pub(crate) fn remove(&mut self, id: I) -> Option<T> {
        let slot = self.slots.get_mut(id.index()).filter(|slot| slot.generation == id.generation())?;
        let value = slot.value.take()?;
        self.live -= 1;
        Some(value)
    }

    /// Records that `id` was given out and is gone, although its value was not in the table.
    pub(crate) fn leave_trace(&mut self, id: I) {
        let slot = self.slot_of(id);
        if slot.value.is_none() {
            slot.generation = id.generation();
        }
    }

    /// All values by ascending slot.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (I, &T)> {
        self.slots.iter().enumerate().filter_map(|(index, slot)| {
            slot.value.as_ref().map(|value| (I::new(index as u32, slot.generation), value))
        })
    }
}

/// The live entries with their identifiers; vacant slots leave no trace.
impl<I: SlotId + Serialize, T: Serialize> Serialize for Table<I, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut sequence = serializer.serialize_seq(Some(self.live))?;
        for entry in self.iter() {
            sequence.serialize_element(&entry)?;
        }
        sequence.end()
    }
}

/// Gives out identifiers: a vacated slot's successor if there is one, else the next new slot.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct IdPool<I> {
    next: u32,
    vacant: Vec<I>,
}

impl<I: SlotId> IdPool<I> {
    pub(crate) fn new() -> Self {
        Self { next: 0, vacant: Vec::new() }
    }

    pub(crate) fn take(&mut self) -> I {
        self.vacant.pop().unwrap_or_else(|| {
            let index = self.next;
            self.next = index.checked_add(1).expect("fewer than 2^32 slots");
            I::new(index, 0)
        })
    }

    /// The identifiers that the next calls of [`take`](Self::take) return, as far as they use slots again.
    pub(crate) fn next_vacated(&self, count: usize) -> impl Iterator<Item = I> {
        self.vacant.iter().rev().take(count).copied()
    }

    /// Makes the slot of `id` available again, under the next generation.
    #[inline]
    pub(crate) fn give_back(&mut self, id: I) {
        self.vacant.push(id.successor());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{Ask, Container};
    use crate::ids::NodeId;

    #[test]
    fn an_ask_or_a_container_takes_one_cache_line() {
        assert_eq!((size_of::<Slot<Ask>>(), size_of::<Slot<Container>>()), (64, 64));
    }

    #[test]
    fn a_stale_identifier_does_not_resolve_to_its_successor() {
        let mut pool = IdPool::<NodeId>::new();
        let mut table = Table::new();
        let first = pool.take();
        assert!(!table.was_removed(first), "it has not come yet");
        assert!(table.insert(first, 'a'));
        assert!(!table.insert(first, 'b'), "the slot is taken");
        assert_eq!(table.remove(first), Some('a'));
        pool.give_back(first);
        assert_eq!(pool.next_vacated(2).collect::<Vec<_>>(), [first.successor()]);
        let second = pool.take();
        assert!(table.was_removed(first) && !table.was_removed(second));
        assert_eq!(second.index(), first.index());
        assert!(table.insert(second, 'c'));
        assert_eq!((table.get(first), table.get(second)), (None, Some(&'c')));
        assert!(table.was_removed(first) && !table.was_removed(second));
        assert_eq!(table.remove(first), None);
        assert_eq!(table.len(), 1);
    }

    /// Identifiers may arrive out of order.
    #[test]
    fn a_slot_that_was_skipped_has_lost_nothing() {
        let mut table = Table::new();
        let id = |index| NodeId::new(index, 0);
        assert!(table.insert(id(1), 'b'));
        table.leave_trace(id(3));
        let removed = [0, 1, 2, 3].map(|index| table.was_removed(id(index)));
        assert_eq!(removed, [false, false, false, true]);
        assert!(table.insert(id(0), 'a'));
        assert_eq!(table.get(id(0)), Some(&'a'));
        assert_eq!(table.remove(id(0)), Some('a'));
        assert!(table.was_removed(id(0)));
    }
}
