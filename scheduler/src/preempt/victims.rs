//! The victims on one node for one container.

use smallvec::SmallVec;

use super::PreemptionRule;
use super::candidates::Candidate;
use super::cost::total_cost;
use super::planned_nodes::{PlannedNode, PlannedNodes};
use super::planned_use::{Lack, Part, PlannedUse, QueueShortage};
use super::within::WithinLeaf;
use crate::facts::Facts;
use crate::ids::{NodeId, QueueId};
use crate::resource::{Need, Resources, Room, dominant_share, fits};

/// A container that needs room.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    pub(super) leaf: QueueId,
    pub(super) need: &'a Need,
    /// Why it may have the room of other leaves.
    pub(super) rule: PreemptionRule,
    pub(super) shortage: QueueShortage,
    /// The conditions for victims in the same leaf; other leaves lose nothing then.
    pub(super) within: Option<WithinLeaf<'a>>,
    pub(super) part: Part,
    /// Whether the search ignores disruption budgets, to see if only they are in the way.
    pub(super) ignores_budgets: bool,
}

/// The loss on a node; the smallest is best. The order is by number of masters, of victims, their cost, share of the
/// node freed beyond need, highest rank of a victim, and node.
///
/// The first five are packed into two integers, because a plan compares losses all the time, and moves them in a heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Loss {
    /// From the highest bits on, 16 bits for the masters, 16 for the victims and 32 for their cost.
    victims: u64,
    /// 32 bits for the part of the node, 32 for the rank.
    excess: u64,
    node: NodeId,
}

const RANK: u64 = u32::MAX as u64;

/// The parts of a loss, in its order.
struct LossParts {
    masters: usize,
    victims: usize,
    cost: u64,
    excess: u64,
    rank: u32,
    node: NodeId,
}

impl LossParts {
    fn pack(self) -> Loss {
        let count = |count: usize| u64::from(u16::try_from(count).unwrap_or(u16::MAX));
        let amount = |amount: u64| u64::from(u32::try_from(amount).unwrap_or(u32::MAX));
        let victims = count(self.masters) << 48 | count(self.victims) << 32 | amount(self.cost);
        Loss { victims, excess: amount(self.excess) << 32 | u64::from(self.rank), node: self.node }
    }
}

impl Loss {
    fn has_victims(self) -> bool {
        self.victims >> 32 != 0
    }

    /// The same loss with at least this rank.
    fn with_rank_of_at_least(self, rank: u32) -> Self {
        let rank = (self.excess & RANK).max(rank.into());
        Self { excess: self.excess & !RANK | rank, ..self }
    }
}

/// The victims on a node; none if the container fits without them.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    pub(super) loss: Loss,
    pub(super) victims: SmallVec<[Candidate; 4]>,
}

impl<'a> Wanted<'a> {
    /// Takes from other leaves, wherever they are.
    pub(super) fn between_leaves(leaf: QueueId, need: &'a Need, rule: PreemptionRule) -> Self {
        let (shortage, part) = (QueueShortage::NONE, Part::OfRound);
        Self { leaf, need, rule, shortage, within: None, part, ignores_budgets: false }
    }

    /// A lower bound for the present loss, where it was `before`, and the first leaf on the node that is not spent.
    /// It costs much less than a [choice](Self::choose). `None` if all leaves are spent.
    pub(super) fn bound(
        &self,
        planned_use: &PlannedUse<'_>,
        sites: &mut PlannedNodes,
        site: usize,
        before: Loss,
    ) -> Option<(Option<QueueId>, Loss)> {
        if !before.has_victims() {
            return Some((None, before));
        }
        let is_spent = |leaf| self.is_spent(planned_use, leaf);
        // The nodes remember what is spent in this round; other searches have a bound of their own.
        let first = match self.part {
            Part::OfRound if self.within.is_none() => sites.first(site, is_spent)?,
            _ => sites.all[site].candidates.iter().find(|of| !is_spent(of.leaf))?,
        };
        Some((Some(first.leaf), before.with_rank_of_at_least(first.rank)))
    }

    /// Whether the leaf may lose nothing more.
    pub(super) fn is_spent(&self, planned_use: &PlannedUse<'_>, leaf: QueueId) -> bool {
        self.within.is_none() && !planned_use.may_lose_more(leaf, self.part)
    }

    /// The best victims on the node; `None` if those that may be taken do not free enough.
    pub(super) fn choose(&self, planned_use: &PlannedUse<'_>, site: &PlannedNode) -> Option<Choice> {
        let mut search = Search::new(self, planned_use.facts, site.room);
        let mut victims: SmallVec<[Candidate; 4]> = SmallVec::new();
        if self.shortage.ends_by_itself && site.has_room_for(self.need) {
            return Some(search.choice(site, victims));
        }
        for candidate in &site.candidates {
            if search.may_take(planned_use, candidate, &victims) {
                search.take(candidate);
                victims.push(*candidate);
                if search.is_enough() {
                    search.drop_unneeded(&mut victims);
                    return Some(search.choice(site, victims));
                }
            }
        }
        None
    }

    /// Whether a victim in this leaf helps against the shortage.
    pub(super) fn is_in_scope(&self, facts: &Facts, leaf: QueueId) -> bool {
        let is_below = |scope: QueueId| scope == QueueId::ROOT || facts.queue(leaf).chain.contains(&scope);
        self.shortage.scope.is_none_or(is_below)
    }

    /// The victims, which free this much, with their loss.
    pub(super) fn choice(
        &self,
        facts: &Facts,
        site: &PlannedNode,
        freed: &Resources,
        victims: SmallVec<[Candidate; 4]>,
    ) -> Choice {
        let needed = self.need.resources.saturating_sub(&site.room.free.max(&Resources::ZERO));
        let excess = freed.saturating_sub(&needed);
        let capacity = || &facts.nodes.at(site.node).capacity;
        let masters = victims.iter().filter(|victim| victim.is_master).count();
        let excess = if excess.is_zero() { 0 } else { dominant_share(&excess, capacity()) };
        let rank = victims.iter().map(|victim| victim.rank).max().unwrap_or(0);
        let cost = total_cost(facts, &victims);
        let loss = LossParts { masters, victims: victims.len(), cost, excess, rank, node: site.node };
        Choice { loss: loss.pack(), victims }
    }
}

/// The room of a node while victims are chosen.
struct Search<'a> {
    wanted: &'a Wanted<'a>,
    facts: &'a Facts,
    room: Room,
    freed: Resources,
    /// The amounts that the container still lacks.
    lacking: Resources,
}

impl<'a> Search<'a> {
    fn new(wanted: &'a Wanted<'a>, facts: &'a Facts, room: Room) -> Self {
        let mut search = Self { wanted, facts, room, freed: Resources::ZERO, lacking: Resources::ZERO };
        search.lacking = search.still_lacking();
        search
    }

    /// Drops the victims that are not needed, the last in turn first.
    fn drop_unneeded(&mut self, victims: &mut SmallVec<[Candidate; 4]>) {
        if victims.len() == 1 {
            return;
        }
        for index in (0..victims.len()).rev() {
            self.put_back(&victims[index]);
            if self.is_enough() {
                victims.remove(index);
            } else {
                self.take(&victims[index]);
            }
        }
    }

    fn choice(&self, site: &PlannedNode, victims: SmallVec<[Candidate; 4]>) -> Choice {
        self.wanted.choice(self.facts, site, &self.freed, victims)
    }

    fn is_enough(&self) -> bool {
        fits(self.wanted.need, &self.room) && self.wanted.shortage.amount.within(&self.freed)
    }

    fn still_lacking(&self) -> Resources {
        PlannedNode::lacking(&self.room, self.wanted.need, self.facts.config.resources.device_type())
            .max(&self.wanted.shortage.amount.saturating_sub(&self.freed))
    }

    /// Whether the container may be taken, and frees something that is still lacking.
    fn may_take(&self, planned_use: &PlannedUse<'_>, candidate: &Candidate, victims: &[Candidate]) -> bool {
        let Wanted { leaf, within, .. } = self.wanted;
        if !self.wanted.ignores_budgets && !planned_use.budgets.may_take(self.facts, candidate, victims) {
            return false;
        }
        if let Some(within) = within {
            let of_leaf = candidate.leaf == *leaf;
            return of_leaf && within.may_take(planned_use, candidate, victims, &self.lacking);
        }
        // Most leaves are soon spent, so this comes before the sums.
        if !planned_use.may_lose_more(candidate.leaf, self.wanted.part) {
            return false;
        }
        if candidate.leaf == *leaf || !self.wanted.is_in_scope(self.facts, candidate.leaf) {
            return false;
        }
        let size = |of: &Candidate| self.facts.shapes.at(of.shape).need.resources;
        let lost = victims.iter().filter(|victim| victim.leaf == candidate.leaf).map(size).sum();
        let lack = Lack { amount: &self.lacking, rule: self.wanted.rule, part: self.wanted.part };
        planned_use.may_lose(candidate.leaf, &size(candidate), &lost, lack)
            && planned_use.parents_stay(candidate.leaf, &size(candidate), *leaf, victims)
    }

    fn take(&mut self, candidate: &Candidate) {
        let need = &self.facts.shapes.at(candidate.shape).need;
        self.room.give(need, candidate.devices);
        self.freed += need.resources;
        self.lacking = self.still_lacking();
    }

    fn put_back(&mut self, candidate: &Candidate) {
        let need = &self.facts.shapes.at(candidate.shape).need;
        self.room.free -= need.resources;
        if let Some(need) = need.devices {
            self.room.devices.take(candidate.devices, need.milli);
        }
        self.freed -= need.resources;
    }
}
