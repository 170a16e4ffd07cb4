//! Moves applications to another leaf.
//!
//! A moved application takes its containers, reservations and asks to another leaf and to the user there. Amounts in
//! flight for it stay counted in the queues and for the user that the batch names. The committer takes them back from
//! there. The resulting containers are charged to the new leaf. So the committer checks the limits of each request in
//! a batch that is older than the last move.

use super::Applier;
use crate::facts::LeafUser;
use crate::ids::{ApplicationId, QueueId};
use crate::state::State;

impl Applier<'_> {
    /// Moves the application's asks and charges to another leaf. Its amounts in flight stay counted where the pass put
    /// them.
    pub(super) fn move_application(&mut self, id: ApplicationId, leaf: QueueId) {
        let facts = &self.state.facts;
        let application = facts.applications.at(id);
        let (old_leaf, old_user) = (application.leaf, application.user);
        if leaf == old_leaf {
            return;
        }
        self.give_back_of(id);
        let State { facts, backlog, .. } = &mut *self.state;
        // In the order in which a rebuilt backlog would list them.
        let asks = backlog.asks_in_order(facts, id);
        for ask in &asks {
            backlog.remove_ask(*ask, facts.asks.at(*ask));
        }
        backlog.remove_application(id);
        let LeafUser { name, groups, .. } = facts.user(old_user).clone();
        let user = self.user_in(leaf, &name, &groups);
        let State { facts, backlog, version, .. } = &mut *self.state;
        let loads = facts.loads_of(id, &asks);
        let outstanding = asks.iter().map(|ask| u64::from(facts.asks.at(*ask).outstanding())).sum();
        facts.transition_move(id, user, &loads, outstanding);
        for ask in asks {
            backlog.add_ask(facts, ask, facts.asks.at(ask), *version);
        }
        backlog.use_fell(old_leaf, old_user, &facts.user(old_user).limit_usages, *version);
        backlog.leaf_changed(leaf, *version);
        // Other maxima apply to its opportunistic asks.
        self.state.facts.node_loads.look_for_nodes();
        self.state.record_move();
        self.record_idle(old_leaf);
    }
}
