//! One application's asks in one lane, in the order in which they are served.

use std::collections::VecDeque;

use crate::facts::Ask;
use crate::ids::AskId;

/// An entry of a pending ask in its lane, ordered by priority number, then by submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PendingAsk {
    pub(crate) priority: u32,
    pub(crate) number: u64,
    pub(crate) ask: AskId,
    /// Whether it asks for one container. While it is listed, exactly one unit is outstanding, so no pass looks that
    /// up.
    pub(crate) is_single: bool,
}

impl PendingAsk {
    pub(crate) fn of(id: AskId, ask: &Ask) -> Self {
        Self { priority: ask.priority, number: ask.number, ask: id, is_single: ask.asked.get() == 1 }
    }
}

/// One application's asks in one lane. The first ones are stored inline: mostly there are no others, and nothing is
/// allocated.
#[derive(Clone, Debug, Default)]
pub(crate) struct PendingAsks {
    first: [Option<PendingAsk>; FIRST],
    rest: ByPriority,
}

const FIRST: usize = 2;

/// A list for each priority: mostly a new ask is the last of its priority, and the first ask leaves.
#[derive(Clone, Debug, Default)]
struct ByPriority(Vec<PriorityList>);

/// The asks of one priority, at least one.
#[derive(Clone, Debug)]
struct PriorityList {
    /// Beside the list, so that a search for a priority reads no ask.
    priority: u32,
    asks: VecDeque<PendingAsk>,
}

impl PendingAsks {
    pub(crate) fn iter(&self) -> impl Iterator<Item = PendingAsk> {
        self.first.iter().flatten().chain(self.rest.0.iter().flat_map(|list| &list.asks)).copied()
    }

    /// The list of one ask.
    #[inline]
    pub(super) fn of(pending: PendingAsk) -> Self {
        Self { first: [Some(pending), None], rest: ByPriority::default() }
    }

    pub(super) fn has_several(&self) -> bool {
        self.first[1].is_some()
    }

    pub(super) fn contains(&self, pending: PendingAsk) -> bool {
        self.first.contains(&Some(pending)) || self.rest.contains(pending)
    }

    /// The `at`-th ask.
    pub(crate) fn get(&self, at: usize) -> Option<&PendingAsk> {
        match self.first.get(at) {
            Some(pending) => pending.as_ref(),
            None => self.rest.get(at - FIRST),
        }
    }

    pub(super) fn add(&mut self, mut pending: PendingAsk) {
        for first in &mut self.first {
            match first {
                None => {
                    *first = Some(pending);
                    return;
                }
                Some(first) if pending < *first => std::mem::swap(first, &mut pending),
                Some(_) => {}
            }
        }
        self.rest.add(pending);
    }

    /// Removes an ask. Returns false if it was not listed.
    pub(super) fn remove(&mut self, pending: PendingAsk) -> bool {
        let Some(place) = self.first.iter().position(|first| *first == Some(pending)) else {
            return self.rest.remove(pending);
        };
        self.first.copy_within(place + 1.., place);
        self.first[FIRST - 1] = self.rest.take_first();
        true
    }
}

impl ByPriority {
    fn contains(&self, pending: PendingAsk) -> bool {
        self.place_of(pending).is_ok_and(|list| self.0[list].asks.binary_search(&pending).is_ok())
    }

    fn get(&self, mut at: usize) -> Option<&PendingAsk> {
        for PriorityList { asks, .. } in &self.0 {
            match asks.get(at) {
                Some(pending) => return Some(pending),
                None => at -= asks.len(),
            }
        }
        None
    }

    fn add(&mut self, pending: PendingAsk) {
        match self.place_of(pending) {
            Err(list) => {
                self.0.insert(list, PriorityList { priority: pending.priority, asks: [pending].into() });
            }
            Ok(list) => {
                let asks = &mut self.0[list].asks;
                if asks.back().is_none_or(|last| *last < pending) {
                    asks.push_back(pending);
                } else {
                    let place = asks.partition_point(|other| *other < pending);
                    asks.insert(place, pending);
                }
            }
        }
    }

    fn take_first(&mut self) -> Option<PendingAsk> {
        let asks = &mut self.0.first_mut()?.asks;
        let first = asks.pop_front();
        if asks.is_empty() {
            self.0.remove(0);
        }
        first
    }

    fn remove(&mut self, pending: PendingAsk) -> bool {
        let Ok(list) = self.place_of(pending) else { return false };
        let asks = &mut self.0[list].asks;
        let Ok(place) = asks.binary_search(&pending) else { return false };
        asks.remove(place);
        if asks.is_empty() {
            self.0.remove(list);
        }
        true
    }

    /// The list of the ask's priority, or where it would be.
    fn place_of(&self, pending: PendingAsk) -> Result<usize, usize> {
        self.0.binary_search_by_key(&pending.priority, |list| list.priority)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::ids::SlotId;

    proptest! {
        /// Equals a plain ordered set after any insertions and removals.
        #[test]
        fn equal_an_ordered_set(steps in proptest::collection::vec((any::<bool>(), 0..3u32, 0..8u64), 0..60)) {
            let (mut asks, mut model) = (PendingAsks::default(), BTreeSet::new());
            for (is_new, priority, number) in steps {
                let pending = PendingAsk { priority, number, ask: AskId::new(number as u32, priority), is_single: true };
                if is_new && model.is_empty() {
                    model.insert(pending);
                    asks = PendingAsks::of(pending);
                } else if is_new && model.insert(pending) {
                    asks.add(pending);
                } else if !is_new {
                    prop_assert_eq!(asks.remove(pending), model.remove(&pending));
                }
                prop_assert!(asks.iter().eq(model.iter().copied()));
                prop_assert_eq!(asks.has_several(), model.len() > 1);
                for at in 0..=model.len() {
                    prop_assert_eq!(asks.get(at), model.iter().nth(at));
                }
            }
        }
    }
}
