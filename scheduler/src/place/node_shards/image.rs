//! The places of nodes as they are written and read.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use super::NodeShards;
use crate::ids::{NodeId, PartitionId, RackId, ReservationId, SlotId};

/// The places of nodes, and the orders that only the history tells.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NodeShardsImage {
    /// By partition and place.
    partitions: Vec<Vec<Option<NodeId>>>,
    racks: Vec<(RackId, Vec<NodeId>)>,
    ready_reservations: Vec<ReservationId>,
}

impl NodeShards {
    /// The places as they are written.
    pub(crate) fn image(&self) -> NodeShardsImage {
        let mut racks: Vec<_> = self.racks.iter().map(|(rack, nodes)| (*rack, nodes.clone())).collect();
        racks.sort_unstable_by_key(|(rack, _)| *rack);
        NodeShardsImage {
            partitions: self.partitions.iter().map(|members| members.nodes.clone()).collect(),
            racks,
            ready_reservations: self.ready_reservations.iter().flatten().copied().collect(),
        }
    }

    /// Shards, one for each partition, with the nodes at their places. Also returns the reservations that were ready.
    pub(crate) fn of_image(image: NodeShardsImage, types: usize) -> (Self, Vec<ReservationId>) {
        let mut shards = Self::new(image.partitions.len(), types);
        for (partition, nodes) in image.partitions.into_iter().enumerate() {
            for (place, node) in (0..).zip(&nodes) {
                match node {
                    None => shards.partitions[partition].vacant.push(Reverse(place)),
                    Some(node) => shards.set_place(*node, place),
                }
            }
            shards.partitions[partition].nodes = nodes;
        }
        shards.racks = image.racks.into_iter().collect();
        (shards, image.ready_reservations)
    }

    /// Whether the node has a place in the partition.
    pub(crate) fn holds(&self, id: NodeId, partition: PartitionId) -> bool {
        let place = self.places.get(id.index()).copied().unwrap_or(u32::MAX);
        let members = self.partitions.get(partition.index());
        members.and_then(|members| members.nodes.get(place as usize)) == Some(&Some(id))
    }
}
