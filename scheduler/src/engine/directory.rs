//! Names and free identifiers, which callers look up without the state's lock.

use std::sync::Arc;

use super::racks::Racks;
use super::shared::Shared;
use crate::commit::Effects;
use crate::facts::{Facts, IdPool, QueueRole};
use crate::ids::{ApplicationId, AskId, NodeId, QueueId, SlotId};
use crate::replay::{FollowedPool, Identifiers};
use crate::sync::{Mutex, NameMap};

/// The names that callers use, readable without the state's lock.
pub(crate) struct Names {
    pub(crate) nodes: NameMap<NodeId>,
    pub(crate) racks: Racks,
    /// Queues and their roles, by path.
    pub(crate) queues: NameMap<(QueueId, QueueRole)>,
}

/// Identifiers that callers get before the committer has processed the calls.
pub(crate) struct Ids {
    pub(crate) nodes: Mutex<NodeIds>,
    pub(crate) applications: Mutex<IdPool<ApplicationId>>,
    pub(crate) asks: Mutex<IdPool<AskId>>,
}

impl Names {
    /// The names in these facts.
    pub(super) fn of(facts: &Facts) -> Self {
        let (nodes, queues) = (NameMap::new(), NameMap::new());
        for (id, node) in facts.nodes.iter() {
            nodes.set(&node.name, Some(id));
        }
        for (index, queue) in facts.tree.queues.iter().enumerate().filter(|(_, queue)| queue.is_present) {
            queues.set(&queue.path, Some((QueueId(index as u32), queue.role())));
        }
        Self { nodes, racks: Racks::new(&facts.racks), queues }
    }
}

impl Ids {
    /// The identifiers that are left after these were given out.
    pub(super) fn after(given: Identifiers, facts: &Facts) -> Self {
        Self {
            nodes: Mutex::new(NodeIds::after(given.nodes, facts)),
            applications: Mutex::new(given.applications.into_pool()),
            asks: Mutex::new(given.asks.into_pool()),
        }
    }
}

impl Shared {
    /// Enters the paths of new queues, and removes those of old ones.
    pub(super) fn update_queue_names(&self, effects: &mut Effects) {
        for named in effects.queues.drain(..) {
            self.names.queues.set(&named.path, named.queue);
        }
    }

    /// Frees the identifiers and names of removed objects.
    pub(super) fn vacate(&self, effects: &Effects) {
        let Self { ids, names, .. } = self;
        if !effects.vacated_asks.is_empty() {
            let mut pool = ids.asks.lock();
            effects.vacated_asks.iter().for_each(|id| pool.give_back(*id));
        }
        for id in &effects.vacated_applications {
            ids.applications.lock().give_back(*id);
        }
        for (id, name) in &effects.vacated_nodes {
            names.nodes.remove(name, *id);
            ids.nodes.lock().give_back(*id);
        }
    }
}

/// Identifiers of nodes and the names they were given out for.
#[derive(Debug)]
pub(crate) struct NodeIds {
    pool: IdPool<NodeId>,
    /// The newest identifier of each slot.
    named: Vec<NamedNode>,
}

impl NodeIds {
    fn after(followed: FollowedPool<NodeId>, facts: &Facts) -> Self {
        let vacant = |slot| NamedNode { node: NodeId::new(slot, 0), name: "".into(), is_sent: false };
        let mut named: Vec<_> = (0..followed.slots() as u32).map(vacant).collect();
        for (node, registered) in facts.nodes.iter() {
            named[node.index()] = NamedNode { node, name: Arc::clone(&registered.name), is_sent: true };
        }
        Self { pool: followed.into_pool(), named }
    }

    pub(crate) fn take(&mut self, name: &str) -> NodeId {
        let node = self.pool.take();
        let entry = NamedNode { node, name: name.into(), is_sent: false };
        match self.named.get_mut(node.index()) {
            Some(slot) => *slot = entry,
            None => self.named.push(entry),
        }
        node
    }

    pub(crate) fn give_back(&mut self, node: NodeId) {
        self.pool.give_back(node);
    }

    /// Records that the registration of the node is in the inbox.
    pub(crate) fn set_sent(&mut self, node: NodeId) {
        if let Some(named) = self.named.get_mut(node.index()).filter(|named| named.node == node) {
            named.is_sent = true;
        }
    }

    /// The name of a node whose registration is in the inbox, unless a later node took over the slot.
    pub(crate) fn sent_name(&self, node: NodeId) -> Option<Arc<str>> {
        let named = self.named.get(node.index())?;
        (named.node == node && named.is_sent).then(|| Arc::clone(&named.name))
    }
}

#[derive(Debug)]
struct NamedNode {
    node: NodeId,
    name: Arc<str>,
    /// Any message sent from now on comes after the node's registration.
    is_sent: bool,
}
