//! The yardstick: the rate at which two nested loops over plain arrays allocate on this machine.
//!
//! It uses one thread, no lock, no identifiers, no events and no log. It makes the same decisions on the same cluster
//! as `throughput`. Vectors have eight types. Five levels of queues and a user are checked and charged. The leaf has
//! the lowest share of eight samples, and an index by free resources finds the node. Each placement releases one
//! container. Rates of an engine are given as parts of this rate, because machines differ and are shared.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use apportion_load::sizes::{CONTAINER_SIZES, node_vcores};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

const TYPES: usize = 8;
const LEVELS: usize = 5;
const SAMPLED_LEAVES: usize = 8;
const USERS_PER_LEAF: usize = 10;
/// Number of index steps of free resources, by the scarcest type.
const STEPS: usize = u128::BITS as usize;
/// Nodes tried in one step before the next step is tried.
const LOOKED_AT: usize = 8;
/// The part of the cluster in use before timing starts, in percent.
const LOAD_PERCENT: i64 = 85;
/// Allocations between two readings of the clock.
const ALLOCATIONS_PER_LOOK: u64 = 1_024;

type Amounts = [i64; TYPES];
/// The value of one unit of each type; zero for types with no amount.
type Worth = [f64; TYPES];

#[derive(Debug)]
struct Queue {
    used: Amounts,
    maximum: Amounts,
}

#[derive(Debug)]
struct Leaf {
    /// The queues from it to the root.
    chain: [usize; LEVELS],
    shares_per_unit: Worth,
}

#[derive(Debug)]
struct Node {
    free: Amounts,
    /// For each type that the node has, the steps per unit.
    steps_per_unit: Worth,
    /// The node's place in the index.
    step: u32,
    place: u32,
}

#[derive(Clone, Copy, Debug)]
struct Container {
    leaf: u32,
    user: u32,
    node: u32,
    /// Index of the size.
    size: u32,
}

/// A cluster in plain arrays that allocates and releases.
#[derive(Debug)]
pub struct Yardstick {
    nodes: Vec<Node>,
    queues: Vec<Queue>,
    leaves: Vec<Leaf>,
    /// By leaf: the used part of its guarantee, of the type with the largest part.
    shares: Vec<f64>,
    /// Use and limit, by leaf and user.
    users: Vec<(Amounts, Amounts)>,
    /// By step: nodes with this much free.
    index: Vec<Vec<u32>>,
    /// The set of steps that have nodes.
    listed: u128,
    /// Each size as often as it occurs in a hundred.
    sizes: Vec<Amounts>,
    containers: Vec<Container>,
    random: Pcg64Mcg,
}

/// The result of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    /// Containers placed.
    pub allocations: u64,
    /// Duration of the measurement.
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
    /// A cluster of `nodes` nodes in three sizes and `leaves` leaves, 85 % busy. Both are at least 1.
    #[must_use]
    pub fn new(nodes: usize, leaves: usize, seed: u64) -> Self {
        let capacities: Vec<Amounts> = (0..nodes.max(1)).map(capacity).collect();
        let total = capacities.iter().fold([0; TYPES], plus);
        let (queues, leaves) = tree(leaves.max(1), &total);
        let user = |user: usize| ([0; TYPES], queues[leaves[user / USERS_PER_LEAF].chain[0]].maximum);
        let mut yardstick = Self {
            users: (0..leaves.len() * USERS_PER_LEAF).map(user).collect(),
            nodes: capacities.iter().map(node).collect(),
            queues,
            shares: vec![0.0; leaves.len()],
            leaves,
            index: vec![Vec::new(); STEPS],
            listed: 0,
            sizes: sizes(),
            containers: Vec::new(),
            random: Pcg64Mcg::seed_from_u64(seed),
        };
        (0..yardstick.nodes.len()).for_each(|node| yardstick.list(node));
        while yardstick.queues[0].used[1] * 100 < total[1] * LOAD_PERCENT && yardstick.allocate() {}
        yardstick
    }

    /// Allocates for this duration, and releases one container for each that it places.
    pub fn run(&mut self, duration: Duration) -> Rate {
        self.run_while(duration, &|| ControlFlow::Continue(()))
    }

    /// Allocates as [`run`](Self::run) does, but only as long as `go_on` continues.
    pub fn run_while(&mut self, duration: Duration, go_on: &dyn Fn() -> ControlFlow<()>) -> Rate {
        let (begun, mut allocations) = (Instant::now(), 0);
        loop {
            for _ in 0..ALLOCATIONS_PER_LOOK {
                allocations += u64::from(self.allocate());
                self.release();
            }
            let elapsed = begun.elapsed();
            if elapsed >= duration || go_on().is_break() {
                return Rate { allocations, elapsed };
            }
        }
    }

    /// Places one container for the most deserving of some leaves; false if it fits nowhere.
    fn allocate(&mut self) -> bool {
        let leaf = self.most_deserving_leaf();
        let user = leaf * USERS_PER_LEAF + self.random.random_range(0..USERS_PER_LEAF);
        let drawn = self.random.random_range(0..self.sizes.len());
        let size = &self.sizes[drawn];
        let is_within_limits = self.leaves[leaf].chain.iter().all(|queue| {
            let queue = &self.queues[*queue];
            fits(&plus(queue.used, size), &queue.maximum)
        });
        let (used, limit) = &self.users[user];
        if !is_within_limits || !fits(&plus(*used, size), limit) {
            return false;
        }
        let Some(node) = self.find_node(size) else { return false };
        let container = Container { leaf: leaf as u32, user: user as u32, node, size: drawn as u32 };
        self.charge(container, 1);
        self.containers.push(container);
        true
    }

    fn release(&mut self) {
        if self.containers.is_empty() {
            return;
        }
        let place = self.random.random_range(0..self.containers.len());
        let container = self.containers.swap_remove(place);
        self.charge(container, -1);
    }

    fn most_deserving_leaf(&mut self) -> usize {
        let mut best = self.random.random_range(0..self.shares.len());
        for _ in 1..SAMPLED_LEAVES {
            let leaf = self.random.random_range(0..self.shares.len());
            if self.shares[leaf] < self.shares[best] {
                best = leaf;
            }
        }
        best
    }

    /// A node with room, searched from the emptiest step on.
    fn find_node(&self, size: &Amounts) -> Option<u32> {
        let mut steps = self.listed;
        while steps != 0 {
            let step = steps.ilog2();
            let nodes = self.index[step as usize].iter().rev().take(LOOKED_AT);
            if let Some(node) = nodes.copied().find(|node| fits(size, &self.nodes[*node as usize].free)) {
                return Some(node);
            }
            steps &= !(1 << step);
        }
        None
    }

    /// Adds the container to every total that includes it; with -1 removes it.
    fn charge(&mut self, container: Container, sign: i64) {
        let Container { leaf, user, node, size } = container;
        let change = self.sizes[size as usize].map(|amount| amount * sign);
        let leaf = &self.leaves[leaf as usize];
        for queue in leaf.chain {
            self.queues[queue].used = plus(self.queues[queue].used, &change);
        }
        let used = self.queues[leaf.chain[0]].used;
        self.shares[container.leaf as usize] = worth_most(&used, &leaf.shares_per_unit);
        let (used_by_user, _) = &mut self.users[user as usize];
        *used_by_user = plus(*used_by_user, &change);
        let node = node as usize;
        self.nodes[node].free = plus(self.nodes[node].free, &change.map(|amount| -amount));
        self.move_in_index(node);
    }

    fn move_in_index(&mut self, node: usize) {
        let Node { step, place, .. } = self.nodes[node];
        if self.nodes[node].step_now() == step {
            return;
        }
        let listed = &mut self.index[step as usize];
        listed.swap_remove(place as usize);
        if let Some(&moved) = listed.get(place as usize) {
            self.nodes[moved as usize].place = place;
        } else if listed.is_empty() {
            self.listed &= !(1 << step);
        }
        self.list(node);
    }

    fn list(&mut self, node: usize) {
        let step = self.nodes[node].step_now();
        let listed = &mut self.index[step as usize];
        (self.nodes[node].step, self.nodes[node].place) = (step, listed.len() as u32);
        listed.push(node as u32);
        self.listed |= 1 << step;
    }
}

impl Node {
    /// The step of the node's scarcest type.
    fn step_now(&self) -> u32 {
        let steps = self.free.iter().zip(&self.steps_per_unit).filter(|(_, worth)| **worth > 0.0);
        steps.map(|(free, worth)| (*free as f64 * worth) as u32).fold(STEPS as u32 - 1, u32::min)
    }
}

fn capacity(number: usize) -> Amounts {
    amounts(node_vcores(number) * 4, node_vcores(number))
}

fn amounts(gib: i64, vcores: i64) -> Amounts {
    [gib * 1024, vcores * 1000, 0, 0, 0, 0, 0, 0]
}

fn node(capacity: &Amounts) -> Node {
    Node { free: *capacity, steps_per_unit: worth(capacity, STEPS as f64 - 1.0), step: 0, place: 0 }
}

fn sizes() -> Vec<Amounts> {
    let repeated = |(vcores, gib, percent)| std::iter::repeat_n(amounts(gib, vcores), percent as usize);
    CONTAINER_SIZES.into_iter().flat_map(repeated).collect()
}

/// Five levels: below the root, each level has at least a fifth as many queues as the next one.
fn tree(leaves: usize, total: &Amounts) -> (Vec<Queue>, Vec<Leaf>) {
    const CHILDREN: usize = 5;
    let width = |level: usize| leaves.div_ceil(CHILDREN.pow((LEVELS - 1 - level) as u32)).max(1);
    let widths: [usize; LEVELS] = std::array::from_fn(|level| if level == 0 { 1 } else { width(level) });
    let first_of_level: [usize; LEVELS] = std::array::from_fn(|level| widths[..level].iter().sum());
    let queues = || Queue { used: [0; TYPES], maximum: *total };
    let leaf = |leaf: usize| Leaf {
        chain: std::array::from_fn(|up| {
            let level = LEVELS - 1 - up;
            first_of_level[level] + (leaf / CHILDREN.pow(up as u32)).min(widths[level] - 1)
        }),
        shares_per_unit: worth(total, leaves as f64),
    };
    let queues = std::iter::repeat_with(queues).take(widths.iter().sum()).collect();
    (queues, (0..leaves).map(leaf).collect())
}

/// The value of one unit if the whole amount has this value.
fn worth(all: &Amounts, value: f64) -> Worth {
    all.map(|amount| if amount > 0 { value / amount as f64 } else { 0.0 })
}

fn worth_most(amounts: &Amounts, worth: &Worth) -> f64 {
    amounts.iter().zip(worth).map(|(amount, worth)| *amount as f64 * worth).fold(0.0, f64::max)
}

fn plus(a: Amounts, b: &Amounts) -> Amounts {
    std::array::from_fn(|i| a[i] + b[i])
}

/// Compares without a branch for each type: no difference may be negative.
fn fits(need: &Amounts, room: &Amounts) -> bool {
    need.iter().zip(room).fold(0, |signs, (need, room)| signs | (room - need)) >= 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All totals equal the sums over the containers.
    #[test]
    fn everything_is_counted_once() {
        let mut yardstick = Yardstick::new(50, 20, 1);
        let rate = yardstick.run(Duration::ZERO);
        assert!(rate.allocations > 0);
        let sizes = yardstick.containers.iter().map(|container| &yardstick.sizes[container.size as usize]);
        let held = sizes.fold([0; TYPES], plus);
        assert_eq!(yardstick.queues[0].used, held);
        let free = yardstick.nodes.iter().fold([0; TYPES], |sum, node| plus(sum, &node.free));
        let capacity = (0..50).map(capacity).fold([0; TYPES], |sum, capacity| plus(sum, &capacity));
        assert_eq!(plus(free, &held), capacity);
        let by_users = yardstick.users.iter().fold([0; TYPES], |sum, user| plus(sum, &user.0));
        assert_eq!(by_users, held);
        for (number, node) in yardstick.nodes.iter().enumerate() {
            assert!(node.free.iter().all(|free| *free >= 0));
            assert_eq!(yardstick.index[node.step_now() as usize][node.place as usize] as usize, number);
        }
        assert!(held[1] * 100 >= (LOAD_PERCENT - 5) * capacity[1], "it works at its load");
    }

    #[test]
    fn every_leaf_has_five_levels_up_to_the_root() {
        for leaves in [1, 4, 20, 1_000] {
            let yardstick = Yardstick::new(10, leaves, 1);
            assert_eq!(yardstick.leaves.len(), leaves);
            for Leaf { chain, .. } in &yardstick.leaves {
                assert_eq!(chain[LEVELS - 1], 0);
                assert!(chain.windows(2).all(|pair| pair[0] > pair[1]), "{chain:?}");
            }
        }
    }
}
