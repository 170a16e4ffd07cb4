//! Transitions of pending asks: cancelled units, another shape.

use std::sync::Arc;

use crate::facts::application::Application;
use crate::facts::{Blacklist, Facts};
use crate::ids::{ApplicationId, AskId, ShapeId};

impl Facts {
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
