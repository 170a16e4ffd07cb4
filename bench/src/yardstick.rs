//! The yardstick: how fast two nested loops over plain arrays allocate on this machine.
//!
//! One thread, no lock, no identifiers, no events, no log; but the same decisions on the same cluster as `throughput`:
//! vectors of eight types, five levels of queues and a user checked and charged, the lowest share of eight sampled
//! leaves, a node from an index by what is free, one container released for each that is placed. Rates of an engine
//! are quoted as parts of this one, because machines differ and are shared.

use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::synthetic::draw_size;

const TYPES: usize = 8;
const LEVELS: usize = 5;
const SAMPLED_LEAVES: usize = 8;
const USERS_PER_LEAF: usize = 10;
/// Steps of what is free, of the type that is scarcest.
const STEPS: usize = 128;
/// Nodes that are looked at in one step before the next is tried.
const LOOKED_AT: usize = 8;
/// The part of the cluster that is in use before anything is timed, in percent.
const LOAD_PERCENT: i64 = 85;
/// Between two looks at the clock.
const ALLOCATIONS_PER_LOOK: u64 = 1_024;

type Amounts = [i64; TYPES];

#[derive(Debug)]
struct Queue {
    used: Amounts,
    maximum: Amounts,
    guaranteed: Amounts,
}

#[derive(Debug)]
struct Node {
    free: Amounts,
    capacity: Amounts,
    /// Where the index lists it.
    step: usize,
    place: usize,
}

#[derive(Clone, Copy, Debug)]
struct Container {
    leaf: usize,
    user: usize,
    node: usize,
    size: Amounts,
}

/// A cluster in plain arrays that allocates and releases.
#[derive(Debug)]
pub struct Yardstick {
    nodes: Vec<Node>,
    queues: Vec<Queue>,
    /// By leaf: the queues from it to the root.
    chains: Vec<[usize; LEVELS]>,
    /// By leaf and user.
    users: Vec<(Amounts, Amounts)>,
    /// By step: nodes with so much free.
    index: Vec<Vec<usize>>,
    containers: Vec<Container>,
    random: Pcg64Mcg,
}

/// What was measured.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    /// Containers placed.
    pub allocations: u64,
    /// How long that took.
    pub elapsed: Duration,
}

impl Rate {
    /// Containers placed per second.
    #[must_use]
    pub fn per_second(&self) -> f64 {
        self.allocations as f64 / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

impl Yardstick {
    /// A cluster of `nodes` nodes in three sizes and `leaves` leaves, in use to 85 %. Both are at least 1.
    #[must_use]
    pub fn new(nodes: usize, leaves: usize, seed: u64) -> Self {
        let nodes: Vec<Node> = (0..nodes.max(1)).map(node).collect();
        let total = nodes.iter().fold([0; TYPES], |sum, node| plus(&sum, &node.capacity));
        let (queues, chains) = tree(leaves.max(1), &total);
        let user = |leaf: usize| {
            let limit = queues[chains[leaf / USERS_PER_LEAF][0]].maximum;
            ([0; TYPES], limit)
        };
        let users = (0..chains.len() * USERS_PER_LEAF).map(user).collect();
        let mut yardstick = Self {
            nodes,
            queues,
            chains,
            users,
            index: vec![Vec::new(); STEPS],
            containers: Vec::new(),
            random: Pcg64Mcg::seed_from_u64(seed),
        };
        (0..yardstick.nodes.len()).for_each(|node| yardstick.list(node));
        while yardstick.queues[0].used[1] * 100 < total[1] * LOAD_PERCENT && yardstick.allocate() {}
        yardstick
    }

    /// Allocates for so long, and releases one container for each that it places.
    pub fn run(&mut self, duration: Duration) -> Rate {
        let (begun, mut allocations) = (Instant::now(), 0);
        loop {
            for _ in 0..ALLOCATIONS_PER_LOOK {
                allocations += u64::from(self.allocate());
                self.release();
            }
            let elapsed = begun.elapsed();
            if elapsed >= duration {
                return Rate { allocations, elapsed };
            }
        }
    }

    /// Places one container for the most deserving of some leaves; false if it fits nowhere.
    fn allocate(&mut self) -> bool {
        let leaf = self.most_deserving_leaf();
        let user = leaf * USERS_PER_LEAF + self.random.random_range(0..USERS_PER_LEAF);
        let mut size = [0; TYPES];
        let drawn = draw_size(&mut self.random);
        (size[0], size[1]) = (drawn[0], drawn[1]);
        let is_within_limits = self.chains[leaf].iter().all(|queue| {
            let queue = &self.queues[*queue];
            fits(&plus(&queue.used, &size), &queue.maximum)
        });
        let (used, limit) = &self.users[user];
        if !is_within_limits || !fits(&plus(used, &size), limit) {
            return false;
        }
        let Some(node) = self.find_node(&size) else { return false };
        self.charge(&Container { leaf, user, node, size }, 1);
        self.containers.push(Container { leaf, user, node, size });
        true
    }

    fn release(&mut self) {
        if self.containers.is_empty() {
            return;
        }
        let place = self.random.random_range(0..self.containers.len());
        let container = self.containers.swap_remove(place);
        self.charge(&container, -1);
    }

    fn most_deserving_leaf(&mut self) -> usize {
        let leaves = self.chains.len();
        let mut best = (f64::INFINITY, 0);
        for _ in 0..SAMPLED_LEAVES {
            let leaf = self.random.random_range(0..leaves);
            let share = share(&self.queues[self.chains[leaf][0]]);
            if share < best.0 {
                best = (share, leaf);
            }
        }
        best.1
    }

    /// A node that has room, from the emptiest step on.
    fn find_node(&self, size: &Amounts) -> Option<usize> {
        let nodes = self.index.iter().rev().flat_map(|nodes| nodes.iter().rev().take(LOOKED_AT));
        nodes.copied().find(|node| fits(size, &self.nodes[*node].free))
    }

    /// Adds the container to everything that it counts against, or with -1 takes it away.
    fn charge(&mut self, container: &Container, sign: i64) {
        let Container { leaf, user, node, size } = container;
        let change = size.map(|amount| amount * sign);
        for queue in self.chains[*leaf] {
            self.queues[queue].used = plus(&self.queues[queue].used, &change);
        }
        self.users[*user].0 = plus(&self.users[*user].0, &change);
        self.nodes[*node].free = plus(&self.nodes[*node].free, &change.map(|amount| -amount));
        self.move_in_index(*node);
    }

    fn move_in_index(&mut self, node: usize) {
        let Node { step, place, .. } = self.nodes[node];
        if step_of(&self.nodes[node]) == step {
            return;
        }
        self.index[step].swap_remove(place);
        if let Some(&moved) = self.index[step].get(place) {
            self.nodes[moved].place = place;
        }
        self.list(node);
    }

    fn list(&mut self, node: usize) {
        let step = step_of(&self.nodes[node]);
        (self.nodes[node].step, self.nodes[node].place) = (step, self.index[step].len());
        self.index[step].push(node);
    }
}

/// As in W1 of `workloads.md`: six of ten nodes have 32 vcores, three have 64 and one has 96, with 4 GiB a vcore.
fn node(number: usize) -> Node {
    let vcores = match number % 10 {
        0..6 => 32,
        6..9 => 64,
        _ => 96,
    };
    let mut capacity = [0; TYPES];
    (capacity[0], capacity[1]) = (vcores * 4 * 1024, vcores * 1000);
    Node { free: capacity, capacity, step: 0, place: 0 }
}

/// Five levels: each queue above the leaves stands for a fifth of what is below it at least.
fn tree(leaves: usize, total: &Amounts) -> (Vec<Queue>, Vec<[usize; LEVELS]>) {
    const CHILDREN: usize = 5;
    let mut queues = vec![queue(total, 1)];
    let widths: [usize; LEVELS] =
        std::array::from_fn(|level| leaves.div_ceil(CHILDREN.pow((LEVELS - 1 - level) as u32)).max(1));
    let mut first_of_level = [0; LEVELS];
    for level in 1..LEVELS {
        first_of_level[level] = queues.len();
        queues.extend((0..widths[level]).map(|_| queue(total, widths[level])));
    }
    let chain = |leaf: usize| {
        std::array::from_fn(|up| {
            let level = LEVELS - 1 - up;
            if level == 0 { 0 } else { first_of_level[level] + leaf / CHILDREN.pow(up as u32) }
        })
    };
    (queues, (0..leaves).map(chain).collect())
}

fn queue(total: &Amounts, siblings: usize) -> Queue {
    let guaranteed = total.map(|amount| amount / siblings as i64);
    Queue { used: [0; TYPES], maximum: *total, guaranteed }
}

fn plus(a: &Amounts, b: &Amounts) -> Amounts {
    std::array::from_fn(|i| a[i] + b[i])
}

fn fits(need: &Amounts, room: &Amounts) -> bool {
    need.iter().zip(room).all(|(need, room)| need <= room)
}

fn share(queue: &Queue) -> f64 {
    let shares = queue.used.iter().zip(&queue.guaranteed).filter(|(_, guaranteed)| **guaranteed > 0);
    shares.map(|(used, guaranteed)| *used as f64 / *guaranteed as f64).fold(0.0, f64::max)
}

fn step_of(node: &Node) -> usize {
    let parts = node.free.iter().zip(&node.capacity).filter(|(_, capacity)| **capacity > 0);
    let least = parts.map(|(free, capacity)| free * (STEPS as i64 - 1) / capacity).min();
    least.unwrap_or(0).clamp(0, STEPS as i64 - 1) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is counted anywhere is what the containers hold.
    #[test]
    fn everything_is_counted_once() {
        let mut yardstick = Yardstick::new(50, 20, 1);
        let rate = yardstick.run(Duration::ZERO);
        assert!(rate.allocations > 0);
        let held = yardstick.containers.iter().fold([0; TYPES], |sum, container| plus(&sum, &container.size));
        assert_eq!(yardstick.queues[0].used, held);
        let free = yardstick.nodes.iter().fold([0; TYPES], |sum, node| plus(&sum, &node.free));
        let capacity = yardstick.nodes.iter().fold([0; TYPES], |sum, node| plus(&sum, &node.capacity));
        assert_eq!(plus(&free, &held), capacity);
        let by_users = yardstick.users.iter().fold([0; TYPES], |sum, user| plus(&sum, &user.0));
        assert_eq!(by_users, held);
        for (number, node) in yardstick.nodes.iter().enumerate() {
            assert!(node.free.iter().all(|free| *free >= 0));
            assert_eq!(yardstick.index[step_of(node)][node.place], number);
        }
        assert!(held[1] * 100 >= (LOAD_PERCENT - 5) * capacity[1], "it works at its load");
    }

    #[test]
    fn every_leaf_has_five_levels_up_to_the_root() {
        for leaves in [1, 4, 20, 1_000] {
            let yardstick = Yardstick::new(10, leaves, 1);
            assert_eq!(yardstick.chains.len(), leaves);
            for chain in &yardstick.chains {
                assert_eq!(chain[LEVELS - 1], 0);
                assert!(chain.windows(2).all(|pair| pair[0] > pair[1]), "{chain:?}");
            }
        }
    }
}
