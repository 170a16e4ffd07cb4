//! The index of a placement set: finds nodes by score step without a look at every node.

use super::order::BUCKETS;
use crate::bits::ones;
use crate::resource::Resources;

/// For each step the positions of its nodes, and an upper bound on their free resources.
#[derive(Clone, Debug)]
pub(super) struct BucketIndex {
    /// One bit per position, `words` words per step.
    members: Vec<u64>,
    words: usize,
    /// One bit for each nonzero word of `members`, `word_words` words per step.
    used_words: Vec<u64>,
    word_words: usize,
    counts: [u32; BUCKETS],
    /// The steps that have members, one bit each.
    occupied: u128,
    /// Componentwise upper bound on the free amounts in each step. Exact after a full scan, raised by insertions,
    /// never lowered by removals. A search may visit a step for nothing, but never skips a node that fits.
    most_free: Vec<Resources>,
    /// By position: the step, or `ABSENT`.
    steps: Vec<u8>,
}

const ABSENT: u8 = u8::MAX;

impl BucketIndex {
    pub(super) fn new(positions: usize) -> Self {
        let words = positions.div_ceil(64);
        let word_words = words.div_ceil(64);
        Self {
            members: vec![0; words * BUCKETS],
            words,
            used_words: vec![0; word_words * BUCKETS],
            word_words,
            counts: [0; BUCKETS],
            occupied: 0,
            most_free: vec![Resources::ZERO; BUCKETS],
            steps: vec![ABSENT; positions],
        }
    }

    /// The step in which a position is listed.
    pub(super) fn step_of(&self, position: usize) -> Option<usize> {
        let step = self.steps[position];
        (step != ABSENT).then_some(usize::from(step))
    }

    /// Lists a position under `step` with its free resources, and under no other step.
    pub(super) fn put(&mut self, position: usize, step: usize, free: &Resources) {
        debug_assert!(step < BUCKETS);
        if self.step_of(position) != Some(step) {
            self.remove(position);
            let word = position / 64;
            self.members[step * self.words + word] |= 1 << (position % 64);
            self.used_words[step * self.word_words + word / 64] |= 1 << (word % 64);
            self.counts[step] += 1;
            self.occupied |= 1 << step;
            self.steps[position] = step as u8;
        }
        self.most_free[step].raise_to(free);
    }

    /// As [`put`](Self::put), for a position whose free resources only fell: the bound of its present step still holds.
    pub(super) fn lower(&mut self, position: usize, step: usize, free: impl FnOnce() -> Resources) {
        if self.steps[position] != step as u8 {
            self.put(position, step, &free());
        }
    }

    /// Removes a position.
    pub(super) fn remove(&mut self, position: usize) {
        let Some(step) = self.step_of(position) else { return };
        let word = position / 64;
        let members = &mut self.members[step * self.words + word];
        *members &= !(1 << (position % 64));
        if *members == 0 {
            self.used_words[step * self.word_words + word / 64] &= !(1 << (word % 64));
        }
        self.counts[step] -= 1;
        if self.counts[step] == 0 {
            self.occupied &= !(1 << step);
            self.most_free[step] = Resources::ZERO;
        }
        self.steps[position] = ABSENT;
    }

    /// Returns the first position in order that `fits` accepts. `free_of` returns the free resources of a position, so
    /// that a step searched for nothing gets an exact bound. `visits` counts the positions looked at.
    pub(super) fn search(
        &mut self,
        need: &Resources,
        mut fits: impl FnMut(usize) -> bool,
        free_of: impl Fn(usize) -> Resources,
        visits: &mut usize,
    ) -> Option<usize> {
        let mut steps = self.occupied;
        while steps != 0 {
            let step = steps.trailing_zeros() as usize;
            steps &= steps - 1;
            if !Resources::ZERO.can_grow(need, &self.most_free[step]) {
                continue;
            }
            let mut most = Resources::ZERO;
            let members = &self.members[step * self.words..][..self.words];
            let used_words = &self.used_words[step * self.word_words..][..self.word_words];
            for (group, used_words) in used_words.iter().enumerate() {
                for word in ones(*used_words).map(|word| group * 64 + word as usize) {
                    for position in ones(members[word]).map(|bit| word * 64 + bit as usize) {
                        *visits += 1;
                        if fits(position) {
                            return Some(position);
                        }
                        most.raise_to(&free_of(position));
                    }
                }
            }
            self.most_free[step] = most;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// After any puts and removals, each step lists its positions in order. The index is large enough to use
        /// several words of words.
        #[test]
        fn each_step_lists_its_positions(
            steps in proptest::collection::vec((0..5_000usize, 0..3usize, any::<bool>()), 0..200),
        ) {
            let (mut index, mut model) = (BucketIndex::new(5_000), vec![BTreeSet::new(); 3]);
            for (position, step, is_put) in steps {
                model.iter_mut().for_each(|members| { members.remove(&position); });
                if is_put {
                    index.put(position, step, &Resources::ZERO);
                    model[step].insert(position);
                } else {
                    index.remove(position);
                }
            }
            let mut seen = Vec::new();
            let found = index.search(
                &Resources::ZERO,
                |position| { seen.push(position); false },
                |_| Resources::ZERO,
                &mut 0,
            );
            prop_assert_eq!(found, None);
            prop_assert_eq!(seen, model.into_iter().flatten().collect::<Vec<_>>());
        }
    }

    fn find(index: &mut BucketIndex, free: &[i64], need: i64) -> (Option<usize>, usize) {
        let mut visits = 0;
        let amount = |position: usize| Resources::new(&[free[position]]);
        let found = index.search(&Resources::new(&[need]), |p| free[p] >= need, amount, &mut visits);
        (found, visits)
    }

    #[test]
    fn the_first_step_wins_and_within_it_the_first_position() {
        let free = [5, 9, 9, 3];
        let mut index = BucketIndex::new(4);
        for (position, step) in [(0, 1), (1, 2), (2, 2), (3, 0)] {
            index.put(position, step, &Resources::new(&[free[position]]));
        }
        assert_eq!(find(&mut index, &free, 3).0, Some(3));
        assert_eq!(find(&mut index, &free, 4).0, Some(0));
        assert_eq!(find(&mut index, &free, 9).0, Some(1));
        index.remove(1);
        assert_eq!(find(&mut index, &free, 9).0, Some(2));
        assert_eq!(find(&mut index, &free, 10).0, None);
    }

    #[test]
    fn a_step_searched_in_vain_is_not_searched_again() {
        let mut free = vec![10; 100];
        let mut index = BucketIndex::new(100);
        for position in 0..100 {
            index.put(position, 0, &Resources::new(&[10]));
        }
        free.fill(4);
        assert_eq!(find(&mut index, &free, 5), (None, 100), "the bound was still 10");
        assert_eq!(find(&mut index, &free, 5), (None, 0));
        free[70] = 6;
        index.put(70, 0, &Resources::new(&[6]));
        assert_eq!(find(&mut index, &free, 5).0, Some(70));
    }
}
