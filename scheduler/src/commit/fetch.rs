//! Prefetching the records that the next changes touch.
//!
//! An ending container was placed long ago, so neither it nor its node is in a cache. Waiting for one after another
//! takes most of the time of its end. Independent reads beforehand let the processor load them together.

use std::hint::black_box;

use crate::change::Change;
use crate::facts::Facts;

/// Touches the records of ending containers and their nodes. It decides nothing.
pub(super) fn fetch_ended(facts: &Facts, changes: &[Change]) {
    let ended = || {
        changes.iter().filter_map(|change| match change {
            Change::ContainerEnded { container, .. } => facts.containers.get(*container),
            _ => None,
        })
    };
    black_box(ended().map(|container| container.shape.index()).sum::<usize>());
    let nodes = || ended().filter_map(|container| facts.nodes.get(container.node));
    black_box(nodes().map(|node| node.room.free[0]).sum::<i64>());
    black_box(nodes().filter(|node| node.containers.first() == node.containers.last()).count());
}
