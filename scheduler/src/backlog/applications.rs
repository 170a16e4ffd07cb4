//! The applications with asks in one lane, in the order in which they are served.

use std::collections::BTreeSet;
use std::ops::Bound;

use super::order::OrderKey;

/// An application by its key and its slot.
pub(crate) type Place = (OrderKey, u32);

/// The applications of one lane. The first is stored inline: mostly it is the only one, and a pass that needs no other
/// reads no further memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct LaneApplications {
    first: Option<Place>,
    rest: BTreeSet<Place>,
}

impl LaneApplications {
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Whether there is more than one application.
    pub(crate) fn has_several(&self) -> bool {
        !self.rest.is_empty()
    }

    /// The key of the first application.
    pub(super) fn first_key(&self) -> Option<OrderKey> {
        self.first.map(|(key, _)| key)
    }

    /// Inserts an application. Returns whether it is the first now.
    #[inline]
    pub(super) fn insert(&mut self, place: Place) -> bool {
        match self.first {
            Some(first) if first <= place => {
                self.rest.insert(place);
                return false;
            }
            Some(first) => {
                self.rest.insert(first);
            }
            None => {}
        }
        self.first = Some(place);
        true
    }

    /// Removes an application. Returns whether it was the first.
    #[inline]
    pub(super) fn remove(&mut self, place: Place) -> bool {
        let was_first = self.first == Some(place);
        if was_first {
            self.first = self.rest.pop_first();
        } else {
            self.rest.remove(&place);
        }
        was_first
    }

    /// Moves an application from its old place to its new one. Returns whether the first place changed.
    #[inline]
    pub(super) fn replace(&mut self, old: Place, new: Place) -> bool {
        if self.first == Some(old) && self.rest.first().is_none_or(|next| new < *next) {
            // Mostly the first stays the first, or is the only one.
            self.first = Some(new);
            return true;
        }
        let was_first = self.remove(old);
        self.insert(new) || was_first
    }

    /// The first application, or the next one after `last`.
    pub(crate) fn after(&self, last: Option<Place>) -> Option<Place> {
        let Some(last) = last else { return self.first };
        let behind = || self.rest.range((Bound::Excluded(last), Bound::Unbounded)).next().copied();
        self.first.filter(|first| *first > last).or_else(behind)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Place> {
        self.first.into_iter().chain(self.rest.iter().copied())
    }

    pub(super) fn contains(&self, place: Place) -> bool {
        self.first == Some(place) || self.rest.contains(&place)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Equals a plain ordered set after any insertions and removals.
        #[test]
        fn equals_an_ordered_set(steps in proptest::collection::vec((0..3u8, 0..6u64, 0..6u64), 0..60)) {
            let (mut applications, mut model) = (LaneApplications::default(), BTreeSet::new());
            for (step, number, other) in steps {
                let place = (OrderKey::for_test(number), number as u32);
                let new = (OrderKey::for_test(other), other as u32);
                let first = model.first().copied();
                let tells_change = match step {
                    0 if model.insert(place) => applications.insert(place),
                    1 => {
                        model.remove(&place);
                        applications.remove(place)
                    }
                    2 if !model.contains(&new) && model.remove(&place) => {
                        model.insert(new);
                        applications.replace(place, new)
                    }
                    _ => false,
                };
                prop_assert_eq!(tells_change, model.first().copied() != first);
                prop_assert!(applications.iter().eq(model.iter().copied()));
                prop_assert_eq!(applications.is_empty(), model.is_empty());
                prop_assert_eq!(applications.contains(place), model.contains(&place));
                let walk = std::iter::successors(applications.after(None), |last| applications.after(Some(*last)));
                prop_assert!(walk.eq(model.iter().copied()));
                // Also after a place that was removed.
                prop_assert_eq!(applications.after(Some(place)), model.range(place..).copied().find(|other| *other > place));
            }
        }
    }
}
