//! The least of many keys that change one at a time.

/// The key of a place that has none.
pub(super) const NONE: u128 = u128::MAX;

/// Keys compared in groups: one step up for each change, and the least key is at hand.
const GROUP: usize = 4;

/// A tournament of keys in groups of four. The levels follow each other, the given keys first, the least key last.
#[derive(Clone, Debug)]
pub(super) struct Least {
    keys: Vec<u128>,
    /// Where the levels above the given keys begin.
    levels: Vec<u32>,
}

impl Least {
    /// All of these places are without a key.
    pub(super) fn new(places: usize) -> Self {
        let (mut length, mut levels, mut width) = (0, Vec::new(), places.max(1));
        loop {
            let groups = width.div_ceil(GROUP);
            length += groups * GROUP;
            levels.push(length as u32);
            if groups == 1 {
                return Self { keys: vec![NONE; length + 1], levels };
            }
            width = groups;
        }
    }

    /// The least key, or `NONE`.
    pub(super) fn least(&self) -> u128 {
        self.keys[self.keys.len() - 1]
    }

    /// Sets the key of a place.
    pub(super) fn set(&mut self, place: usize, key: u128) {
        let (mut base, mut at) = (0, place);
        self.keys[place] = key;
        for &level in &self.levels {
            at /= GROUP;
            let above = level as usize + at;
            let first = base + at * GROUP;
            let group: &[u128] = &self.keys[first..first + GROUP];
            let least = group.iter().copied().fold(NONE, u128::min);
            if self.keys[above] == least {
                return;
            }
            self.keys[above] = least;
            base = level as usize;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_the_least_of_all(
            places in 1..300_usize,
            changes in proptest::collection::vec((any::<usize>(), 0..1_000_u128), 0..200),
        ) {
            let (mut least, mut keys) = (Least::new(places), vec![NONE; places]);
            prop_assert_eq!(least.least(), NONE);
            for (place, key) in changes {
                // A tenth of the changes takes the key away.
                let key = if key < 100 { NONE } else { key };
                least.set(place % places, key);
                keys[place % places] = key;
                prop_assert_eq!(Some(least.least()), keys.iter().copied().min());
            }
        }
    }
}
