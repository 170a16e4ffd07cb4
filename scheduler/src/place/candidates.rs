//! The candidates of a placement set by position, and the index over their free resources.

use super::candidate_list::{Candidate, CandidateList};
use super::index::BucketIndex;
use super::order::score_of_share;
use crate::config::NodeOrderKind;
use crate::ids::NodeId;
use crate::resource::{Need, Resources};

/// Every change goes through its methods, so the index has each candidate at the step of its score.
#[derive(Debug)]
pub(super) struct Candidates {
    order: NodeOrderKind,
    list: CandidateList,
    index: BucketIndex,
}

impl Candidates {
    /// Positions without candidates.
    pub(super) fn new(order: NodeOrderKind, positions: usize) -> Self {
        Self { order, list: CandidateList::new(positions), index: BucketIndex::new(positions) }
    }

    /// The order of the nodes.
    pub(super) fn order(&self) -> NodeOrderKind {
        self.order
    }

    /// The number of positions, including vacant ones.
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// The position's entry, with or without a node.
    #[inline]
    pub(super) fn at(&self, position: usize) -> Candidate {
        self.list.at(position)
    }

    #[inline]
    pub(super) fn node(&self, position: usize) -> Option<NodeId> {
        self.list.node(position)
    }

    /// The node, if a container with this need fits on it.
    pub(super) fn node_with_room(&self, position: usize, need: &Need) -> Option<NodeId> {
        self.list.node_with_room(position, need)
    }

    pub(super) fn free(&self, position: usize) -> Resources {
        self.list.free(position)
    }

    /// The step of the candidate at a position in the order of nodes.
    pub(super) fn step_of(&self, position: usize) -> Option<usize> {
        self.index.step_of(position)
    }

    /// Replaces the entry of a position.
    pub(super) fn put(&mut self, position: usize, candidate: &Candidate) {
        // A node that changed several times equals its candidate after the first look.
        if self.list.at(position) != *candidate {
            self.list.set(position, candidate);
            self.reindex(position);
        }
    }

    /// Adds the resources of an ended container.
    pub(super) fn add_freed(&mut self, position: usize, freed: &Resources) {
        self.list.add_freed(position, freed);
        self.reindex(position);
    }

    /// Subtracts the resources of a container.
    pub(super) fn debit(&mut self, position: usize, need: &Need) {
        self.list.debit(position, need);
        self.index.lower(position, self.step(position), || self.list.free(position));
    }

    /// Makes a position vacant.
    pub(super) fn remove(&mut self, position: usize) {
        self.list.set(position, &Candidate { node: None, ..self.list.at(position) });
        self.reindex(position);
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
        let Self { list, index, .. } = self;
        let suits =
            |position: usize| list.node_with_room(position, need).is_some_and(|node| suits(position, node));
        index.search(&need.resources, suits, |position| list.free(position), visits)
    }

    fn reindex(&mut self, position: usize) {
        if self.list.node(position).is_none() {
            self.index.remove(position);
            return;
        }
        self.index.put(position, self.step(position), &self.list.free(position));
    }

    #[inline]
    fn step(&self, position: usize) -> usize {
        score_of_share(self.order, position, self.list.len(), || self.list.used_share(position))
    }
}
