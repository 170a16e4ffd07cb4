//! Preemption within a leaf, after the queues have got what they are owed.
//!
//! The asks of a leaf that the plan has not served take their turn once more. Now they may take from other
//! applications of their leaf. A user limit or queue limit that leaves no room is not an obstacle as long as the
//! victims count against the same limit.

use rustc_hash::FxHashMap;

use super::amounts::WHOLE;
use super::beneficiaries::Due;
use super::candidates::Candidate;
use super::exempt::is_below;
use super::planned_use::PlannedUse;
use super::planner::{Planner, Verdict};
use super::tree::Branch;
use super::victims::{Choice, Wanted};
use super::{PreemptionPlan, PreemptionPolicy, PreemptionRule, WithinQueueOrder};
use crate::facts::{Application, Facts, LeafUse, PartitionShare, Shape};
use crate::ids::{AskId, LeafUserId, QueueId};
use crate::resource::{Resources, UNLIMITED};

/// The user limits of a leaf's users, where the order asks for them.
type UserLimits = FxHashMap<LeafUserId, Resources>;

/// From whom the beneficiary may take in its own leaf.
#[derive(Clone, Copy, Debug)]
pub(super) struct WithinLeaf<'a> {
    user: LeafUserId,
    priority: u32,
    /// Only containers of the same user help.
    own_user: bool,
    /// The limits below which other users do not fall. Without them, priority decides between users too.
    limits: Option<&'a UserLimits>,
    /// The amount that may be taken from the leaf altogether.
    budget: Resources,
}

/// The part of [`WithinLeaf`] by which equal asks have the same victims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct WithinKey {
    user: LeafUserId,
    priority: u32,
    own_user: bool,
}

/// Which leaves may lose containers to their own applications, by number.
pub(super) fn leaves(facts: &Facts, branches: &[Branch], policy: &PreemptionPolicy) -> Vec<bool> {
    let Some(within) = &policy.within_queue else { return vec![false; branches.len()] };
    let may_lose = |(branch, queue): (&Branch, _)| {
        let least = |guaranteed: i64| i128::from(guaranteed) * i128::from(within.minimum_use.millionths());
        let uses_enough = |i: usize| {
            let (guaranteed, used) = (branch.guaranteed[i], branch.used[i]);
            guaranteed > 0 && i128::from(used) * i128::from(WHOLE) >= least(guaranteed)
        };
        let has_used = branch.guaranteed.types().any(uses_enough);
        branch.is_leaf() && has_used && !is_below(facts, queue, &within.exempt)
    };
    branches.iter().zip(&facts.tree.queues).map(may_lose).collect()
}

/// The lowest priorities of applications with containers. An ask without an application of lower priority needs no look
/// at the nodes.
struct LowestPriorities {
    leaves: FxHashMap<QueueId, u32>,
    users: FxHashMap<LeafUserId, u32>,
}

impl LowestPriorities {
    fn new(facts: &Facts) -> Self {
        let (mut leaves, mut users) = (FxHashMap::default(), FxHashMap::default());
        for (_, application) in facts.applications.iter().filter(|(_, one)| one.containers.running() > 0) {
            let of_leaf = leaves.entry(application.leaf).or_insert(u32::MAX);
            *of_leaf = application.priority.min(*of_leaf);
            let of_user = users.entry(application.user).or_insert(u32::MAX);
            *of_user = application.priority.min(*of_user);
        }
        Self { leaves, users }
    }

    fn of_leaf(&self, leaf: QueueId) -> u32 {
        self.leaves.get(&leaf).copied().unwrap_or(u32::MAX)
    }

    fn of_user(&self, user: LeafUserId) -> u32 {
        self.users.get(&user).copied().unwrap_or(u32::MAX)
    }
}

impl WithinLeaf<'_> {
    pub(super) fn key(&self) -> WithinKey {
        WithinKey { user: self.user, priority: self.priority, own_user: self.own_user }
    }

    /// Whether the candidate may be taken after the `taken` ones, and frees something that is `lacking`.
    pub(super) fn may_take(
        &self,
        planned_use: &PlannedUse<'_>,
        candidate: &Candidate,
        taken: &[Candidate],
        lacking: &Resources,
    ) -> bool {
        let facts = planned_use.facts;
        let size = |of: &Candidate| facts.shapes.at(of.shape).need.resources;
        let wanted = size(candidate);
        let lost: Resources = taken.iter().map(size).sum();
        let positive = || wanted.types().filter(|index| wanted[*index] > 0);
        let helps = positive().any(|index| lacking[index] > 0);
        let is_in_budget = positive().all(|index| self.budget[index] > lost[index]);
        !candidate.is_master
            && helps
            && is_in_budget
            && self.may_take_from(planned_use, candidate, taken, lacking)
    }

    /// Whether the candidate's application loses to the beneficiary. Another user keeps its limit of a type that is
    /// `lacking`. Of other types it may keep less: unlike the guarantee of a queue, a limit promises no room. And a
    /// user that has its limit of one type gets no more containers with that type.
    fn may_take_from(
        &self,
        planned_use: &PlannedUse<'_>,
        candidate: &Candidate,
        taken: &[Candidate],
        lacking: &Resources,
    ) -> bool {
        let facts = planned_use.facts;
        let user_of = |of: &Candidate| facts.applications.at(of.application).user;
        let loser = facts.applications.at(candidate.application);
        if loser.user == self.user {
            return loser.priority < self.priority;
        }
        let Some(limits) = self.limits.filter(|_| !self.own_user) else {
            return !self.own_user && loser.priority < self.priority;
        };
        let size = |of: &Candidate| facts.shapes.at(of.shape).need.resources;
        let lost: Resources = taken.iter().filter(|of| user_of(of) == loser.user).map(size).sum();
        let wanted = size(candidate);
        let left = planned_use.certain_use(loser.user) - lost - wanted;
        let stays = |limit: &Resources| {
            wanted.types().any(|i| wanted[i] > 0 && lacking[i] > 0 && left[i] >= limit[i])
        };
        limits.get(&loser.user).is_some_and(stays)
    }
}

impl Planner<'_> {
    /// Adds the preemptions within leaves.
    pub(super) fn run_within(&mut self, plan: &mut PreemptionPlan) {
        if !self.within.contains(&true) {
            return;
        }
        let lowest = LowestPriorities::new(&self.state.facts);
        for leaf in (0..self.branches.len() as u32).map(QueueId) {
            let asks = self.beneficiaries.take_rest(leaf);
            if self.within[leaf.index()] && !asks.is_empty() {
                self.serve_within(leaf, asks, &lowest, plan);
            }
        }
    }

    fn serve_within(
        &mut self,
        leaf: QueueId,
        asks: Vec<Due>,
        lowest: &LowestPriorities,
        plan: &mut PreemptionPlan,
    ) {
        let Some(order) = self.policy.within_queue.as_ref().map(|within| within.order) else { return };
        let limits = match order {
            WithinQueueOrder::UserLimitFirst => Some(self.planned_use.user_limits(leaf)),
            WithinQueueOrder::PriorityFirst => None,
        };
        let has_loser = |planner: &Self, due: &Due| {
            let application = planner.state.facts.applications.at(due.application);
            match &limits {
                Some(limits) => {
                    lowest.of_user(application.user) < application.priority
                        || planner.planned_use.exceeds_limit(limits, application.user)
                }
                None => lowest.of_leaf(leaf) < application.priority,
            }
        };
        for mut due in asks {
            while due.units > 0 && has_loser(self, &due) {
                let budget = self.budget_within(leaf);
                let placed = (!budget.is_zero()).then(|| self.unit_within(leaf, &mut due, limits.as_ref()));
                let Some(Verdict::Placed(place)) = placed else { break };
                let rule = self.rule_within(&due, &place.choice);
                self.place(&mut due, &place);
                due.units -= 1;
                if !place.choice.victims.is_empty() {
                    plan.preemptions.push(self.preemption(leaf, &due, &place, rule));
                    plan.count_helped(due.ask);
                }
            }
        }
    }

    /// The amount that the leaf may still lose to its applications. Only the round bounds types without a guarantee.
    fn budget_within(&self, leaf: QueueId) -> Resources {
        let part = self.policy.within_queue.as_ref().map_or(0, |within| within.max_part.millionths());
        let branch = &self.branches[leaf.index()];
        let most = branch.guaranteed.scaled(part.into(), WHOLE);
        let of_leaf = most.saturating_sub(&self.planned_use.queue(leaf).lost());
        let of_leaf = of_leaf.combine(&branch.guaranteed, |most, guaranteed| match guaranteed {
            0 => UNLIMITED,
            _ => most,
        });
        let in_round = self.round_cap.saturating_sub(&self.planned_use.queue(QueueId::ROOT).lost());
        of_leaf.min(&in_round)
    }

    fn unit_within(&mut self, leaf: QueueId, due: &mut Due, limits: Option<&UserLimits>) -> Verdict {
        let facts = &self.state.facts;
        let application = facts.applications.at(due.application);
        let shape = facts.shapes.at(facts.asks.at(due.ask).shape);
        let size = &shape.need.resources;
        let surplus = facts.surplus_reservations(due.units - 1 + due.by_pass, due.reserved);
        let is_admitted = surplus > 0 || self.planned_use.user_admits(application, shape);
        let mut shortage = self.planned_use.shortage(leaf, size);
        if !is_admitted {
            shortage.amount = shortage.amount.max(&self.planned_use.user_shortage(application, shape));
            shortage.ends_by_itself = false;
        }
        let own_user = !is_admitted || !self.is_within_limit(application, shape, limits);
        let within = WithinLeaf {
            user: application.user,
            priority: application.priority,
            own_user,
            limits,
            budget: self.budget_within(leaf),
        };
        let within = Some(within);
        let rule = PreemptionRule::ApplicationPriority;
        let wanted = Wanted { shortage, within, ..Wanted::between_leaves(leaf, &shape.need, rule) };
        match self.on_reserved_node(&wanted, due) {
            Some(placed) => placed,
            None => Verdict::of(self.on_open_node(&wanted, due.ask, None)),
        }
    }

    /// Whether the beneficiary's user stays within its limit, where the order asks for that.
    fn is_within_limit(&self, application: &Application, shape: &Shape, limits: Option<&UserLimits>) -> bool {
        let Some(limits) = limits else { return true };
        let used = self.planned_use.used_by(application.user);
        limits.get(&application.user).is_some_and(|limit| used.can_grow(&shape.need.resources, limit))
    }

    fn rule_within(&self, due: &Due, choice: &Choice) -> PreemptionRule {
        let facts = &self.state.facts;
        let user_of = |id| facts.applications.at(id).user;
        let own = user_of(due.application);
        let is_by_limit = self.policy.within_queue.as_ref().is_some_and(|within| {
            within.order == WithinQueueOrder::UserLimitFirst
                && choice.victims.iter().any(|victim| user_of(victim.application) != own)
        });
        if is_by_limit { PreemptionRule::UserLimit } else { PreemptionRule::ApplicationPriority }
    }
}

impl PlannedUse<'_> {
    /// Whether any other user exceeds its limit.
    fn exceeds_limit(&self, limits: &UserLimits, user: LeafUserId) -> bool {
        limits.iter().any(|(other, limit)| *other != user && !self.certain_use(*other).within(limit))
    }

    /// The amount that the user must lose before one more container of this shape. A limit that moves with the use of
    /// the leaf counts as if the leaf used nothing: the victims lower it.
    fn user_shortage(&self, application: &Application, shape: &Shape) -> Resources {
        let (facts, size, user) = (self.facts, &shape.need.resources, application.user);
        if self.exhausts_limit_usage(user, size) {
            return *size;
        }
        let active_weight_milli = facts.queue(application.leaf).active.weight_milli;
        let empty = || LeafUse { all: Resources::ZERO, active: Resources::ZERO, active_weight_milli };
        let limit = facts.tree.user_limit(user, shape.share(), size, empty);
        (self.used_by(user) + *size).saturating_sub(&limit).min(size)
    }

    /// The limit of each user of the leaf, if all users with demand or use have a part.
    fn user_limits(&self, leaf: QueueId) -> UserLimits {
        let facts = self.facts;
        let users = || facts.queue(leaf).users.values().copied();
        let counts = |user: &LeafUserId| facts.user(*user).is_active() || !self.used_by(*user).is_zero();
        let active_weight_milli = users().filter(counts).map(|user| facts.user(user).weight.milli()).sum();
        let used = self.level(leaf);
        let limit = |user: LeafUserId| {
            let leaf_use = || LeafUse { all: used, active: used, active_weight_milli };
            facts.tree.user_limit(user, PartitionShare::own(self.partition), &Resources::ZERO, leaf_use)
        };
        users().map(|user| (user, limit(user))).collect()
    }
}

impl PreemptionPlan {
    /// Counts a container that the ask gets after all.
    fn count_helped(&mut self, ask: AskId) {
        if let Some(unhelped) = self.unhelped.iter_mut().find(|unhelped| unhelped.ask == ask) {
            unhelped.units -= 1;
        }
        self.unhelped.retain(|unhelped| unhelped.units > 0);
    }
}
