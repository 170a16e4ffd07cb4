//! Guests: containers of asks for the default partition on nodes of partitions that lend theirs
//! (`capacity-scheduler.md` 1.3, "Exclusive / non-exclusive").
//!
//! An ask that may be a guest has a shape with a *twin* for each partition that lends: equal, but of that partition.
//! A container has the shape as which it was placed, so whatever counts containers charges a guest where its node is.

use serde::Serialize;

use super::node::Node;
use super::shape::Shape;
use super::{Facts, Queue};
use crate::ids::{AskId, PartitionId, QueueId, ShapeId};
use crate::resource::Resources;

/// Where containers of a shape may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub(crate) enum Lodging {
    /// On nodes of the shape's partition, which is that of its asks.
    #[default]
    Own,
    /// There, and as guests on nodes that other partitions lend: the shape has twins.
    Lodger,
    /// A twin: on nodes of the shape's partition, as guests.
    Guest,
}

/// On what footing something is in a partition: as its own or as a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Footing {
    pub(crate) partition: PartitionId,
    pub(crate) is_guest: bool,
}

impl Footing {
    pub(crate) fn own(partition: PartitionId) -> Self {
        Self { partition, is_guest: false }
    }

    pub(crate) fn guest(partition: PartitionId) -> Self {
        Self { partition, is_guest: true }
    }

    /// Of so many partitions there are twice as many footings.
    pub(crate) fn index(self) -> usize {
        self.partition.index() * 2 + usize::from(self.is_guest)
    }
}

impl Shape {
    pub(crate) fn footing(&self) -> Footing {
        Footing { partition: self.partition, is_guest: self.lodging == Lodging::Guest }
    }

    /// The shape as which asks of this one are guests in the partition.
    pub(crate) fn twin(&self, partition: PartitionId) -> Self {
        Self { partition, lodging: Lodging::Guest, ..self.clone() }
    }
}

impl Facts {
    /// Whether the partition lends nodes to asks for the default one.
    pub(crate) fn lends(&self, partition: PartitionId) -> bool {
        self.lending.contains(&partition)
    }

    /// As what asks may be placed. Those that name hosts or racks stay in their partition, and so do masters
    /// (`capacity-scheduler.md` 6.4, case 42).
    pub(crate) fn lodging_of(&self, partition: PartitionId, is_located: bool, is_master: bool) -> Lodging {
        let may_be_guest = partition == PartitionId::DEFAULT && !is_located && !is_master;
        if may_be_guest && !self.lending.is_empty() { Lodging::Lodger } else { Lodging::Own }
    }

    /// The shape that a container of the ask has on the node: the ask's own, or where the node's partition lends nodes to
    /// it, the twin. None if the node is not for it.
    #[inline]
    pub(crate) fn shape_on(&self, ask: ShapeId, node: &Node) -> Option<ShapeId> {
        if self.shapes.at(ask).partition == node.partition {
            return Some(ask);
        }
        self.shapes.twin_in(ask, node.partition)
    }

    /// The shapes as which the ask may be placed, its own first.
    pub(crate) fn shapes_of(&self, ask: AskId) -> impl Iterator<Item = ShapeId> {
        let own = self.asks.at(ask).shape;
        std::iter::once(own).chain(self.shapes.twins_of(own).iter().copied())
    }

    /// Whether the queue, which uses `level`, may use so much more. What guests take is nobody's share: they are held to
    /// what the partition has (`capacity-scheduler.md` 2.3), whether or not the queue may use it.
    #[inline]
    pub(crate) fn queue_admits(
        &self,
        queue: QueueId,
        footing: Footing,
        level: &Resources,
        more: &Resources,
    ) -> bool {
        if footing.is_guest {
            return level.can_grow(more, &self.partitions[footing.partition.index()].capacity);
        }
        self.queue(queue).quota(footing.partition).admits(level, more)
    }

    /// What bounds one user of the leaf, before its weight, whatever others use; guests as above.
    pub(super) fn user_ceiling<'a>(&'a self, leaf: &'a Queue, footing: Footing) -> &'a Resources {
        if footing.is_guest {
            return &self.partitions[footing.partition.index()].capacity;
        }
        &leaf.quota(footing.partition).user_limit
    }
}
