//! Announces victims of preemption, and takes announcements back.

use super::Applier;
use crate::event::EventKind;
use crate::facts::PreemptionNotice;
use crate::ids::ContainerId;

impl Applier<'_> {
    pub(super) fn announce_preemption(&mut self, container: ContainerId, notice: PreemptionNotice) {
        let application = self.state.facts.containers.at(container).application;
        self.state.facts.notices.insert(container, notice);
        self.tell(application, EventKind::PreemptionAnnounced { container, notice });
    }

    pub(super) fn withdraw_preemption(&mut self, container: ContainerId) {
        let application = self.state.facts.containers.at(container).application;
        self.state.facts.notices.remove(&container);
        self.tell(application, EventKind::PreemptionWithdrawn { container });
    }
}
