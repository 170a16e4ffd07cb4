//! The leaves that are owed more, most under-served first, and their asks in the order in which they are due.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use thin_vec::ThinVec;

use super::ideal::share;
use super::planned_use::PlannedUse;
use super::tree::Branch;
use crate::facts::Facts;
use crate::ids::{ApplicationId, AskId, PartitionId, QueueId, ReservationId};
use crate::state::State;

/// An ask of a leaf that is owed more.
#[derive(Clone, Debug)]
pub(super) struct Due {
    pub(super) ask: AskId,
    pub(super) application: ApplicationId,
    /// Units that the plan has not placed.
    pub(super) units: u32,
    /// Units that the normal pass will place, maybe later than the preemptions.
    pub(super) by_pass: u32,
    /// Reservations that the plan has not fulfilled, the last first.
    pub(super) reservations: ThinVec<ReservationId>,
    /// The number of reservations that the ask holds after the plan so far.
    pub(super) reserved: usize,
}

/// A leaf that is owed more.
#[derive(Clone, Debug, Default)]
pub(super) struct Beneficiary {
    pub(super) asks: VecDeque<Due>,
    /// Whether the plan has placed any unit.
    pub(super) got_some: bool,
}

pub(super) struct Beneficiaries {
    /// By queue number.
    pub(super) leaves: Vec<Beneficiary>,
    order: BinaryHeap<Reverse<(u64, QueueId)>>,
}

impl Beneficiaries {
    pub(super) fn new(state: &State, partition: PartitionId, branches: &[Branch]) -> Self {
        let facts = &state.facts;
        let is_owed: Vec<bool> =
            branches.iter().map(|branch| branch.is_leaf() && !branch.kept().within(&branch.used)).collect();
        let mut leaves = vec![Vec::new(); branches.len()];
        for (id, ask) in facts.asks.iter() {
            let application = facts.applications.at(ask.application);
            let in_flight = state.in_flight.of_ask(id).load();
            let units = ask.outstanding().saturating_sub(in_flight);
            let is_here = facts.shapes.at(ask.shape).partition == partition;
            if is_here && is_owed[application.leaf.index()] && application.is_active && units > 0 {
                let order =
                    (u32::MAX - application.priority, application.submitted, ask.priority, ask.number);
                let mut reservations = ask.reservations.clone();
                reservations.reverse();
                let reserved = reservations.len();
                let due =
                    Due { ask: id, application: ask.application, units, by_pass: 0, reservations, reserved };
                leaves[application.leaf.index()].push((order, due));
            }
        }
        let in_order = |mut asks: Vec<((u32, u64, u32, u64), Due)>| {
            asks.sort_by_key(|(order, _)| *order);
            Beneficiary { asks: asks.into_iter().map(|(_, due)| due).collect(), got_some: false }
        };
        let leaves: Vec<Beneficiary> = leaves.into_iter().map(in_order).collect();
        let with_asks = (0..).map(QueueId).zip(&leaves).filter(|(_, leaf)| !leaf.asks.is_empty());
        let share = |leaf: QueueId| {
            let branch = &branches[leaf.index()];
            share(&branch.used, &branch.guaranteed)
        };
        let order = with_asks.map(|(leaf, _)| Reverse((share(leaf), leaf))).collect();
        Self { leaves, order }
    }

    /// Takes the most under-served leaf.
    pub(super) fn next(&mut self) -> Option<QueueId> {
        self.order.pop().map(|Reverse((_, leaf))| leaf)
    }

    /// Puts the leaf back if it has asks left.
    pub(super) fn put_back(
        &mut self,
        facts: &Facts,
        partition: PartitionId,
        planned_use: &PlannedUse<'_>,
        leaf: QueueId,
    ) {
        if !self.leaves[leaf.index()].asks.is_empty() {
            let guaranteed = &facts.queue(leaf).quota(partition).guaranteed;
            self.order.push(Reverse((share(&planned_use.queue(leaf).used, guaranteed), leaf)));
        }
    }
}
