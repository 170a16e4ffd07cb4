//! The facts as bytes from which a later engine makes them again.
//!
//! An image has more than the [canonical bytes](super::digest): vacant slots, free identifiers, numbers of shapes,
//! and orders that depend on history. So an engine that starts from an image decides as after a full replay. Facts
//! that follow from others are left out and computed again.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::shape::{Shapes, ShapesImage};
use super::table::Slot;
use super::{
    Application, Ask, Container, Facts, IdPool, LaterFacts, LeafUser, Node, NodeQueues, OpportunisticAsk,
    PartitionTotals, Queue, Reservation, Stopping, Table,
};
use crate::config::{EngineConfig, QueueMapping};
use crate::ids::{
    ApplicationId, AskId, ContainerId, NodeId, PartitionId, QueueId, ReservationId, ShapeId, SlotId,
};
use crate::resource::Resources;

/// The shape of an ask or container until the image's list of shapes is read.
pub(super) fn unknown_shape() -> ShapeId {
    ShapeId(u32::MAX)
}

/// The identifier in a node until its slot is known.
pub(super) fn unknown_node() -> NodeId {
    NodeId::new(u32::MAX, 0)
}

/// Declares a borrowing image to write and an owning image to read, and the conversions from and to the facts. A fact
/// is `plain`, a `table`, or a field of the queue `tree`.
macro_rules! images {
    (@written plain $life:lifetime $type:ty) => { &$life $type };
    (@written tree $life:lifetime $type:ty) => { &$life $type };
    (@written table $life:lifetime $type:ty) => { &$life [Slot<$type>] };
    (@owned plain $type:ty) => { $type };
    (@owned tree $type:ty) => { $type };
    (@owned table $type:ty) => { Vec<Slot<$type>> };
    (@write plain $facts:ident $field:ident) => { &$facts.$field };
    (@write tree $facts:ident $field:ident) => { &$facts.tree.$field };
    (@write table $facts:ident $field:ident) => { $facts.$field.slots() };
    (@read plain $facts:ident $field:ident $image:ident) => { $facts.$field = $image.$field };
    (@read tree $facts:ident $field:ident $image:ident) => { $facts.tree.$field = $image.$field };
    (@read table $facts:ident $field:ident $image:ident) => { $facts.$field = Table::of_slots($image.$field) };
    ($($kind:ident $field:ident: $type:ty,)*) => {
        #[derive(Serialize)]
        pub(crate) struct FactsImageOf<'a> {
            $($field: images!(@written $kind 'a $type),)*
            lists: Lists,
        }

        #[derive(Deserialize)]
        pub(crate) struct FactsImage {
            $($field: images!(@owned $kind $type),)*
            lists: Lists,
        }

        impl Facts {
            /// The facts as they are written.
            pub(crate) fn image(&self) -> FactsImageOf<'_> {
                let facts = self;
                FactsImageOf { $($field: images!(@write $kind facts $field),)* lists: facts.lists() }
            }

            /// The facts that were written, without those that follow from others.
            fn bare(image: FactsImage) -> Self {
                let mut facts = Self::empty(&image.config);
                $(images!(@read $kind facts $field image);)*
                facts.add_lists(image.lists);
                facts
            }
        }
    };
}

images! {
    plain config: Arc<EngineConfig>,
    plain queue_mapping: QueueMapping,
    plain now_ms: u64,
    plain changes: u64,
    tree partitions: Vec<PartitionTotals>,
    plain racks: Vec<String>,
    table nodes: Node,
    tree queues: Vec<Queue>,
    tree users: Vec<LeafUser>,
    table applications: Application,
    plain applications_submitted: u64,
    table asks: Ask,
    plain asks_submitted: u64,
    plain served: u64,
    table containers: Container,
    plain opportunistic: BTreeMap<ContainerId, Resources>,
    plain stopping: BTreeMap<ContainerId, Stopping>,
    plain container_ids: IdPool<ContainerId>,
    table reservations: Reservation,
    plain reservation_ids: IdPool<ReservationId>,
}

/// The fields of values in tables that are written apart, each list in the order of its table.
#[derive(Serialize, Deserialize)]
struct Lists {
    shapes: ShapesImage,
    shapes_of_asks: Vec<ShapeId>,
    shapes_of_containers: Vec<ShapeId>,
    containers_of_applications: Vec<Vec<ContainerId>>,
}

impl FactsImage {
    /// Whether everything that the image refers to is in it, and its numbers are possible. Sums are not compared.
    pub(crate) fn is_coherent(&self, later: &LaterFacts) -> bool {
        self.config.validate_logged().is_ok()
            && self.partitions.len() == self.config.partitions.len() + 1
            && self.queues.first().is_some_and(|root| root.parent.is_none())
            && self.queues.iter().all(|queue| self.is_queue_coherent(queue))
            && self.users.iter().all(|user| self.is_user_coherent(user))
            && live(&self.applications)
                .all(|one| self.is_leaf(one.leaf) && one.user.index() < self.users.len())
            && live(&self.nodes).all(|node| self.is_node_coherent(node))
            && live(&self.asks).all(|ask| {
                is_live(&self.applications, ask.application)
                    && u64::from(ask.asked.get())
                        >= u64::from(ask.allocated) + u64::from(ask.extras().cancelled)
                    && ask.reservations().iter().all(|id| is_live(&self.reservations, *id))
            })
            && live(&self.containers)
                .all(|one| is_live(&self.applications, one.application) && is_live(&self.nodes, one.node))
            && live(&self.reservations)
                .all(|one| is_live(&self.asks, one.ask) && is_live(&self.nodes, one.node))
            && self.container_ids.fits(&self.containers)
            && self.reservation_ids.fits(&self.reservations)
            && later.is_coherent(self)
            && self.are_lists_coherent()
            && self.lists.shapes.is_coherent(|id| self.has_partition(id), &self.config.resources)
    }

    /// Whether the container is alive.
    pub(super) fn has_container(&self, id: ContainerId) -> bool {
        is_live(&self.containers, id)
    }

    /// Whether the application is alive.
    pub(super) fn has_application(&self, id: ApplicationId) -> bool {
        is_live(&self.applications, id)
    }

    /// Whether the node is alive.
    pub(super) fn has_live_node(&self, id: NodeId) -> bool {
        is_live(&self.nodes, id)
    }

    /// The application of a live ask, if that is alive too.
    pub(super) fn application_of(&self, ask: AskId) -> Option<ApplicationId> {
        let slot = self.asks.get(ask.index()).filter(|slot| slot.generation == ask.generation())?;
        Some(slot.value.as_ref()?.application).filter(|id| is_live(&self.applications, *id))
    }

    /// Whether each queue is at a node and has opportunistic containers of that node, each once. Each opportunistic
    /// ask must have an application and outstanding units.
    pub(super) fn are_node_queues_coherent(&self, queues: &NodeQueues) -> bool {
        let mut listed = BTreeSet::new();
        let mut is_on = |node: NodeId, id: &ContainerId| {
            let slot = self.containers.get(id.index()).and_then(|slot| slot.value.as_ref());
            is_live(&self.containers, *id)
                && slot.is_some_and(|container| container.node == node)
                && self.opportunistic.contains_key(id)
                && listed.insert(*id)
        };
        let has_ask = |(id, ask): (&AskId, &OpportunisticAsk)| {
            let done = u64::from(ask.allocated) + u64::from(ask.cancelled);
            is_live(&self.applications, ask.application)
                && !is_live(&self.asks, *id)
                && done < u64::from(ask.asked)
                && self.has_partition(ask.shape.partition)
        };
        let mut at_nodes = queues
            .nodes
            .iter()
            .flat_map(|(node, queue)| queue.running.iter().chain(&queue.waiting).map(move |id| (*node, id)));
        at_nodes.all(|(node, id)| is_live(&self.nodes, node) && is_on(node, id))
            && queues.asks.iter().all(has_ask)
            && queues.promotions.iter().all(|id| self.opportunistic.contains_key(id))
            && (self.config.opportunistic.is_some() || queues.nodes.is_empty() && queues.asks.is_empty())
    }

    pub(super) fn has_partition(&self, id: PartitionId) -> bool {
        id.index() < self.partitions.len()
    }

    fn knows_queue(&self, id: QueueId) -> bool {
        id.index() < self.queues.len()
    }

    /// Whether the queue takes applications.
    fn is_leaf(&self, id: QueueId) -> bool {
        self.queues.get(id.index()).is_some_and(|queue| queue.is_leaf)
    }

    fn is_queue_coherent(&self, queue: &Queue) -> bool {
        let mut others = queue.chain.iter().chain(&queue.parent).chain(&queue.children);
        others.all(|id| self.knows_queue(*id))
            && queue.users.values().all(|id| id.index() < self.users.len())
            && queue.quota.len() == self.partitions.len()
            && queue.masters.len() == self.partitions.len()
            && queue.applications >= queue.inactive
    }

    fn is_user_coherent(&self, user: &LeafUser) -> bool {
        let partitions = self.partitions.len();
        self.knows_queue(user.leaf)
            && (user.used.len(), user.masters.len()) == (partitions, partitions)
            && user.applications >= user.inactive
    }

    fn is_node_coherent(&self, node: &Node) -> bool {
        self.has_partition(node.partition)
            && node.rack.index() < self.racks.len()
            && node.containers.iter().all(|id| is_live(&self.containers, *id))
            && node.reservation.is_none_or(|id| is_live(&self.reservations, id))
            && self.config.resources.check(&node.capacity).is_ok()
    }

    /// The lists beside the tables have an entry for each value.
    fn are_lists_coherent(&self) -> bool {
        let lists = &self.lists;
        let mut shapes = lists.shapes_of_asks.iter().chain(&lists.shapes_of_containers);
        lists.shapes_of_asks.len() == live(&self.asks).count()
            && lists.shapes_of_containers.len() == live(&self.containers).count()
            && lists.containers_of_applications.len() == live(&self.applications).count()
            && shapes.all(|id| lists.shapes.is_in_use(*id))
            && lists.containers_of_applications.iter().flatten().all(|id| is_live(&self.containers, *id))
    }
}

fn live<T>(slots: &[Slot<T>]) -> impl Iterator<Item = &T> {
    slots.iter().filter_map(|slot| slot.value.as_ref())
}

fn is_live<I: SlotId, T>(slots: &[Slot<T>], id: I) -> bool {
    slots.get(id.index()).is_some_and(|slot| slot.generation == id.generation() && slot.value.is_some())
}

impl Facts {
    fn lists(&self) -> Lists {
        let containers = |application: &Application| application.containers.iter(&self.containers).collect();
        Lists {
            shapes: self.shapes.image(),
            shapes_of_asks: self.asks.iter().map(|(_, ask)| ask.shape).collect(),
            shapes_of_containers: self.containers.iter().map(|(_, container)| container.shape).collect(),
            containers_of_applications: self.applications.iter().map(|(_, one)| containers(one)).collect(),
        }
    }

    fn add_lists(&mut self, lists: Lists) {
        self.shapes = Shapes::of_image(lists.shapes);
        for ((_, ask), shape) in self.asks.iter_mut().zip(lists.shapes_of_asks) {
            ask.shape = shape;
        }
        for ((_, container), shape) in self.containers.iter_mut().zip(lists.shapes_of_containers) {
            container.shape = shape;
        }
        for ((_, application), list) in self.applications.iter_mut().zip(lists.containers_of_applications) {
            list.into_iter().for_each(|id| application.containers.add(id));
        }
    }

    /// The reservations with their asks, the oldest first. Those of one ask are in the ask's order. Slots do not show
    /// it, because a later reservation may have an earlier slot.
    pub(crate) fn reservations_by_age(&self) -> Vec<(ReservationId, &Ask)> {
        let with_ask = |(id, one): (_, &Reservation)| (id, one.created_ms, self.asks.at(one.ask));
        let mut all: Vec<_> = self.reservations.iter().map(with_ask).collect();
        all.sort_by_key(|(id, created_ms, ask)| {
            (*created_ms, ask.number, ask.reservations().iter().position(|other| other == id))
        });
        all.into_iter().map(|(id, _, ask)| (id, ask)).collect()
    }

    /// The facts that were written.
    pub(crate) fn of_image(image: FactsImage, later: LaterFacts) -> Self {
        let LaterFacts { notices, gangs, disruption, placeholders, node_queues, held_rooms } = later;
        let mut facts =
            Self { notices, gangs, disruption, placeholders, node_queues, held_rooms, ..Self::bare(image) };
        facts.nodes.iter_mut().for_each(|(id, node)| node.id = id);
        facts.restore_demand();
        for (_, container) in facts.containers.iter() {
            let tags = facts.shapes.at(container.shape).tags();
            facts.tags.add(tags, facts.nodes.at(container.node), container.application, 1);
        }
        for (id, application) in facts.applications.iter().filter(|(_, one)| !one.is_active) {
            facts.tree.inactive.add(id, application);
        }
        facts.held_asks = super::gang::held_asks(&facts.gangs);
        facts.disruption.restore();
        facts.placeholders.restore();
        facts.tree.restore();
        facts.node_loads = facts.rebuilt_loads();
        facts
    }

    /// Counts the units and amounts that applications have and want.
    fn restore_demand(&mut self) {
        for (_, container) in self.containers.iter() {
            let used = self.shapes.at(container.shape).need.resources;
            self.applications.at_mut(container.application).demand += used;
        }
        for (_, ask) in self.asks.iter() {
            let application = self.applications.at_mut(ask.application);
            let wanted = self.shapes.at(ask.shape).need.resources.times(i64::from(ask.outstanding()));
            application.demand += wanted;
            application.outstanding += u64::from(ask.outstanding());
        }
        for (_, application) in self.applications.iter().filter(|(_, one)| one.outstanding > 0) {
            self.tree.queues[application.leaf.index()].demand.add(application.priority);
        }
    }
}
