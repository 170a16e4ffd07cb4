//! Serves the beneficiaries of one partition, one unit at a time.

use rustc_hash::FxHashMap;

use super::amounts::round_cap;
use super::beneficiaries::{Beneficiaries, Due};
use super::candidates::Candidate;
use super::exempt::Exemptions;
use super::planned_nodes::PlannedNodes;
use super::planned_use::{Part, PlannedUse, QueueShortage, Takings};
use super::suitable_nodes::{SuitableNodes, meets_rule};
use super::tree::Branch;
use super::victims::{Choice, Wanted};
use super::whole_gangs::WholeGangs;
use super::within::{WithinKey, leaves};
use super::{PreemptionPlan, PreemptionPolicy, PreemptionRule, Unhelped, UnhelpedReason};
use crate::explain::NodeFilter;
use crate::facts::Shape;
use crate::ids::{AskId, PartitionId, QueueId, RackId, ReservationId, ShapeId};
use crate::resource::Resources;
use crate::state::State;

/// Asks with equal keys may run on the same nodes and take the same victims.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct SuitableKey {
    shape: ShapeId,
    /// The queue at its maximum, if victims must be below one.
    scope: Option<QueueId>,
    /// Whether other leaves keep their fair amounts.
    is_balance: bool,
    /// The leaf, if it may lose containers itself.
    leaf: Option<QueueId>,
    /// The queue above the leaf. The queues above both leaves lose nothing.
    parent: Option<QueueId>,
    /// The ask, if it names hosts or racks.
    ask: Option<AskId>,
    /// User and priority of the beneficiary, if it takes from its own leaf.
    within: Option<WithinKey>,
    /// The rack, if all members of a gang must be on one.
    rack: Option<RackId>,
    part: Part,
}

/// Makes the plan of one partition.
pub(super) struct Planner<'a> {
    pub(super) state: &'a State,
    pub(super) partition: PartitionId,
    pub(super) branches: &'a [Branch],
    /// By queue number.
    pub(super) takings: &'a [Takings],
    pub(super) planned_use: PlannedUse<'a>,
    pub(super) sites: PlannedNodes,
    pub(super) policy: &'a PreemptionPolicy,
    /// By queue number, whether applications may take from each other.
    pub(super) within: Vec<bool>,
    /// The most that the round takes from the partition.
    pub(super) round_cap: Resources,
    pub(super) suitable_nodes: FxHashMap<SuitableKey, SuitableNodes>,
    pub(super) beneficiaries: Beneficiaries,
}

/// A node for one unit.
pub(super) struct PlannedPlace {
    /// The node's index in `PlannedNodes::all`.
    pub(super) site: usize,
    /// Without victims if it needs none.
    pub(super) choice: Choice,
    /// The ask's reservation of the node.
    pub(super) reservation: Option<ReservationId>,
}

/// What happens to one unit.
pub(super) enum Verdict {
    Placed(PlannedPlace),
    Unhelped(UnhelpedReason),
    /// Its leaf is owed nothing more that the ask could use.
    NotOwed,
}

impl Verdict {
    /// The verdict of a search on nodes without a reservation.
    pub(super) fn of(found: Result<(usize, Choice), UnhelpedReason>) -> Self {
        match found {
            Ok((site, choice)) => Self::Placed(PlannedPlace { site, choice, reservation: None }),
            Err(reason) => Self::Unhelped(reason),
        }
    }
}

impl<'a> Planner<'a> {
    pub(super) fn new(
        state: &'a State,
        partition: PartitionId,
        branches: &'a [Branch],
        takings: &'a [Takings],
        policy: &'a PreemptionPolicy,
    ) -> Self {
        let facts = &state.facts;
        let planned_use = PlannedUse::new(facts, partition, branches, takings);
        let within = leaves(facts, branches, policy);
        let may_lose = |leaf: QueueId| within[leaf.index()] || takings[leaf.index()].is_any();
        let sites = PlannedNodes::new(state, partition, Exemptions::new(facts, policy), may_lose);
        let beneficiaries = Beneficiaries::new(state, partition, branches, &within);
        Self {
            state,
            partition,
            branches,
            takings,
            planned_use,
            sites,
            policy,
            within,
            round_cap: round_cap(&facts.tree.partitions[partition.index()].capacity, policy),
            suitable_nodes: FxHashMap::default(),
            beneficiaries,
        }
    }

    /// Adds the preemptions of the partition, and the asks that get nothing.
    pub(super) fn run(&mut self, plan: &mut PreemptionPlan) {
        while let Some(leaf) = self.beneficiaries.next() {
            if let Some(mut due) = self.beneficiaries.leaves[leaf.index()].asks.pop_front() {
                self.serve(leaf, &mut due, plan);
                if due.units > 0 {
                    self.beneficiaries.leaves[leaf.index()].asks.push_front(due);
                }
            }
            self.beneficiaries.put_back(&self.state.facts, self.partition, &self.planned_use, leaf);
        }
    }

    /// Serves one unit of the ask, or gives up the ask.
    fn serve(&mut self, leaf: QueueId, due: &mut Due, plan: &mut PreemptionPlan) {
        match self.verdict(leaf, due) {
            Verdict::Placed(place) => {
                let needs_victims = !place.choice.victims.is_empty();
                if !needs_victims && self.planned_use.is_spent() {
                    // The normal pass serves the ask, and the plan takes nothing more for queues.
                    return self.beneficiaries.give_up(leaf, due);
                }
                let rule = self.rule(leaf, &self.size(due));
                self.place(due, &place);
                self.beneficiaries.leaves[leaf.index()].got_some = true;
                due.units -= 1;
                if needs_victims {
                    plan.preemptions.push(self.preemption(leaf, due, &place, rule));
                }
            }
            Verdict::Unhelped(reason) => {
                let units = self.owed_units(leaf, due).clamp(1, due.units);
                let queue = self.path(leaf);
                plan.unhelped.push(Unhelped { ask: due.ask, queue, units, reason });
                self.beneficiaries.give_up(leaf, due);
            }
            Verdict::NotOwed => self.beneficiaries.give_up(leaf, due),
        }
    }

    /// The verdict on one unit. The first start for which a round takes something may take all that leaves owe.
    /// Otherwise a container larger than the part of a round would never start.
    fn verdict(&mut self, leaf: QueueId, due: &mut Due) -> Verdict {
        if let Err(reason) = self.check_owed(leaf, &self.size(due), UnhelpedReason::LessThanOneContainer) {
            let got_some = self.beneficiaries.leaves[leaf.index()].got_some;
            return reason.filter(|_| !got_some).map_or(Verdict::NotOwed, Verdict::Unhelped);
        }
        match self.verdict_within(leaf, due, Part::OfRound) {
            Verdict::Unhelped(_) if self.planned_use.queue(QueueId::ROOT).lost().is_zero() => {
                due.retry_reservations();
                self.verdict_within(leaf, due, Part::All)
            }
            verdict => verdict,
        }
    }

    fn verdict_within(&mut self, leaf: QueueId, due: &mut Due, part: Part) -> Verdict {
        let facts = &self.state.facts;
        let application = facts.applications.at(due.application);
        let shape = facts.shapes.at(facts.asks.at(due.ask).shape);
        let size = &shape.need.resources;
        let of_reserved = Wanted { part, ..Wanted::between_leaves(leaf, &shape.need, self.rule(leaf, size)) };
        if let Some(placed) = self.on_reserved_node(&of_reserved, due) {
            return placed;
        }
        // The last units give back the reservations that are left.
        let surplus = facts.surplus_reservations(due.units - 1 + due.by_pass, due.reserved);
        let shortage = match surplus {
            0 if !self.planned_use.user_admits(application, shape) => {
                return Verdict::Unhelped(UnhelpedReason::Limit);
            }
            0 => self.planned_use.shortage(leaf, size),
            _ => QueueShortage::NONE,
        };
        if shortage.scope == Some(leaf) {
            return Verdict::Unhelped(UnhelpedReason::Limit);
        }
        let wanted = Wanted { shortage, ..of_reserved };
        Verdict::of(self.on_open_node(&wanted, due.ask, None))
    }

    /// Looks at the nodes that are reserved for the ask.
    pub(super) fn on_reserved_node(&self, wanted: &Wanted<'_>, due: &mut Due) -> Option<Verdict> {
        let facts = &self.state.facts;
        let shape = facts.shapes.at(facts.asks.at(due.ask).shape);
        let wanted = Wanted { shortage: QueueShortage::NONE, ..*wanted };
        while let Some(reservation) = due.reservations.pop() {
            let node = facts.reservations.at(reservation).node;
            let is_suitable = NodeFilter::new(self.state, due.ask, facts.asks.at(due.ask))
                .lacks_at_most_room(node, facts.nodes.at(node));
            let site = self.sites.of_node(node).filter(|_| is_suitable);
            let choice = site.and_then(|site| {
                let choice = wanted.choose(&self.planned_use, &self.sites.all[site])?;
                meets_rule(shape, &self.planned_use, &choice, node).then_some((site, choice))
            });
            if let Some((site, choice)) = choice {
                let place = PlannedPlace { site, choice, reservation: Some(reservation) };
                return Some(Verdict::Placed(place));
            }
            due.passed_over.push(reservation);
        }
        None
    }

    pub(super) fn on_open_node(
        &mut self,
        wanted: &Wanted<'_>,
        id: AskId,
        rack: Option<RackId>,
    ) -> Result<(usize, Choice), UnhelpedReason> {
        let facts = &self.state.facts;
        let ask = facts.asks.at(id);
        let shape = facts.shapes.at(ask.shape);
        let may_lose = wanted.within.is_some() || self.takings[wanted.leaf.index()].is_any();
        let key = SuitableKey {
            shape: ask.shape,
            scope: wanted.shortage.scope,
            leaf: may_lose.then_some(wanted.leaf),
            parent: facts.queue(wanted.leaf).parent,
            ask: shape.has_locality.then_some(id),
            is_balance: wanted.rule == PreemptionRule::Balance,
            within: wanted.within.map(|within| within.key()),
            rack,
            part: wanted.part,
        };
        let size = &shape.need.resources;
        let may_take_some = wanted.within.is_some() || self.planned_use.may_take_some(size, wanted.part);
        let Self { state, sites, planned_use, suitable_nodes, .. } = self;
        let group = suitable_nodes
            .entry(key)
            .or_insert_with(|| SuitableNodes::new(state, &NodeFilter::new(state, id, ask), rack, sites));
        if !may_take_some {
            group.keep_only_room(sites, &shape.need);
        }
        match group.best(shape, planned_use, sites, wanted) {
            Some(found) => Ok(found),
            None if group.is_empty() => Err(UnhelpedReason::NoNode),
            None if may_take_some
                && let Some(found) = WholeGangs::new(planned_use, sites, wanted).best(shape, group) =>
            {
                Ok(found)
            }
            None if may_take_some && group.is_kept_by_budgets(planned_use, sites, wanted) => {
                Err(UnhelpedReason::DisruptionBudget)
            }
            None => Err(self.reason_without_victims(size, wanted.part)),
        }
    }

    /// Counts a victim as ended: its room on its node is free from now on.
    fn take(&mut self, victim: &Candidate) {
        let facts = &self.state.facts;
        let (shape, node) = (facts.shapes.at(victim.shape), facts.containers.at(victim.container).node);
        self.planned_use.take(victim.application, shape, node);
        self.planned_use.budgets.take(facts, victim);
        if let Some(site) = self.sites.of_node(node) {
            let node = self.sites.change(site);
            node.room.give(&shape.need, victim.devices);
            node.later.give(&shape.need, victim.devices);
            node.candidates.retain(|candidate| candidate.container != victim.container);
        }
    }

    /// Counts the victims as ended and a container of this shape as started.
    pub(super) fn start(&mut self, shape: &Shape, site: usize, victims: &[Candidate]) {
        victims.iter().for_each(|victim| self.take(victim));
        let node = self.sites.change(site);
        node.room.take(&shape.need);
        node.later.take(&shape.need);
    }

    /// Counts the victims as ended and the unit as started.
    pub(super) fn place(&mut self, due: &mut Due, place: &PlannedPlace) {
        let PlannedPlace { site, choice, reservation } = place;
        let facts = &self.state.facts;
        let shape = facts.shapes.at(facts.asks.at(due.ask).shape);
        let node = self.sites.all[*site].node;
        self.start(shape, *site, &choice.victims);
        due.reserved -= usize::from(reservation.is_some());
        let surplus = facts.surplus_reservations(due.units - 1 + due.by_pass, due.reserved);
        due.reserved -= surplus;
        let is_charged = reservation.is_none() && surplus == 0;
        let charged = if is_charged { shape.need.resources } else { Resources::ZERO };
        self.planned_use.give(due.application, shape, node, &charged);
        if choice.victims.is_empty() {
            self.planned_use.record_pass(due.application, &charged);
            due.by_pass += 1;
        }
    }
}
