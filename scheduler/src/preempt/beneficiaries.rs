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
    /// Reservations on nodes where nothing could be taken for the ask.
    pub(super) passed_over: ThinVec<ReservationId>,
    /// The number of reservations that the ask holds after the plan so far.
    pub(super) reserved: usize,
}

impl Due {
    /// The reservations that were passed over may be tried again.
    pub(super) fn retry_reservations(&mut self) {
        self.reservations.append(&mut self.passed_over);
    }
}

/// The order of asks within a leaf. The first field that differs decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct AskOrder {
    application_priority: Reverse<u32>,
    /// The order of submission of the application.
    application_number: u64,
    priority: u32,
    number: u64,
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
    /// By queue number: the asks that may only take within their leaf from now on, in the order in which they are due.
    rest: Vec<Vec<Due>>,
    /// Whether anything is taken within leaves.
    keeps_rest: bool,
}

impl Beneficiaries {
    /// The asks of leaves that are owed more, and of those `within` which applications may take from each other.
    pub(super) fn new(state: &State, partition: PartitionId, branches: &[Branch], within: &[bool]) -> Self {
        let facts = &state.facts;
        let is_owed: Vec<bool> =
            branches.iter().map(|branch| branch.is_leaf() && !branch.kept().within(&branch.used)).collect();
        let mut leaves = vec![Vec::new(); branches.len()];
        for (id, ask) in facts.asks.iter() {
            let application = facts.applications.at(ask.application);
            let in_flight = state.in_flight.of_ask(id).load();
            let units = ask.outstanding().saturating_sub(in_flight);
            let is_here = facts.shapes.at(ask.shape).partition == partition;
            let leaf = application.leaf.index();
            let may_gain = is_owed[leaf] || within[leaf];
            let is_held = facts.gang_of(id).is_some();
            if is_here && !is_held && may_gain && application.is_active && units > 0 {
                let order = AskOrder {
                    application_priority: Reverse(application.priority),
                    application_number: application.submitted,
                    priority: ask.priority,
                    number: ask.number,
                };
                let mut reservations = ask.reservations().clone();
                reservations.reverse();
                let reserved = reservations.len();
                let due = Due {
                    ask: id,
                    application: ask.application,
                    units,
                    by_pass: 0,
                    reservations,
                    passed_over: ThinVec::new(),
                    reserved,
                };
                leaves[leaf].push((order, due));
            }
        }
        let in_order = |mut asks: Vec<(AskOrder, Due)>| {
            asks.sort_by_key(|(order, _)| *order);
            Beneficiary { asks: asks.into_iter().map(|(_, due)| due).collect(), got_some: false }
        };
        let mut leaves: Vec<Beneficiary> = leaves.into_iter().map(in_order).collect();
        let mut rest = vec![Vec::new(); branches.len()];
        for (index, _) in is_owed.iter().enumerate().filter(|(_, is_owed)| !**is_owed) {
            rest[index] = std::mem::take(&mut leaves[index].asks).into();
        }
        let with_asks = (0..).map(QueueId).zip(&leaves).filter(|(_, leaf)| !leaf.asks.is_empty());
        let share = |leaf: QueueId| {
            let branch = &branches[leaf.index()];
            share(&branch.used, &branch.guaranteed)
        };
        let order = with_asks.map(|(leaf, _)| Reverse((share(leaf), leaf))).collect();
        Self { leaves, order, rest, keeps_rest: within.contains(&true) }
    }

    /// Takes the ask out of the turn of its leaf. It may still take within the leaf.
    pub(super) fn give_up(&mut self, leaf: QueueId, due: &mut Due) {
        if self.keeps_rest {
            self.rest[leaf.index()].push(due.clone());
        }
        due.units = 0;
    }

    /// The asks that may only take within the leaf. Their reservations may be tried again.
    pub(super) fn take_rest(&mut self, leaf: QueueId) -> Vec<Due> {
        let mut asks = std::mem::take(&mut self.rest[leaf.index()]);
        asks.iter_mut().for_each(Due::retry_reservations);
        asks
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
