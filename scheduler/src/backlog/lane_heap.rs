//! The runnable lanes of one leaf as a heap: the lane with the first application is on top.
//!
//! A heap is one block of memory, and a lane moves within it by a few steps. A pass goes through the lanes in their
//! order without changing the heap ([`LaneWalk`]). Each lane comes after its parent in the heap, so only the children
//! of lanes that the walk has passed can be next.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::order::OrderKey;
use crate::ids::LaneId;

/// A lane with the key of its first application. One application may be the first of several lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ListedLane {
    pub(super) key: OrderKey,
    pub(super) lane: LaneId,
}

/// The runnable lanes of one leaf on one share.
#[derive(Clone, Debug, Default)]
pub(crate) struct LaneHeap(Vec<ListedLane>);

/// The positions of all lanes in the heaps of their leaves, by lane.
#[derive(Clone, Debug, Default)]
pub(super) struct Positions(Vec<u32>);

/// The position of a lane that is in no heap.
const NOWHERE: u32 = u32::MAX;

impl Positions {
    /// Makes room for a lane, or for the successor of an empty lane, which is in no heap.
    pub(super) fn add_lane(&mut self, lane: LaneId) {
        if self.0.len() <= lane.index() {
            self.0.resize(lane.index() + 1, NOWHERE);
        }
        debug_assert!(self.get(lane).is_none(), "{lane} is empty, so it is not runnable");
    }

    #[inline]
    pub(super) fn get(&self, lane: LaneId) -> Option<usize> {
        let position = self.0[lane.index()];
        (position != NOWHERE).then_some(position as usize)
    }
}

impl LaneHeap {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn get(&self, position: usize) -> Option<&ListedLane> {
        self.0.get(position)
    }

    pub(super) fn insert(&mut self, listed: ListedLane, positions: &mut Positions) {
        self.0.push(listed);
        self.rise(self.0.len() - 1, listed, positions);
    }

    pub(super) fn remove(&mut self, position: usize, positions: &mut Positions) {
        let removed = self.0.swap_remove(position);
        positions.0[removed.lane.index()] = NOWHERE;
        if let Some(last) = self.0.get(position) {
            self.put(position, *last, positions);
        }
    }

    /// Lists the lane at this position under another key.
    pub(super) fn rekey(&mut self, position: usize, key: OrderKey, positions: &mut Positions) {
        let lane = self.0[position].lane;
        self.put(position, ListedLane { key, lane }, positions);
    }

    /// Puts the lane at this position, or above or below it.
    fn put(&mut self, position: usize, listed: ListedLane, positions: &mut Positions) {
        if position > 0 && listed < self.0[parent(position)] {
            self.rise(position, listed, positions);
        } else {
            self.sink(position, listed, positions);
        }
    }

    fn rise(&mut self, mut position: usize, listed: ListedLane, positions: &mut Positions) {
        while position > 0 {
            let above = self.0[parent(position)];
            if above < listed {
                break;
            }
            self.move_to(position, above, positions);
            position = parent(position);
        }
        self.move_to(position, listed, positions);
    }

    fn sink(&mut self, mut position: usize, listed: ListedLane, positions: &mut Positions) {
        while let Some(mut child) = self.0.get(first_child(position)).copied() {
            let mut at = first_child(position);
            if let Some(other) = self.0.get(at + 1)
                && *other < child
            {
                (at, child) = (at + 1, *other);
            }
            if listed < child {
                break;
            }
            self.move_to(position, child, positions);
            position = at;
        }
        self.move_to(position, listed, positions);
    }

    fn move_to(&mut self, position: usize, listed: ListedLane, positions: &mut Positions) {
        self.0[position] = listed;
        positions.0[listed.lane.index()] = position as u32;
    }

    /// What is wrong with the heap, if anything.
    pub(super) fn mistake(&self, positions: &Positions) -> Option<String> {
        self.0.iter().enumerate().find_map(|(position, listed)| {
            let is_in_order = position == 0 || self.0[parent(position)] < *listed;
            let is_found = positions.get(listed.lane) == Some(position);
            (!is_in_order || !is_found)
                .then(|| format!("{} is at the wrong position {position}", listed.lane))
        })
    }
}

const fn parent(position: usize) -> usize {
    (position - 1) / 2
}

const fn first_child(position: usize) -> usize {
    2 * position + 1
}

/// The walk of a pass over a leaf's runnable lanes: the lanes that may be next, each with its position in the heap. The
/// pass's guard keeps the heap as it is. The walk's memory outlives the guard, so each call gets the heap.
#[derive(Debug, Default)]
pub(crate) struct LaneWalk(BinaryHeap<Reverse<(ListedLane, usize)>>);

impl LaneWalk {
    /// Begins with the heap's first lane.
    pub(crate) fn start(&mut self, lanes: &LaneHeap) {
        debug_assert!(self.0.is_empty(), "the leaf's cursor was cleared");
        self.0.extend(lanes.0.first().map(|first| Reverse((*first, 0))));
    }

    /// The next lane of the heap, if its key is at most `last`.
    pub(crate) fn next_up_to(&mut self, last: Option<&OrderKey>, lanes: &LaneHeap) -> Option<LaneId> {
        let mut top = self.0.peek_mut()?;
        let Reverse((ListedLane { key, lane }, position)) = *top;
        if last.is_some_and(|last| *last < key) {
            return None;
        }
        let lane_at = |position: usize| lanes.0.get(position).map(|listed| Reverse((*listed, position)));
        match lane_at(first_child(position)) {
            Some(child) => {
                // In place of the top, which is cheaper than to remove one and add another.
                *top = child;
                drop(top);
                self.0.extend(lane_at(first_child(position) + 1));
            }
            None => {
                PeekMut::pop(top);
            }
        }
        Some(lane)
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lanes_that_are_not_in_their_place_are_mistakes() {
        type Damage = fn(&mut LaneHeap, &mut Positions);
        let damage: [Damage; 4] = [
            |heap, _| heap.0.swap(0, 1),
            |heap, _| heap.0[2].key = OrderKey::for_test(0),
            |_, positions| positions.0.swap(1, 2),
            |_, positions| positions.0[0] = NOWHERE,
        ];
        for damage in damage {
            let (mut heap, mut positions) = (LaneHeap::default(), Positions::default());
            for lane in 0..3 {
                positions.add_lane(LaneId(lane));
                let key = OrderKey::for_test(u64::from(lane) + 1);
                heap.insert(ListedLane { key, lane: LaneId(lane) }, &mut positions);
            }
            assert_eq!(heap.mistake(&positions), None);
            damage(&mut heap, &mut positions);
            assert!(heap.mistake(&positions).is_some(), "{heap:?}, {positions:?}");
        }
    }

    proptest! {
        /// A walk equals an ordered set after any insertions, removals and changes of keys.
        #[test]
        fn a_walk_equals_an_ordered_set(steps in proptest::collection::vec((0..20u32, proptest::option::of(0..9u64)), 0..80)) {
            let (mut heap, mut positions, mut model) = (LaneHeap::default(), Positions::default(), BTreeSet::new());
            positions.add_lane(LaneId(19));
            for (lane, number) in steps {
                let lane = LaneId(lane);
                let key = number.map(OrderKey::for_test);
                model.retain(|listed: &ListedLane| listed.lane != lane);
                model.extend(key.map(|key| ListedLane { key, lane }));
                match (positions.get(lane), key) {
                    (None, Some(key)) => heap.insert(ListedLane { key, lane }, &mut positions),
                    (Some(position), Some(key)) => heap.rekey(position, key, &mut positions),
                    (Some(position), None) => heap.remove(position, &mut positions),
                    (None, None) => {}
                }
                prop_assert_eq!(heap.mistake(&positions), None);
                prop_assert_eq!(heap.len(), model.len());
                let mut walk = LaneWalk::default();
                walk.start(&heap);
                let middle = OrderKey::for_test(4);
                let walked: Vec<LaneId> = std::iter::from_fn(|| walk.next_up_to(Some(&middle), &heap)).collect();
                let first = model.iter().take_while(|listed| listed.key <= middle);
                prop_assert!(walked.iter().eq(first.map(|listed| &listed.lane)));
                let behind = std::iter::from_fn(|| walk.next_up_to(None, &heap));
                prop_assert!(behind.eq(model.iter().skip(walked.len()).map(|listed| listed.lane)));
            }
        }
    }
}
