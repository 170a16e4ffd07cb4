//! Places the container of a plain ask, and ends containers. `requests.rs` carries out requests of any kind.
//!
//! A request was accepted under the same guard, so nothing here can fail. The facts change through the ledger. The
//! derived state is told which lanes, queues and nodes to look at again.

use super::Applier;
use crate::event::EventKind;
use crate::facts::{EndCause, Node};
use crate::ids::{ContainerId, SetId};
use crate::request::AllocationProposal;
use crate::state::State;

impl Applier<'_> {
    /// Places the only container of a plain ask on a node of its partition, and forgets the ask. The caller has taken
    /// the unit out of flight. Equals [`allocate`](Self::allocate) and then [`drop_surplus`](Self::drop_surplus) as
    /// long as the facts [know no gangs](crate::facts::Facts::knows_gangs).
    pub(super) fn place_plain(&mut self, proposal: &AllocationProposal, debited_in: Option<SetId>) {
        let AllocationProposal { ask: id, node, .. } = *proposal;
        let State { facts, node_shards, backlog, version, .. } = &mut *self.state;
        let Node { partition, rack, .. } = *facts.nodes.at(node);
        // The pass has debited the view of its own set already.
        if Some(node_shards.place_of(node, partition).0) != debited_in {
            node_shards.record_change(node, partition);
        }
        let ask = facts.asks.at(id);
        let locality = ask.preference().locality_of(node, rack);
        let allocation_request_id = ask.allocation_request_id;
        // Before the facts forget the ask. The lists do not depend on its counts.
        backlog.remove_ask(id, ask);
        let (container, charged) = facts.transition_place_plain(id, node);
        backlog.rekey(facts, charged.leaf, charged.application);
        backlog.leaf_changed(charged.leaf, *version);
        backlog.starved.forget(id);
        backlog.notes.record_end(id, 0, 1);
        self.state.tags_placed(&charged);
        let kind = EventKind::Allocated { ask: id, container, node, locality, allocation_request_id };
        self.tell(charged.application, kind);
        self.effects.vacated_asks.push(id);
    }

    /// Ends a container, and wakes what its use and room blocked.
    pub(super) fn end_container(&mut self, container: ContainerId, cause: EndCause) {
        let (ended, charged) = self.state.facts.transition_end_container(container);
        self.use_fell(&charged);
        self.state.node_freed(charged.node, &charged.resources, ended.devices);
        self.state.tags_ended(&charged);
        let allocation_request_id = ended.allocation_request_id;
        self.tell(charged.application, EventKind::ContainerEnded { container, cause, allocation_request_id });
        self.finish_if_awaited(charged.application);
    }
}
