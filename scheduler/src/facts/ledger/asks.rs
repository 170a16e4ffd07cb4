//! Transitions of pending asks of any kind: units that become containers, cancelled units, another shape.

use std::sync::Arc;

use super::Use;
use crate::facts::application::Application;
use crate::facts::ask::{Ask, Container};
use crate::facts::{Blacklist, Charged, Facts};
use crate::ids::{ApplicationId, AskId, ContainerId, NodeId, ShapeId};
use crate::resource::DeviceMask;

impl Facts {
    /// One unit of `ask` becomes a container on `node`.
    pub(crate) fn transition_allocate(&mut self, ask_id: AskId, node_id: NodeId) -> (ContainerId, Charged) {
        let ask = self.asks.at_mut(ask_id);
        debug_assert!(ask.outstanding() > 0, "{ask_id} has nothing outstanding");
        ask.allocated += 1;
        let (application, own) = (ask.application, ask.shape);
        let (priority, allocation_request_id) = (ask.priority, ask.allocation_request_id);
        let shape = self.shape_on(own, self.nodes.at(node_id)).expect("accepted only if the node is for it");
        let charged = self.charge(application, shape, node_id, Use::Placed, 1);
        let wanted_in = if shape == own { charged.partition } else { self.shapes.at(own).partition };
        self.tree.queues[charged.leaf.index()].quota[wanted_in.index()].pending -= charged.resources;
        self.record_taken_units(application, charged.user, 1);
        self.count_tags(&charged, 1);
        self.shapes.add_user(shape);
        let container = self.start(Container {
            application,
            ask: ask_id,
            node: node_id,
            shape,
            devices: DeviceMask::default(),
            priority,
            allocation_request_id,
            is_recovered: false,
        });
        if !self.disruption.started.is_empty() {
            self.disruption.add_member(ask_id, container);
        }
        (container, charged)
    }

    /// Removes an ask that has nothing outstanding and no reservations left.
    pub(crate) fn transition_forget_ask(&mut self, id: AskId) -> Ask {
        let ask = self.asks.remove(id).expect("the caller checked that it is alive");
        debug_assert!(ask.outstanding() == 0 && ask.reservations().is_empty(), "{id} is still wanted");
        self.applications.at_mut(ask.application).asks -= 1;
        self.shapes.remove_user(ask.shape);
        ask
    }

    /// Cancels units of an ask.
    pub(crate) fn transition_cancel(&mut self, id: AskId, units: u32) {
        let ask = self.asks.at_mut(id);
        debug_assert!(units <= ask.outstanding(), "{id} has fewer outstanding");
        ask.extras_mut().cancelled += units;
        let id_of_application = ask.application;
        let Application { leaf, user, .. } = *self.applications.at(id_of_application);
        let shape = self.shapes.at(ask.shape);
        let pending = shape.need.resources.times(i64::from(units));
        self.applications.at_mut(id_of_application).demand -= pending;
        self.tree.queues[leaf.index()].quota[shape.partition.index()].pending -= pending;
        self.record_taken_units(id_of_application, user, units);
    }

    /// An ask gets another shape of the same size and partition. The caller has already counted it as a user of that
    /// shape.
    pub(crate) fn transition_reshape_ask(&mut self, id: AskId, shape: ShapeId) {
        let ask = self.asks.at_mut(id);
        let old = std::mem::replace(&mut ask.shape, shape);
        debug_assert_eq!(self.shapes.at(old).need, self.shapes.at(shape).need, "{id} has another size");
        self.shapes.remove_user(old);
    }

    /// An application gets another blacklist.
    pub(crate) fn transition_update_blacklist(
        &mut self,
        id: ApplicationId,
        blacklist: Option<Arc<Blacklist>>,
    ) {
        self.applications.at_mut(id).blacklist = blacklist;
    }
}
