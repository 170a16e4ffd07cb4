//! The committer's side: the facts, and how asks and ends change them. `commit` has the decisions.

use std::hint::black_box;

use super::amounts::{Amounts, minus, plus};
use super::cluster::{ApplicationPlan, ClusterPlan, Kind};
use super::ids::{Id, Slots};
use super::log::Log;
use super::proposer::{Asked, Feed, Freed, Pending};
use super::queues::{NO_QUEUE, PARTITIONS};

/// This many ended containers are looked up before the first of them is released.
const LOOK_AHEAD: usize = 64;

#[derive(Clone, Copy, Debug)]
pub(super) struct Ask {
    pub(super) application: u32,
    pub(super) kind: u32,
    /// Its lane within its leaf and partition.
    lane: u32,
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
    pub(super) position: u32,
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

/// The use and the limits in a partition.
#[derive(Clone, Debug)]
pub(super) struct Quotas {
    pub(super) queues: Vec<Quota>,
    pub(super) users: Vec<Quota>,
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

/// The facts of a cluster, and everything that changes them. The sides share no cache line, nor the line that is
/// prefetched with it.
#[derive(Clone, Debug)]
#[repr(align(128))]
pub(super) struct Committer {
    pub(super) kinds: Vec<Kind>,
    pub(super) applications: Vec<Application>,
    pub(super) nodes: Vec<Node>,
    /// By partition.
    pub(super) quotas: Vec<Quotas>,
    pub(super) asks: Slots<Ask>,
    pub(super) containers: Slots<Container>,
    /// Events that the caller has not taken.
    pub(super) events: Vec<Allocated>,
    pub(super) log: Log,
    /// The number of the next ask.
    number: u64,
    /// Placements so far.
    pub(super) served: u64,
    /// Requests that were rejected.
    pub(super) rejected: u64,
    sizes: u32,
}

impl Committer {
    pub(super) fn new(plan: &ClusterPlan) -> Self {
        let mut members = [0; PARTITIONS];
        let node = |&(free, partition): &(Amounts, usize)| {
            members[partition] += 1;
            Node {
                free,
                containers: Vec::new(),
                partition: partition as u32,
                position: members[partition] - 1,
            }
        };
        let application = |plan_of: &ApplicationPlan| Application {
            plan: plan_of.clone(),
            user_place: plan.users[plan_of.user as usize].place,
            used: [0; 2],
            outstanding: 0,
            running: 0,
        };
        Self {
            kinds: plan.kinds.clone(),
            applications: plan.applications.iter().map(application).collect(),
            nodes: plan.nodes.iter().map(node).collect(),
            quotas: (0..PARTITIONS).map(|number| Quotas::new(plan, number)).collect(),
            asks: Slots::new(),
            containers: Slots::new(),
            events: Vec::new(),
            log: Log::default(),
            number: 0,
            served: 0,
            rejected: 0,
            sizes: plan.sizes as u32,
        }
    }

    /// Takes an ask in and returns its identifier.
    pub(super) fn ask(&mut self, application: u32, kind: u32, feed: &mut impl Feed) -> Id {
        let of = &mut self.applications[application as usize];
        let lane = of.user_place * self.sizes + self.kinds[kind as usize].size_number;
        of.outstanding += 1;
        self.number += 1;
        let id = self.asks.insert(Ask { application, kind, lane, number: self.number });
        let ApplicationPlan { leaf, user, order } = of.plan;
        feed.asked(Asked { ask: Pending { id, kind, user, lane }, leaf, order, number: self.number });
        self.log.asked(id, application, kind);
        id
    }

    /// The ask in this slot; of a vacant slot, the last one.
    pub(super) fn pending(&self, slot: u32) -> Pending {
        let (id, Ask { application, kind, lane, .. }) = self.asks.at(slot);
        Pending { id, kind, user: self.applications[application as usize].plan.user, lane }
    }

    /// Ends containers. Unknown identifiers are ignored.
    pub(super) fn complete(&mut self, ids: &[Id], feed: &mut impl Feed) {
        for ids in ids.chunks(LOOK_AHEAD) {
            // Look-ups that do not depend on each other: so the processor waits for many cache misses at a time.
            let nodes = ids.iter().filter_map(|id| self.containers.get(*id)).map(|container| container.node);
            let listed = nodes.map(|node| self.nodes[node as usize].containers.first().copied());
            black_box(listed.fold(0, |sum, first| sum ^ first.unwrap_or(0)));
            ids.iter().for_each(|id| self.end(*id, feed));
        }
    }

    fn end(&mut self, id: Id, feed: &mut impl Feed) {
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
        let ApplicationPlan { leaf, user, .. } = application.plan;
        self.quotas[partition as usize].release(leaf, user, size);
        feed.freed(Freed { position: node.position, kind: container.kind, leaf, user });
        self.log.ended(id);
    }
}

impl Quotas {
    fn new(plan: &ClusterPlan, number: usize) -> Self {
        let quota = |maximum, parent| Quota { used: [0; 2], maximum, parent, last_served: 0 };
        let user_limit = |leaf: u32| plan.queues[leaf as usize].limits[number].user;
        let queues = plan.queues.iter().map(|queue| quota(queue.limits[number].maximum, queue.parent));
        let users = plan.users.iter().map(|user| quota(user_limit(user.leaf), NO_QUEUE));
        Self { queues: queues.collect(), users: users.collect() }
    }
}
