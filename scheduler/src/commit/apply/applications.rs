//! Applies changes of applications, and cancels asks.

use super::Applier;
use crate::change::ApplicationSpec;
use crate::event::EventKind;
use crate::facts::{Application, ApplicationEnd, ContainerList, EndCause, Facts, GangEnd};
use crate::ids::{ApplicationId, AskId};
use crate::resource::Resources;
use crate::state::State;
use crate::timers::Timer;

impl Applier<'_> {
    pub(super) fn submit_application(&mut self, id: ApplicationId, spec: &ApplicationSpec) {
        let leaf = self.leaf_for(spec);
        let user = self.user_in(leaf, &spec.user, &spec.groups);
        let facts = &mut self.state.facts;
        facts.applications_submitted += 1;
        let lifetime_ms = facts.tree.application_lifetime_ms(spec.lifetime_ms, leaf);
        let expires_ms = lifetime_ms.map(|lifetime_ms| facts.now_ms.saturating_add(lifetime_ms));
        let application = Application {
            name: spec.name.as_str().into(),
            leaf,
            user,
            priority: facts.tree.application_priority(spec.priority, leaf),
            submitted: facts.applications_submitted,
            last_served: 0,
            submitted_ms: facts.now_ms,
            master: spec.master,
            expires_ms,
            is_active: false,
            ending: None,
            used: Resources::ZERO,
            containers: ContainerList::default(),
            blacklist: None,
            demand: Resources::ZERO,
            outstanding: 0,
            asks: 0,
        };
        facts.transition_submit_application(id, application);
        if let Some(expires_ms) = expires_ms {
            self.state.timers.add(expires_ms, Timer::Lifetime(id));
        }
        self.state.backlog.leaf_changed(leaf, self.state.version);
        self.activate_applications(Some(id));
    }

    /// Activates all applications that may become active. `new` was just submitted and gets no activation event.
    #[cold]
    pub(super) fn activate_applications(&mut self, new: Option<ApplicationId>) {
        if !self.state.facts.tree.inactive.take_due() {
            return;
        }
        if self.state.facts.tree.activation_needs_limits() {
            // Recomputed from the facts now, so that a replay decides alike.
            self.state.recompute_limits();
        }
        let next = |facts: &Facts| facts.tree.next_to_activate(&facts.applications);
        while let Some(id) = next(&self.state.facts) {
            self.state.facts.transition_activate(id);
            let state = &mut *self.state;
            state.backlog.list_held_back(&state.facts, id, state.version);
            state.backlog.leaf_changed(state.facts.applications.at(id).leaf, state.version);
            state.facts.node_loads.look_for_nodes();
            if new != Some(id) {
                self.tell(id, EventKind::ApplicationActivated);
            }
        }
        // The loop above has taken the changes by the activations themselves into account.
        self.state.facts.tree.inactive.take_due();
    }

    pub(super) fn set_priority(&mut self, id: ApplicationId, priority: u32) {
        let State { facts, backlog, version, .. } = &mut *self.state;
        let leaf = facts.applications.at(id).leaf;
        facts.transition_set_priority(id, facts.tree.application_priority(Some(priority), leaf));
        backlog.list_anew(facts, id);
        // If queues are ordered by priority, this queue may now come before queues for which headroom was blocked.
        backlog.leaf_changed(leaf, *version);
        if !self.state.facts.gangs.is_empty() {
            // The first gang of a partition may be another one now.
            self.state.record_room_gain();
        }
    }

    /// Cancels all asks of the application. Its containers end at once, or are stopped; then the application ends with
    /// its last container.
    pub(super) fn end_application(&mut self, id: ApplicationId, end: ApplicationEnd) {
        let Facts { applications, containers, config, .. } = &self.state.facts;
        let running: Vec<_> = applications.at(id).containers.iter(containers).collect();
        let waits_for_stops = config.stop_ended_applications && !running.is_empty();
        if waits_for_stops {
            // Told first, so that the application does not replace its containers.
            self.state.facts.transition_ending(id, end);
            self.tell(id, EventKind::ApplicationEnding { end });
        }
        self.free_gangs_of(id);
        self.end_placeholders_of(id);
        self.cancel_all(id);
        self.cancel_opportunistic_of(id);
        for container in running {
            if !waits_for_stops {
                self.end_container(container, EndCause::ApplicationEnded);
            } else if !self.state.facts.stopping.contains_key(&container) {
                self.stop_container(container, EndCause::ApplicationEnded);
            }
        }
        if !waits_for_stops {
            self.finish_application(id, end);
        }
    }

    fn cancel_all(&mut self, id: ApplicationId) {
        for ask in self.state.backlog.asks_in_order(&self.state.facts, id) {
            self.cancel(ask, u32::MAX);
        }
    }

    /// Ends an ending application after its last container has ended.
    pub(super) fn finish_if_awaited(&mut self, id: ApplicationId) {
        let application = self.state.facts.applications.at(id);
        if let Some(end) = application.ending.filter(|_| application.containers.running() == 0) {
            self.finish_application(id, end);
        }
    }

    fn finish_application(&mut self, id: ApplicationId, end: ApplicationEnd) {
        self.state.backlog.remove_application(id);
        let leaf = self.state.facts.applications.at(id).leaf;
        self.state.facts.transition_end_application(id);
        self.record_idle(leaf);
        self.state.backlog.leaf_changed(leaf, self.state.version);
        self.tell(id, EventKind::ApplicationEnded { end });
        self.effects.vacated_applications.push(id);
    }

    /// Cancels units of an ask. A gang that needs them is cancelled as a whole.
    pub(super) fn cancel(&mut self, id: AskId, units: u32) {
        if !self.state.facts.held_asks.is_empty()
            && let Some(gang) = self.gang_that_needs(id, units)
        {
            return self.end_gang(gang, GangEnd::Cancelled);
        }
        if !self.state.facts.node_queues.asks.is_empty() && self.cancel_opportunistic(id, units) {
            return;
        }
        let ask = self.state.facts.asks.at(id);
        let (application, units) = (ask.application, units.min(ask.outstanding()));
        let State { facts, backlog, version, .. } = &mut *self.state;
        facts.transition_cancel(id, units);
        let leaf = facts.applications.at(application).leaf;
        backlog.rekey_by_size(facts, leaf, application);
        backlog.leaf_changed(leaf, *version);
        self.tell(application, EventKind::AskCancelled { ask: id, units });
        self.drop_surplus(id);
        if self.state.facts.placeholders.are_asked_for() {
            self.state.facts.transition_forget_spent_by(id);
        }
    }
}
