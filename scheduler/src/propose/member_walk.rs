//! The walk that places the members of a gang's role: on the best node first, and on it again while it stays the best.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::facts::{Ask, Locality, Node, Shape};
use crate::ids::{AskId, NodeId, RackId};
use crate::state::State;

/// A node's locality for the ask, its place in the order of the nodes, and the number of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    pub(super) locality: Locality,
    pub(super) position: usize,
    pub(super) positions: usize,
}

/// A search that places members.
pub(super) trait MemberWalk<'a> {
    /// The order of nodes: the smallest is best.
    type Key: Ord;

    fn state(&self) -> &'a State;

    /// The rack on which all nodes are, or none.
    fn rack(&self) -> Option<RackId>;

    /// Whether the node can take a member beside the earlier ones.
    fn can_take(&self, ask: &Ask, shape: &Shape, node: &Node) -> bool;

    fn key(&self, shape: &Shape, node: &Node, position: Position) -> Self::Key;

    /// Places a member.
    fn take(&mut self, id: AskId, ask: &Ask, shape: &Shape, node: &Node);

    /// Places as many of these members of the ask as fit. Returns the number that is left.
    fn place(&mut self, id: AskId, members: u32) -> u32 {
        if members == 0 {
            return 0;
        }
        let facts = &self.state().facts;
        let ask = facts.asks.at(id);
        let shape = facts.shapes.at(ask.shape);
        let mut candidates = candidates(self, ask, shape);
        let mut left = members;
        while left > 0
            && let Some(Reverse((_, on, position))) = candidates.pop()
        {
            let node = facts.nodes.at(on);
            if !self.can_take(ask, shape, node) {
                continue;
            }
            self.take(id, ask, shape, node);
            left -= 1;
            if left > 0 && self.can_take(ask, shape, node) {
                candidates.push(Reverse((self.key(shape, node, position), on, position)));
            }
        }
        left
    }
}

type Candidates<Key> = BinaryHeap<Reverse<(Key, NodeId, Position)>>;

/// The nodes that can take a member now.
fn candidates<'a, W: MemberWalk<'a> + ?Sized>(walk: &W, ask: &Ask, shape: &Shape) -> Candidates<W::Key> {
    let State { facts, node_shards, .. } = walk.state();
    let nodes: &mut dyn Iterator<Item = NodeId> = match walk.rack() {
        Some(rack) => &mut node_shards.nodes_on(rack).iter().copied(),
        None => &mut node_shards.nodes_of(shape.partition),
    };
    let (mut fitting, mut positions) = (Vec::new(), 0);
    for node in nodes.map(|id| facts.nodes.at(id)) {
        if walk.can_take(ask, shape, node) {
            fitting.push((positions, node));
        }
        positions += 1;
    }
    let candidate = |(position, node): (usize, &Node)| {
        let position =
            Position { locality: ask.preference().locality_of(node.id, node.rack), position, positions };
        Reverse((walk.key(shape, node, position), node.id, position))
    };
    let candidates: Vec<_> = fitting.into_iter().map(candidate).collect();
    candidates.into()
}
