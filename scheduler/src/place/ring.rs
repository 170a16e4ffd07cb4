//! The latest changes of the nodes of one set.

use crate::resource::Resources;

/// The last changes of one set's nodes, by position in the set. A reader that missed more changes than the ring holds
/// starts over, and looks at all nodes of the set. As measured, that costs as much as changes of about half of the
/// nodes. So a ring holds at least that many.
///
/// Most changes are ended containers, and a reader needs only the resources that they freed. The ring stores these one
/// after another, so that no reader has to fetch the node.
#[derive(Clone, Debug)]
pub(super) struct ChangeRing {
    /// For each change the position, then `types` amounts: the freed resources, if nothing else has changed.
    words: Vec<i64>,
    /// The number of resource types that the engine counts.
    types: usize,
    /// The number of changes since the ring was made.
    count: u64,
    /// Changes before this one are lost, even if the ring is not full.
    oldest: u64,
    /// The most changes that it holds. A power of two, more than half of the highest position so far.
    capacity: u64,
}

/// A change of the node at one position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeChange {
    pub(crate) position: u32,
    /// The resources freed on the node, if nothing else has changed. Otherwise a reader looks at the node.
    pub(crate) freed: Option<Resources>,
}

const CAPACITY_MIN: u64 = 1 << 10;
/// Flag in the word of the position: the freed resources follow.
const IS_FREED: i64 = 1 << 32;

impl ChangeRing {
    pub(super) fn new(types: usize) -> Self {
        Self { words: Vec::new(), types, count: 0, oldest: 0, capacity: CAPACITY_MIN }
    }

    /// The number of changes since the ring was made.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn push(&mut self, position: u32, freed: Option<&Resources>) {
        if u64::from(position) >= 2 * self.capacity {
            self.grow(position);
        }
        let place = self.place_of(self.count);
        if self.words.len() < place.end {
            self.words.resize(place.end, 0);
        }
        let entry = &mut self.words[place];
        entry[0] = i64::from(position);
        if let Some(freed) = freed {
            entry[0] |= IS_FREED;
            entry[1..].copy_from_slice(&freed.amounts()[..self.types]);
        }
        self.count += 1;
    }

    /// The changes after the first `seen`, some nodes repeatedly; `None` if the ring no longer holds all of them.
    pub(super) fn since(&self, seen: u64) -> Option<impl Iterator<Item = NodeChange>> {
        let is_held = seen >= self.oldest && self.count - seen <= self.capacity;
        is_held.then(|| (seen..self.count).map(|number| self.entry(number)))
    }

    // Inlined, so that a reader of positions does not read the amounts.
    #[inline(always)]
    fn entry(&self, number: u64) -> NodeChange {
        let entry = &self.words[self.place_of(number)];
        let freed = (entry[0] & IS_FREED != 0).then(|| Resources::new(&entry[1..]));
        NodeChange { position: entry[0] as u32, freed }
    }

    fn place_of(&self, number: u64) -> std::ops::Range<usize> {
        let start = (number & (self.capacity - 1)) as usize * (1 + self.types);
        start..start + 1 + self.types
    }

    /// Makes every reader start over. The count moves, too, for those that have seen all changes.
    pub(super) fn skip(&mut self) {
        self.count += 1;
        self.oldest = self.count;
    }

    /// Makes room for a set with this position. Changes would be at other places, so every reader starts over.
    #[cold]
    fn grow(&mut self, position: u32) {
        self.capacity = (u64::from(position) / 2 + 1).next_power_of_two();
        self.skip();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_gives_what_was_missed_or_says_that_it_cannot() {
        let mut ring = ChangeRing::new(2);
        let freed = |position: u32| (position % 2 == 1).then(|| Resources::new(&[i64::from(position), -1]));
        let change = |position: u32| NodeChange { position, freed: freed(position) };
        let push = |ring: &mut ChangeRing, position| ring.push(position, freed(position).as_ref());
        (0..3).for_each(|position| push(&mut ring, position));
        assert_eq!(ring.since(1).unwrap().collect::<Vec<_>>(), [change(1), change(2)]);
        (0..CAPACITY_MIN as u32).for_each(|position| push(&mut ring, position));
        assert!(ring.since(2).is_none());
        assert!(ring.since(3).unwrap().eq((0..CAPACITY_MIN as u32).map(change)));
        let seen = ring.count();
        ring.skip();
        assert!(ring.since(seen).is_none());
        assert_eq!(ring.since(ring.count()).unwrap().count(), 0);
        let mut empty = ChangeRing::new(2);
        empty.skip();
        push(&mut empty, 7);
        assert_eq!(empty.since(empty.count() - 1).unwrap().collect::<Vec<_>>(), [change(7)]);
    }

    /// Otherwise a burst of changes would make the reader look at all nodes of a large set.
    #[test]
    fn a_ring_holds_changes_of_half_of_the_positions() {
        for positions in [1_u32, 2_000, 2_048, 2_049, 10_000, 1_000_000] {
            let mut ring = ChangeRing::new(2);
            (0..positions).for_each(|position| ring.push(position, None));
            let seen = ring.count();
            let burst = positions.div_ceil(2);
            (0..burst).for_each(|position| ring.push(position * 2, None));
            let changes = ring.since(seen).expect("all of the burst is held");
            assert!(
                changes.map(|change| change.position).eq((0..burst).map(|number| number * 2)),
                "{positions}"
            );
            let bounds = CAPACITY_MIN.max(u64::from(burst))..=CAPACITY_MIN.max(2 * u64::from(burst));
            assert!(bounds.contains(&ring.capacity), "{positions}: {}", ring.capacity);
        }
    }

    /// The earlier changes would be at other places.
    #[test]
    fn the_readers_of_a_ring_that_grows_start_over() {
        let mut ring = ChangeRing::new(2);
        (0..2_048).for_each(|position| ring.push(position, None));
        let seen = ring.count();
        ring.push(2_048, None);
        assert!(ring.since(seen).is_none(), "position 2,048 makes the ring longer");
        let seen = ring.count();
        ring.push(7, None);
        assert!(ring.since(seen).unwrap().map(|change| change.position).eq([7]));
    }
}
