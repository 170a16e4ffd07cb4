//! The place of an application in its lanes, after something that its order depends on has changed.

use super::Backlog;
use super::order::{Given, OrderKey};
use crate::config::ApplicationOrdering;
use crate::facts::Facts;
use crate::ids::{ApplicationId, QueueId, SlotId};

impl Backlog {
    /// Lists the leaf's application under its present key after its use has changed. Only the order of fair leaves
    /// depends on use.
    #[inline]
    pub(crate) fn rekey(&mut self, facts: &Facts, leaf: QueueId, application: ApplicationId) {
        if facts.queue(leaf).config.ordering.is_fair() {
            self.list_anew(facts, application);
        }
    }

    /// The same after its demand has changed, which matters where weights are by size.
    #[inline]
    pub(crate) fn rekey_by_size(&mut self, facts: &Facts, leaf: QueueId, application: ApplicationId) {
        if facts.queue(leaf).config.ordering == ApplicationOrdering::FairBySize {
            self.list_anew(facts, application);
        }
    }

    /// Lists every application under its present key after the leaves' orderings have changed.
    pub(crate) fn reorder(&mut self, facts: &Facts) {
        facts.applications.iter().for_each(|(id, _)| self.list_anew(facts, id));
    }

    /// Lists the application under its present key.
    pub(crate) fn list_anew(&mut self, facts: &Facts, application: ApplicationId) {
        let slot = application.index();
        let Some(backlog) = self.applications.get_mut(slot) else { return };
        let application = facts.applications.at(application);
        let new = OrderKey::of(facts, application, &Given::default());
        let Some(old) = backlog.key.replace(new) else { return };
        if old == new {
            return;
        }
        for place in 0..self.applications[slot].lanes.len() {
            let lane_id = self.applications[slot].lanes[place].lane;
            if self.lanes[lane_id].order.replace((old, slot as u32), (new, slot as u32)) {
                self.update_runnable(lane_id);
            }
        }
    }

    /// Lists the applications of fair leaves under their present keys after the base of shares has changed.
    pub(crate) fn rekey_all(&mut self, facts: &Facts) {
        for (id, application) in facts.applications.iter() {
            self.rekey(facts, application.leaf, id);
        }
    }

    /// The key of the application in `slot`, with `given` on top of its use.
    pub(crate) fn key_with(&self, facts: &Facts, slot: u32, given: &Given) -> OrderKey {
        OrderKey::of(facts, facts.applications.in_slot(slot), given)
    }
}
