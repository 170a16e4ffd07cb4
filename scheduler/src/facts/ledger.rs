//! The ledger: the only code that moves quantities.
//!
//! An ask is counted when it is submitted. Each of its units moves from pending to used when it becomes a container,
//! and the ask is forgotten once it is satisfied. The files in `ledger/` have the other transitions; `asks.rs` has
//! the general ones of requests.
//!
//! Every transition by itself keeps the sums of I1, I2, I4 and I6 true. One function without an early return changes an
//! object and every sum that counts it. The committer has checked each transition before (`admit`, `accept`), with the
//! same `fits` on the same numbers, so none can fail.

mod applications;
mod asks;
mod containers;
mod held_room;
mod nodes;
mod opportunistic;
mod reservations;
mod users;

use super::ask::{Ask, Container};
use super::charged::Charged;
use super::{Facts, QueueTree};
use crate::ids::{ApplicationId, AskId, ContainerId, LeafUserId, NodeId, ShapeId};
use crate::resource::{DeviceMask, Resources};

/// The kind of a charge. Placed containers and new reservations count as service to the application and its queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// A guaranteed container that is placed now.
    Placed,
    /// A container that is recovered, waits at a node, changes its shape, or ends.
    Running,
    /// A reservation that is made or ends.
    Reserved,
}

/// How one container or reservation changes the sums that count it.
struct UseChange {
    what: Use,
    /// 1 to add the container, -1 to subtract it.
    sign: i64,
    /// The number of this service, if it counts as service.
    served: Option<u64>,
}

impl UseChange {
    /// Adds a container of this size to a sum, or subtracts it.
    #[inline]
    fn change(&self, sum: &mut Resources, resources: Resources) {
        if self.sign < 0 { *sum -= resources } else { *sum += resources }
    }
}

impl Facts {
    /// An ask enters with all of its units outstanding. The caller has already counted it as a user of its shape.
    pub(crate) fn transition_submit_ask(&mut self, id: AskId, ask: Ask) {
        let units = i64::from(ask.outstanding());
        let application = self.applications.at_mut(ask.application);
        application.asks += 1;
        let (leaf, user) = (application.leaf, application.user);
        self.record_wanted_units(ask.application, user, ask.outstanding());
        let shape = self.shapes.at(ask.shape);
        let pending = shape.need.resources.times(units);
        self.applications.at_mut(ask.application).demand += pending;
        self.tree.queues[leaf.index()].quota[shape.partition.index()].pending += pending;
        self.asks.insert(id, ask);
    }

    /// The only unit of a plain ask becomes a container on `node`, which is of the ask's partition, and the ask is
    /// forgotten. Equals [`transition_allocate`](Self::transition_allocate) and then
    /// [`transition_forget_ask`](Self::transition_forget_ask) as long as the facts [know no gangs](Self::knows_gangs).
    /// It leaves out counts that would rise and fall again: the units allocated, and the users of the shape.
    pub(crate) fn transition_place_plain(&mut self, ask_id: AskId, node: NodeId) -> (ContainerId, Charged) {
        let ask = self.asks.remove(ask_id).expect("the caller checked that it is alive");
        debug_assert!(ask.is_plain(), "{ask_id} is not plain");
        let Ask { application, shape, priority, allocation_request_id, .. } = ask;
        let charged = self.charge(application, shape, node, Use::Placed, 1);
        self.applications.at_mut(application).asks -= 1;
        self.tree.queues[charged.leaf.index()].quota[charged.partition.index()].pending -= charged.resources;
        self.record_taken_units(application, charged.user, 1);
        self.count_tags(&charged, 1);
        // The container takes the ask's place among the users of the shape.
        let container = self.start(Container {
            application,
            ask: ask_id,
            node,
            shape,
            devices: DeviceMask::default(),
            priority,
            allocation_request_id,
            is_recovered: false,
        });
        (container, charged)
    }

    /// Starts a charged container, and gives it its devices. It is already counted as a user of its shape.
    // Inlined, so that the container is built in its slot (see `table.rs`).
    #[inline(always)]
    fn start(&mut self, mut container: Container) -> ContainerId {
        let id = self.container_ids.take();
        container.devices = self.take_room(container.node, container.shape, id);
        self.node_loads.touch(container.node);
        self.applications.at_mut(container.application).containers.add(id);
        self.containers.insert(id, container);
        id
    }

    /// Lists the container on its node and takes its room there.
    fn take_room(&mut self, node: NodeId, shape: ShapeId, container: ContainerId) -> DeviceMask {
        let node = self.nodes.at_mut(node);
        let need = &self.shapes.at(shape).need;
        node.room.free -= need.resources;
        node.containers.push(container);
        let Some(need) = need.devices else { return DeviceMask::default() };
        let mask = node.room.devices.choose(need).expect("accepted only if the devices fit");
        node.room.devices.take(mask, need.milli);
        mask
    }

    /// Adds outstanding units to an application and its user.
    fn record_wanted_units(&mut self, application: ApplicationId, user: LeafUserId, units: u32) {
        self.change_demand(application, i64::from(units));
        self.tree.change_wants(user, |user| user.outstanding += u64::from(units));
    }

    /// Subtracts outstanding units from an application and its user.
    fn record_taken_units(&mut self, application: ApplicationId, user: LeafUserId, units: u32) {
        self.change_demand(application, -i64::from(units));
        self.tree.change_wants(user, |user| user.outstanding -= u64::from(units));
    }

    /// Changes the application's outstanding units by `units`.
    fn change_demand(&mut self, id: ApplicationId, units: i64) {
        let application = self.applications.at_mut(id);
        let was_wanting = application.outstanding > 0;
        application.outstanding = application.outstanding.wrapping_add_signed(units);
        let is_wanting = application.outstanding > 0;
        let (leaf, priority) = (application.leaf, application.priority);
        match (was_wanting, is_wanting) {
            (false, true) => self.tree.begin_demand(leaf, priority),
            (true, false) => self.tree.end_demand(leaf, priority),
            _ => {}
        }
    }

    /// Adds one container's size along the queue chain and at the user, or with `sign` -1 subtracts it.
    // Inlined, because the kind and the sign are constants of each caller.
    #[inline(always)]
    fn charge(
        &mut self,
        application: ApplicationId,
        shape: ShapeId,
        node: NodeId,
        what: Use,
        sign: i64,
    ) -> Charged {
        let shape_content = self.shapes.at(shape);
        let (resources, partition) = (shape_content.need.resources, shape_content.partition);
        let is_tagged = !shape_content.tags().is_empty();
        let is_served = sign > 0 && what != Use::Running;
        self.served += u64::from(is_served);
        let change = UseChange { what, sign, served: is_served.then_some(self.served) };
        let owner = self.applications.at_mut(application);
        change.change(&mut owner.used, resources);
        if is_served {
            owner.last_served = self.served;
        }
        let (leaf, user) = (owner.leaf, owner.user);
        let charged = Charged { application, leaf, user, partition, node, shape, resources, is_tagged };
        self.tree.count_use(&charged, &change);
        charged
    }

    /// Counts one container more, or with `change` -1 one less, with the tags of its shape.
    fn count_tags(&mut self, charged: &Charged, change: i64) {
        if charged.is_tagged {
            let tags = self.shapes.at(charged.shape).tags();
            self.tags.add(tags, self.nodes.at(charged.node), charged.application, change);
        }
    }
}

impl QueueTree {
    /// Adds one container's size to the use of the user, its limit usages, its leaf and the queues above, or subtracts
    /// it.
    #[inline(always)]
    fn count_use(&mut self, charged: &Charged, change: &UseChange) {
        let Charged { leaf, user, partition, resources, .. } = *charged;
        let of_user = &mut self.users[user.index()];
        change.change(&mut of_user.used[partition.index()], resources);
        for limit_usage in &of_user.limit_usages {
            let limit_usage = &mut self.limit_usages.all[limit_usage.index()];
            change.change(&mut limit_usage.used[partition.index()], resources);
        }
        let of_leaf = &mut self.queues[leaf.index()];
        if of_leaf.shares_among_users() && of_user.is_active() {
            change.change(&mut of_leaf.quota[partition.index()].used_by_active, resources);
        }
        let mut level = Some(leaf);
        while let Some(queue) = level {
            let queue = &mut self.queues[queue.index()];
            level = queue.parent;
            let quota = &mut queue.quota[partition.index()];
            change.change(&mut quota.used, resources);
            match change.what {
                Use::Placed | Use::Running => {
                    quota.containers = quota.containers.wrapping_add_signed(change.sign);
                }
                Use::Reserved => change.change(&mut quota.reserved, resources),
            }
            if let Some(served) = change.served {
                quota.last_served = served;
            }
        }
    }
}
