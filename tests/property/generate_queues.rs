//! Strategies that draw the queues of plans.

use apportion::config::{Lifetimes, QueueOrdering};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::generate::small;
use crate::plan::{
    AccessPlan, ActivationPlan, AdmissionPlan, CapacityPlan, HolderPlan, LimitsPlan, MaximumPlan,
    PartitionsPlan, Pick, QueuePlan, SharePlan,
};

pub(crate) fn queue() -> BoxedStrategy<QueuePlan> {
    let leaf = || {
        (limits_of_queue(), partitions(), any::<Option<bool>>()).prop_map(|(limits, partitions, is_fair)| {
            QueuePlan {
                limits,
                partitions,
                is_fair,
                child_ordering: QueueOrdering::Utilization,
                children: Vec::new(),
            }
        })
    };
    let parent = |below: BoxedStrategy<QueuePlan>| {
        (limits_of_queue(), partitions(), child_ordering(), vec(below, 1..=3)).prop_map(
            |(limits, partitions, child_ordering, children)| QueuePlan {
                limits,
                partitions,
                is_fair: None,
                child_ordering,
                children,
            },
        )
    };
    let middle = prop_oneof![3 => leaf(), 1 => parent(leaf().boxed())];
    prop_oneof![2 => leaf(), 1 => parent(middle.boxed())].boxed()
}

pub(crate) fn child_ordering() -> impl Strategy<Value = QueueOrdering> {
    prop_oneof![
        3 => Just(QueueOrdering::Utilization),
        2 => Just(QueueOrdering::PriorityUtilization),
        2 => Just(QueueOrdering::DemandPriority),
        1 => Just(QueueOrdering::UtilizationThenDemand),
    ]
}

fn limits_of_queue() -> BoxedStrategy<LimitsPlan> {
    let users = (factor(), user_minimum(), [user_weight(), user_weight()]);
    let offset = prop_oneof![3 => Just((0, false)), 1 => (-2..=2i32, any::<bool>())];
    let priorities = (-1..=1i32, prop_oneof![3 => Just(0u32), 1 => 1..3u32], lifetimes(), offset);
    (capacity(), maximum(), users, priorities, admission(), access(), limit_holders())
        .prop_map(
            |(
                capacity,
                maximum,
                (factor, user_minimum, user_weights),
                priorities,
                admission,
                access,
                limit_holders,
            )| {
                LimitsPlan {
                    capacity,
                    maximum,
                    factor,
                    user_minimum,
                    user_weights,
                    priority: priorities.0,
                    application_priority: priorities.1,
                    lifetimes: priorities.2,
                    offset: priorities.3,
                    admission,
                    access,
                    limit_holders,
                }
            },
        )
        .boxed()
}

pub(crate) fn limit_holders() -> impl Strategy<Value = Vec<HolderPlan>> {
    let amount = || option::weighted(0.4, 0..60u8);
    let limit = (any::<u8>(), [amount(), amount(), amount()], option::weighted(0.3, 0..4u32))
        .prop_map(|(who, maximum, parallel)| HolderPlan { who, maximum, parallel });
    prop_oneof![4 => Just(Vec::new()), 1 => vec(limit, 1..=2)]
}

fn access() -> impl Strategy<Value = AccessPlan> {
    let list = || option::weighted(0.1, any::<u8>());
    (list(), list()).prop_map(|(submitters, administrators)| AccessPlan { submitters, administrators })
}

fn lifetimes() -> impl Strategy<Value = Lifetimes> {
    let lifetime = || option::weighted(0.05, prop_oneof![Just(0u64), Just(300), Just(6_000)]);
    (lifetime(), lifetime()).prop_map(|(default_ms, maximum_ms)| {
        let default_ms = default_ms.map(|default_ms| default_ms.min(maximum_ms.unwrap_or(default_ms)));
        Lifetimes { default_ms, maximum_ms }
    })
}

fn partitions() -> impl Strategy<Value = PartitionsPlan> {
    let own = (any::<Pick>(), option::of(capacity()), option::of(maximum()));
    let access = option::weighted(0.2, vec(any::<Pick>(), 0..=2));
    (access, option::weighted(0.2, any::<Pick>()), vec(own, 0..=2))
        .prop_map(|(access, default, own)| PartitionsPlan { access, default, own })
}

pub(crate) fn user_minimum() -> impl Strategy<Value = u32> {
    prop_oneof![2 => Just(100u32), 1 => 0..100u32]
}

fn user_weight() -> impl Strategy<Value = u32> {
    prop_oneof![3 => Just(1000u32), 1 => 1..4000u32]
}

pub(crate) fn admission() -> impl Strategy<Value = AdmissionPlan> {
    let limit = || option::weighted(0.15, 0..6u32);
    (proptest::bool::weighted(0.05), limit(), limit(), activation()).prop_map(
        |(is_stopped, total, per_user, activation)| AdmissionPlan { is_stopped, total, per_user, activation },
    )
}

fn activation() -> impl Strategy<Value = ActivationPlan> {
    let limit = || option::weighted(0.15, 0..4u32);
    (limit(), limit(), limit(), option::weighted(0.2, 0..=100u32)).prop_map(
        |(total, per_user, of_user_0, master_share)| ActivationPlan {
            total,
            per_user,
            of_user_0,
            master_share,
        },
    )
}

pub(crate) fn capacity() -> impl Strategy<Value = CapacityPlan> {
    prop_oneof![
        3 => (0..=100u32).prop_map(|percent| CapacityPlan::Percent(percent * 10_000)),
        1 => (0..=1_000_000u32).prop_map(CapacityPlan::Percent),
        2 => small(60).prop_map(CapacityPlan::Absolute),
        2 => weight().prop_map(CapacityPlan::Weight),
        2 => [share(), share(), share()].prop_map(CapacityPlan::Mixed),
    ]
}

fn weight() -> impl Strategy<Value = u32> {
    prop_oneof![Just(1000u32), 1..=5000u32]
}

fn share() -> impl Strategy<Value = SharePlan> {
    prop_oneof![
        (0..=100u32).prop_map(|percent| SharePlan::Percent(percent * 10_000)),
        (0..=60u8).prop_map(SharePlan::Amount),
        weight().prop_map(SharePlan::Weight),
    ]
}

pub(crate) fn maximum() -> impl Strategy<Value = MaximumPlan> {
    prop_oneof![
        6 => Just(MaximumPlan::Percent(1_000_000)),
        1 => (0..=1_000_000u32).prop_map(MaximumPlan::Percent),
        1 => beyond().prop_map(MaximumPlan::Absolute),
        1 => (beyond(), [percent(), percent(), percent()]).prop_map(|(beyond, percents)| MaximumPlan::Mixed(beyond, percents)),
    ]
}

fn beyond() -> impl Strategy<Value = [Option<u8>; 3]> {
    [option::of(0..60u8), option::of(0..60u8), option::of(0..60u8)]
}

fn percent() -> impl Strategy<Value = Option<u32>> {
    option::of(0..=1_000_000u32)
}

pub(crate) fn factor() -> impl Strategy<Value = Option<u32>> {
    prop_oneof![
        3 => Just(None),
        1 => Just(Some(1000u32)),
        1 => (1..=4000u32).prop_map(Some),
        1 => Just(Some(1_000_000_000)),
    ]
}
