//! Converts the queues of a plan, with capacities that are consistent with each other.

use apportion::config::{
    AccessList, ApplicationOrdering, Bound, Capacity, Factor, HolderLimit, Maximum, PartitionAccess,
    PartitionCapacity, Percent, QueueConfig, Share,
};
use apportion::resource::RESOURCE_TYPES_MAX;

use crate::plan::{
    AccessPlan, CapacityPlan, ClusterPlan, HolderPlan, MaximumPlan, PartitionsPlan, Pick, QueuePlan,
    SharePlan,
};

impl ClusterPlan {
    /// The children of a queue that may use these partitions.
    pub(crate) fn children(&self, plans: &[QueuePlan], above: &[String]) -> Vec<QueueConfig> {
        let capacities: Vec<_> = plans.iter().map(|plan| self.capacity(&plan.limits.capacity)).collect();
        let most = self.most(&capacities).max(ALL);
        let child = |(number, plan): (usize, &QueuePlan)| {
            let capacity = cut_back(&capacities[number], ALL, most);
            let access = plan.partitions.access.as_ref().map(|access| named(access, above));
            let may_use = access.as_deref().unwrap_or(above).to_vec();
            let queue = QueueConfig::leaf(format!("q{number}"), capacity)
                .with_maximum(self.maximum(&plan.limits.maximum, &capacity))
                .with_ordering(match plan.is_fair {
                    None => ApplicationOrdering::Fifo,
                    Some(false) => ApplicationOrdering::Fair,
                    Some(true) => ApplicationOrdering::FairBySize,
                })
                .with_child_ordering(plan.child_ordering)
                .with_priority(plan.limits.priority)
                .with_default_application_priority(plan.limits.application_priority)
                .with_lifetimes(plan.limits.lifetimes)
                .with_user_limit_minimum(Percent::whole(plan.limits.user_minimum))
                .with_user_weight("user0", factor(plan.limits.user_weights[0]))
                .with_user_weight("user1", factor(plan.limits.user_weights[1]))
                .with_state(plan.limits.admission.state())
                .with_applications(plan.limits.admission.limits())
                .with_parallel(plan.limits.admission.activation.parallel())
                .with_master_share(plan.limits.admission.activation.master_share())
                .with_user_limit_factor(plan.limits.factor.map(factor))
                .with_limits(self.limit_holders(&plan.limits.limit_holders))
                .with_children(self.children(&plan.children, &may_use));
            let AccessPlan { submitters, administrators } = plan.limits.access;
            let queue = QueueConfig {
                priority_offset: plan.limits.offset.0,
                priority_fence: plan.limits.offset.1,
                submitters: submitters.map(access_list),
                administrators: administrators.map(access_list),
                ..queue
            };
            self.with_partitions(queue, &plan.partitions, access, &may_use)
        };
        let mut children: Vec<QueueConfig> = plans.iter().enumerate().map(child).collect();
        above.iter().for_each(|name| self.cut_back_in(&mut children, name));
        children
    }

    /// Limits of users and groups; each user and group is named only once.
    pub(crate) fn limit_holders(&self, plans: &[HolderPlan]) -> Vec<HolderLimit> {
        let mut known = 0;
        let mut limit = |plan: &HolderPlan| {
            let who = plan.who & !known;
            known |= plan.who;
            let names = |what: &str, bits: [u8; 2], others: u8| {
                let named = (bits[0]..bits[1]).filter(|bit| who & (1 << bit) != 0);
                let named = named.map(|bit| format!("{what}{}", bit - bits[0]));
                named.chain((who & (1 << others) != 0).then(|| "*".to_owned())).collect()
            };
            HolderLimit {
                users: names("user", [0, 4], 6),
                groups: names("group", [4, 6], 7),
                maximum: self.scaled(&plan.maximum),
                parallel: plan.parallel,
            }
        };
        let is_any = |limit: &HolderLimit| {
            let is_limit = limit.parallel.is_some() || limit.maximum.iter().any(Option::is_some);
            is_limit && !(limit.users.is_empty() && limit.groups.is_empty())
        };
        plans.iter().map(&mut limit).filter(is_any).collect()
    }

    /// The largest sum over one type of the children's percentages, in millionths.
    fn most(&self, capacities: &[Capacity]) -> u64 {
        let sum = |i: usize| capacities.iter().map(|capacity| millionths(capacity.share(i))).sum();
        (0..self.types).map(sum).max().unwrap_or(0)
    }

    fn with_partitions(
        &self,
        mut queue: QueueConfig,
        plan: &PartitionsPlan,
        access: Option<Vec<String>>,
        may_use: &[String],
    ) -> QueueConfig {
        queue.accessible_partitions = access.map(|names| PartitionAccess::Only(names.into_iter().collect()));
        let name =
            |pick: Pick| (!may_use.is_empty()).then(|| may_use[usize::from(pick) % may_use.len()].clone());
        queue.default_partition = plan.default.map(|pick| name(pick).unwrap_or_default());
        for (pick, capacity, maximum) in &plan.own {
            let Some(name) = name(*pick) else { continue };
            let capacity = capacity.as_ref().map(|plan| self.capacity(plan));
            let beyond = capacity.unwrap_or(queue.capacity);
            // An own capacity needs a matching maximum.
            let maximum = maximum.as_ref().map(|plan| self.maximum(plan, &beyond));
            let maximum = maximum.or(capacity.map(|_| Maximum::Percent(Percent::ALL)));
            queue.partitions.insert(name, PartitionCapacity { capacity, maximum });
        }
        queue
    }

    /// Scales the own capacities in a partition down until they fit beside those of the siblings without one.
    fn cut_back_in(&self, children: &mut [QueueConfig], partition: &str) {
        let there = || children.iter().filter(|child| !child.is_kept_from(partition));
        let is_own =
            |child: &&QueueConfig| child.partitions.get(partition).is_some_and(|own| own.capacity.is_some());
        let capacity = |child: &QueueConfig| child.capacity_in(partition);
        let others: Vec<_> = there().filter(|child| !is_own(child)).map(capacity).collect();
        let own: Vec<_> = there().filter(is_own).map(capacity).collect();
        let (room, wanted) = (ALL - self.most(&others), self.most(&own));
        let own = children.iter_mut().filter_map(|child| child.partitions.get_mut(partition));
        for capacity in own.filter_map(|own| own.capacity.as_mut()) {
            *capacity = cut_back(capacity, room, wanted.max(room).max(1));
        }
    }

    pub(crate) fn capacity(&self, plan: &CapacityPlan) -> Capacity {
        match plan {
            CapacityPlan::Percent(millionths) => Capacity::Percent(percent(*millionths)),
            CapacityPlan::Absolute(small) => Capacity::Absolute(self.amounts(small)),
            CapacityPlan::Weight(milli) => Capacity::Weight(factor(*milli)),
            CapacityPlan::Mixed(shares) => {
                let amounts =
                    shares.map(|share| if let SharePlan::Amount(amount) = share { amount } else { 0 });
                let amounts = self.amounts(&amounts);
                let share = |(i, share): (usize, &SharePlan)| match share {
                    SharePlan::Percent(millionths) => Share::Percent(percent(*millionths)),
                    SharePlan::Amount(_) => Share::Amount(amounts[i]),
                    SharePlan::Weight(milli) => Share::Weight(factor(*milli)),
                };
                Capacity::mixed(&shares[..self.types].iter().enumerate().map(share).collect::<Vec<_>>())
            }
        }
    }

    pub(crate) fn maximum(&self, plan: &MaximumPlan, capacity: &Capacity) -> Maximum {
        let own = capacity.amounts();
        let absolute = |beyond: &[Option<u8>; 3]| {
            let beyond = self.scaled(beyond);
            std::array::from_fn::<_, RESOURCE_TYPES_MAX, _>(|i| beyond[i].map(|beyond| beyond + own[i]))
        };
        match plan {
            MaximumPlan::Percent(millionths) => Maximum::Percent(percent(*millionths)),
            MaximumPlan::Absolute(beyond) => Maximum::Absolute(absolute(beyond)),
            MaximumPlan::Mixed(beyond, percents) => {
                let amounts = absolute(beyond);
                let bound = |i: usize| match (percents[i], amounts[i]) {
                    (Some(millionths), _) => Bound::Percent(percent(millionths)),
                    (None, Some(amount)) => Bound::Amount(amount),
                    (None, None) => Bound::NONE,
                };
                Maximum::mixed(&(0..self.types).map(bound).collect::<Vec<_>>())
            }
        }
    }
}

fn access_list(bits: u8) -> AccessList {
    let names = |what: &str, bits: std::ops::Range<u8>, all: u8| {
        bits.clone()
            .filter(|bit| all & (1 << bit) != 0)
            .map(|bit| format!("{what}{}", bit - bits.start))
            .collect()
    };
    AccessList::Named { users: names("user", 0..4, bits), groups: names("group", 4..6, bits) }
}

fn millionths(share: Share) -> u64 {
    if let Share::Percent(percent) = share { u64::from(percent.millionths()) } else { 0 }
}

/// 100 percent in millionths.
const ALL: u64 = 1_000_000;

/// The names that these picks choose.
fn named(picks: &[Pick], names: &[String]) -> Vec<String> {
    let is_picked = |place: usize| picks.iter().any(|pick| usize::from(*pick) % names.len() == place);
    (0..names.len()).filter(|place| is_picked(*place)).map(|place| names[place].clone()).collect()
}

/// Scales percentages by `numerator / denominator`.
fn cut_back(capacity: &Capacity, numerator: u64, denominator: u64) -> Capacity {
    let cut = |share: Share| match share {
        Share::Percent(_) => {
            let part = millionths(share) * numerator / denominator;
            Share::Percent(percent(u32::try_from(part).unwrap()))
        }
        other => other,
    };
    match (capacity, cut(capacity.share(0))) {
        (Capacity::Percent(_), Share::Percent(percent)) => Capacity::Percent(percent),
        (Capacity::Mixed(shares), _) => Capacity::Mixed(shares.map(cut)),
        _ => *capacity,
    }
}

fn percent(millionths: u32) -> Percent {
    format!("{}.{:04}", millionths / 10_000, millionths % 10_000).parse().unwrap()
}

pub(crate) fn factor(milli: u32) -> Factor {
    format!("{}.{:03}", milli / 1000, milli % 1000).parse().unwrap()
}
