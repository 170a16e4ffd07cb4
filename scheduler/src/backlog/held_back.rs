//! Pending asks in no lane, and how they are listed later: their gang has not started, or the application waits for
//! activation. Also all pending asks of an application, with those that wait for hosts or racks.

use super::{ApplicationBacklog, Backlog};
use crate::facts::Facts;
use crate::ids::{ApplicationId, AskId, SlotId};

impl Backlog {
    /// All pending asks of the application, waiting asks last.
    pub(crate) fn asks_of(&self, application: ApplicationId) -> Vec<AskId> {
        let Some(backlog) = self.applications.get(application.index()) else { return Vec::new() };
        // Asks that may borrow nodes are in several lanes.
        let own = backlog.lanes.iter().filter(|entry| self.own_shape(entry.shape) == entry.shape);
        let in_lanes = own.flat_map(|entry| entry.asks.iter().map(|pending| pending.ask));
        in_lanes.chain(backlog.waiting.iter().copied()).collect()
    }

    /// The same in the order of submission. The order of `asks_of` depends on the reports of passes, and a replay has
    /// no passes.
    pub(crate) fn asks_in_order(&self, facts: &Facts, application: ApplicationId) -> Vec<AskId> {
        let mut asks = self.asks_of(application);
        asks.sort_by_key(|ask| facts.asks.at(*ask).number);
        asks
    }

    /// Lists an ask whose gang waits no longer.
    pub(crate) fn list_freed(&mut self, facts: &Facts, id: AskId, version: u64) {
        let ask = facts.asks.at(id);
        self.remove_ask(id, ask);
        self.add_ask(facts, id, ask, version);
    }

    /// Lists the asks of an application that was held back.
    pub(crate) fn list_held_back(&mut self, facts: &Facts, application: ApplicationId, version: u64) {
        let Some(backlog) = self.applications.get_mut(application.index()) else { return };
        for id in std::mem::take(&mut backlog.waiting) {
            self.add_ask(facts, id, facts.asks.at(id), version);
        }
    }

    /// Forgets an application without pending asks.
    pub(crate) fn remove_application(&mut self, application: ApplicationId) {
        if let Some(backlog) = self.applications.get_mut(application.index()) {
            debug_assert!(backlog.lanes.is_empty() && backlog.waiting.is_empty());
            *backlog = ApplicationBacklog::default();
        }
    }
}
