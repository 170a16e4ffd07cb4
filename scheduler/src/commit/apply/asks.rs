//! Adds an admitted ask to the facts and its lane, and forgets it once it is satisfied. `applications.rs` cancels.

use std::num::NonZeroU32;

use super::Applier;
use super::shapes::rule_of;
use crate::change::AskSpec;
use crate::commit::admit_ask::partition_for;
use crate::config::LocalityDelay;
use crate::facts::{Ask, ExecutionType, Facts, LocalityPreference, Shape};
use crate::ids::{ApplicationId, AskId, ShapeId};
use crate::resource::Need;
use crate::timers::Timer;

impl Applier<'_> {
    /// Adds an ask with all of its units outstanding. The backlog lists it in the lane of its user and shape, which
    /// makes placement sets wanted for the shape.
    pub(super) fn submit_ask(
        &mut self,
        id: AskId,
        application: ApplicationId,
        spec: &AskSpec,
        count: u32,
        allocation_request_id: u64,
    ) {
        if spec.execution_type == ExecutionType::Opportunistic {
            return self.submit_opportunistic(id, application, spec, count, allocation_request_id);
        }
        let leaf = self.state.facts.applications.at(application).leaf;
        let shape = shape_for(&self.state.facts, application, spec);
        let is_default = spec.preference.is_default();
        let preference = (!is_default).then(|| self.with_racks_of_hosts(&spec.preference));
        let shape_id = self.intern(&shape);
        let state = &mut *self.state;
        state.facts.asks_submitted += 1;
        let mut ask = Ask {
            application,
            number: state.facts.asks_submitted,
            priority: spec.priority,
            shape: shape_id,
            asked: NonZeroU32::new(count).expect("an admitted ask has units"),
            allocated: 0,
            pending_since_ms: state.facts.now_ms,
            allocation_request_id,
            extras: None,
        };
        if let Some(preference) = preference {
            ask.extras_mut().preference = preference;
        }
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

    /// Drops the surplus reservations of an ask, and the ask itself if it has no outstanding units.
    pub(super) fn drop_surplus(&mut self, id: AskId) {
        let Some(ask) = self.state.facts.asks.get(id) else { return };
        let outstanding = ask.outstanding();
        if !ask.reservations().is_empty() {
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
            state.backlog.notes.record_end(id, ask.extras().cancelled, ask.allocated);
            self.effects.vacated_asks.push(id);
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
    let borrowing = facts.borrowing_of(partition, has_locality, spec.is_master);
    let rule = rule_of(facts, application, spec);
    let need = Need { resources: spec.size, devices: spec.devices };
    Shape { need, partition, rule, has_locality, borrowing }
}
