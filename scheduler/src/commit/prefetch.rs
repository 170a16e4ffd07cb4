//! Prefetching the records that the next changes touch.
//!
//! An ending container was placed long ago, so neither it nor its node is in a cache. An ask was last touched some
//! hundred containers earlier, so it has left the caches as well. Waiting for one record after another takes most of
//! the time of a change. Independent reads beforehand let the processor load them together. They decide nothing.

use std::hint::black_box;

use crate::change::{Change, SubmittedAsk};
use crate::facts::Facts;
use crate::ids::{ContainerId, SlotId};
use crate::request::ResourceAllocationCommitRequest;

/// The containers that the changes end.
pub(super) fn ended_by(changes: &[Change]) -> impl Iterator<Item = ContainerId> + Clone {
    changes.iter().filter_map(|change| match change {
        Change::ContainerEnded { container, .. } => Some(*container),
        _ => None,
    })
}

/// Touches the records of the asks and nodes of proposals, the ends of these nodes' lists, and the vacated slots that
/// their containers take.
pub(super) fn prefetch_proposed(facts: &Facts, requests: &[ResourceAllocationCommitRequest]) {
    let proposals = requests.iter().flat_map(|request| &request.allocate);
    let found = proposals.clone().filter_map(|proposal| {
        let (ask, node) = (facts.asks.get(proposal.ask)?, facts.nodes.get(proposal.node)?);
        Some(ask.number ^ node.room.free[0] as u64 ^ node.containers.len() as u64)
    });
    black_box(found.fold(0, |sum, bits| sum ^ bits));
    // In a loop of its own, because the addresses of the lists are in the nodes.
    let nodes = proposals.filter_map(|proposal| facts.nodes.get(proposal.node));
    black_box(nodes.filter_map(|node| node.containers.last()).fold(0, |sum, id| sum ^ id.index()));
    let slots = facts.container_ids.next_vacated(requests.len());
    black_box(slots.filter(|id| facts.containers.is_vacant(*id)).count());
}

/// Touches the slots of new asks.
pub(super) fn prefetch_new_asks(facts: &Facts, asks: &[SubmittedAsk]) {
    black_box(asks.iter().filter(|ask| facts.asks.is_vacant(ask.ask)).count());
}

/// Touches the records of ending containers and their nodes.
pub(super) fn prefetch_ended(facts: &Facts, ended: impl Iterator<Item = ContainerId> + Clone) {
    let containers = ended.filter_map(|container| facts.containers.get(container));
    black_box(containers.clone().map(|container| container.shape.index()).sum::<usize>());
    let nodes = containers.filter_map(|container| facts.nodes.get(container.node));
    black_box(nodes.clone().map(|node| node.room.free[0]).sum::<i64>());
    // The end of a container searches the list, which is in about three cache lines.
    let listed = nodes.flat_map(|node| {
        let list = &node.containers;
        [list.first(), list.get(list.len() / 2), list.last()]
    });
    black_box(listed.flatten().fold(0, |sum, id| sum ^ id.index()));
}
