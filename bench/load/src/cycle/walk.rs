//! The proposer's view of a partition's queues: their pending asks, and the most deserving ask.
//!
//! A leaf knows the least key of its lanes, any other queue the least key of its children. So the walk finds the first
//! ask in exact order from the root down, with one look at each level.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::amounts::{Amounts, dominant_share, fits, minus, plus};
use super::cluster::UserPlan;
use super::least::{Least, NONE};
use super::queues::{NO_QUEUE, QueuePlan};

/// Bits of the keys of queues below the share: when it was served, and its number.
const SERVED_BITS: u32 = 52;
const NUMBER_BITS: u32 = 32;
const SHARE_MAX: u64 = (1 << (u128::BITS - SERVED_BITS - NUMBER_BITS)) - 1;

/// An ask's place among the asks of its leaf: by application, then by priority number, then by age.
#[derive(Clone, Copy, Debug)]
pub(super) struct AskPlace {
    /// The application's place in its leaf, below 2^24.
    pub(super) order: u32,
    /// Below 2^8.
    pub(super) priority: u32,
    pub(super) number: u64,
    pub(super) slot: u32,
}

impl AskPlace {
    fn key(self) -> u128 {
        u128::from(self.order) << 104
            | u128::from(self.priority) << 96
            | u128::from(self.number) << 32
            | u128::from(self.slot)
    }
}

#[derive(Clone, Debug)]
struct WalkQueue {
    /// Use, with everything proposed.
    level: Amounts,
    maximum: Amounts,
    share_base: Amounts,
    last_served: u64,
    parent: u32,
    /// Its place among its siblings.
    place: u32,
    depth: u32,
    is_leaf: bool,
    /// Whether its key has to be computed again.
    is_dirty: bool,
}

/// The queues and users of a partition as a pass sees them.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    queues: Vec<WalkQueue>,
    /// By queue.
    least: Vec<Least>,
    /// By leaf and lane.
    lanes: Vec<Vec<BinaryHeap<Reverse<u128>>>>,
    /// By user: the level and the limit.
    users: Vec<(Amounts, Amounts)>,
    served: u64,
    /// By depth: queues whose key has to be computed again.
    dirty: Vec<Vec<u32>>,
    /// Lanes left out of the present pass, with their leaves.
    aside: Vec<(u32, u32)>,
}

impl Walk {
    pub(super) fn new(queues: &[QueuePlan], users: &[UserPlan], sizes: usize, partition: usize) -> Self {
        let mut lanes = vec![0; queues.len()];
        users.iter().for_each(|user| lanes[user.leaf as usize] += sizes);
        let queue = |plan: &QueuePlan| WalkQueue {
            level: [0; 2],
            maximum: plan.limits[partition].maximum,
            share_base: plan.limits[partition].share_base,
            last_served: 0,
            parent: plan.parent,
            place: plan.place,
            depth: plan.depth,
            is_leaf: plan.children == 0,
            is_dirty: false,
        };
        let limit = |user: &UserPlan| queues[user.leaf as usize].limits[partition].user;
        let places = |(number, plan): (usize, &QueuePlan)| plan.children.max(lanes[number]);
        Self {
            queues: queues.iter().map(queue).collect(),
            least: queues.iter().enumerate().map(places).map(Least::new).collect(),
            lanes: lanes.iter().map(|lanes| vec![BinaryHeap::new(); *lanes]).collect(),
            users: users.iter().map(|user| ([0; 2], limit(user))).collect(),
            served: 0,
            dirty: vec![Vec::new(); 1 + queues.iter().map(|plan| plan.depth as usize).max().unwrap_or(0)],
            aside: Vec::new(),
        }
    }

    /// The leaf and the slot of the first ask in order.
    pub(super) fn first(&self) -> Option<(u32, u32)> {
        let mut queue = 0;
        loop {
            let least = self.least[queue as usize].least();
            match least {
                NONE => return None,
                least if self.queues[queue as usize].is_leaf => return Some((queue, least as u32)),
                least => queue = least as u32,
            }
        }
    }

    /// Whether a limit of a queue or of the user leaves no room for a container of this size.
    pub(super) fn is_blocked(&self, leaf: u32, user: u32, size: Amounts) -> bool {
        let (level, limit) = self.users[user as usize];
        let mut is_blocked = !fits(plus(level, size), limit);
        let mut queue = leaf;
        while queue != NO_QUEUE {
            let WalkQueue { level, maximum, parent, .. } = self.queues[queue as usize];
            is_blocked |= !fits(plus(level, size), maximum);
            queue = parent;
        }
        is_blocked
    }

    /// The levels of all queues, then of all users.
    #[cfg(test)]
    pub(super) fn levels(&self) -> impl Iterator<Item = Amounts> {
        self.queues.iter().map(|queue| queue.level).chain(self.users.iter().map(|user| user.0))
    }

    /// The number of listed asks.
    #[cfg(test)]
    pub(super) fn asks(&self) -> usize {
        self.lanes.iter().flatten().map(BinaryHeap::len).sum()
    }

    /// Lists an ask in its lane.
    pub(super) fn add(&mut self, leaf: u32, lane: u32, place: AskPlace) {
        let was_empty = self.least[leaf as usize].least() == NONE;
        self.lanes[leaf as usize][lane as usize].push(Reverse(place.key()));
        self.list(leaf, lane);
        if was_empty {
            self.mark(leaf);
        }
    }

    /// Takes the first ask of a lane, and counts a container of this size for it.
    pub(super) fn take(&mut self, leaf: u32, lane: u32, user: u32, size: Amounts) {
        self.lanes[leaf as usize][lane as usize].pop();
        self.list(leaf, lane);
        self.users[user as usize].0 = plus(self.users[user as usize].0, size);
        self.served += 1;
        let mut at = leaf;
        while at != NO_QUEUE {
            let queue = &mut self.queues[at as usize];
            queue.level = plus(queue.level, size);
            queue.last_served = self.served;
            let parent = queue.parent;
            self.rank(at);
            at = parent;
        }
    }

    /// Takes an ended container's size from the levels.
    pub(super) fn release(&mut self, leaf: u32, user: u32, size: Amounts) {
        self.users[user as usize].0 = minus(self.users[user as usize].0, size);
        let mut at = leaf;
        while at != NO_QUEUE {
            let queue = &mut self.queues[at as usize];
            queue.level = minus(queue.level, size);
            at = queue.parent;
        }
        self.mark(leaf);
    }

    /// Leaves a lane out of the present pass.
    pub(super) fn set_aside(&mut self, leaf: u32, lane: u32) {
        self.least[leaf as usize].set(lane as usize, NONE);
        self.aside.push((leaf, lane));
        let mut at = leaf;
        while at != NO_QUEUE && self.least[at as usize].least() == NONE {
            self.rank(at);
            at = self.queues[at as usize].parent;
        }
    }

    /// Begins a pass: lists the lanes that the last one left out, and ranks all queues that changed.
    pub(super) fn begin(&mut self) {
        while let Some((leaf, lane)) = self.aside.pop() {
            self.list(leaf, lane);
            self.mark(leaf);
        }
        for depth in (0..self.dirty.len()).rev() {
            let mut dirty = std::mem::take(&mut self.dirty[depth]);
            for queue in dirty.drain(..) {
                self.queues[queue as usize].is_dirty = false;
                self.rank(queue);
            }
            self.dirty[depth] = dirty;
        }
    }

    /// Lists a lane by its first ask.
    fn list(&mut self, leaf: u32, lane: u32) {
        let first = self.lanes[leaf as usize][lane as usize].peek();
        let key = first.map_or(NONE, |first| first.0);
        self.least[leaf as usize].set(lane as usize, key);
    }

    /// Records that the keys from the leaf to the root have to be computed again.
    fn mark(&mut self, leaf: u32) {
        let mut at = leaf;
        while at != NO_QUEUE {
            let queue = &mut self.queues[at as usize];
            if std::mem::replace(&mut queue.is_dirty, true) {
                return;
            }
            self.dirty[queue.depth as usize].push(at);
            at = queue.parent;
        }
    }

    /// Computes a queue's key among its siblings: by share, then by when it was served, then by its place.
    fn rank(&mut self, number: u32) {
        let queue = &self.queues[number as usize];
        if queue.parent == NO_QUEUE {
            return;
        }
        let key = match self.least[number as usize].least() {
            NONE => NONE,
            _ => {
                let share = dominant_share(queue.level, queue.share_base).min(SHARE_MAX);
                u128::from(share) << (SERVED_BITS + NUMBER_BITS)
                    | u128::from(queue.last_served) << NUMBER_BITS
                    | u128::from(number)
            }
        };
        self.least[queue.parent as usize].set(queue.place as usize, key);
    }
}
