//! The candidates of a placement set by position, and the index over their free resources.

use super::candidate_list::{Candidate, CandidateList};
use super::index::BucketIndex;
use super::order::step;
use crate::config::NodeOrderKind;
use crate::ids::NodeId;
use crate::resource::{Need, Resources};

/// Every change goes through its methods, so the index has each candidate at the step of its score.
#[derive(Debug)]
pub(super) struct Candidates {
    order: NodeOrderKind,
    nodes: CandidateList,
    index: BucketIndex,
}

impl Candidates {
    /// Positions without candidates.
    pub(super) fn new(order: NodeOrderKind, positions: usize) -> Self {
        Self { order, nodes: CandidateList::new(positions), index: BucketIndex::new(positions) }
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
    pub(super) fn at(&self, position: usize) -> Candidate {
        self.nodes.at(position)
    }

    #[inline]
    pub(super) fn node(&self, position: usize) -> Option<NodeId> {
        self.nodes.node(position)
    }

    pub(super) fn free(&self, position: usize) -> Resources {
        self.nodes.free(position)
    }

    /// The step of the candidate at a position in the order of nodes.
    pub(super) fn step_of(&self, position: usize) -> Option<usize> {
        self.index.step_of(position)
    }

    /// Replaces the entry of a position.
    pub(super) fn put(&mut self, position: usize, candidate: &Candidate) {
        // A node that changed several times equals its candidate after the first look.
        if self.nodes.at(position) != *candidate {
            self.nodes.set(position, candidate);
            self.list(position);
        }
    }

    /// Adds the resources of an ended container.
    pub(super) fn add_freed(&mut self, position: usize, freed: &Resources) {
        self.nodes.add_freed(position, freed);
        self.list(position);
    }

    /// Subtracts the resources of a container.
    pub(super) fn debit(&mut self, position: usize, need: &Need) {
        self.nodes.debit(position, need);
        self.index.lower(position, self.step(position), || self.nodes.free(position));
    }

    /// Makes a position vacant.
    pub(super) fn remove(&mut self, position: usize) {
        self.nodes.set(position, &Candidate { node: None, ..self.nodes.at(position) });
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
        let suits =
            |position: usize| nodes.node_with_room(position, need).is_some_and(|node| suits(position, node));
        index.search(&need.resources, suits, |position| nodes.free(position), visits)
    }

    fn list(&mut self, position: usize) {
        if self.nodes.node(position).is_none() {
            self.index.remove(position);
            return;
        }
        self.index.put(position, self.step(position), &self.nodes.free(position));
    }

    #[inline]
    fn step(&self, position: usize) -> usize {
        step(self.order, position, self.nodes.len(), || self.nodes.used_share(position))
    }
}
