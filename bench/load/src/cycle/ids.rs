//! Identifiers that are used once: a slot and its generation.

/// The identifier of an ask or a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Id {
    pub(super) slot: u32,
    pub(super) generation: u32,
}

/// Records by slot. A slot's generation grows when its record is removed, so an old identifier finds nothing.
#[derive(Clone, Debug)]
pub(super) struct Slots<T> {
    records: Vec<(u32, T)>,
    vacant: Vec<u32>,
}

impl<T: Copy> Slots<T> {
    pub(super) fn new() -> Self {
        Self { records: Vec::new(), vacant: Vec::new() }
    }

    pub(super) fn insert(&mut self, record: T) -> Id {
        if let Some(slot) = self.vacant.pop() {
            let (generation, place) = &mut self.records[slot as usize];
            *place = record;
            return Id { slot, generation: *generation };
        }
        self.records.push((0, record));
        Id { slot: self.records.len() as u32 - 1, generation: 0 }
    }

    pub(super) fn get(&self, id: Id) -> Option<T> {
        let (generation, record) = self.records.get(id.slot as usize)?;
        (*generation == id.generation).then_some(*record)
    }

    /// The record of a slot, with its identifier; of a vacant slot, the last record.
    pub(super) fn at(&self, slot: u32) -> (Id, T) {
        let (generation, record) = self.records[slot as usize];
        (Id { slot, generation }, record)
    }

    pub(super) fn remove(&mut self, id: Id) -> Option<T> {
        let (generation, record) = self.records.get_mut(id.slot as usize)?;
        if *generation != id.generation {
            return None;
        }
        *generation = generation.wrapping_add(1);
        self.vacant.push(id.slot);
        Some(*record)
    }

    /// The number of slots.
    pub(super) fn slots(&self) -> u32 {
        self.records.len() as u32
    }

    /// The number of records.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.records.len() - self.vacant.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_identifier_finds_nothing() {
        let mut slots = Slots::new();
        let first = slots.insert('a');
        assert_eq!(slots.remove(first), Some('a'));
        let second = slots.insert('b');
        assert_eq!((second.slot, slots.get(first), slots.get(second)), (first.slot, None, Some('b')));
        assert_eq!((slots.remove(first), slots.len()), (None, 1));
    }
}
