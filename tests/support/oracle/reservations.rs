//! Reservations and silent nodes: changes that the engine makes by itself as time passes.

use apportion::config::{AllocationSizes, Semantics};
use apportion::event::EventKind;
use apportion::{AskId, NodeId, ReservationId};

use super::blocked_headroom::Blocked;
use super::{Ask, Effect, Hints, Oracle};

impl Oracle {
    pub(super) fn reservation_is_of(&self, node: NodeId, ask: AskId) -> bool {
        self.reservations.get(&node).is_some_and(|reservation| reservation.ask == ask)
    }

    /// Drops the reservation on a node, if there is one, with the event for its owner.
    pub(super) fn drop_reservation(&mut self, node: NodeId, effects: &mut Vec<Effect>) {
        if let Some(ask) = self.take_reservation(node) {
            effects.push((self.asks[&ask].application, EventKind::Unreserved { ask, node }));
        }
    }

    /// Drops the reservation on a node that takes no new containers.
    pub(super) fn drop_reservation_unless_candidate(&mut self, node: NodeId, effects: &mut Vec<Effect>) {
        if !self.nodes[&node].is_candidate() {
            self.drop_reservation(node, effects);
        }
    }

    /// Drops the reservation on a node that is too small for the ask even when empty, or no longer meets its
    /// conditions.
    pub(super) fn drop_reservation_that_cannot_be_served(&mut self, node: NodeId, effects: &mut Vec<Effect>) {
        let Some(reservation) = self.reservations.get(&node) else { return };
        let (ask, known) = (&self.asks[&reservation.ask], &self.nodes[&node]);
        if !known.could_hold(&ask.spec) || !ask.accepts(node, known) {
            self.drop_reservation(node, effects);
        }
    }

    pub(super) fn drop_reservations_of(&mut self, ask: AskId, effects: &mut Vec<Effect>) {
        let own = self.reservations.iter().filter(|(_, reservation)| reservation.ask == ask);
        let nodes: Vec<NodeId> = own.map(|(node, _)| *node).collect();
        for node in nodes {
            self.drop_reservation(node, effects);
        }
    }

    /// Removes the reservation on a node without an event, and resets the ask's count of failed passes. The
    /// identifier may not come again.
    pub(super) fn take_reservation(&mut self, node: NodeId) -> Option<AskId> {
        let reservation = self.reservations.remove(&node)?;
        self.retired.extend(reservation.id);
        self.asks.get_mut(&reservation.ask).expect("it has a reservation").re_reserved = 0;
        Some(reservation.ask)
    }

    /// Assigns an identifier to the reservation on a node; false if either already belongs elsewhere.
    pub(super) fn identify_reservation(&mut self, node: NodeId, id: ReservationId) -> bool {
        let belongs_elsewhere = self.retired.contains(&id)
            || self
                .reservations
                .iter()
                .any(|(other, reservation)| reservation.id == Some(id) && *other != node);
        let Some(reservation) = self.reservations.get_mut(&node) else { return false };
        if belongs_elsewhere || reservation.id.is_some_and(|known| known != id) {
            return false;
        }
        reservation.id = Some(id);
        true
    }

    pub(super) fn expire(&mut self, hints: &Hints, effects: &mut Vec<Effect>) -> Result<(), String> {
        let [(ask, node)] = hints.dropped[..] else {
            return Err(format!("one reservation expires at a time, not {:?}", hints.dropped));
        };
        let reservation = self.reservations.get(&node).filter(|reservation| reservation.ask == ask);
        let age = reservation.map(|reservation| self.now_ms - reservation.since_ms);
        if age.is_none_or(|age| age < self.config.reservations.age_limit_ms) {
            return Err(format!("{ask}'s reservation on {node} expired at the age of {age:?} ms"));
        }
        self.drop_reservation(node, effects);
        Ok(())
    }

    /// How many more nodes than outstanding units the ask may reserve: YARN's starvation, in whole nodes. Counts in
    /// 2^-20 of the largest container, as the engine does.
    fn starvation(&self, ask: &Ask, reserved: u32) -> u64 {
        if self.config.semantics == Semantics::Strict || reserved == 0 {
            return 0;
        }
        let AllocationSizes { minimum, maximum, .. } = &self.config.allocation;
        let part = |amount: i64, of: i64| ((amount as u64) << 20) / of as u64;
        let limited =
            || maximum.iter().enumerate().filter_map(|(i, most)| Some((i, most.filter(|most| *most > 0)?)));
        let size = limited().map(|(i, most)| part(ask.spec.size[i], most)).max().unwrap_or(0);
        let spare = limited().map(|(i, most)| part(most - minimum[i], most)).max().unwrap_or(0);
        u64::from(ask.re_reserved) * ((1 << 20) - size.min(spare)) / (u64::from(reserved) << 20)
    }

    /// Whether the ask may reserve one more node.
    #[must_use]
    pub fn may_reserve(&self, id: AskId) -> bool {
        let (ask, reserved) = (&self.asks[&id], self.reserved(id));
        ask.outstanding > 0
            && u64::from(reserved) < u64::from(ask.outstanding) + self.starvation(ask, reserved)
    }

    /// How many reservations the ask must give up. In YARN mode it keeps all while it has outstanding units.
    pub(super) fn surplus(&self, id: AskId) -> u32 {
        match self.asks[&id].outstanding {
            1.. if self.config.semantics == Semantics::YarnCompatible => 0,
            outstanding => self.reserved(id).saturating_sub(outstanding),
        }
    }

    /// Whether the ask could certainly have a container without giving a reservation back. It could if it wants more
    /// than it reserved, or is starved, and no limit blocks it. Less is certain about a pass for several containers.
    #[must_use]
    pub fn needs_no_swap(&self, id: AskId, is_single_step: bool) -> bool {
        let (books, ask) = (self.books(), &self.asks[&id]);
        let is_within_quota = ask.outstanding > self.reserved(id) || is_single_step && self.may_reserve(id);
        let is_alone = self.wanting(self.applications[&ask.application].leaf).len() == 1;
        is_within_quota
            && !ask.has_locality()
            && (is_single_step || is_alone || !self.users_compete())
            && self.limits_allow(&books, id) == (true, true)
            && !self.is_headroom_blocked(&books, id, Blocked::AtMost)
    }

    /// Counts a failed pass over a node that the ask has reserved.
    pub(super) fn reserve_again(&mut self, id: AskId, node: NodeId) -> Result<(), String> {
        let is_reserved = self.reservations.get(&node).is_some_and(|reservation| reservation.ask == id);
        if !is_reserved || self.config.semantics == Semantics::Strict {
            return Err(format!("{id} has not reserved {node}"));
        }
        let (ask, known) = (&self.asks[&id], &self.nodes[&node]);
        if !known.could_hold(&ask.spec) {
            return Err(format!("{node} could never hold {id}"));
        }
        let meets_rules =
            ask.accepts(node, known) && !self.shuns(ask, known) && self.keeps_tag_limits(ask, node);
        if meets_rules && self.has_room(&self.books(), &ask.spec, node) {
            return Err(format!("{node} has room for {id}"));
        }
        self.asks.get_mut(&id).expect("it has a reservation").re_reserved += 1;
        Ok(())
    }

    pub(super) fn record_heartbeats(&mut self, nodes: &[NodeId]) {
        for node in nodes {
            if let Some(node) = self.nodes.get_mut(node) {
                node.last_heartbeat_ms = self.now_ms;
                node.stale = false;
            }
        }
    }

    /// Whether the node has missed too many heartbeats.
    #[must_use]
    pub fn is_silent(&self, node: NodeId) -> bool {
        self.config.heartbeat.is_some_and(|policy| {
            self.now_ms - self.nodes[&node].last_heartbeat_ms
                > policy.interval_ms * u64::from(policy.missed_max)
        })
    }

    pub(super) fn set_silence(&mut self, id: NodeId, stale: bool) -> Result<(), String> {
        let is_silent = self.is_silent(id);
        let node = self.nodes.get_mut(&id).ok_or_else(|| format!("{id} is not registered"))?;
        if stale == node.stale || stale != is_silent {
            return Err(format!(
                "{id}: silence set to {stale}; it was {}, its last heartbeat was at {}",
                node.stale, node.last_heartbeat_ms
            ));
        }
        node.stale = stale;
        Ok(())
    }
}
