//! Nodes of the model: whether they take a container, and in which order they are tried.

use apportion::config::NodeOrderKind;
use apportion::resource::{DeviceNeed, SHARE_ONE};
use apportion::{
    AskSpec, AttributeCondition, AttributeTest, Locality, NodeAttributes, NodeId, NodeState, PartitionId,
    RackId, TagNamespace, TagScope,
};

use super::amounts::{Amounts, amounts, may_add, minus, share};
use super::{Ask, Books, Container, NOTHING, Oracle};

/// A registered node.
#[derive(Clone, Debug)]
pub struct Node {
    /// Host name.
    pub name: String,
    /// Its rack.
    pub rack: RackId,
    /// The rack's name.
    pub rack_name: String,
    /// Its partition.
    pub partition: PartitionId,
    /// Its total amounts.
    pub capacity: Amounts,
    /// The number of its devices.
    pub devices: u8,
    /// Attributes that asks may require.
    pub attributes: NodeAttributes,
    /// The state that an administrator has set.
    pub state: NodeState,
    /// Whether it has been silent for too long.
    pub stale: bool,
    /// The time of its last heartbeat.
    pub last_heartbeat_ms: u64,
    /// Its position in the order of registration.
    pub position: u64,
}

impl Node {
    /// Whether it takes any new containers.
    #[must_use]
    pub fn is_candidate(&self) -> bool {
        self.state == NodeState::Active && !self.stale
    }

    /// Whether the empty node could hold a container of the ask.
    #[must_use]
    pub fn could_hold(&self, ask: &AskSpec) -> bool {
        let devices = vec![1000; usize::from(self.devices)];
        fits(ask, &self.capacity, &devices)
    }
}

impl Oracle {
    /// Records the name of a rack.
    pub fn name_rack(&mut self, rack: RackId, name: &str) {
        let agrees = |(number, known): (&RackId, &String)| (*number == rack) == (known == name);
        assert!(self.racks.iter().all(agrees), "{rack:?} is called {name}: {:?}", self.racks);
        self.racks.insert(rack, name.to_owned());
    }
}

/// Whether a container of the ask fits into these free amounts and devices.
#[must_use]
pub(super) fn fits(ask: &AskSpec, free: &Amounts, devices: &[u16]) -> bool {
    may_add(&NOTHING, &amounts(&ask.size), free)
        && ask.devices.is_none_or(|need| choose_devices(need, devices).is_some())
}

/// Chooses the devices of a container: each time the fullest that still has enough, the first among equals.
#[must_use]
pub(super) fn choose_devices(need: DeviceNeed, free: &[u16]) -> Option<Vec<usize>> {
    let mut chosen = Vec::new();
    for _ in 0..need.count {
        let may = |device: &usize| free[*device] >= need.milli && !chosen.contains(device);
        let device = (0..free.len()).filter(may).min_by_key(|device| (free[*device], *device))?;
        chosen.push(device);
    }
    Some(chosen)
}

impl Ask {
    /// The locality of the node for the ask.
    #[must_use]
    pub fn locality(&self, id: NodeId, node: &Node) -> Locality {
        if !self.has_locality() {
            Locality::OffSwitch
        } else if self.spec.preference.hosts.contains(&id) {
            Locality::NodeLocal
        } else if self.racks.contains(&node.rack) {
            Locality::RackLocal
        } else {
            Locality::OffSwitch
        }
    }

    /// The tags of its containers.
    #[must_use]
    pub fn tags(&self) -> &[String] {
        self.spec.tags.as_ref().map_or(&[], |tags| &tags.names)
    }

    /// Whether the ask accepts only the hosts and racks that it names.
    #[must_use]
    pub fn is_strict(&self) -> bool {
        !self.spec.preference.relax_locality && self.has_locality()
    }

    /// Whether the ask could ever run on the node, full or not.
    #[must_use]
    pub fn accepts(&self, id: NodeId, node: &Node) -> bool {
        let named =
            self.spec.preference.hosts.contains(&id) || self.spec.preference.racks.contains(&node.rack);
        self.meets_conditions(node) && (!self.is_strict() || named)
    }

    /// Whether the node's attributes are as the ask wants them.
    #[must_use]
    pub fn meets_conditions(&self, node: &Node) -> bool {
        self.spec.rule.iter().flat_map(|rule| &rule.conditions).all(|it| meets(it, &node.attributes))
    }
}

fn meets(condition: &AttributeCondition, attributes: &NodeAttributes) -> bool {
    match (&condition.test, attributes.get(&condition.attribute)) {
        (AttributeTest::In(values), Some(value)) => values.contains(value),
        (AttributeTest::NotIn(values), Some(value)) => !values.contains(value),
        (AttributeTest::Exists, is) => is.is_some(),
        (AttributeTest::Absent, is) => is.is_none(),
        (AttributeTest::In(_), None) => false,
        (AttributeTest::NotIn(_), None) => true,
    }
}

impl Oracle {
    /// Whether the blacklist of the ask's application names the node or its rack.
    #[must_use]
    pub fn shuns(&self, ask: &Ask, node: &Node) -> bool {
        let [hosts, racks] = &self.applications[&ask.application].shunned;
        hosts.contains(&node.name) || racks.contains(&node.rack_name)
    }

    /// Whether one more container of the ask on the node would keep all of the ask's tag limits.
    #[must_use]
    pub fn keeps_tag_limits(&self, ask: &Ask, node: NodeId) -> bool {
        ask.spec.tags.iter().flat_map(|tags| &tags.limits).all(|limit| {
            let is_there = |container: &&Container| match limit.scope {
                TagScope::Node => container.node == node,
                TagScope::Rack => self.nodes[&container.node].rack == self.nodes[&node].rack,
            };
            let is_counted = |container: &&Container| match limit.namespace {
                TagNamespace::All => true,
                TagNamespace::Application => container.application == ask.application,
            };
            let others = self.containers.values().filter(is_there).filter(is_counted);
            let tagged = others.filter(|container| container.tags.contains(&limit.tag)).count();
            tagged + usize::from(ask.tags().contains(&limit.tag)) <= limit.most as usize
        })
    }

    /// The node's present place in the node order.
    #[must_use]
    pub fn step(&self, books: &Books, id: NodeId) -> (i128, u64) {
        let node = &self.nodes[&id];
        let whole = i128::from(SHARE_ONE);
        let filled = share(&books.nodes[&id].used, &node.capacity).min(whole);
        let step = filled * 127 / whole;
        match self.config.node_order {
            NodeOrderKind::Spread => (step, node.position),
            NodeOrderKind::Pack => (127 - step, node.position),
            NodeOrderKind::First => (0, node.position),
        }
    }

    /// Whether a container of the ask fits into the node's free amounts.
    #[must_use]
    pub fn has_room(&self, books: &Books, ask: &AskSpec, id: NodeId) -> bool {
        let book = &books.nodes[&id];
        fits(ask, &minus(&self.nodes[&id].capacity, &book.used), &book.device_free)
    }
}
