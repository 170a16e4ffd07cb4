//! Placement sets: the candidate nodes that one proposer may use.

mod reservable;
mod ruled_search;
mod separate_view;

use std::hint::black_box;

use super::candidate_list::Candidate;
use super::candidates::Candidates;
use super::nodes::Nodes;
use super::ring::NodeChange;
use crate::config::NodeOrderKind;
use crate::facts::Shape;
use crate::ids::{NodeId, SetId};
use crate::resource::Need;
use ruled_search::Given;

/// The candidate nodes of one shard of a partition, with an index over their free resources.
///
/// The holder of the value has the set's lease. It is taken from the [pool](super::Leases) for a pass, travels with the
/// batch, and goes back when the batch is decided or dropped. Sets have no node in common. Two batches meet on a node
/// only through asks that name hosts or racks, through gangs and through the committer's own placements. The set is a
/// view: the committer decides by the nodes themselves.
#[derive(Debug)]
pub struct PlacementSet {
    id: SetId,
    /// The nodes by position with their free resources. An index by the score of the node order makes a search look
    /// only where the shape may fit.
    candidates: Candidates,
    /// The set's [change count](super::NodeShards::change_count) up to which this view has followed.
    seen: u64,
    /// The current pass's containers that rules count.
    given: Given,
    /// Positions that this view debited. The next pass looks them up again unless the whole batch was accepted.
    debited: Vec<u32>,
}

/// The result of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A node, at this position.
    At(usize),
    /// Only nodes that reached their maximum of off-switch containers in this pass.
    NextPass,
    /// No node that fits.
    Nothing,
}

impl PlacementSet {
    /// A view that has seen no node yet: [`sync`](Self::sync) fills it.
    pub(crate) fn new(id: SetId, order: NodeOrderKind) -> Self {
        let candidates = Candidates::new(order, 0);
        Self { id, candidates, seen: 0, given: Given::default(), debited: Vec::new() }
    }

    /// The id of the set.
    #[must_use]
    pub fn id(&self) -> SetId {
        self.id
    }

    /// The change count up to which this view has followed.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    /// Brings the view up to date: nodes that changed since the last pass, and the debited nodes unless the whole batch
    /// was accepted.
    pub(crate) fn sync(&mut self, nodes: Nodes<'_>) {
        let positions = nodes.node_shards.positions(self.id);
        self.given.clear();
        // The list of debited nodes collects all nodes to look up, and is empty again afterwards.
        let mut changed = std::mem::take(&mut self.debited);
        match nodes.node_shards.changes_since(self.id, self.seen) {
            Some(changes) if self.candidates.len() == positions => {
                self.prefetch(nodes.node_shards.changes_since(self.id, self.seen));
                for NodeChange { position, freed } in changes {
                    // Other nodes are looked up: they may have become candidates.
                    match freed {
                        Some(freed) if self.candidates.node(position as usize).is_some() => {
                            self.candidates.add_freed(position as usize, &freed);
                        }
                        _ => changed.push(position),
                    }
                }
                // Last: the node's present room includes all freed amounts.
                for &position in &changed {
                    self.refresh(nodes, position as usize);
                }
            }
            _ => self.rebuild(nodes, positions),
        }
        self.seen = nodes.node_shards.change_count(self.id);
        changed.clear();
        self.debited = changed;
    }

    /// Prefetches the changed candidates, independently of each other. In a large set hardly any of them is in a cache,
    /// and this way the processor loads many at a time.
    fn prefetch(&self, changes: Option<impl Iterator<Item = NodeChange>>) {
        let positions = changes.into_iter().flatten().map(|change| change.position as usize);
        black_box(positions.fold(0, |sum, position| {
            sum ^ self.candidates.free(position)[0] ^ i64::from(self.candidates.node(position).is_some())
        }));
    }

    fn rebuild(&mut self, nodes: Nodes<'_>, positions: usize) {
        self.candidates = Candidates::new(self.candidates.order(), positions);
        for position in 0..positions {
            self.refresh(nodes, position);
        }
    }

    /// Looks one position up. A node that is reserved or takes no containers is not a candidate.
    fn refresh(&mut self, nodes: Nodes<'_>, position: usize) {
        let candidate = nodes.node_shards.node_at(self.id, position).and_then(|id| {
            let node = nodes.facts.nodes.get(id)?;
            node.is_open().then(|| Candidate {
                node: Some(id),
                capacity: node.capacity,
                room: nodes.room_left(id, node),
            })
        });
        self.candidates.put(position, &candidate.unwrap_or_default());
    }

    /// The first node in order on which a container of this shape fits. `visits` counts the nodes looked at.
    pub(crate) fn search(&mut self, nodes: Nodes<'_>, shape: &Shape, visits: &mut usize) -> Found {
        if shape.rule.is_some() || nodes.facts.config.limits.off_switch_per_pass.is_some() {
            return self.search_ruled(nodes, shape, visits);
        }
        self.candidates.search(&shape.need, |_, _| true, visits).map_or(Found::Nothing, Found::At)
    }

    /// The node at a position that a search returned.
    pub(crate) fn node(&self, position: usize) -> NodeId {
        self.candidates.node(position).expect("a search returns candidates")
    }

    /// Subtracts a proposed container's resources from the view.
    pub(crate) fn debit(&mut self, position: usize, need: &Need) {
        self.candidates.debit(position, need);
        self.debited.push(position as u32);
    }

    /// Keeps the debits: all containers were accepted, so the next `sync` need not look at their nodes again.
    pub(crate) fn trust_debits(&mut self) {
        self.debited.clear();
    }
}
