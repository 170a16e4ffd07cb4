//! Adds an admitted ask to the facts and its lane. `applications.rs` cancels.

use std::num::NonZeroU32;

use super::Applier;
use crate::change::AskSpec;
use crate::config::LocalityDelay;
use crate::facts::{Ask, ExecutionType, LocalityPreference};
use crate::ids::{ApplicationId, AskId, AskKindId, ShapeId};
use crate::timers::Timer;

impl Applier<'_> {
    /// Adds an ask with all of its units outstanding. The backlog lists it in the lane of its user and shape, which
    /// makes placement sets wanted for the shape. `kind` is the number of its registered kind, if it has one. Asks of a
    /// kind share `spec`, so `count` and `allocation_request_id` count here, and not those of `spec`.
    pub(super) fn submit_ask(
        &mut self,
        id: AskId,
        application: ApplicationId,
        spec: &AskSpec,
        kind: Option<AskKindId>,
        count: u32,
        allocation_request_id: u64,
    ) {
        if spec.execution_type == ExecutionType::Opportunistic {
            return self.submit_opportunistic(id, application, spec, count, allocation_request_id);
        }
        let leaf = self.state.facts.applications.at(application).leaf;
        let is_default = spec.preference.is_default();
        let preference = (!is_default).then(|| self.with_racks_of_hosts(&spec.preference));
        let shape = self.intern_shape_of(application, spec, kind);
        let state = &mut *self.state;
        state.facts.asks_submitted += 1;
        let mut ask = Ask {
            application,
            number: state.facts.asks_submitted,
            priority: spec.priority,
            shape,
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
        // The slot may have the count of an ask before.
        state.in_flight.reset_ask(id);
        state.backlog.rekey_by_size(&state.facts, leaf, application);
        state.backlog.add_ask(&state.facts, id, state.facts.asks.at(id), state.version);
        self.set_timers(id, shape, !spec.preference.is_empty());
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
}
