//! How plans are drawn.

use apportion::NodeOrderKind;
use apportion::config::{EngineLimits, HeartbeatPolicy, LocalityDelay, Percent, ReservationPolicy};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::plan::{
    AdmissionPlan, AskPlan, CapacityPlan, ClusterPlan, LimitsPlan, MaximumPlan, NodePlan, Operation, Pick,
    Plan, QueuePlan, Small,
};

/// What plans may contain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variety {
    /// Partitions, wishes, reservations and heartbeats.
    pub(crate) everything: bool,
    /// Commit requests made by hand.
    pub(crate) requests: bool,
}

/// Runs whose every placement is known in advance.
pub(crate) const PLAIN: Variety = Variety { everything: false, requests: false };

/// Runs with everything the engine does by itself.
pub(crate) const EVERYTHING: Variety = Variety { everything: true, requests: false };

/// Runs in which callers commit requests beside the engine's own.
pub(crate) const WITH_REQUESTS: Variety = Variety { everything: true, requests: true };

pub(crate) fn plan(variety: Variety) -> impl Strategy<Value = Plan> {
    let operations = vec(operation(variety), 5..=60);
    (cluster(variety), vec(node(), 1..=12), operations).prop_map(|(cluster, nodes, operations)| Plan {
        cluster,
        nodes,
        operations,
    })
}

fn cluster(variety: Variety) -> impl Strategy<Value = ClusterPlan> {
    let unit = prop_oneof![4 => Just(1i64), 1 => Just(1000), 1 => Just((1 << 34) + 1)];
    let order =
        prop_oneof![Just(NodeOrderKind::Spread), Just(NodeOrderKind::Pack), Just(NodeOrderKind::First)];
    let partitions = if variety.everything { 0..=2usize } else { 0..=0 };
    let yarn = option::weighted(0.2, [0..4u8, 0..4u8, 0..4u8]);
    let resources = (1..=3usize, any::<bool>(), unit, partitions, order, any::<bool>(), yarn);
    let policies = (reservations(variety), locality_delay(), heartbeat(variety), limits());
    (resources, vec(queue(), 1..=3), policies).prop_map(|(resources, queues, policies)| {
        let (types, has_devices, unit, partitions, node_order, by_priority, yarn) = resources;
        let (reservations, locality_delay, heartbeat, limits) = policies;
        ClusterPlan {
            types,
            has_devices,
            unit,
            partitions,
            node_order,
            yarn,
            by_priority,
            queues,
            reservations,
            locality_delay,
            heartbeat,
            limits,
        }
    })
}

fn reservations(variety: Variety) -> BoxedStrategy<ReservationPolicy> {
    let off = ReservationPolicy { delay_ms: None, ..ReservationPolicy::default() };
    if !variety.everything {
        return Just(off).boxed();
    }
    let on = (
        prop_oneof![Just(0u64), Just(50), Just(1000)],
        prop_oneof![Just(10u64), Just(500), Just(3_600_000)],
        prop_oneof![Just(0u32), Just(10), Just(50), Just(100)],
    )
        .prop_map(|(delay_ms, age_limit_ms, percent)| ReservationPolicy {
            delay_ms: Some(delay_ms),
            age_limit_ms,
            nodes: Percent::whole(percent),
        });
    prop_oneof![1 => Just(off), 3 => on].boxed()
}

fn locality_delay() -> impl Strategy<Value = LocalityDelay> {
    let nodes = (0..4u32, 0..4u32).prop_map(|(rack, more)| LocalityDelay::Nodes { rack, any: rack + more });
    let time = (0..3u64, 0..3u64)
        .prop_map(|(rack, any)| LocalityDelay::Time { rack_ms: rack * 100, any_ms: rack * 100 + any * 300 });
    prop_oneof![nodes, time]
}

fn heartbeat(variety: Variety) -> BoxedStrategy<Option<HeartbeatPolicy>> {
    if !variety.everything {
        return Just(None).boxed();
    }
    option::weighted(0.3, Just(HeartbeatPolicy { interval_ms: 100, missed_max: 3 })).boxed()
}

fn limits() -> impl Strategy<Value = EngineLimits> {
    let small = (1..=6usize, 2..=80usize, 1..=8usize, 1..=6usize, 1..=3u32, 1..=3usize).prop_map(
        |(batch_requests, pass_visits, group_requests, inbox, leaf_quantum, set_nodes)| EngineLimits {
            batch_requests,
            pass_visits,
            group_requests,
            inbox,
            leaf_quantum,
            single_set_nodes: set_nodes + 1,
            set_nodes,
        },
    );
    prop_oneof![Just(EngineLimits::default()), small]
}

fn queue() -> impl Strategy<Value = QueuePlan> {
    let leaf = || {
        (limits_of_queue(), any::<bool>()).prop_map(|(limits, is_fair)| QueuePlan {
            limits,
            is_fair,
            by_priority: false,
            children: Vec::new(),
        })
    };
    let parent = |below: BoxedStrategy<QueuePlan>| {
        (limits_of_queue(), any::<bool>(), vec(below, 1..=3)).prop_map(|(limits, by_priority, children)| {
            QueuePlan { limits, is_fair: false, by_priority, children }
        })
    };
    let middle = prop_oneof![3 => leaf(), 1 => parent(leaf().boxed())];
    prop_oneof![2 => leaf(), 1 => parent(middle.boxed())]
}

fn limits_of_queue() -> impl Strategy<Value = LimitsPlan> {
    let users = (factor(), user_minimum(), [user_weight(), user_weight()]);
    (capacity(), maximum(), users, -1..=1i32, admission()).prop_map(
        |(capacity, maximum, (factor, user_minimum, user_weights), priority, admission)| LimitsPlan {
            capacity,
            maximum,
            factor,
            user_minimum,
            user_weights,
            priority,
            admission,
        },
    )
}

fn user_minimum() -> impl Strategy<Value = u32> {
    prop_oneof![2 => Just(100u32), 1 => 0..100u32]
}

fn user_weight() -> impl Strategy<Value = u32> {
    prop_oneof![3 => Just(1000u32), 1 => 1..4000u32]
}

fn admission() -> impl Strategy<Value = AdmissionPlan> {
    let limit = || option::weighted(0.15, 0..6u32);
    (proptest::bool::weighted(0.05), limit(), limit())
        .prop_map(|(is_stopped, total, per_user)| AdmissionPlan { is_stopped, total, per_user })
}

fn capacity() -> impl Strategy<Value = CapacityPlan> {
    prop_oneof![
        3 => (0..=100u32).prop_map(|percent| CapacityPlan::Percent(percent * 10_000)),
        1 => (0..=1_000_000u32).prop_map(CapacityPlan::Percent),
        2 => small(60).prop_map(CapacityPlan::Absolute),
        2 => prop_oneof![Just(1000u32), 1..=5000u32].prop_map(CapacityPlan::Weight),
    ]
}

fn maximum() -> impl Strategy<Value = MaximumPlan> {
    prop_oneof![
        6 => Just(MaximumPlan::Percent(1_000_000)),
        1 => (0..=1_000_000u32).prop_map(MaximumPlan::Percent),
        1 => [option::of(0..60u8), option::of(0..60u8), option::of(0..60u8)].prop_map(MaximumPlan::Absolute),
    ]
}

fn factor() -> impl Strategy<Value = Option<u32>> {
    prop_oneof![
        3 => Just(None),
        1 => Just(Some(1000u32)),
        1 => (1..=4000u32).prop_map(Some),
        1 => Just(Some(1_000_000_000)),
    ]
}

fn small(max: u8) -> impl Strategy<Value = Small> {
    let one = || prop_oneof![1 => Just(0), 4 => 0..=max];
    [one(), one(), one()]
}

fn attributes() -> impl Strategy<Value = Vec<(Pick, Pick)>> {
    vec((0..3u8, 0..3u8), 0..=2)
}

fn node() -> impl Strategy<Value = NodePlan> {
    (0..20u8, 0..3u8, 0..3u8, small(60), 0..=4u8, attributes()).prop_map(
        |(name, rack, partition, capacity, devices, attributes)| NodePlan {
            name,
            rack,
            partition,
            capacity,
            devices,
            attributes,
        },
    )
}

fn ask(variety: Variety) -> impl Strategy<Value = AskPlan> {
    let milli = prop_oneof![Just(250u16), Just(300), Just(500), Just(600), Just(1000)];
    let devices = option::weighted(0.3, (1..=3u8, milli));
    let rule = option::weighted(0.2, (0..3u8, vec(0..3u8, 0..=2)));
    let count = prop_oneof![8 => 1..=12u32, 1 => 1..=300u32];
    let priority = prop_oneof![2 => Just(0u32), 1 => 0..3u32];
    let wishes = if variety.everything { 0.3 } else { 0.0 };
    let wishes = proptest::bool::weighted(wishes);
    let named = (wishes, vec(any::<Pick>(), 0..=3), vec(0..3u8, 0..=2), any::<bool>());
    ((small(8), devices, count, priority), 0..3u8, rule, named).prop_map(
        |((size, devices, count, priority), partition, rule, (wishes, hosts, racks, is_strict))| {
            let (hosts, racks) = if wishes { (hosts, racks) } else { (Vec::new(), Vec::new()) };
            AskPlan { size, devices, count, priority, partition, rule, hosts, racks, is_strict }
        },
    )
}

fn update_queue() -> impl Strategy<Value = Operation> {
    let limits =
        (option::of(capacity()), option::of(maximum()), option::of(factor()), option::of(user_minimum()));
    (any::<Pick>(), limits, option::of(-1..=1i32), option::weighted(0.3, admission())).prop_map(
        |(queue, (capacity, maximum, factor, user_minimum), priority, admission)| Operation::UpdateQueue {
            queue,
            capacity,
            maximum,
            factor,
            user_minimum,
            priority,
            admission,
        },
    )
}

fn operation(variety: Variety) -> BoxedStrategy<Operation> {
    let pick = any::<Pick>;
    let advance = prop_oneof![Just(1u64), Just(50), Just(100), Just(300), Just(1000), Just(5000)];
    let common = prop_oneof![
        2 => node().prop_map(Operation::AddNode),
        1 => (pick(), small(60), attributes())
            .prop_map(|(node, capacity, attributes)| Operation::UpdateNode { node, capacity, attributes }),
        1 => pick().prop_map(Operation::Drain),
        1 => pick().prop_map(Operation::Activate),
        1 => pick().prop_map(Operation::RemoveNode),
        6 => (pick(), 0..4u8, 0..3u32)
            .prop_map(|(leaf, user, priority)| Operation::Submit { leaf, user, priority }),
        1 => (pick(), any::<bool>())
            .prop_map(|(application, is_killed)| Operation::End { application, is_killed }),
        12 => (pick(), ask(variety)).prop_map(|(application, plan)| Operation::Ask { application, plan }),
        2 => (pick(), 0..=10u32).prop_map(|(ask, units)| Operation::Cancel { ask, units }),
        6 => (pick(), any::<bool>())
            .prop_map(|(container, is_released)| Operation::EndContainer { container, is_released }),
        2 => update_queue(),
        2 => advance.prop_map(Operation::Advance),
        5 => Just(Operation::Run),
    ];
    let pairs = || vec((pick(), pick()), 0..=2);
    let commit = (pairs(), pairs(), vec(pick(), 0..=2))
        .prop_map(|(allocate, reserve, release)| Operation::Commit { allocate, reserve, release });
    let heartbeat = vec(pick(), 1..=8).prop_map(Operation::Heartbeat);
    let weights = (u32::from(variety.everything) * 3, u32::from(variety.requests) * 6);
    match weights {
        (0, 0) => common.boxed(),
        (beats, 0) => prop_oneof![40 => common, beats => heartbeat].boxed(),
        (0, requests) => prop_oneof![40 => common, requests => commit].boxed(),
        (beats, requests) => prop_oneof![40 => common, beats => heartbeat, requests => commit].boxed(),
    }
}
