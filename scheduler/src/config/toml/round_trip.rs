//! What is written is read back the same, and no text makes the reader panic.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::config::{
    AllocationSizes, ApplicationLimits, ApplicationOrdering, Capacity, EngineLimits, Factor, HeartbeatPolicy,
    LocalityDelay, Maximum, Percent, QueueConfig, QueueOrdering, QueueState, ReservationPolicy, Semantics,
};
use crate::place::NodeOrderKind;
use crate::resource::{RESOURCE_TYPES_MAX, ResourceTypes, Resources};

/// Names that need quoting as well as plain ones.
fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z_-]{1,6}", "[^.,]{1,6}", Just("\"\\\n\u{7f}é".to_owned())]
        .prop_map(|name: String| name.trim().to_owned())
        .prop_filter("a name is not empty", |name| !name.is_empty())
}

fn distinct(names: Vec<String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for name in names {
        if !kept.contains(&name) {
            kept.push(name);
        }
    }
    kept
}

fn types() -> impl Strategy<Value = ResourceTypes> {
    (vec(name(), 1..=RESOURCE_TYPES_MAX), any::<Option<prop::sample::Index>>()).prop_map(
        |(names, devices)| {
            let types = ResourceTypes::new(distinct(names)).unwrap();
            let name = devices.map(|index| index.get(types.names()).clone());
            name.map_or(types.clone(), |name| types.with_devices(&name).unwrap())
        },
    )
}

fn percent(most: u32) -> impl Strategy<Value = Percent> {
    (0..=most, 0u32..10_000).prop_map(move |(whole, fraction)| {
        let fraction = if whole == most { 0 } else { fraction };
        format!("{whole}.{fraction:04}").parse().unwrap()
    })
}

fn factor() -> impl Strategy<Value = Factor> {
    (0u64..Factor::MAX, 1u32..1_000).prop_map(|(whole, milli)| format!("{whole}.{milli:03}").parse().unwrap())
}

/// At most 14 percent and 2^38 of each type, so that up to seven siblings fit in every case.
fn capacity(types: usize) -> impl Strategy<Value = Capacity> {
    prop_oneof![
        percent(14).prop_map(Capacity::Percent),
        vec(0..=1i64 << 38, types).prop_map(|amounts| Capacity::Absolute(Resources::new(&amounts))),
        factor().prop_map(Capacity::Weight),
    ]
}

fn maximum(types: usize) -> impl Strategy<Value = Maximum> {
    let amounts = vec(prop::option::of(1i64 << 38..=1 << 42), types).prop_map(|some| {
        let mut all = [None; RESOURCE_TYPES_MAX];
        all[..some.len()].copy_from_slice(&some);
        Maximum::Absolute(all)
    });
    prop_oneof![percent(100).prop_map(Maximum::Percent), amounts]
}

fn users() -> impl Strategy<Value = (Percent, BTreeMap<String, Factor>)> {
    (percent(100), prop::collection::btree_map(".{0,4}", factor(), 0..3))
}

fn child_ordering() -> impl Strategy<Value = QueueOrdering> {
    prop_oneof![Just(QueueOrdering::Utilization), Just(QueueOrdering::PriorityUtilization)]
}

fn queue(types: usize) -> impl Strategy<Value = QueueConfig> {
    let ordering = prop_oneof![Just(ApplicationOrdering::Fifo), Just(ApplicationOrdering::Fair)];
    let limits = (name(), capacity(types), maximum(types), prop::option::of(factor()), users());
    let order = (ordering, child_ordering(), any::<i32>());
    (limits, order, any::<bool>(), any::<[Option<u32>; 2]>()).prop_map(
        |(limits, order, is_stopped, counts)| {
            let (name, capacity, maximum, user_limit, (minimum, weights)) = limits;
            let (ordering, child_ordering, priority) = order;
            let [total, per_user] = counts;
            let queue = QueueConfig::leaf(name, capacity)
                .with_maximum(maximum)
                .with_ordering(ordering)
                .with_child_ordering(child_ordering)
                .with_priority(priority)
                .with_user_limit_factor(user_limit)
                .with_user_limit_minimum(minimum)
                .with_state(if is_stopped { QueueState::Stopped } else { QueueState::Running })
                .with_applications(ApplicationLimits { total, per_user });
            QueueConfig { user_weights: weights, ..queue }
        },
    )
}

fn with_distinct_children(queue: QueueConfig, children: &[QueueConfig]) -> QueueConfig {
    let names = distinct(children.iter().map(|child| child.name.clone()).collect());
    let of_name = |name: &String| children.iter().find(|child| child.name == *name).cloned();
    queue.with_children(names.iter().filter_map(of_name).collect::<Vec<_>>())
}

fn root(types: usize) -> impl Strategy<Value = QueueConfig> {
    let tree = queue(types).prop_recursive(4, 20, 5, move |below| {
        (queue(types), vec(below, 0..6)).prop_map(|(queue, below)| with_distinct_children(queue, &below))
    });
    (any::<bool>(), queue(types), vec(tree, 1..6)).prop_map(|(is_plain, settings, children)| {
        let root = QueueConfig { name: "root".to_owned(), ..settings };
        with_distinct_children(if is_plain { QueueConfig::root([]) } else { root }, &children)
    })
}

fn limits() -> impl Strategy<Value = EngineLimits> {
    (proptest::array::uniform6(1usize..), 1u32..).prop_map(|(sizes, leaf_quantum)| {
        let [batch_requests, pass_visits, group_requests, inbox, single_set_nodes, set_nodes] = sizes;
        EngineLimits {
            batch_requests,
            pass_visits,
            group_requests,
            inbox,
            leaf_quantum,
            single_set_nodes,
            set_nodes,
        }
    })
}

/// Minimum and maximum sizes of containers.
fn allocation() -> impl Strategy<Value = ([i64; RESOURCE_TYPES_MAX], [Option<i64>; RESOURCE_TYPES_MAX])> {
    let maximum = proptest::array::uniform8(prop::option::of(1i64 << 20..=1 << 42));
    (proptest::array::uniform8(0..=1i64 << 20), maximum)
}

fn locality_delay() -> impl Strategy<Value = LocalityDelay> {
    prop_oneof![
        (any::<u32>(), any::<u32>())
            .prop_map(|(a, b)| LocalityDelay::Nodes { rack: a.min(b), any: a.max(b) }),
        (any::<u64>(), any::<u64>()).prop_map(|(rack_ms, any_ms)| LocalityDelay::Time { rack_ms, any_ms }),
    ]
}

fn config() -> impl Strategy<Value = EngineConfig> {
    let reservations = (any::<Option<u64>>(), any::<u64>(), percent(100))
        .prop_map(|(delay_ms, age_limit_ms, nodes)| ReservationPolicy { delay_ms, age_limit_ms, nodes });
    let heartbeat = prop::option::of((1u64.., 1u32..))
        .prop_map(|some| some.map(|(interval_ms, missed_max)| HeartbeatPolicy { interval_ms, missed_max }));
    let node_order =
        prop::sample::select(vec![NodeOrderKind::Spread, NodeOrderKind::Pack, NodeOrderKind::First]);
    let trees = types().prop_flat_map(|types| {
        let root = root(types.len());
        (Just(types), root)
    });
    let sizes = (allocation(), any::<bool>(), limits());
    (trees, vec(name(), 0..5), node_order, reservations, locality_delay(), heartbeat, sizes).prop_map(
        |((resources, root), partitions, node_order, reservations, locality_delay, heartbeat, sizes)| {
            let ((minimum, maximum), is_compatible, limits) = sizes;
            let is_rounded = |i: &usize| *i < resources.len() && resources.device_type() != Some(*i);
            let mut allocation = AllocationSizes::default();
            for i in (0..RESOURCE_TYPES_MAX).filter(is_rounded) {
                allocation.minimum.set(i, minimum[i]);
                allocation.maximum[i] = maximum[i];
            }
            EngineConfig {
                resources,
                partitions: distinct(partitions),
                root,
                node_order,
                reservations,
                locality_delay,
                heartbeat,
                allocation,
                semantics: if is_compatible { Semantics::YarnCompatible } else { Semantics::Strict },
                limits,
            }
        },
    )
}

/// Words of the format, so that broken files still get far.
fn fragments() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "[queues.\"root.a\"]\n",
        "[queues.\"root.a.b\"]\n",
        "[queues.root]\n",
        "[engine]\n",
        "[resources]\n",
        "[engine.limits]\n",
        "capacity = ",
        "maximum_capacity = ",
        "user_limit_factor = ",
        "types = ",
        "\"40 %\"\n",
        "\"3w\"\n",
        "{ memory_mib = 1 }\n",
        "1.5\n",
        "-1\n",
        "[\"a\"]\n",
        "\"unlimited\"\n",
        "\n",
    ]);
    vec(words, 0..24).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(config in config()) {
        prop_assert_eq!(config.validate(), Ok(()));
        let text = to_toml(&config);
        match from_toml(&text, "written.toml") {
            Ok(read) => prop_assert_eq!(read, config, "{}", text),
            Err(error) => prop_assert!(false, "{}\n{}", error, text),
        }
    }

    #[test]
    fn no_bytes_make_the_reader_panic(data in vec(any::<u8>(), 0..200)) {
        fuzz_toml(&data);
    }

    #[test]
    fn no_words_make_the_reader_panic(text in fragments()) {
        fuzz_toml(text.as_bytes());
    }

    #[test]
    fn no_damage_makes_the_reader_panic(
        config in config(),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        end in any::<prop::sample::Index>(),
    ) {
        let mut data = to_toml(&config).into_bytes();
        for (index, byte) in damage {
            let position = index.index(data.len());
            data[position] = byte;
        }
        fuzz_toml(&data);
        data.truncate(end.index(data.len()));
        fuzz_toml(&data);
    }
}
