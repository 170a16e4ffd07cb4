//! The proposer's side: its own view of queues, users, lanes and nodes, which follows the facts.

use super::amounts::Amounts;
use super::cluster::{ClusterPlan, Kind};
use super::ids::Id;
use super::index::NodeIndex;
use super::queues::PARTITIONS;
use super::walk::{AskPlace, Walk};

/// The fields of a pending ask that a pass reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub(super) id: Id,
    pub(super) kind: u32,
    pub(super) user: u32,
    /// Its lane within its leaf and partition.
    pub(super) lane: u32,
}

/// A new ask.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) ask: Pending,
    pub(super) leaf: u32,
    /// Its application's place in the leaf.
    pub(super) order: u32,
    pub(super) number: u64,
}

/// An ended container.
#[derive(Clone, Copy, Debug)]
pub(super) struct Freed {
    /// Its node's position in the index.
    pub(super) position: u32,
    pub(super) kind: u32,
    pub(super) leaf: u32,
    pub(super) user: u32,
}

/// A proposal: this ask on this node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) ask: Id,
    pub(super) node: u32,
}

/// Receives the committer's changes.
pub(super) trait Feed {
    fn asked(&mut self, asked: Asked);
    fn freed(&mut self, freed: Freed);
}

/// Changes on their way to a proposer on another thread.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub(super) freed: Vec<Freed>,
    pub(super) asked: Vec<Asked>,
}

impl Feed for Changes {
    fn asked(&mut self, asked: Asked) {
        self.asked.push(asked);
    }

    fn freed(&mut self, freed: Freed) {
        self.freed.push(freed);
    }
}

#[derive(Clone, Debug)]
#[repr(align(128))]
pub(super) struct Proposer {
    kinds: Vec<Kind>,
    /// By partition.
    pub(super) views: Vec<View>,
    batch: usize,
}

/// A partition as a pass sees it.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub(super) walk: Walk,
    pub(super) index: NodeIndex,
}

impl Proposer {
    pub(super) fn new(plan: &ClusterPlan) -> Self {
        let mut members: [Vec<(u32, Amounts)>; PARTITIONS] = Default::default();
        for (number, &(free, partition)) in plan.nodes.iter().enumerate() {
            members[partition].push((number as u32, free));
        }
        let view = |(partition, nodes): (usize, &Vec<(u32, Amounts)>)| View {
            walk: Walk::new(&plan.queues, &plan.users, plan.sizes, partition),
            index: NodeIndex::new(nodes),
        };
        Self {
            kinds: plan.kinds.clone(),
            views: members.iter().enumerate().map(view).collect(),
            batch: plan.batch,
        }
    }

    /// One pass: proposes for the most deserving asks, which it looks up by slot. Returns whether the batch is full, so
    /// that more may follow.
    pub(super) fn propose(
        &mut self,
        partition: usize,
        pending: impl Fn(u32) -> Pending,
        requests: &mut Vec<Request>,
    ) -> bool {
        let View { walk, index } = &mut self.views[partition];
        // Sizes that found no node, one bit each.
        let mut closed: u128 = 0;
        walk.begin();
        while requests.len() < self.batch {
            let Some((leaf, slot)) = walk.first() else { return false };
            let Pending { id, kind, user, lane } = pending(slot);
            let Kind { size, size_number, .. } = self.kinds[kind as usize];
            let is_out = closed >> size_number & 1 == 1 || walk.is_blocked(leaf, user, size);
            let found = if is_out { None } else { index.search(size) };
            let Some(position) = found else {
                closed |= u128::from(!is_out) << size_number;
                walk.set_aside(leaf, lane);
                continue;
            };
            walk.take(leaf, lane, user, size);
            index.debit(position, size);
            requests.push(Request { ask: id, node: index.candidate(position).node });
        }
        true
    }
}

impl Feed for Proposer {
    fn asked(&mut self, asked: Asked) {
        let Asked { ask: Pending { id, kind, lane, .. }, leaf, order, number } = asked;
        let Kind { priority, partition, .. } = self.kinds[kind as usize];
        let place = AskPlace { order, priority, number, slot: id.slot };
        self.views[partition as usize].walk.add(leaf, lane, place);
    }

    fn freed(&mut self, freed: Freed) {
        let Freed { position, kind, leaf, user } = freed;
        let Kind { size, partition, .. } = self.kinds[kind as usize];
        let View { walk, index } = &mut self.views[partition as usize];
        walk.release(leaf, user, size);
        index.credit(position as usize, size);
    }
}
