//! Asks that name hosts or racks: the pass looks there first, in any set, and counts what they miss and get elsewhere.

use super::batch::{Observation, Proposals};
use super::pick::{Pick, Picker, Unit, propose};
use crate::config::LocalityDelay;
use crate::facts::{Ask, Locality, Node, Opportunities, Shape};
use crate::ids::{AskId, NodeId};
use crate::place::PlacementSet;
use crate::resource::fits;
use crate::state::State;

impl Picker<'_> {
    /// Proposes a container on a host or rack that the ask names. Otherwise the ask waits for these, or the result is
    /// `None` if it may go to any node.
    pub(super) fn pick_preferred(
        &mut self,
        unit: Unit,
        shape: &Shape,
        proposals: &mut Proposals,
    ) -> Option<Pick> {
        let ask = self.state.facts.asks.at(unit.ask);
        let now = self.opportunities(unit.ask, ask, proposals);
        let allowed = self.state.backlog.locality.allowed_with(&self.state.facts, unit.ask, ask, now);
        if let Some(node) = self.preferred_node(ask, shape, allowed) {
            return Some(self.place_on(unit, node, shape, proposals));
        }
        if allowed == Locality::OffSwitch {
            return None;
        }
        let offered = self.offer(unit.ask, ask, shape, allowed);
        let holds_back = self.holds_back(ask, &offered);
        proposals.observations.push(Observation::Waits { ask: unit.ask, allowed, offered });
        Some(if holds_back { Pick::HoldsBack } else { Pick::Waits })
    }

    /// Proposes a container on a preferred node, which may be in another set. The node's amount in flight tells other
    /// passes, since many asks often prefer the same node.
    pub(super) fn place_on(
        &mut self,
        unit: Unit,
        node: NodeId,
        shape: &Shape,
        proposals: &mut Proposals,
    ) -> Pick {
        if !self.take(unit) {
            return Pick::InFlight;
        }
        let (pick, resources) = (propose(unit.ask, node, proposals), shape.need.resources);
        self.state.in_flight.add_pick(node, &resources);
        proposals.amounts.nodes.push((node, resources));
        let (set, position) = self.state.node_shards.place_of(node, shape.partition);
        if set == self.set.id() {
            self.set.debit(position, &shape.need);
        }
        self.give_tags(unit.ask, node, shape);
        pick
    }

    /// Returns the first node with room: first of the named hosts, then on the named racks if `allowed` covers them.
    pub(super) fn preferred_node(&mut self, ask: &Ask, shape: &Shape, allowed: Locality) -> Option<NodeId> {
        let (state, set) = (self.state, &*self.set);
        let (mut visits, mut in_use) = (0, false);
        let found = state.node_shards.preferred_nodes(ask.preference(), allowed).find(|&id| {
            visits += 1;
            let has_room = has_room(state, set, id, shape);
            in_use |=
                !has_room && state.facts.nodes.get(id).is_some_and(|node| state.facts.can_take(shape, node));
            has_room
        });
        self.visits += visits;
        self.in_use |= in_use;
        found
    }

    /// Returns nodes with room that the ask does not name and was not offered before, at most as many as count. If
    /// scheduling opportunities count, a pass over one node always counts that node, until the pass reserves it.
    fn offer(&mut self, id: AskId, ask: &Ask, shape: &Shape, allowed: Locality) -> Vec<NodeId> {
        let (state, set) = (self.state, &*self.set);
        let LocalityDelay::Nodes { rack, any, .. } = state.facts.config.locality_delay else {
            return Vec::new();
        };
        if allowed == ask.preference().loosest() {
            return Vec::new();
        }
        let counts_all = state.facts.counts_opportunities();
        if let Some(node) = self.scope.node.filter(|_| counts_all) {
            if self.reservations > 0 {
                return Vec::new();
            }
            // As in YARN, a reserved or blacklisted node does not count.
            let may_take = |node: &Node| {
                node.is_open() && state.facts.breach_with(shape, node, Some(set.given_tags())).is_none()
            };
            return Vec::from_iter(state.facts.nodes.get(node).is_some_and(may_take).then_some(node));
        }
        let most = if counts_all { usize::MAX } else { any.unwrap_or(rack) as usize };
        let known = state.backlog.locality.offered(id);
        let mut visits = 0;
        let offered = state
            .node_shards
            .nodes_of(shape.partition)
            .filter(|node| {
                visits += 1;
                known.binary_search(node).is_err() && has_room(state, set, *node, shape)
            })
            .take(most.saturating_sub(known.len()))
            .collect();
        self.visits += visits;
        offered
    }

    /// The ask's missed scheduling opportunities. A pass over one node takes its own proposals into account; a pass
    /// over several nodes uses the count from before it.
    fn opportunities(&self, id: AskId, ask: &Ask, proposals: &Proposals) -> Opportunities {
        let (facts, before) = (&self.state.facts, Opportunities::of(ask));
        if !self.is_confined() || !facts.counts_opportunities() {
            return before;
        }
        let given =
            proposals.requests.iter().flat_map(|request| &request.allocate).filter(|unit| unit.ask == id);
        given.fold(before, |now, unit| {
            let locality = ask.preference().locality_of(unit.node, facts.nodes.at(unit.node).rack);
            now.after(locality, unit.from_reservation, facts.config.locality_delay)
        })
    }

    /// As in YARN, an ask that misses an opportunity in a pass over one node leaves that node to other applications.
    /// An ask that accepts only its hosts or racks does not hold back lower keys.
    fn holds_back(&self, ask: &Ask, offered: &[NodeId]) -> bool {
        !offered.is_empty()
            && self.is_confined()
            && self.state.facts.counts_opportunities()
            && ask.preference().loosest() == Locality::OffSwitch
    }

    /// Counts a container on a node that its ask does not name, if the configuration limits these per node and pass.
    pub(super) fn give_off_switch(&mut self, ask: AskId, node: NodeId, position: usize) {
        let facts = &self.state.facts;
        if facts.config.limits.off_switch_per_pass.is_none() {
            return;
        }
        let locality = facts.asks.at(ask).preference().locality_of(node, facts.nodes.at(node).rack);
        if locality == Locality::OffSwitch {
            self.set.give_off_switch(position);
        }
    }
}

/// Whether a container of the shape fits in the node's room after picks in flight. A node of the pass's own set must
/// also have room in the view, which includes this pass's other picks.
fn has_room(state: &State, set: &PlacementSet, id: NodeId, shape: &Shape) -> bool {
    let Some(node) = state.facts.nodes.get(id) else { return false };
    if node.partition != shape.partition || !node.is_open() {
        return false;
    }
    let (own, position) = state.node_shards.place_of(id, shape.partition);
    if own == set.id() && !set.fits_at(state.nodes(), position, shape) {
        return false;
    }
    fits(&shape.need, &state.nodes().room_left(id, node))
        && state.facts.breach_with(shape, node, Some(set.given_tags())).is_none()
}
