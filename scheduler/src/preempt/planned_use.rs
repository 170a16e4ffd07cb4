//! The use of queues, users and limit usages as the plan would change it.

use rustc_hash::FxHashMap;

use super::PreemptionRule;
use super::amounts::keeps_guarantee;
use super::budgets::PlannedBudgets;
use super::candidates::Candidate;
use super::tree::{Branch, stopping};
use crate::facts::{Application, Facts, LeafUse, Shape, TagCounts};
use crate::ids::{ApplicationId, LeafUserId, LimitUsageId, NodeId, PartitionId, QueueId};
use crate::resource::Resources;

/// A queue's amounts, after what the plan has taken and given so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlannedQueueUse {
    /// Use without reservations and without containers that are being stopped.
    pub(super) used: Resources,
    /// The same, as if the plan took nothing from it. A leaf gets nothing in place of what it loses.
    pub(super) without_losses: Resources,
    /// The change of the use that counts for the queue's maximum.
    change: Resources,
    /// The part of it by users with demand.
    active: Resources,
    /// The part of the change that the normal pass makes, maybe later than the preemptions.
    by_pass: Resources,
    /// The amounts of containers that are being stopped.
    stopping: Resources,
    /// The amount that the round may still take; leaves only.
    to_take: Resources,
    /// The amount that may be taken in all: for gangs, and for a container while the plan has taken nothing from the
    /// partition.
    all_to_take: Resources,
    /// The least that the leaf keeps: its guarantee in types in which it had as much.
    floor: Resources,
    /// The least that it keeps if the beneficiary has its guarantee: its fair amount in types in which it had more.
    fair_floor: Resources,
    /// Its guarantee.
    guaranteed: Resources,
    /// Its use before the plan.
    used_before: Resources,
}

/// The amounts that may be taken from a queue; zero except for leaves above their fair amounts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Takings {
    /// In this round.
    pub(super) of_round: Resources,
    /// In all: for gangs, and for a container while the plan has taken nothing from the partition.
    pub(super) all: Resources,
}

impl Takings {
    /// Whether the queue may lose anything.
    pub(super) fn is_any(&self) -> bool {
        !self.of_round.is_zero() || !self.all.is_zero()
    }
}

/// The change of a user's use by the plan.
#[derive(Clone, Copy, Debug, Default)]
struct PlannedUserUse {
    change: Resources,
    /// The part of the change that the normal pass makes.
    by_pass: Resources,
}

/// The bound for the victims of one start: the part of a round, or all that leaves owe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Part {
    OfRound,
    All,
}

/// The amounts that a beneficiary still lacks, and the bounds for leaves that lose them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lack<'a> {
    pub(super) amount: &'a Resources,
    pub(super) rule: PreemptionRule,
    pub(super) part: Part,
}

/// The headroom that one more container of a beneficiary lacks in its queues.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueueShortage {
    /// The lowest queue at its maximum. Only victims in it or below help.
    pub(super) scope: Option<QueueId>,
    /// The amount that has to become free there.
    pub(super) amount: Resources,
    /// Whether containers that are being stopped free it.
    pub(super) ends_by_itself: bool,
}

impl PlannedQueueUse {
    /// The least that the leaf keeps. Balance takes nothing that the next round would have to give back.
    fn floor(&self, rule: PreemptionRule) -> &Resources {
        if rule == PreemptionRule::Balance { &self.fair_floor } else { &self.floor }
    }

    /// The amount that may still be taken.
    fn left(&self, part: Part) -> &Resources {
        match part {
            Part::OfRound => &self.to_take,
            Part::All => &self.all_to_take,
        }
    }

    /// The amount that the plan takes from it.
    pub(super) fn lost(&self) -> Resources {
        self.without_losses - self.used
    }
}

impl QueueShortage {
    pub(super) const NONE: Self = Self { scope: None, amount: Resources::ZERO, ends_by_itself: true };
}

/// The amounts of all queues, users and limit usages that differ from the facts.
#[derive(Clone)]
pub(super) struct PlannedUse<'a> {
    pub(super) facts: &'a Facts,
    pub(super) partition: PartitionId,
    queues: Vec<PlannedQueueUse>,
    users: FxHashMap<LeafUserId, PlannedUserUse>,
    limit_usages: FxHashMap<LimitUsageId, Resources>,
    pub(super) tags: TagCounts,
    pub(super) budgets: PlannedBudgets,
}

impl<'a> PlannedUse<'a> {
    pub(super) fn new(
        facts: &'a Facts,
        partition: PartitionId,
        branches: &[Branch],
        takings: &[Takings],
    ) -> Self {
        let queue_use = |((branch, takings), stopping): ((&Branch, &Takings), _)| {
            let floor =
                branch.guaranteed.combine(&branch.used, |floor, used| if used >= floor { floor } else { 0 });
            let fair = branch.ideal.combine(&branch.used, |fair, used| if used > fair { fair } else { 0 });
            PlannedQueueUse {
                used: branch.used,
                without_losses: branch.used,
                change: Resources::ZERO,
                active: Resources::ZERO,
                by_pass: Resources::ZERO,
                stopping,
                to_take: takings.of_round,
                all_to_take: takings.all,
                floor,
                fair_floor: floor.max(&fair),
                guaranteed: branch.guaranteed,
                used_before: branch.used,
            }
        };
        let queues = branches.iter().zip(takings).zip(stopping(facts, partition)).map(queue_use).collect();
        let (users, limit_usages) = (FxHashMap::default(), FxHashMap::default());
        let (tags, budgets) = (TagCounts::default(), PlannedBudgets::default());
        Self { facts, partition, queues, users, limit_usages, tags, budgets }
    }

    pub(super) fn queue(&self, id: QueueId) -> &PlannedQueueUse {
        &self.queues[id.index()]
    }

    /// The use that counts for the queue's maximum.
    pub(super) fn level(&self, id: QueueId) -> Resources {
        self.facts.queue(id).quota(self.partition).used + self.queue(id).change
    }

    /// The use of the user, with what the normal pass will start.
    pub(super) fn used_by(&self, id: LeafUserId) -> Resources {
        self.facts.user(id).used[self.partition.index()] + self.change_of(id).change
    }

    /// The same without what the normal pass will start.
    pub(super) fn certain_use(&self, id: LeafUserId) -> Resources {
        self.used_by(id) - self.change_of(id).by_pass
    }

    fn change_of(&self, id: LeafUserId) -> PlannedUserUse {
        self.users.get(&id).copied().unwrap_or_default()
    }

    /// Whether the round may take nothing any more.
    pub(super) fn is_spent(&self) -> bool {
        self.queues.iter().all(|queue_use| queue_use.to_take.is_zero())
    }

    /// Whether the leaf may lose anything more.
    pub(super) fn may_lose_more(&self, leaf: QueueId, part: Part) -> bool {
        !self.queue(leaf).left(part).is_zero()
    }

    /// Whether some leaf may still lose something that a container of this size needs.
    pub(super) fn may_take_some(&self, size: &Resources, part: Part) -> bool {
        let has = |amount: &Resources| size.types().any(|index| size[index] > 0 && amount[index] > 0);
        self.queues.iter().any(|queue_use| has(queue_use.left(part)))
    }

    /// The headroom that one more container of this size lacks in the queues on the path to the leaf.
    pub(super) fn shortage(&self, leaf: QueueId, size: &Resources) -> QueueShortage {
        let mut shortage = QueueShortage::NONE;
        for &queue in &self.facts.queue(leaf).chain {
            let (quota, queue_use) = (self.facts.queue(queue).quota(self.partition), self.queue(queue));
            let level = self.level(queue);
            if !quota.admits(&level, size) {
                shortage.scope = Some(queue);
                let over = (level + *size).saturating_sub(&quota.maximum);
                shortage.amount = shortage.amount.max(&over.of_types_in(size));
                shortage.ends_by_itself &= quota.admits(&(level - queue_use.stopping), size);
            }
        }
        shortage
    }

    /// Whether the limits of the user and its limit usages admit one more container of this shape. A limit that moves
    /// with the use of the leaf has to admit it before and after the normal pass.
    pub(super) fn user_admits(&self, application: &Application, shape: &Shape) -> bool {
        let (facts, partition, size) = (self.facts, self.partition, &shape.need.resources);
        let (id, leaf) = (application.user, self.queue(application.leaf));
        let used = facts.user(id).used[partition.index()];
        let PlannedUserUse { change, by_pass } = self.change_of(id);
        let admits = |of_user: Resources, not_yet: Resources| {
            let queue = facts.queue(application.leaf);
            let quota = queue.quota(partition);
            let (all, active) = (quota.used + leaf.change, quota.used_by_active + leaf.active);
            let leaf_use = || LeafUse {
                all: all - not_yet,
                active: active - not_yet,
                active_weight_milli: queue.active.weight_milli,
            };
            facts.tree.user_may_grow(id, shape.share(), &(used + of_user), size, leaf_use)
        };
        admits(change, Resources::ZERO)
            && admits(change - by_pass, leaf.by_pass)
            && !self.exhausts_limit_usage(id, size)
    }

    /// Whether one more container of this size exceeds a limit of the user or of its groups.
    pub(super) fn exhausts_limit_usage(&self, user: LeafUserId, size: &Resources) -> bool {
        let level = |id: LimitUsageId| {
            let change = self.limit_usages.get(&id).copied().unwrap_or_default();
            self.facts.tree.limit_usage(id).used[self.partition.index()] + change
        };
        self.facts.tree.exhausted_limit_usage(user, size, level).is_some()
    }

    /// Whether the leaf may lose a container of this size on top of `lost`, and that helps.
    pub(super) fn may_lose(&self, leaf: QueueId, size: &Resources, lost: &Resources, lack: Lack<'_>) -> bool {
        let queue_use = self.queue(leaf);
        let (floor, left) = (queue_use.floor(lack.rule), queue_use.left(lack.part));
        let helps = |index: usize| size[index] > 0 && lack.amount[index] > 0 && left[index] > lost[index];
        let stays = |index: usize| {
            size[index] <= 0 || queue_use.used[index] - lost[index] - size[index] >= floor[index]
        };
        size.types().any(helps) && size.types().all(stays)
    }

    /// Whether the leaf may lose this much at once, and that helps with the `lacking` amount: it owes all of it. If
    /// it kept less than its fair amount, a gang that ends as a whole would be owed the room first, start
    /// and end again.
    pub(super) fn may_lose_all(
        &self,
        leaf: QueueId,
        lost: &Resources,
        lacking: &Resources,
        part: Part,
    ) -> bool {
        let queue_use = self.queue(leaf);
        let floor = queue_use.fair_floor;
        let helps = |index: usize| lost[index] > 0 && lacking[index] > 0 && queue_use.left(part)[index] > 0;
        let stays = |index: usize| lost[index] <= 0 || queue_use.used[index] - lost[index] >= floor[index];
        lost.types().any(helps) && lost.types().all(stays)
    }

    /// Whether each queue above the leaf keeps its guarantee if it loses this besides the victims, with and
    /// without the containers that the plan starts. A queue that is above the beneficiary, too, keeps the room.
    pub(super) fn parents_stay(
        &self,
        leaf: QueueId,
        size: &Resources,
        to: QueueId,
        victims: &[Candidate],
    ) -> bool {
        let chain = |leaf: QueueId| &self.facts.queue(leaf).chain;
        let is_parent = |queue: &&QueueId| **queue != leaf && !chain(to).contains(queue);
        chain(leaf).iter().filter(is_parent).all(|parent| {
            let of_parent = victims.iter().filter(|victim| chain(victim.leaf).contains(parent));
            let lost: Resources =
                of_parent.map(|victim| self.facts.shapes.at(victim.shape).need.resources).sum();
            let queue_use = self.queue(*parent);
            let keeps = |used| keeps_guarantee(&queue_use.guaranteed, &used, &lost, size);
            keeps(queue_use.used_before - queue_use.lost()) && keeps(queue_use.used)
        })
    }

    /// Counts a container as ended.
    pub(super) fn take(&mut self, of: ApplicationId, shape: &Shape, node: NodeId) {
        let size = shape.need.resources;
        let leaf = self.facts.applications.at(of).leaf;
        let queue_use = &mut self.queues[leaf.index()];
        queue_use.to_take = queue_use.to_take.saturating_sub(&size);
        queue_use.all_to_take = queue_use.all_to_take.saturating_sub(&size);
        self.count(of, shape, node, -1, &(Resources::ZERO - size));
    }

    /// Counts a container as started, of which `charged` is new to the limits.
    pub(super) fn give(&mut self, to: ApplicationId, shape: &Shape, node: NodeId, charged: &Resources) {
        self.count(to, shape, node, 1, charged);
    }

    /// Records that the normal pass will start a container that is counted as started.
    pub(super) fn record_pass(&mut self, id: ApplicationId, charged: &Resources) {
        let application = self.facts.applications.at(id);
        self.queues[application.leaf.index()].by_pass += *charged;
        self.users.entry(application.user).or_default().by_pass += *charged;
    }

    /// Changes the amounts that count for the limits of queues, user and limit usages.
    pub(super) fn charge(&mut self, id: ApplicationId, charged: &Resources) {
        let (facts, application) = (self.facts, self.facts.applications.at(id));
        let is_active = facts.user(application.user).is_active();
        for queue in &facts.queue(application.leaf).chain {
            let queue_use = &mut self.queues[queue.index()];
            queue_use.change += *charged;
            queue_use.active += if is_active { *charged } else { Resources::ZERO };
        }
        self.users.entry(application.user).or_default().change += *charged;
        for limit_usage in &facts.user(application.user).limit_usages {
            *self.limit_usages.entry(*limit_usage).or_default() += *charged;
        }
    }

    fn count(&mut self, id: ApplicationId, shape: &Shape, node: NodeId, sign: i64, charged: &Resources) {
        let (facts, application) = (self.facts, self.facts.applications.at(id));
        for queue in &facts.queue(application.leaf).chain {
            let queue_use = &mut self.queues[queue.index()];
            queue_use.used += shape.need.resources.times(sign);
            queue_use.without_losses += shape.need.resources.times(sign.max(0));
        }
        self.charge(id, charged);
        self.tags.add(shape.tags(), facts.nodes.at(node), id, sign);
    }
}
