//! Announces victims of preemption, confirms them, and takes announcements back.

use super::Applier;
use crate::event::EventKind;
use crate::facts::{PreemptionCost, PreemptionNotice};
use crate::ids::ContainerId;

impl Applier<'_> {
    pub(super) fn announce_preemption(&mut self, container: ContainerId, notice: PreemptionNotice) {
        let application = self.state.facts.containers.at(container).application;
        self.state.facts.notices.insert(container, notice);
        self.tell(application, EventKind::PreemptionAnnounced { container, notice });
    }

    /// The victim's time becomes now, unless it has come already.
    pub(super) fn confirm_preemption(&mut self, container: ContainerId) {
        let facts = &mut self.state.facts;
        if let Some(notice) = facts.notices.get_mut(&container) {
            notice.kill_ms = notice.kill_ms.min(facts.now_ms);
        }
    }

    /// An announced victim whose cost becomes never is spared at once.
    pub(super) fn set_preemption_cost(&mut self, container: ContainerId, cost: PreemptionCost) {
        self.state.facts.disruption.transition_set_cost(container, cost);
        if cost == PreemptionCost::Never && self.state.facts.notices.contains_key(&container) {
            self.withdraw_preemption(container);
        }
    }

    pub(super) fn withdraw_preemption(&mut self, container: ContainerId) {
        let application = self.state.facts.containers.at(container).application;
        self.state.facts.notices.remove(&container);
        self.tell(application, EventKind::PreemptionWithdrawn { container });
    }
}
