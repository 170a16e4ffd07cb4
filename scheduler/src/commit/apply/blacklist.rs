//! Applies changes of an application's blacklist.
//!
//! The blacklist is part of the shapes of an application's asks, so every finding about a shape holds for all asks that
//! share it. When an application changes its blacklist, its asks get other shapes.

use std::sync::Arc;

use super::Applier;
use crate::facts::{Blacklist, BlacklistUpdate, Rule, Shape};
use crate::ids::{ApplicationId, AskId, ReservationId};

impl Applier<'_> {
    pub(super) fn update_blacklist(&mut self, id: ApplicationId, update: &BlacklistUpdate) {
        let old = &self.state.facts.applications.at(id).blacklist;
        let nothing = Blacklist::new();
        let new = old.as_deref().unwrap_or(&nothing).updated(update);
        if new == *old.as_deref().unwrap_or(&nothing) {
            return;
        }
        let new = (!new.is_empty()).then(|| Arc::new(new));
        self.state.facts.transition_update_blacklist(id, new.clone());
        self.state.record_room_gain();
        self.give_back_of(id);
        for ask in self.state.backlog.asks_in_order(&self.state.facts, id) {
            self.drop_shunned_reservations(ask, new.as_deref());
            self.shun(ask, new.clone());
        }
        self.shun_for_opportunistic(id);
    }

    /// Drops the ask's reservations on blacklisted nodes.
    fn drop_shunned_reservations(&mut self, ask: AskId, blacklist: Option<&Blacklist>) {
        let Some(blacklist) = blacklist else { return };
        let facts = &self.state.facts;
        let is_shunned = |reservation: &&ReservationId| {
            let node = facts.nodes.at(facts.reservations.at(**reservation).node);
            blacklist.shuns(&node.name, &facts.racks[node.rack.index()])
        };
        let reservations: Vec<_> =
            facts.asks.at(ask).reservations().iter().filter(is_shunned).copied().collect();
        reservations.into_iter().for_each(|reservation| self.drop_reservation(reservation));
    }

    /// Gives the ask the shape that it would have if it were submitted now, and wakes it.
    fn shun(&mut self, id: AskId, shunned: Option<Arc<Blacklist>>) {
        let state = &mut *self.state;
        let old = state.facts.asks.at(id).shape;
        let shape = state.facts.shapes.at(old).clone();
        let rule = Rule { shunned, ..shape.rule.map_or_else(Rule::default, |rule| *rule) };
        let new = self.intern(&Shape { rule: rule.boxed(), ..shape });
        let state = &mut *self.state;
        let reservations = state.facts.asks.at(id).reservations().clone();
        reservations.iter().for_each(|reservation| state.backlog.remove_reservation(*reservation, old));
        let version = state.version;
        state
            .backlog
            .move_to_shape(&mut state.facts, id, version, |facts| facts.transition_reshape_ask(id, new));
        for reservation in reservations {
            state.backlog.add_reservation(&state.facts, reservation, state.facts.asks.at(id));
        }
    }
}
