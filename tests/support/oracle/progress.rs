//! Work conservation: work that may not be left once the engine is quiet.

use apportion::config::LocalityDelay;
use apportion::{AskId, Locality, NodeId};

use super::blocked_headroom::Blocked;
use super::{Ask, Books, Node, Oracle};

impl Oracle {
    /// Work that the engine could do now and should have done; `None` if there is none.
    #[must_use]
    pub fn overlooked(&self) -> Option<String> {
        if let Some(application) = self.next_active() {
            return Some(format!("{application} could be activated"));
        }
        let books = self.books();
        self.asks.keys().find_map(|ask| {
            let nodes: Vec<NodeId> =
                self.nodes.keys().filter(|n| self.is_free_for(&books, **n, *ask)).copied().collect();
            let due = nodes.iter().find(|node| self.is_due(*ask, **node, &nodes))?;
            let (outstanding, reserved) = (self.asks[ask].outstanding, self.reserved(*ask));
            Some(format!("{ask} ({outstanding} outstanding, {reserved} reserved) could run on {due}"))
        })
    }

    /// Whether one unit of the ask could start on the node now. A reservation is already charged to queue and user,
    /// so a reserved unit needs nothing more from their limits, wherever it starts. A reservation of a strictly local
    /// ask serves its own node only.
    fn is_free_for(&self, books: &Books, node: NodeId, ask: AskId) -> bool {
        let known = &self.asks[&ask];
        if self.nodes[&node].partition != known.partition {
            return self.is_free_to_borrow(books, node, ask);
        }
        let has_reserved = if self.may_swap(ask) {
            self.reserved(ask) > 0
        } else {
            self.reservations.get(&node).is_some_and(|reservation| reservation.ask == ask)
        };
        let has_unreserved = known.outstanding > self.reserved(ask);
        let within_limits = || {
            has_unreserved
                && self.limits_allow(books, ask) == (true, true)
                && !self.is_headroom_blocked(books, ask, Blocked::WhenQuiet)
        };
        self.applications[&known.application].is_active
            && self.is_open_to(node, ask)
            && self.takes_now(books, ask, node)
            && (has_reserved || within_limits())
    }

    /// Whether a unit of the ask could borrow the node now. A reserved unit waits for its node, or for another node
    /// of its own partition.
    fn is_free_to_borrow(&self, books: &Books, node: NodeId, id: AskId) -> bool {
        let (ask, known) = (&self.asks[&id], &self.nodes[&node]);
        self.is_borrowed(ask, node)
            && ask.outstanding > self.reserved(id)
            && self.borrowed_limits_allow(books, ask, self.partition(known.partition))
            && self.applications[&ask.application].is_active
            && known.is_candidate()
            && !self.reservations.contains_key(&node)
            && self.takes_now(books, id, node)
    }

    /// Whether the ask has waited long enough for this node, given the nodes with room.
    fn is_due(&self, id: AskId, node: NodeId, with_room: &[NodeId]) -> bool {
        let ask = &self.asks[&id];
        let locality = ask.locality(node, &self.nodes[&node]);
        let has_reservation = self.reservations.get(&node).is_some_and(|reservation| reservation.ask == id);
        let has_any_reservation = self.may_swap(id) && self.reserved(id) > 0;
        if has_reservation || has_any_reservation || locality == Locality::NodeLocal || !ask.has_locality() {
            return true;
        }
        match self.config.locality_delay {
            LocalityDelay::Time { .. } => self.may_take(id, node),
            // Passes offered it nodes with room until it had missed enough of them.
            LocalityDelay::Nodes { .. } if self.counts_opportunities() => true,
            LocalityDelay::Nodes { rack, any, .. } => {
                // A node that takes no containers, or could not hold this one, is never offered.
                let is_beside = |(id, node): &(&NodeId, &Node)| {
                    node.partition == ask.partition
                        && !ask.spec.preference.hosts.contains(id)
                        && node.is_candidate()
                        && node.could_hold(&ask.spec)
                        && !self.shuns(ask, node)
                        && ask.meets_conditions(node)
                };
                let beside = self.nodes.iter().filter(is_beside).count();
                let wanted =
                    if locality == Locality::RackLocal { rack } else { any.unwrap_or(rack) } as usize;
                with_room.len() >= wanted.min(beside)
            }
        }
    }

    /// Whether a unit of the ask with a reserved node may run on another node.
    fn may_swap(&self, id: AskId) -> bool {
        self.config.reservations.continue_looking && self.may_go_anywhere(id)
    }

    fn may_go_anywhere(&self, id: AskId) -> bool {
        let ask = &self.asks[&id];
        ask.spec.preference.relax_locality || !ask.has_locality()
    }

    /// Whether the ask has waited long enough for the node, if delays are in time.
    #[must_use]
    pub fn may_take(&self, id: AskId, node: NodeId) -> bool {
        let ask = &self.asks[&id];
        let waited_ms = self.now_ms - ask.since_ms;
        let LocalityDelay::Time { rack_ms, any_ms } = self.config.locality_delay else { return true };
        match ask.locality(node, &self.nodes[&node]) {
            Locality::NodeLocal => true,
            Locality::RackLocal => ask.spec.preference.hosts.is_empty() || waited_ms >= rack_ms,
            Locality::OffSwitch => !ask.has_locality() || waited_ms >= any_ms,
        }
    }
}

impl Ask {
    /// Whether it names hosts or racks.
    #[must_use]
    pub fn has_locality(&self) -> bool {
        !self.spec.preference.hosts.is_empty() || !self.spec.preference.racks.is_empty()
    }
}
