//! Strategies that draw plans.

use apportion::config::{
    EngineLimits, HeartbeatPolicy, LocalityDelay, NodeOrderKind, Percent, ReservationPolicy,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::edits::reconfigure;
use crate::generate_queues::{
    admission, capacity, child_ordering, factor, limit_holders, maximum, queue, user_minimum,
};
use crate::plan::{
    AskPlan, ClusterPlan, ConditionPlan, NodePlan, Operation, Pick, Plan, RunningPlan, Small, TagLimitPlan,
};

/// The features that plans may contain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variety {
    /// Partitions, locality preferences, reservations and heartbeats.
    pub(crate) everything: bool,
    /// Commit requests made by hand.
    pub(crate) requests: bool,
}

/// Every placement is known in advance.
pub(crate) const PLAIN: Variety = Variety { everything: false, requests: false };

/// Everything that the engine does by itself.
pub(crate) const EVERYTHING: Variety = Variety { everything: true, requests: false };

/// Callers commit requests beside the engine's own.
pub(crate) const WITH_REQUESTS: Variety = Variety { everything: true, requests: true };

pub(crate) fn plan(variety: Variety) -> impl Strategy<Value = Plan> {
    let operations = vec(operation(variety), 5..=60);
    (cluster(variety), vec(node(), 1..=12), operations).prop_map(|(cluster, nodes, operations)| Plan {
        cluster,
        nodes,
        operations,
    })
}

fn cluster(variety: Variety) -> BoxedStrategy<ClusterPlan> {
    let unit = prop_oneof![4 => Just(1i64), 1 => Just(1000), 1 => Just((1 << 34) + 1)];
    let order =
        prop_oneof![Just(NodeOrderKind::Spread), Just(NodeOrderKind::Pack), Just(NodeOrderKind::First)];
    let partitions = prop_oneof![1 => Just(0usize), 1 => 1..=2usize];
    let yarn = option::weighted(0.2, [0..4u8, 0..4u8, 0..4u8]);
    let priorities = (child_ordering(), option::weighted(0.2, 0..3u32));
    let partitions = (partitions, 0..4u8);
    let resources = (1..=3usize, any::<bool>(), unit, partitions, order, priorities, yarn);
    let stops_ended = proptest::bool::weighted(0.3);
    let policies =
        (reservations(variety), locality_delay(), heartbeat(variety), limits(variety), stops_ended);
    (resources, vec(queue(), 1..=3), limit_holders(), policies)
        .prop_map(|(resources, queues, limit_holders, policies)| {
            let (types, has_devices, unit, partitions, node_order, priorities, yarn) = resources;
            let (partitions, lending) = partitions;
            let (child_ordering, application_priority_max) = priorities;
            let (reservations, locality_delay, heartbeat, limits, stops_ended) = policies;
            ClusterPlan {
                types,
                has_devices,
                unit,
                partitions,
                lending,
                node_order,
                yarn,
                child_ordering,
                application_priority_max,
                stops_ended,
                queues,
                limit_holders,
                reservations,
                locality_delay,
                heartbeat,
                limits,
            }
        })
        .boxed()
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
        proptest::bool::weighted(0.7),
    )
        .prop_map(|(delay_ms, age_limit_ms, percent, continue_looking)| ReservationPolicy {
            delay_ms: Some(delay_ms),
            age_limit_ms,
            nodes: Percent::whole(percent),
            continue_looking,
        });
    prop_oneof![1 => Just(off), 3 => on].boxed()
}

fn locality_delay() -> impl Strategy<Value = LocalityDelay> {
    let nodes =
        (0..4u32, option::weighted(0.7, 0..4u32), any::<bool>()).prop_map(|(rack, more, full_reset)| {
            LocalityDelay::Nodes { rack, any: more.map(|more| rack + more), full_reset }
        });
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

fn limits(variety: Variety) -> impl Strategy<Value = EngineLimits> {
    // The model does not predict which pass places a container.
    let is_capped = proptest::bool::weighted(if variety.everything { 0.3 } else { 0.0 });
    let off_switch = (is_capped, 1..=3u32).prop_map(|(is_capped, most)| is_capped.then_some(most));
    let small = (1..=6usize, 2..=80usize, 1..=8usize, 1..=6usize, off_switch, 1..=3usize).prop_map(
        |(batch_requests, pass_visits, group_requests, inbox, off_switch_per_pass, set_nodes)| EngineLimits {
            batch_requests,
            pass_visits,
            group_requests,
            inbox,
            off_switch_per_pass,
            single_set_nodes: set_nodes + 1,
            set_nodes,
        },
    );
    prop_oneof![Just(EngineLimits::default()), small]
}

pub(crate) fn small(max: u8) -> impl Strategy<Value = Small> {
    let one = || prop_oneof![1 => Just(0), 4 => 0..=max];
    [one(), one(), one()]
}

fn attributes() -> impl Strategy<Value = Vec<(Pick, Pick)>> {
    vec((0..3u8, 0..3u8), 0..=2)
}

fn node() -> BoxedStrategy<NodePlan> {
    (0..20u8, 0..3u8, 0..3u8, small(60), 0..=4u8, attributes())
        .prop_map(|(name, rack, partition, capacity, devices, attributes)| NodePlan {
            name,
            rack,
            partition,
            capacity,
            devices,
            attributes,
        })
        .boxed()
}

fn condition() -> impl Strategy<Value = ConditionPlan> {
    let values = option::weighted(0.7, vec(0..3u8, 0..=2));
    (0..3u8, values, any::<bool>()).prop_map(|(attribute, values, is_negated)| ConditionPlan {
        attribute,
        values,
        is_negated,
    })
}

fn tags() -> impl Strategy<Value = (Vec<Pick>, Vec<TagLimitPlan>)> {
    let limit = (0..3u8, 0..=3u32, proptest::bool::weighted(0.3), proptest::bool::weighted(0.3))
        .prop_map(|(tag, most, is_on_rack, is_own)| TagLimitPlan { tag, most, is_on_rack, is_own });
    let tags = prop_oneof![2 => Just(Vec::new()), 1 => vec(0..3u8, 1..=2)];
    let limits = prop_oneof![3 => Just(Vec::new()), 1 => vec(limit, 1..=2)];
    (tags, limits)
}

fn ask(variety: Variety) -> BoxedStrategy<AskPlan> {
    let milli = prop_oneof![Just(250u16), Just(300), Just(500), Just(600), Just(1000)];
    let devices = option::weighted(0.3, (1..=3u8, milli));
    let rule = prop_oneof![4 => Just(Vec::new()), 1 => vec(condition(), 1..=2)];
    let count = prop_oneof![8 => 1..=12u32, 1 => 1..=300u32];
    let priority = prop_oneof![2 => Just(0u32), 1 => 0..3u32];
    let rule = (rule, tags());
    let preference = if variety.everything { 0.3 } else { 0.0 };
    let preference = proptest::bool::weighted(preference);
    let named = (preference, vec(any::<Pick>(), 0..=3), vec(0..3u8, 0..=2), any::<bool>());
    let priority = (priority, proptest::bool::weighted(0.2));
    ((small(8), devices, count, priority), option::weighted(0.8, 0..3u8), rule, named)
        .prop_map(
            |((size, devices, count, priority), partition, rule, (preference, hosts, racks, is_strict))| {
                let (hosts, racks) = if preference { (hosts, racks) } else { (Vec::new(), Vec::new()) };
                let (rule, (tags, tag_limits)) = rule;
                let (priority, is_master) = priority;
                AskPlan {
                    size,
                    devices,
                    count,
                    priority,
                    partition,
                    rule,
                    tags,
                    tag_limits,
                    hosts,
                    racks,
                    is_strict,
                    is_master,
                }
            },
        )
        .boxed()
}

fn running() -> impl Strategy<Value = RunningPlan> {
    let devices = option::weighted(0.3, (1..=2u8, prop_oneof![Just(250u16), Just(600), Just(1000)]));
    let tags = prop_oneof![2 => Just(Vec::new()), 1 => vec(0..3u8, 1..=2)];
    (any::<Pick>(), small(20), devices, tags).prop_map(|(application, size, devices, tags)| RunningPlan {
        application,
        size,
        devices,
        tags,
    })
}

fn update_queue() -> BoxedStrategy<Operation> {
    let limits =
        (option::of(capacity()), option::of(maximum()), option::of(factor()), option::of(user_minimum()));
    (any::<Pick>(), limits, option::of(-1..=1i32), option::weighted(0.3, admission()))
        .prop_map(|(queue, (capacity, maximum, factor, user_minimum), priority, admission)| {
            Operation::UpdateQueue { queue, capacity, maximum, factor, user_minimum, priority, admission }
        })
        .boxed()
}

fn blacklist() -> impl Strategy<Value = Operation> {
    let names = |names: u8, most: usize| vec((0..names, any::<bool>()), 0..=most);
    (any::<Pick>(), names(20, 6), names(3, 1)).prop_map(|(application, hosts, racks)| Operation::Blacklist {
        application,
        hosts,
        racks,
    })
}

fn submit() -> BoxedStrategy<Operation> {
    let master = option::weighted(0.5, (small(20), any::<Pick>()));
    let lifetime_ms = option::weighted(0.1, prop_oneof![Just(50u64), Just(1_000)]);
    let groups = prop_oneof![2 => Just(None), 1 => (0..4u8).prop_map(Some)];
    (any::<Pick>(), 0..4u8, groups, option::of(0..3u32), lifetime_ms, master)
        .prop_map(|(leaf, user, groups, priority, lifetime_ms, master)| Operation::Submit {
            leaf,
            user,
            groups: groups.unwrap_or(1 << (user % 2)),
            priority,
            lifetime_ms,
            master,
        })
        .boxed()
}

fn operation(variety: Variety) -> BoxedStrategy<Operation> {
    let pick = any::<Pick>;
    let advance = prop_oneof![Just(1u64), Just(50), Just(100), Just(300), Just(1000), Just(5000)];
    let common = prop_oneof![
        2 => node().prop_map(Operation::AddNode),
        1 => (node(), vec(running(), 1..=4)).prop_map(|(node, running)| Operation::RecoverNode(node, running)),
        1 => (pick(), small(60), attributes())
            .prop_map(|(node, capacity, attributes)| Operation::UpdateNode { node, capacity, attributes }),
        1 => (pick(), 0..3u8).prop_map(|(node, partition)| Operation::SetPartition { node, partition }),
        1 => pick().prop_map(Operation::Drain),
        1 => pick().prop_map(Operation::Activate),
        1 => pick().prop_map(Operation::RemoveNode),
        6 => submit(),
        2 => (pick(), pick()).prop_map(|(application, leaf)| Operation::Move { application, leaf }),
        1 => (pick(), 0..4u32)
            .prop_map(|(application, priority)| Operation::SetPriority { application, priority }),
        1 => (pick(), any::<bool>())
            .prop_map(|(application, is_killed)| Operation::End { application, is_killed }),
        12 => (pick(), ask(variety)).prop_map(|(application, plan)| Operation::Ask { application, plan }),
        2 => blacklist(),
        2 => (pick(), 0..=10u32).prop_map(|(ask, units)| Operation::Cancel { ask, units }),
        3 => (pick(), small(10)).prop_map(|(container, size)| Operation::ResizeContainer { container, size }),
        3 => (pick(), any::<bool>())
            .prop_map(|(container, is_promoted)| Operation::SetExecutionType { container, is_promoted }),
        3 => (pick(), proptest::bool::weighted(0.2))
            .prop_map(|(container, is_preempted)| Operation::StopContainer { container, is_preempted }),
        6 => (pick(), any::<bool>())
            .prop_map(|(container, is_released)| Operation::EndContainer { container, is_released }),
        2 => update_queue(),
        2 => reconfigure(),
        2 => advance.prop_map(Operation::Advance),
        5 => Just(Operation::Run),
    ];
    let pairs = || vec((pick(), pick()), 0..=2);
    // Several units of one ask: each may be within a limit while all together exceed it.
    let several = ((pick(), pick()), 2..=4usize).prop_map(|(pair, units)| vec![pair; units]);
    let allocate = prop_oneof![2 => pairs(), 1 => several];
    let commit = (allocate, pairs(), vec(pick(), 0..=2))
        .prop_map(|(allocate, reserve, release)| Operation::Commit { allocate, reserve, release });
    // Repeated passes over a node that an ask has reserved let the ask reserve another node.
    let times = prop_oneof![2 => Just(1u8), 1 => 2..=4u8];
    let pass = (pick(), times).prop_map(|(node, times)| Operation::Pass { node, times });
    let heartbeat = prop_oneof![vec(pick(), 1..=8).prop_map(Operation::Heartbeat), pass];
    let weights = (u32::from(variety.everything) * 6, u32::from(variety.requests) * 6);
    match weights {
        (0, 0) => common.boxed(),
        (beats, 0) => prop_oneof![40 => common, beats => heartbeat].boxed(),
        (0, requests) => prop_oneof![40 => common, requests => commit].boxed(),
        (beats, requests) => prop_oneof![40 => common, beats => heartbeat, requests => commit].boxed(),
    }
}
