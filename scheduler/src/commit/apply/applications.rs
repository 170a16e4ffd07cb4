//! Applies changes of applications and asks.

use smallvec::SmallVec;
use thin_vec::ThinVec;

use super::Applier;
use crate::change::{ApplicationSpec, AskSpec};
use crate::commit::admit::partition_for;
use crate::config::LocalityDelay;
use crate::event::EventKind;
use crate::facts::{
    Application, ApplicationEnd, Ask, AskTags, ContainerList, EndCause, ExecutionType, Facts, GangEnd,
    LocalityPreference, Rule, Shape, TagCap,
};
use crate::ids::{ApplicationId, AskId, ShapeId};
use crate::resource::{Need, Resources};
use crate::state::State;
use crate::timers::Timer;

impl Applier<'_> {
    pub(super) fn submit_application(&mut self, id: ApplicationId, spec: &ApplicationSpec) {
        let leaf = self.leaf_for(spec);
        let user = self.user_in(leaf, &spec.user, &spec.groups);
        let facts = &mut self.state.facts;
        facts.applications_submitted += 1;
        let expires_ms = facts.application_expires_ms(spec.lifetime_ms, leaf);
        let application = Application {
            name: spec.name.as_str().into(),
            leaf,
            user,
            priority: facts.priority_of(spec.priority, leaf),
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
        if !self.state.facts.inactive.take_due() {
            return;
        }
        if self.state.facts.activation_needs_limits() {
            // Recomputed from the facts now, so that a replay decides alike.
            self.state.recompute_limits();
        }
        while let Some(id) = self.state.facts.next_to_activate() {
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
        self.state.facts.inactive.take_due();
    }

    pub(super) fn set_priority(&mut self, id: ApplicationId, priority: u32) {
        let State { facts, backlog, version, .. } = &mut *self.state;
        let leaf = facts.applications.at(id).leaf;
        facts.transition_set_priority(id, facts.priority_of(Some(priority), leaf));
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

    pub(super) fn submit_ask(
        &mut self,
        id: AskId,
        application: ApplicationId,
        spec: &AskSpec,
        count: u32,
        allocation_request_id: u64,
    ) {
        if spec.execution_type == ExecutionType::Opportunistic {
            return self.submit_opportunistic(id, application, spec, (count, allocation_request_id));
        }
        let leaf = self.state.facts.applications.at(application).leaf;
        let shape = shape_for(&self.state.facts, application, spec);
        let preference = self.with_racks_of_hosts(&spec.preference);
        let shape_id = self.intern(&shape);
        let state = &mut *self.state;
        state.facts.asks_submitted += 1;
        let ask = Ask {
            application,
            number: state.facts.asks_submitted,
            priority: spec.priority,
            shape: shape_id,
            preference,
            asked: count,
            allocated: 0,
            cancelled: 0,
            reservations: ThinVec::new(),
            pending_since_ms: state.facts.now_ms,
            missed: 0,
            allocation_request_id,
            re_reservations: 0,
        };
        state.facts.transition_submit_ask(id, ask);
        state.backlog.leaf_changed(leaf, state.version);
        state.in_flight.reset_ask(id);
        state.backlog.rekey_by_size(&state.facts, leaf, application);
        state.backlog.add_ask(&state.facts, id, state.facts.asks.at(id), state.version);
        self.set_timers(id, shape_id, shape.has_locality);
    }

    /// Sets the times at which the ask may look further, and at which a shape that fits nowhere may reserve a node.
    fn set_timers(&mut self, id: AskId, shape: ShapeId, has_locality: bool) {
        let state = &mut *self.state;
        let (config, now_ms) = (&state.facts.config, state.facts.now_ms);
        if let (true, LocalityDelay::Time { rack_ms, any_ms }) = (has_locality, config.locality_delay) {
            state.timers.add(now_ms.saturating_add(rack_ms), Timer::Locality(id));
            state.timers.add(now_ms.saturating_add(any_ms), Timer::Locality(id));
        }
        if let (true, Some(delay_ms)) =
            (state.backlog.is_closed_everywhere(shape), config.reservations.delay_ms)
        {
            state.timers.add(now_ms.saturating_add(delay_ms), Timer::Reserve(shape));
        }
    }

    /// Adds the hosts' racks if the ask may look further than its hosts and names no racks.
    #[inline(always)]
    pub(super) fn with_racks_of_hosts(&self, preference: &LocalityPreference) -> LocalityPreference {
        let mut preference = preference.clone();
        if preference.relax_locality && preference.racks.is_empty() {
            for &host in &preference.hosts {
                if let Some(node) = self.state.facts.nodes.get(host)
                    && !preference.racks.contains(&node.rack)
                {
                    preference.racks.push(node.rack);
                }
            }
        }
        preference
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

    /// Drops the surplus reservations of an ask, and the ask itself if it has no outstanding units.
    pub(super) fn drop_surplus(&mut self, id: AskId) {
        let Some(ask) = self.state.facts.asks.get(id) else { return };
        let outstanding = ask.outstanding();
        if !ask.reservations.is_empty() {
            self.drop_surplus_reservations(id);
        }
        if outstanding == 0 {
            if !self.state.facts.held_asks.is_empty() {
                self.state.facts.transition_drop_role(id);
            }
            let state = &mut *self.state;
            let ask = state.facts.transition_forget_ask(id);
            state.backlog.remove_ask(id, &ask);
            state.backlog.starved.forget(id);
            state.in_flight.reset_ask(id);
            state.backlog.notes.record_end(id, ask.cancelled, ask.allocated);
            self.effects.vacated_asks.push(id);
        }
    }

    #[cold]
    fn drop_surplus_reservations(&mut self, id: AskId) {
        let ask = self.state.facts.asks.at(id);
        let surplus = self.state.facts.surplus_reservations(ask.outstanding(), ask.reservations.len());
        let reservations: SmallVec<[_; 2]> = ask.reservations[..surplus].into();
        for reservation in reservations {
            self.drop_reservation(reservation);
        }
    }
}

/// The shape of an ask that the application submits now.
// Inlined, because a shape is more to move than to make.
#[inline(always)]
pub(in crate::commit) fn shape_for(facts: &Facts, application: ApplicationId, spec: &AskSpec) -> Shape {
    let leaf = facts.applications.at(application).leaf;
    let partition = partition_for(facts.queue(leaf), spec);
    let has_locality = !spec.preference.is_empty();
    Shape {
        need: Need { resources: spec.size, devices: spec.devices },
        partition,
        rule: rule_of(facts, application, spec),
        has_locality,
        borrowing: facts.borrowing_of(partition, has_locality, spec.is_master),
    }
}

/// The conditions on nodes of the ask and its application.
#[inline(always)]
fn rule_of(facts: &Facts, application: ApplicationId, spec: &AskSpec) -> Option<Box<Rule>> {
    let shunned = &facts.applications.at(application).blacklist;
    let attributes = spec.rule.as_ref().filter(|rule| !rule.conditions.is_empty());
    if attributes.is_none() && shunned.is_none() && spec.tags.is_none() {
        return None;
    }
    let names = spec.tags.as_ref().map_or(&[][..], |tags| &tags.names);
    let mut rule = Rule { attributes: attributes.cloned(), shunned: shunned.clone(), ..Rule::of_tags(names) };
    if let Some(AskTags { limits, .. }) = spec.tags.as_deref() {
        rule.caps = limits.iter().map(|limit| TagCap::new(limit, &rule.tags, application)).collect();
    }
    rule.boxed()
}
