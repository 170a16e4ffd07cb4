//! The runnable lanes of one leaf as a heap: the lane with the first application is on top.
//!
//! A heap is one block of memory, and a lane moves within it by a few steps. A pass goes through the lanes in their
//! order without changing the heap ([`LaneWalk`]). Each lane comes after its parent in the heap, so only the children
//! of lanes that the walk has passed can be next.

use super::order::OrderKey;
use crate::ids::LaneId;
use crate::min_heap::{MinHeap, first_child};

/// A lane with the key of its first application. One application may be the first of several lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ListedLane {
    pub(super) key: OrderKey,
    pub(super) lane: LaneId,
}

/// The runnable lanes of one leaf on one share.
#[derive(Clone, Debug, Default)]
pub(crate) struct LaneHeap(MinHeap<ListedLane>);

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

    fn set(&mut self, listed: &ListedLane, position: usize) {
        self.0[listed.lane.index()] = position as u32;
    }

    #[inline]
    pub(super) fn get(&self, lane: LaneId) -> Option<usize> {
        let position = self.0[lane.index()];
        (position != NOWHERE).then_some(position as usize)
    }
}

impl LaneHeap {
    pub(super) fn len(&self) -> usize {
        self.0.as_slice().len()
    }

    pub(super) fn get(&self, position: usize) -> Option<&ListedLane> {
        self.0.as_slice().get(position)
    }

    /// Adds a lane that is not listed.
    pub(super) fn insert(&mut self, listed: ListedLane, positions: &mut Positions) {
        self.0.insert(listed, |listed, position| positions.set(listed, position));
    }

    /// Removes the lane at the position.
    pub(super) fn remove(&mut self, position: usize, positions: &mut Positions) {
        let removed = self.0.remove(position, |listed, position| positions.set(listed, position));
        positions.0[removed.lane.index()] = NOWHERE;
    }

    /// Lists the lane at the position under another key.
    pub(super) fn rekey(&mut self, position: usize, key: OrderKey, positions: &mut Positions) {
        let lane = self.0.as_slice()[position].lane;
        self.0.replace(position, ListedLane { key, lane }, |listed, position| {
            positions.set(listed, position);
        });
    }

    /// What is wrong with the heap, if anything.
    pub(super) fn mistake(&self, positions: &Positions) -> Option<String> {
        let listed = || self.0.as_slice().iter().enumerate();
        let lost = listed().find(|(position, listed)| positions.get(listed.lane) != Some(*position));
        let position = self.0.misplaced().or(lost.map(|(position, _)| position))?;
        Some(format!("{} is at the wrong position {position}", self.0.as_slice()[position].lane))
    }
}

/// The walk of a pass over a leaf's runnable lanes: the lanes that may be next, each with its position in the heap. The
/// pass's guard keeps the heap as it is. The walk's memory outlives the guard, so each call gets the heap.
#[derive(Debug, Default)]
pub(crate) struct LaneWalk(MinHeap<(ListedLane, usize)>);

impl LaneWalk {
    /// Begins with the heap's first lane.
    pub(crate) fn start(&mut self, lanes: &LaneHeap) {
        debug_assert!(self.0.is_empty(), "the leaf's cursor was cleared");
        lanes.0.top().into_iter().for_each(|first| self.0.push((*first, 0)));
    }

    /// The next lane of the heap, if its key is at most `last`.
    pub(crate) fn next_up_to(&mut self, last: Option<&OrderKey>, lanes: &LaneHeap) -> Option<LaneId> {
        let (ListedLane { key, lane }, position) = *self.0.top()?;
        if last.is_some_and(|last| *last < key) {
            return None;
        }
        let lane_at = |position: usize| lanes.get(position).map(|listed| (*listed, position));
        match lane_at(first_child(position)) {
            Some(child) => {
                // In place of the top, which is cheaper than to remove one and add another.
                self.0.change_top(|top| *top = child);
                let other = lane_at(first_child(position) + 1);
                other.into_iter().for_each(|other| self.0.push(other));
            }
            None => {
                self.0.pop();
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
            |heap, _| heap.0.as_mut_slice().swap(0, 1),
            |heap, _| heap.0.as_mut_slice()[2].key = OrderKey::for_test(0),
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
