//! Non-exclusive partitions: they lend idle nodes to asks for the default partition.
//!
//! The shape of an ask that may borrow nodes has a *borrowed variant* for each partition that lends: equal, except for
//! the partition. A container has the shape with which it was placed, so every count charges a borrowed container to
//! the partition of its node.

use serde::{Deserialize, Serialize};

use super::node::Node;
use super::rule::Rule;
use super::shape::Shape;
use super::{Facts, QueueTree};
use crate::ids::{AskId, PartitionId, QueueId, ShapeId};
use crate::resource::{Need, Resources};

/// Whether containers of a shape may be on borrowed nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Borrowing {
    /// Only on nodes of the shape's partition, which is that of its asks.
    #[default]
    None,
    /// Also on nodes that other partitions lend: the shape has borrowed variants.
    Allowed,
    /// The shape is a borrowed variant: its partition lends the nodes.
    Borrowed,
}

/// A share of a partition: its own containers, or containers that borrow its nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartitionShare {
    pub(crate) partition: PartitionId,
    pub(crate) is_borrowed: bool,
}

impl PartitionShare {
    pub(crate) fn own(partition: PartitionId) -> Self {
        Self { partition, is_borrowed: false }
    }

    /// The share of a release. Joined with any other share, it gives that share. So a release does not bring borrowed
    /// containers under the queue's own limit.
    pub(crate) fn of_release(partition: PartitionId) -> Self {
        Self { partition, is_borrowed: true }
    }

    /// The share whose limits apply to both shares of one partition together: its own, if either is.
    pub(crate) fn join(self, other: Self) -> Self {
        Self { is_borrowed: self.is_borrowed && other.is_borrowed, ..self }
    }

    /// Whether the maxima of queues and users apply to the share. They do not limit borrowed containers.
    pub(crate) fn is_limited_by_queues(self) -> bool {
        !self.is_borrowed
    }

    /// The index of the share; there are two for each partition.
    pub(crate) fn index(self) -> usize {
        self.partition.index() * 2 + usize::from(self.is_borrowed)
    }
}

impl Shape {
    /// The shape of asks or containers that stay in the partition and name no hosts or racks.
    pub(crate) fn own(need: Need, partition: PartitionId, rule: Option<Box<Rule>>) -> Self {
        Self { need, partition, rule, has_locality: false, borrowing: Borrowing::None }
    }

    /// The same shape in this partition, for containers that are the partition's own and stay there.
    pub(crate) fn staying_in(&self, partition: PartitionId) -> Self {
        Self { partition, borrowing: Borrowing::None, ..self.clone() }
    }

    /// Whether nodes may be reserved for the shape: a reserved unit never borrows.
    pub(crate) fn may_reserve(&self) -> bool {
        self.borrowing != Borrowing::Borrowed
    }

    pub(crate) fn share(&self) -> PartitionShare {
        PartitionShare { partition: self.partition, is_borrowed: self.borrowing == Borrowing::Borrowed }
    }
}

impl Facts {
    /// Whether the partition lends nodes to asks for the default partition.
    pub(crate) fn lends(&self, partition: PartitionId) -> bool {
        self.lending.contains(&partition)
    }

    /// Whether asks may borrow nodes. Asks that name hosts or racks stay in their partition, and so do masters.
    pub(crate) fn borrowing_of(
        &self,
        partition: PartitionId,
        has_locality: bool,
        is_master: bool,
    ) -> Borrowing {
        let may_borrow = partition == PartitionId::DEFAULT && !has_locality && !is_master;
        if may_borrow && !self.lending.is_empty() { Borrowing::Allowed } else { Borrowing::None }
    }

    /// The borrowed variants that a new shape gets: one for each partition that lends, if its asks may borrow nodes.
    pub(crate) fn new_variants(&self, shape: &Shape) -> Vec<Shape> {
        let lenders = self.lending.iter().filter(|_| shape.borrowing == Borrowing::Allowed);
        let variant = |&partition| Shape { partition, borrowing: Borrowing::Borrowed, ..shape.clone() };
        lenders.map(variant).collect()
    }

    /// The shape of the ask's containers on the node: the ask's own, or the borrowed variant for the partition that
    /// lends the node. `None` if the ask may not use the node.
    #[inline]
    pub(crate) fn shape_on(&self, ask: ShapeId, node: &Node) -> Option<ShapeId> {
        if self.shapes.at(ask).partition == node.partition {
            return Some(ask);
        }
        self.shapes.variant_in(ask, node.partition)
    }

    /// The shapes with which the ask may be placed, its own first.
    pub(crate) fn shapes_of(&self, ask: AskId) -> impl Iterator<Item = ShapeId> {
        let own = self.asks.at(ask).shape;
        std::iter::once(own).chain(self.shapes.variants_of(own).iter().copied())
    }
}

impl QueueTree {
    /// The partition's capacity, which replaces the maxima of queues and users for borrowed containers. Limits of
    /// users and groups at queues apply to them too. `None` for the partition's own containers.
    #[inline]
    pub(super) fn limit_beyond_queues(&self, share: PartitionShare) -> Option<&Resources> {
        (!share.is_limited_by_queues()).then(|| &self.partitions[share.partition.index()].capacity)
    }

    /// Whether a queue whose use is `level` may use `more` on top.
    #[inline]
    pub(crate) fn queue_admits(
        &self,
        queue: QueueId,
        share: PartitionShare,
        level: &Resources,
        more: &Resources,
    ) -> bool {
        match self.limit_beyond_queues(share) {
            Some(limit) => level.can_grow(more, limit),
            None => self.queue(queue).quota(share.partition).admits(level, more),
        }
    }
}
