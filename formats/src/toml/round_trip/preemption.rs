//! Random rounds of preemption.

use std::collections::BTreeSet;

use apportion::config::{PreemptionPolicy, PreemptionRounds, WithinQueueOrder, WithinQueuePolicy};
use proptest::collection::btree_set;
use proptest::sample::Index;

use super::*;

/// Rounds without exempt queues, and which queues to exempt: from others, and from their own applications.
pub(super) type Plan = (PreemptionRounds, [Vec<Index>; 2]);

pub(super) fn preemption() -> BoxedStrategy<Option<Plan>> {
    let rounds = (policy(), 1u64.., any::<u64>(), any::<bool>()).prop_map(
        |(policy, interval_ms, wait, observe_only)| PreemptionRounds {
            policy,
            interval_ms,
            max_wait_before_kill_ms: wait,
            observe_only,
        },
    );
    let queues = || vec(any::<Index>(), 0..3);
    prop::option::of((rounds, [queues(), queues()])).boxed()
}

fn policy() -> impl Strategy<Value = PreemptionPolicy> {
    let names = || btree_set(".{1,4}", 0..3);
    let parts = (percent(100), part(), part());
    (parts, names(), names(), any::<bool>(), prop::option::of(within_queue())).prop_map(
        |(
            (dead_zone, natural_termination, per_round),
            exempt_applications,
            exempt_tags,
            balances,
            within_queue,
        )| {
            PreemptionPolicy {
                dead_zone,
                natural_termination,
                per_round,
                exempt: BTreeSet::new(),
                exempt_applications,
                exempt_tags,
                balances,
                within_queue,
            }
        },
    )
}

/// With 0 % a round would take nothing.
fn part() -> impl Strategy<Value = Percent> {
    percent(100).prop_filter("a part above 0 %", |part| *part > Percent::NONE)
}

fn within_queue() -> impl Strategy<Value = WithinQueuePolicy> {
    let orders = vec![WithinQueueOrder::UserLimitFirst, WithinQueueOrder::PriorityFirst];
    (prop::sample::select(orders), percent(100), part()).prop_map(|(order, minimum_use, max_part)| {
        WithinQueuePolicy { order, minimum_use, max_part, exempt: BTreeSet::new() }
    })
}

/// The rounds, with exempt queues of this tree.
pub(super) fn rounds(plan: Plan, root: &QueueConfig) -> PreemptionRounds {
    let (mut rounds, [between, within]) = plan;
    let mut paths = Vec::new();
    list(root, "root", &mut paths);
    let chosen = |indices: &[Index]| indices.iter().map(|index| index.get(&paths).clone()).collect();
    rounds.policy.exempt = chosen(&between);
    if let Some(policy) = &mut rounds.policy.within_queue {
        policy.exempt = chosen(&within);
    }
    rounds
}

fn list(queue: &QueueConfig, path: &str, paths: &mut Vec<String>) {
    paths.push(path.to_owned());
    if queue.auto_creation.is_some() {
        paths.push(format!("{path}.made on demand"));
    }
    queue.children.iter().for_each(|child| list(child, &format!("{path}.{}", child.name), paths));
}
