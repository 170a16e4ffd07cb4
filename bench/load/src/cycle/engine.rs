//! The engine of the yardstick: takes asks and ends in, and passes over the partitions.

use std::hint::black_box;

use super::amounts::{Amounts, minus, plus};
use super::cluster::{ApplicationPlan, ClusterPlan, Kind};
use super::ids::{Id, Slots};
use super::index::NodeIndex;
use super::log::Log;
use super::queues::{NO_QUEUE, PARTITIONS};
use super::walk::{AskPlace, Walk};

/// This many ended containers are looked up before the first of them is released.
const LOOK_AHEAD: usize = 64;

#[derive(Clone, Copy, Debug)]
pub(super) struct Ask {
    pub(super) application: u32,
    pub(super) kind: u32,
    /// Its lane within its leaf and partition.
    pub(super) lane: u32,
    pub(super) number: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Container {
    pub(super) application: u32,
    pub(super) node: u32,
    pub(super) kind: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Application {
    pub(super) plan: ApplicationPlan,
    /// The place of its user in the leaf.
    user_place: u32,
    pub(super) used: Amounts,
    pub(super) outstanding: u32,
    pub(super) running: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) free: Amounts,
    /// Slots of its containers.
    pub(super) containers: Vec<u32>,
    pub(super) partition: u32,
    /// Its position in the index of its partition.
    position: u32,
}

/// Use of a queue or a user, and its limit. The committer decides by it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quota {
    pub(super) used: Amounts,
    pub(super) maximum: Amounts,
    /// For a queue, the queue above.
    pub(super) parent: u32,
    pub(super) last_served: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Partition {
    pub(super) queues: Vec<Quota>,
    pub(super) users: Vec<Quota>,
    pub(super) walk: Walk,
    pub(super) index: NodeIndex,
}

/// A proposal: this ask on this node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) ask: Id,
    pub(super) node: u32,
}

/// The event of a placement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allocated {
    pub(super) ask: Id,
    pub(super) container: Id,
    pub(super) node: u32,
    /// The ask's number, by age.
    pub(super) number: u64,
}

/// The state of a cluster, and everything that changes it.
#[derive(Clone, Debug)]
pub(super) struct Engine {
    pub(super) kinds: Vec<Kind>,
    pub(super) applications: Vec<Application>,
    pub(super) nodes: Vec<Node>,
    pub(super) partitions: Vec<Partition>,
    pub(super) asks: Slots<Ask>,
    pub(super) containers: Slots<Container>,
    pub(super) requests: Vec<Request>,
    /// Events that the caller has not taken.
    pub(super) events: Vec<Allocated>,
    pub(super) log: Log,
    /// The number of the next ask.
    number: u64,
    /// Placements so far.
    pub(super) served: u64,
    /// Requests that the committer rejected.
    pub(super) rejected: u64,
    /// Sizes that found no node in the present pass, one bit each.
    closed: u128,
    sizes: u32,
    batch: usize,
}

impl Engine {
    pub(super) fn new(plan: &ClusterPlan) -> Self {
        let mut members: [Vec<(u32, Amounts)>; PARTITIONS] = Default::default();
        let mut nodes = Vec::with_capacity(plan.nodes.len());
        for (number, &(free, partition)) in plan.nodes.iter().enumerate() {
            let position = members[partition].len() as u32;
            nodes.push(Node { free, containers: Vec::new(), partition: partition as u32, position });
            members[partition].push((number as u32, free));
        }
        let application = |plan_of: &ApplicationPlan| Application {
            plan: plan_of.clone(),
            user_place: plan.users[plan_of.user as usize].place,
            used: [0; 2],
            outstanding: 0,
            running: 0,
        };
        let partition = |number: usize| Partition::new(plan, number, &members[number]);
        Self {
            kinds: plan.kinds.clone(),
            applications: plan.applications.iter().map(application).collect(),
            nodes,
            partitions: (0..PARTITIONS).map(partition).collect(),
            asks: Slots::new(),
            containers: Slots::new(),
            requests: Vec::with_capacity(plan.batch),
            events: Vec::new(),
            log: Log::default(),
            number: 0,
            served: 0,
            rejected: 0,
            closed: 0,
            sizes: plan.sizes as u32,
            batch: plan.batch,
        }
    }

    /// Takes an ask in and returns its identifier.
    pub(super) fn ask(&mut self, application: u32, kind: u32) -> Id {
        let of = &mut self.applications[application as usize];
        let Kind { size_number, priority, partition, .. } = self.kinds[kind as usize];
        of.outstanding += 1;
        self.number += 1;
        let lane = of.user_place * self.sizes + size_number;
        let id = self.asks.insert(Ask { application, kind, lane, number: self.number });
        let place = AskPlace { order: of.plan.order, priority, number: self.number, slot: id.slot };
        self.partitions[partition as usize].walk.add(of.plan.leaf, lane, place);
        self.log.asked(id, application, kind);
        id
    }

    /// Ends containers. An identifier of none is ignored.
    pub(super) fn complete(&mut self, ids: &[Id]) {
        for ids in ids.chunks(LOOK_AHEAD) {
            // Look-ups that do not depend on each other: so the processor waits for many cache misses at a time.
            let nodes = ids.iter().filter_map(|id| self.containers.get(*id)).map(|container| container.node);
            let listed = nodes.map(|node| self.nodes[node as usize].containers.first().copied());
            black_box(listed.fold(0, |sum, first| sum ^ first.unwrap_or(0)));
            ids.iter().for_each(|id| self.end(*id));
        }
    }

    fn end(&mut self, id: Id) {
        let Some(container) = self.containers.remove(id) else { return };
        let Kind { size, partition, .. } = self.kinds[container.kind as usize];
        let node = &mut self.nodes[container.node as usize];
        node.free = plus(node.free, size);
        if let Some(place) = node.containers.iter().position(|listed| *listed == id.slot) {
            node.containers.swap_remove(place);
        }
        let application = &mut self.applications[container.application as usize];
        application.used = minus(application.used, size);
        application.running -= 1;
        let (leaf, user) = (application.plan.leaf, application.plan.user);
        let partition = &mut self.partitions[partition as usize];
        partition.release(leaf, user, size);
        partition.walk.release(leaf, user, size);
        partition.index.credit(node.position as usize, size);
        self.log.ended(id);
    }

    /// Proposes and commits until no pass places anything.
    pub(super) fn run(&mut self) {
        self.log.end_group();
        for partition in 0..self.partitions.len() {
            loop {
                let is_full = self.propose(partition);
                self.commit(partition);
                self.log.end_group();
                if !is_full {
                    break;
                }
            }
        }
    }

    /// One pass: proposes for the most deserving asks. Returns whether the batch is full, so that more may follow.
    fn propose(&mut self, partition: usize) -> bool {
        let Partition { walk, index, .. } = &mut self.partitions[partition];
        walk.begin();
        self.closed = 0;
        while self.requests.len() < self.batch {
            let Some((leaf, slot)) = walk.first() else { return false };
            let (id, ask) = self.asks.at(slot);
            let user = self.applications[ask.application as usize].plan.user;
            let Kind { size, size_number, .. } = self.kinds[ask.kind as usize];
            let is_out = self.closed >> size_number & 1 == 1 || walk.is_blocked(leaf, user, size);
            let found = if is_out { None } else { index.search(size) };
            let Some(position) = found else {
                self.closed |= u128::from(!is_out) << size_number;
                walk.set_aside(leaf, ask.lane);
                continue;
            };
            walk.take(leaf, ask.lane, user, size);
            index.debit(position, size);
            self.requests.push(Request { ask: id, node: index.candidate(position).node });
        }
        true
    }
}

impl Partition {
    fn new(plan: &ClusterPlan, number: usize, nodes: &[(u32, Amounts)]) -> Self {
        let quota = |maximum, parent| Quota { used: [0; 2], maximum, parent, last_served: 0 };
        let user_limit = |leaf: u32| plan.queues[leaf as usize].limits[number].user;
        Self {
            queues: plan
                .queues
                .iter()
                .map(|queue| quota(queue.limits[number].maximum, queue.parent))
                .collect(),
            users: plan.users.iter().map(|user| quota(user_limit(user.leaf), NO_QUEUE)).collect(),
            walk: Walk::new(&plan.queues, &plan.users, plan.sizes, number),
            index: NodeIndex::new(nodes),
        }
    }
}
