//! The nodes of a partition by what they have free: spread order in 128 steps, as the engine's sets list them.

use super::amounts::{Amounts, SHARE_ONE, dominant_share, fits, minus, most, plus};

const STEPS: usize = 128;
const NOWHERE: u8 = u8::MAX;

/// The proposer's view of a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) free: Amounts,
    /// Its capacity, by number in the index.
    capacity: u32,
    /// Its number in the cluster.
    pub(super) node: u32,
    step: u8,
}

/// The candidates of a partition. The lowest step wins, and within it the lowest position.
#[derive(Clone, Debug)]
pub(super) struct NodeIndex {
    candidates: Vec<Candidate>,
    capacities: Vec<Amounts>,
    /// One bit for each position, `words` words for each step.
    members: Vec<u64>,
    words: usize,
    /// One bit for each word of `members` that is not zero, `groups` words for each step.
    used_words: Vec<u64>,
    groups: usize,
    counts: [u32; STEPS],
    /// One bit for each step that has members.
    occupied: u128,
    /// No member of a step has more free than this.
    most_free: [Amounts; STEPS],
}

impl NodeIndex {
    /// An index of empty nodes, given by number and capacity.
    pub(super) fn new(nodes: &[(u32, Amounts)]) -> Self {
        let words = nodes.len().div_ceil(64);
        let groups = words.div_ceil(64);
        let mut index = Self {
            candidates: Vec::with_capacity(nodes.len()),
            capacities: Vec::new(),
            members: vec![0; words * STEPS],
            words,
            used_words: vec![0; groups * STEPS],
            groups,
            counts: [0; STEPS],
            occupied: 0,
            most_free: [[0; 2]; STEPS],
        };
        for (position, &(node, free)) in nodes.iter().enumerate() {
            let known = index.capacities.iter().position(|capacity| *capacity == free);
            let capacity = known.unwrap_or(index.capacities.len()) as u32;
            if known.is_none() {
                index.capacities.push(free);
            }
            index.candidates.push(Candidate { free, capacity, node, step: NOWHERE });
            index.list(position);
        }
        index
    }

    pub(super) fn candidate(&self, position: usize) -> Candidate {
        self.candidates[position]
    }

    /// Takes a proposed container's size from the view of a node.
    pub(super) fn debit(&mut self, position: usize, size: Amounts) {
        self.candidates[position].free = minus(self.candidates[position].free, size);
        self.list(position);
    }

    /// Gives an ended container's size back to the view of a node.
    pub(super) fn credit(&mut self, position: usize, size: Amounts) {
        self.candidates[position].free = plus(self.candidates[position].free, size);
        self.list(position);
    }

    /// The first node in order that has room.
    pub(super) fn search(&mut self, size: Amounts) -> Option<usize> {
        let mut steps = self.occupied;
        while steps != 0 {
            let step = steps.trailing_zeros() as usize;
            steps &= steps - 1;
            if fits(size, self.most_free[step])
                && let Some(position) = self.search_step(step, size)
            {
                return Some(position);
            }
        }
        None
    }

    /// The first node of a step that has room. A failed search finds the step's exact bound.
    fn search_step(&mut self, step: usize, size: Amounts) -> Option<usize> {
        let mut bound = [0; 2];
        for group in 0..self.groups {
            let mut used_words = self.used_words[step * self.groups + group];
            while used_words != 0 {
                let word = group * 64 + used_words.trailing_zeros() as usize;
                used_words &= used_words - 1;
                let mut members = self.members[step * self.words + word];
                while members != 0 {
                    let position = word * 64 + members.trailing_zeros() as usize;
                    members &= members - 1;
                    let free = self.candidates[position].free;
                    if fits(size, free) {
                        return Some(position);
                    }
                    bound = most(bound, free);
                }
            }
        }
        self.most_free[step] = bound;
        None
    }

    /// Lists a candidate in the step of what it has free.
    fn list(&mut self, position: usize) {
        let Candidate { free, capacity, step: before, .. } = self.candidates[position];
        let used = minus(self.capacities[capacity as usize], free);
        let share = dominant_share(used, self.capacities[capacity as usize]).min(SHARE_ONE);
        let step = (share * (STEPS as u64 - 1) / SHARE_ONE) as u8;
        if step != before {
            if before != NOWHERE {
                self.remove(position, usize::from(before));
            }
            self.candidates[position].step = step;
            self.insert(position, usize::from(step));
        }
        let bound = &mut self.most_free[usize::from(step)];
        *bound = most(*bound, free);
    }

    fn insert(&mut self, position: usize, step: usize) {
        let word = position / 64;
        self.members[step * self.words + word] |= 1 << (position % 64);
        self.used_words[step * self.groups + word / 64] |= 1 << (word % 64);
        self.counts[step] += 1;
        self.occupied |= 1 << step;
    }

    fn remove(&mut self, position: usize, step: usize) {
        let word = position / 64;
        let members = &mut self.members[step * self.words + word];
        *members &= !(1 << (position % 64));
        if *members == 0 {
            self.used_words[step * self.groups + word / 64] &= !(1 << (word % 64));
        }
        self.counts[step] -= 1;
        if self.counts[step] == 0 {
            self.occupied &= !(1 << step);
            self.most_free[step] = [0; 2];
        }
    }
}
