//! Borrowed containers: asks for the default partition on nodes that another partition lends.

use apportion::{AskId, NodeId, PartitionId, ResourceAllocationCommitRequest};

use super::amounts::{Amounts, amounts, may_add};
use super::blocked_headroom::Blocked;
use super::{Ask, Books, Oracle};

/// A user that gets more of a partition by a request, and how much.
pub(super) struct Taker<'a> {
    pub(super) partition: usize,
    pub(super) leaf: usize,
    pub(super) user: &'a str,
    pub(super) size: Amounts,
    pub(super) is_borrowed: bool,
}

impl Oracle {
    /// Whether the partition lends its nodes to asks for the default partition.
    #[must_use]
    pub fn lends(&self, partition: PartitionId) -> bool {
        let name = self.config.partition_names().nth(self.partition(partition));
        name.is_some_and(|name| self.config.non_exclusive_partitions.iter().any(|lending| lending == name))
    }

    /// Whether the ask may borrow the node, which belongs to another partition.
    #[must_use]
    pub fn is_borrowed(&self, ask: &Ask, node: NodeId) -> bool {
        let partition = self.nodes[&node].partition;
        ask.partition == self.partitions[0]
            && partition != ask.partition
            && self.lends(partition)
            && !ask.has_locality()
            && !ask.spec.is_master
    }

    /// Whether the node is in the ask's partition, or the ask may borrow it.
    pub(super) fn may_be_on(&self, ask: &Ask, node: NodeId) -> bool {
        self.nodes[&node].partition == ask.partition || self.is_borrowed(ask, node)
    }

    /// Whether limits allow one more container of the ask on a borrowed node in the partition. The only limits are
    /// the partition's total, limits of users and groups, and the users' shares of the total.
    pub(super) fn borrowed_limits_allow(&self, books: &Books, ask: &Ask, partition: usize) -> bool {
        let application = &self.applications[&ask.application];
        let (size, total) = (amounts(&ask.spec.size), &books.totals[partition]);
        let queues = &books.queues[partition];
        let user = &application.spec.user;
        let used = books.user(partition, application.leaf, user);
        let contest = self.contest(books, partition, application.leaf).of_borrowed(total);
        let weight = self.tree.weight(application.leaf, user);
        let chain = self.tree.chain(application.leaf);
        chain.iter().all(|queue| may_add(&queues[*queue].used, &size, total))
            && contest.allows(weight, &used, &size, &size)
            && self.holders_allow(books, partition, application.leaf, user, &size)
    }

    /// Whether a unit of the ask without a reservation could start now in its own partition. It cannot where headroom
    /// is blocked for other asks.
    #[must_use]
    pub fn could_start_in_own_partition(&self, id: AskId) -> bool {
        let (books, ask) = (self.books(), &self.asks[&id]);
        self.limits_allow(&books, id) == (true, true)
            && !self.is_headroom_blocked(&books, id, Blocked::AtMost)
            && self.nodes.iter().any(|(node, known)| {
                known.partition == ask.partition
                    && !self.reservations.contains_key(node)
                    && known.is_candidate()
                    && self.takes_now(&books, id, *node)
            })
    }

    /// Whether the node meets the ask's conditions and has room for it.
    pub(super) fn takes_now(&self, books: &Books, id: AskId, node: NodeId) -> bool {
        let (ask, known) = (&self.asks[&id], &self.nodes[&node]);
        ask.accepts(node, known)
            && !self.shuns(ask, known)
            && self.keeps_tag_limits(ask, node)
            && self.has_room(books, &ask.spec, node)
    }

    /// The users that get a container or a reservation by the request.
    pub(super) fn takers(&self, request: &ResourceAllocationCommitRequest) -> Vec<Taker<'_>> {
        let taker = |ask: AskId, node: Option<NodeId>| {
            let ask = self.asks.get(&ask)?;
            let application = &self.applications[&ask.application];
            let node = node.filter(|node| self.nodes.contains_key(node));
            let partition = node.map_or(ask.partition, |node| self.nodes[&node].partition);
            Some(Taker {
                partition: self.partition(partition),
                leaf: application.leaf,
                user: &application.spec.user,
                size: amounts(&ask.spec.size),
                is_borrowed: node.is_some_and(|node| self.is_borrowed(ask, node)),
            })
        };
        let allocated = request.allocate.iter().filter_map(|one| taker(one.ask, Some(one.node)));
        allocated.chain(request.reserve.iter().filter_map(|one| taker(one.ask, None))).collect()
    }
}
