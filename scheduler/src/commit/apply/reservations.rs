//! Makes, counts and ends reservations.

use smallvec::SmallVec;

use super::Applier;
use crate::event::EventKind;
use crate::ids::{AskId, NodeId, ReservationId};
use crate::timers::Timer;

impl Applier<'_> {
    pub(super) fn reserve(&mut self, ask: AskId, node: NodeId) {
        let state = &mut *self.state;
        let (reservation, charged) = state.facts.transition_reserve(ask, node);
        state.node_shards.record_change(node, charged.partition);
        state.backlog.add_reservation(&state.facts, reservation, state.facts.asks.at(ask));
        state.backlog.rekey(&state.facts, charged.leaf, charged.application);
        state.backlog.leaf_changed(charged.leaf, state.version);
        let age_limit_ms = state.facts.config.reservations.age_limit_ms;
        state.timers.add(state.facts.now_ms.saturating_add(age_limit_ms), Timer::ReservationAge(reservation));
        state.review_reservation(node);
        self.tell(charged.application, EventKind::Reserved { ask, node });
    }

    /// Counts a re-reservation: a node that the ask has reserved is still too full.
    pub(super) fn reserve_again(&mut self, id: AskId) {
        self.state.facts.reserve_again(id);
        self.wake_if_more_reservations(id);
    }

    /// Wakes an ask that may now reserve another node. Passes skip an ask whose units are all reserved or in flight.
    pub(super) fn wake_if_more_reservations(&mut self, id: AskId) {
        let state = &mut *self.state;
        if !state.facts.counts_re_reservations() {
            return;
        }
        let Some(ask) = state.facts.asks.get(id).filter(|ask| ask.extras().re_reservations > 0) else {
            return;
        };
        let (user, shape) = (state.facts.applications.at(ask.application).user, ask.shape);
        if state.facts.may_reserve_more(ask) {
            state.backlog.units_returned(user, shape, state.version);
            state.backlog.demand_mut(shape).reserve_tried = 0;
            state.seek_reservation(shape);
        }
    }

    /// Ends a reservation that was not used.
    pub(super) fn drop_reservation(&mut self, id: ReservationId) {
        let reservation = self.state.facts.reservations.at(id);
        let (ask, node) = (reservation.ask, reservation.node);
        let application = self.state.facts.asks.at(ask).application;
        self.end_reservation(id);
        self.tell(application, EventKind::Unreserved { ask, node });
    }

    pub(super) fn end_reservation(&mut self, id: ReservationId) {
        let (reservation, charged) = self.state.facts.transition_end_reservation(id);
        let state = &mut *self.state;
        let (set, _) = state.node_shards.place_of(reservation.node, charged.partition);
        if state.node_shards.remove_ready_reservation(set, id) {
            state.backlog.remove_ready_reservation(set);
        }
        state.backlog.remove_reservation(id, charged.shape);
        state.backlog.units_returned(charged.user, charged.shape, state.version);
        self.use_fell(&charged);
        self.state.node_gained(reservation.node);
        self.state.reconsider_reservations(charged.partition);
    }

    #[cold]
    pub(super) fn drop_surplus_reservations(&mut self, id: AskId) {
        let ask = self.state.facts.asks.at(id);
        let surplus = self.state.facts.surplus_reservations(ask.outstanding(), ask.reservations().len());
        let reservations: SmallVec<[_; 2]> = ask.reservations()[..surplus].into();
        for reservation in reservations {
            self.drop_reservation(reservation);
        }
    }
}
