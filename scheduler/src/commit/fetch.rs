//! Prefetching the records that the next changes touch.
//!
//! An ending container was placed long ago, so neither it nor its node is in a cache. Waiting for one after another
//! takes most of the time of its end. Independent reads beforehand let the processor load them together.

use std::hint::black_box;

use crate::change::Change;
use crate::facts::Facts;
use crate::ids::ContainerId;

/// The containers that the changes end.
pub(super) fn ended_by(changes: &[Change]) -> impl Iterator<Item = ContainerId> + Clone {
    changes.iter().filter_map(|change| match change {
        Change::ContainerEnded { container, .. } => Some(*container),
        _ => None,
    })
}

/// Touches the records of ending containers and their nodes. It decides nothing.
pub(super) fn fetch_ended(facts: &Facts, ended: impl Iterator<Item = ContainerId> + Clone) {
    let containers = ended.filter_map(|container| facts.containers.get(container));
    black_box(containers.clone().map(|container| container.shape.index()).sum::<usize>());
    let nodes = containers.filter_map(|container| facts.nodes.get(container.node));
    black_box(nodes.clone().map(|node| node.room.free[0]).sum::<i64>());
    black_box(nodes.filter(|node| node.containers.first() == node.containers.last()).count());
}
