//! The candidates of a placement set by position, and the index over their free resources.

use super::index::BucketIndex;
use super::order::{ScoredNode, score};
use crate::config::NodeOrderKind;
use crate::ids::NodeId;
use crate::resource::{Need, Resources, Room, fits};

/// A node as a set sees it, or a position without one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Candidate {
    pub(super) node: Option<NodeId>,
    pub(super) capacity: Resources,
    pub(super) room: Room,
}

/// Every change goes through its methods, so the index has each candidate at the step of its score.
#[derive(Debug)]
pub(super) struct Candidates {
    order: NodeOrderKind,
    nodes: Vec<Candidate>,
    index: BucketIndex,
}

impl Candidates {
    /// Positions without candidates.
    pub(super) fn new(order: NodeOrderKind, positions: usize) -> Self {
        let nodes = vec![Candidate::default(); positions];
        Self { order, nodes, index: BucketIndex::new(positions) }
    }

    /// The order of the nodes.
    pub(super) fn order(&self) -> NodeOrderKind {
        self.order
    }

    /// The number of positions, including vacant ones.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The position's entry, with or without a node.
    #[inline]
    pub(super) fn at(&self, position: usize) -> &Candidate {
        &self.nodes[position]
    }

    /// The step of the candidate at a position in the order of nodes.
    pub(super) fn step_of(&self, position: usize) -> Option<usize> {
        self.index.step_of(position)
    }

    /// Replaces the entry of a position.
    pub(super) fn put(&mut self, position: usize, candidate: Candidate) {
        // A node that changed several times equals its candidate after the first look.
        if self.nodes[position] != candidate {
            self.nodes[position] = candidate;
            self.list(position);
        }
    }

    /// Adds the resources of an ended container.
    pub(super) fn add_freed(&mut self, position: usize, freed: &Resources) {
        self.nodes[position].room.free += *freed;
        self.list(position);
    }

    /// Subtracts the resources of a container.
    pub(super) fn debit(&mut self, position: usize, need: &Need) {
        self.nodes[position].room.take(need);
        let step = self.step(position);
        self.index.lower(position, step, &self.nodes[position].room.free);
    }

    /// Makes a position vacant.
    pub(super) fn remove(&mut self, position: usize) {
        self.nodes[position].node = None;
        self.list(position);
    }

    /// The first position in order whose node has room for `need` and passes `suits`. `visits` counts the nodes looked
    /// at.
    #[inline]
    pub(super) fn search(
        &mut self,
        need: &Need,
        mut suits: impl FnMut(usize, NodeId) -> bool,
        visits: &mut usize,
    ) -> Option<usize> {
        let Self { nodes, index, .. } = self;
        let suits = |position: usize| {
            let Candidate { node, room, .. } = &nodes[position];
            node.is_some_and(|node| fits(need, room) && suits(position, node))
        };
        index.search(&need.resources, suits, |position| nodes[position].room.free, visits)
    }

    fn list(&mut self, position: usize) {
        let candidate = &self.nodes[position];
        if candidate.node.is_none() {
            self.index.remove(position);
            return;
        }
        self.index.put(position, self.step(position), &candidate.room.free);
    }

    #[inline]
    fn step(&self, position: usize) -> usize {
        let Candidate { capacity, room, .. } = &self.nodes[position];
        score(self.order, &ScoredNode { capacity, free: &room.free, position, positions: self.nodes.len() })
    }
}
