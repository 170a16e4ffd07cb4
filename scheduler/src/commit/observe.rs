//! Recording the observations of passes: shapes without room, blocked lanes, asks that wait.
//!
//! A proposer looked at an older state. Each observation counts only if nothing that could help has happened
//! since, so that parking never loses a wake-up (I13).
//!
//! # Why no wake-up is lost (I13)
//!
//! A pass saw version v of the state. The state may have changed between that look and the recording.
//!
//! * An event that could help a parked lane stamps the lane or the limit with the present version, within its critical
//!   section. Parking is refused if the stamp is newer than v. Pausing a set goes by the version of the last decision
//!   in the same way.
//! * Room has no stamps. The ring of the set's changed nodes takes their place. A shape stays open if it fits a node
//!   that changed since the pass followed the ring, or if the ring reaches back less far. It also stays open if its
//!   slot has a new occupant, or if a proposal of the batch was rejected. A rejection means that the pass debited its
//!   view too much. Last, a shape with a limit of tagged containers on a rack stays open if a tagged container ended
//!   since v. The pass may have seen the limit as reached although it is not.
//! * An ask that waits for hosts has no stamp at its hosts and racks. The recording looks at them again and returns
//!   the ask to its lane if one has room. Where nodes count, it also looks at the nodes that gained room since v.
//! * In both cases, `may_fit_on` and `Backlog::room_gained` use the same test, `Facts::can_take`.
//!
//! So after recording, either nothing that could help has happened, or the lane is still runnable. The committer
//! publishes the wanted sets under the write guard, and then raises the signal (`sync/signal.rs`). A raise wakes as
//! many sleepers as there are sets that may be taken (`Leases::takeable`). Another raise follows each set that comes
//! back. So a proposer that found no set in the pool, or too many checked out, is woken again.

use super::committer::Committer;
use crate::change::Change;
use crate::facts::{Locality, Shape};
use crate::ids::{AskId, NodeId, ShapeId};
use crate::place::PlacementSet;
use crate::propose::{Observation, Proposals};
use crate::state::State;
use crate::timers::Timer;

impl Committer<'_> {
    /// Records the observations of a pass after its requests were decided. `set` is the set that it leased.
    pub(super) fn record_observations(
        &mut self,
        set: Option<&PlacementSet>,
        proposals: &Proposals,
        rejected: usize,
    ) {
        match set {
            Some(set) => self.record(&proposals.observations, set, proposals.version, rejected > 0),
            // Otherwise a lane may be reported as blocked only by the amounts of a rejected request.
            None if rejected == 0 => self.record_without_lease(&proposals.observations),
            None => {}
        }
    }

    /// Records the observations of a pass without a lease. The pass did not look at all nodes, so only offered nodes
    /// and re-reservations count.
    fn record_without_lease(&mut self, observations: &[Observation]) {
        for observation in observations {
            match observation {
                Observation::Waits { ask, offered, .. } => self.count_offers(*ask, offered),
                Observation::ReservedAgain { ask, node } => self.count_re_reservation(*ask, *node),
                _ => {}
            }
        }
    }

    /// Counts a re-reservation, unless the reservation is gone by now.
    fn count_re_reservation(&mut self, ask: AskId, node: NodeId) {
        if self.state.is_reserved_in_vain(ask, node) {
            self.apply(Change::ReservedAgain { ask, node });
        }
    }

    /// Records nodes that were offered to an ask which waits for other nodes, either as offers or as missed
    /// opportunities.
    fn count_offers(&mut self, ask: AskId, offered: &[NodeId]) {
        if offered.is_empty() || self.state.facts.asks.get(ask).is_none() {
            return;
        }
        let facts = &self.state.facts;
        if facts.counts_opportunities() {
            // Some nodes may be gone or in another partition by now.
            let partition = facts.shapes.at(facts.asks.at(ask).shape).partition;
            let is_there =
                |node: &&NodeId| facts.nodes.get(**node).is_some_and(|node| node.partition == partition);
            let count = offered.iter().filter(is_there).count() as u32;
            if count > 0 {
                self.apply(Change::OpportunitiesMissed { ask, count });
            }
        } else {
            self.state.backlog.locality.record_offers(ask, offered);
        }
    }

    /// Parks the lanes that a pass found blocked. The pass came to them in their order. From the last to the first they
    /// are near the end of their leaf's heap, and wake from the first to the last. So they move there by few steps.
    fn park(&mut self, observations: &[Observation], seen: u64) {
        for observation in observations.iter().rev() {
            if let Observation::Blocked { lane, reason, blocks } = observation {
                self.state.backlog.park(*lane, *reason, blocks, seen);
            }
        }
    }

    /// Records the observations of a pass over `set` that saw state version `seen`. If the committer rejected one of
    /// its proposals, the pass had debited its view too much. Then its reports of no room and of waits do not count.
    fn record(&mut self, observations: &[Observation], set: &PlacementSet, seen: u64, any_rejected: bool) {
        for observation in observations {
            match observation {
                Observation::NoRoom { .. } if any_rejected => {}
                Observation::NoRoom { shape } => self.state.close(*shape, set, seen),
                // `park` follows.
                Observation::Blocked { .. } => {}
                Observation::Waits { ask, .. } if any_rejected => self.state.look_again(*ask),
                Observation::Waits { ask, allowed, offered } => {
                    self.count_offers(*ask, offered);
                    self.state.let_wait(*ask, *allowed, offered, seen);
                }
                Observation::ReservedAgain { ask, node } => self.count_re_reservation(*ask, *node),
                Observation::InUse => self.state.backlog.pause(set.id(), seen),
                // A reservation may have ended meanwhile, even one that the pass itself used.
                Observation::ReserveTried { .. }
                    if self.state.has_reconsidered_since(set.id().partition(), seen) => {}
                Observation::ReserveTried { shape } => {
                    let demand = self.state.backlog.demand_mut(*shape);
                    if demand.since <= seen {
                        demand.reserve_tried |= set.id().bit();
                    }
                }
                Observation::ReserveLater { shape, at_ms } => {
                    self.state.timers.add(*at_ms, Timer::Reserve(*shape));
                }
            }
        }
        self.park(observations, seen);
        for observation in observations {
            // Two passes may have closed the last two sets at once. Each took the other set for open and reserved
            // nothing.
            if let Observation::NoRoom { shape } = observation
                && !observations
                    .iter()
                    .any(|other| matches!(other, Observation::ReserveLater { shape: s, .. } if s == shape))
            {
                self.state.seek_reservation(*shape);
            }
        }
    }
}

impl State {
    /// Closes the shape in the set. It stays open if another shape has the slot now, or a node of the set that changed
    /// since the pass has room. It also does if the pass may have counted too many tagged containers on a rack.
    fn close(&mut self, id: ShapeId, set: &PlacementSet, seen: u64) {
        if self.backlog.demand(id).since > seen {
            return;
        }
        let shape = self.facts.shapes.at(id);
        let changed = self.node_shards.changed_nodes(set.id(), set.seen());
        if !self.may_fit_on(shape, changed) && !self.may_be_under_rack_caps_since(shape, seen) {
            self.backlog.close(id, set.id());
        }
    }

    /// Lets an ask wait for the hosts or racks that it names. It looks again if it may now look further than in the
    /// pass, or a named host or rack has room. It also looks again if a node that would count as offered gained room,
    /// or if it missed counted opportunities. The ask may look further after at most as many opportunities as there are
    /// nodes.
    fn let_wait(&mut self, id: AskId, allowed_then: Locality, offered: &[NodeId], seen: u64) {
        let Some(ask) = self.facts.asks.get(id) else { return };
        let allowed = self.backlog.locality.allowed(&self.facts, id, ask);
        let shape = self.facts.shapes.at(ask.shape);
        let missed_some = !offered.is_empty() && self.facts.counts_opportunities();
        let named = || Some(self.node_shards.preferred_nodes(ask.preference(), allowed));
        let counts_more =
            self.facts.config.locality_delay.counts_nodes() && allowed < ask.preference().loosest();
        let not_offered = || {
            let known = self.backlog.locality.offered(id);
            let gained = self.node_shards.gained_since(shape.partition, seen)?;
            Some(gained.filter(|node| known.binary_search(node).is_err()))
        };
        if allowed > allowed_then
            || missed_some
            || self.may_fit_on(shape, named())
            || (counts_more && self.may_fit_on(shape, not_offered()))
        {
            self.look_again(id);
        } else {
            self.backlog.let_wait(&self.facts, id, ask);
        }
    }

    /// Asks nodes whether one of them has room for the shape. Without nodes, so much has changed that one may have.
    fn may_fit_on(&self, shape: &Shape, nodes: Option<impl Iterator<Item = NodeId>>) -> bool {
        let has_room = |id| self.facts.nodes.get(id).is_some_and(|node| self.facts.can_take(shape, node));
        nodes.is_none_or(|mut nodes| nodes.any(has_room))
    }

    /// Puts an ask that found no node back into its lane.
    fn look_again(&mut self, id: AskId) {
        let Some(ask) = self.facts.asks.get(id) else { return };
        let user = self.facts.applications.at(ask.application).user;
        // Another batch may have made it wait meanwhile.
        self.backlog.wake_ask(&self.facts, id, self.version);
        self.backlog.units_returned(user, ask.shape, self.version);
    }
}
