//! The missing amounts on nodes that only lack room for an ask.

use serde::{Deserialize, Serialize};

use super::ShortOf;
use super::nodes::{NodeFilter, Stage};
use crate::facts::Node;
use crate::ids::NodeId;
use crate::resource::{Amounts, Need, Room, SHARE_ONE, missing, missing_share};

/// The node that lacks least for one container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shortage {
    /// The node's identifier.
    pub node: NodeId,
    /// Its host name.
    pub name: String,
    /// Whether even the empty node could not hold the container, as on all other nodes; `missing` then counts for
    /// the empty node.
    pub is_even_empty: bool,
    /// The missing amounts by resource type. Empty if only devices are missing.
    pub missing: Amounts,
    /// The missing devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub devices: Option<DeviceShortage>,
    /// For each resource type, the number of nodes short of it, of those that fail by room alone.
    pub short_of: ShortOf,
}

/// The devices that a node lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceShortage {
    /// Devices that the container needs.
    pub needed: u8,
    /// Thousandths that the container needs of each device.
    pub milli: u16,
    /// Devices of the node with that much free.
    pub found: u8,
}

/// Collects the shortages of nodes.
pub(super) struct Shortages<'a> {
    filter: &'a NodeFilter<'a>,
    /// The least short node among nodes that are large enough when empty, and among those that are not.
    least: [Option<Least<'a>>; 2],
    /// Nodes short of each type, in the same two groups.
    short_of: [ShortCounts; 2],
}

type ShortCounts = [usize; crate::resource::RESOURCE_TYPES_MAX];

/// The least short node so far.
struct Least<'a> {
    share: i128,
    id: NodeId,
    node: &'a Node,
}

impl<'a> Shortages<'a> {
    pub(super) fn new(filter: &'a NodeFilter<'a>) -> Self {
        Self { filter, least: [None, None], short_of: Default::default() }
    }

    /// Records a node that dropped out.
    pub(super) fn record(&mut self, stage: Stage, id: NodeId, node: &'a Node) {
        let kind = match stage {
            Stage::NoRoom | Stage::NoDevice => 0,
            Stage::TooSmall => 1,
            _ => return,
        };
        let (need, room) = (&self.filter.shape.need, room_of(kind, node));
        let lacks = missing(&need.resources, &room.free);
        for (count, amount) in self.short_of[kind].iter_mut().zip(lacks.amounts()) {
            *count += usize::from(*amount > 0);
        }
        let share = missing_share(&need.resources, &room.free).max(missing_devices_share(need, &room));
        if self.least[kind].as_ref().is_none_or(|least| share < least.share) {
            self.least[kind] = Some(Least { share, id, node });
        }
    }

    /// The shortage of the least short node. Nodes that are too small count only if there are no others.
    pub(super) fn least(&self) -> Option<Shortage> {
        let kind = self.least.iter().position(Option::is_some)?;
        let Least { id, node, .. } = self.least[kind].as_ref()?;
        let (need, room) = (&self.filter.shape.need, room_of(kind, node));
        let types = &self.filter.state.facts.config.resources;
        let short_of = types.names().iter().cloned().zip(self.short_of[kind]);
        Some(Shortage {
            node: *id,
            name: node.name.to_string(),
            is_even_empty: kind == 1,
            missing: types.amounts(&missing(&need.resources, &room.free)),
            devices: missing_devices(need, &room),
            short_of: short_of.filter(|(_, nodes)| *nodes > 0).collect(),
        })
    }
}

/// The node's present room, or its room when empty.
fn room_of(kind: usize, node: &Node) -> Room {
    if kind == 0 { node.room } else { node.empty_room() }
}

fn missing_devices(need: &Need, room: &Room) -> Option<DeviceShortage> {
    let need = need.devices?;
    let found = room.devices.free_milli().iter().filter(|free| **free >= need.milli).count() as u8;
    (found < need.count).then_some(DeviceShortage { needed: need.count, milli: need.milli, found })
}

fn missing_devices_share(need: &Need, room: &Room) -> i128 {
    let part = |short: DeviceShortage| {
        i128::from(short.needed - short.found) * i128::from(SHARE_ONE) / i128::from(short.needed)
    };
    missing_devices(need, room).map_or(0, part)
}
