//! The books: all sums, recomputed from the objects that exist.

use std::collections::BTreeMap;

use apportion::{AskId, NodeId};

use super::amounts::{Amounts, NOTHING, amounts, may_add, plus, times};
use super::limits::{Limits, limits};
use super::{ApplicationId, Oracle};

/// The sums of a queue in one partition.
#[derive(Clone, Debug, Default)]
pub struct QueueBook {
    /// Its limits.
    pub limits: Limits,
    /// The divisor of its use in the order of queues.
    pub base: Amounts,
    /// The amounts of its containers and reservations.
    pub used: Amounts,
    /// The amounts of its reservations.
    pub reserved: Amounts,
    /// The amounts that its asks want.
    pub pending: Amounts,
    /// The number of running containers.
    pub containers: u64,
}

/// The sums of a node.
#[derive(Clone, Debug, Default)]
pub struct NodeBook {
    /// The amounts of its containers.
    pub used: Amounts,
    /// Free thousandths by device.
    pub device_free: Vec<u16>,
    /// The number of containers on it.
    pub containers: usize,
}

/// All sums at one moment.
#[derive(Clone, Debug)]
pub struct Books {
    /// The capacity of each partition.
    pub totals: Vec<Amounts>,
    /// By partition and queue.
    pub queues: Vec<Vec<QueueBook>>,
    /// Use of users, by partition, leaf and name.
    pub users: BTreeMap<(usize, usize, String), Amounts>,
    /// Use of applications in all partitions.
    pub applications: BTreeMap<ApplicationId, Amounts>,
    /// By node.
    pub nodes: BTreeMap<NodeId, NodeBook>,
}

impl Books {
    /// The user's use in a leaf.
    #[must_use]
    pub fn user(&self, partition: usize, leaf: usize, name: &str) -> Amounts {
        self.users.get(&(partition, leaf, name.to_owned())).copied().unwrap_or(NOTHING)
    }
}

impl Oracle {
    /// Recomputes all sums.
    #[must_use]
    pub fn books(&self) -> Books {
        let mut totals = vec![NOTHING; self.partitions.len()];
        let mut nodes = BTreeMap::new();
        for (id, node) in &self.nodes {
            let total = &mut totals[self.partition(node.partition)];
            *total = plus(total, &node.capacity);
            let device_free = vec![1000; usize::from(node.devices)];
            nodes.insert(*id, NodeBook { device_free, ..NodeBook::default() });
        }
        let names = self.config.partition_names();
        let queues = totals.iter().zip(names).map(|(total, name)| self.empty_queues(name, total)).collect();
        let applications = self.applications.keys().map(|id| (*id, NOTHING)).collect();
        let mut books = Books { totals, queues, users: BTreeMap::new(), applications, nodes };
        self.add_containers(&mut books);
        self.add_asks_and_reservations(&mut books);
        books
    }

    fn empty_queues(&self, partition: &str, total: &Amounts) -> Vec<QueueBook> {
        let base = |guaranteed: &Amounts| {
            std::array::from_fn(|i| if guaranteed[i] > 0 { guaranteed[i] } else { total[i] })
        };
        let book =
            |limits: Limits| QueueBook { base: base(&limits.guaranteed), limits, ..QueueBook::default() };
        limits(&self.tree, partition, total).into_iter().map(book).collect()
    }

    fn add_containers(&self, books: &mut Books) {
        for container in self.containers.values() {
            let partition = self.partition(self.nodes[&container.node].partition);
            self.charge(books, container.application, partition, &container.size);
            for queue in self.tree.chain(self.applications[&container.application].leaf) {
                books.queues[partition][queue].containers += 1;
            }
            let node = books.nodes.get_mut(&container.node).expect("a container's node is there");
            node.used = plus(&node.used, &container.size);
            node.containers += 1;
            for device in &container.devices {
                node.device_free[*device] -= container.need.map_or(0, |need| need.milli);
            }
        }
    }

    fn add_asks_and_reservations(&self, books: &mut Books) {
        for ask in self.asks.values() {
            let partition = self.partition(ask.partition);
            for queue in self.tree.chain(self.applications[&ask.application].leaf) {
                let pending = &mut books.queues[partition][queue].pending;
                *pending = plus(pending, &times(&amounts(&ask.spec.size), ask.outstanding));
            }
        }
        for reservation in self.reservations.values() {
            let ask = &self.asks[&reservation.ask];
            let (partition, size) = (self.partition(ask.partition), amounts(&ask.spec.size));
            self.charge(books, ask.application, partition, &size);
            for queue in self.tree.chain(self.applications[&ask.application].leaf) {
                let reserved = &mut books.queues[partition][queue].reserved;
                *reserved = plus(reserved, &size);
            }
        }
    }

    fn charge(&self, books: &mut Books, id: ApplicationId, partition: usize, size: &Amounts) {
        let application = &self.applications[&id];
        for queue in self.tree.chain(application.leaf) {
            let used = &mut books.queues[partition][queue].used;
            *used = plus(used, size);
        }
        let user = books.users.entry((partition, application.leaf, application.spec.user.clone()));
        let user = user.or_insert(NOTHING);
        *user = plus(user, size);
        let used = books.applications.entry(id).or_insert(NOTHING);
        *used = plus(used, size);
    }

    /// Whether each ancestor queue may use one more container of the ask, and whether its user may.
    #[must_use]
    pub fn limits_allow(&self, books: &Books, ask: AskId) -> (bool, bool) {
        let ask = &self.asks[&ask];
        let application = &self.applications[&ask.application];
        let (partition, size) = (self.partition(ask.partition), amounts(&ask.spec.size));
        let queues = &books.queues[partition];
        let chain = self.tree.chain(application.leaf);
        let allows = |queue: &usize| may_add(&queues[*queue].used, &size, &queues[*queue].limits.maximum);
        let user = &application.spec.user;
        let used = books.user(partition, application.leaf, user);
        let contest = self.contest(books, partition, application.leaf);
        let weight = self.tree.weight(application.leaf, user);
        let of_user = contest.allows(weight, &used, &size, &size)
            && self.holders_allow(books, partition, application.leaf, user, &size);
        (chain.iter().all(allows), of_user)
    }
}
