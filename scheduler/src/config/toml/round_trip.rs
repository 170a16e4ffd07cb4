//! What is written is read back the same, and no text makes the reader panic.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::config::{
    AccessList, AllocationSizes, ApplicationLimits, ApplicationOrdering, AutoCreation, Bound, Capacity,
    Creation, EngineLimits, Factor, HeartbeatPolicy, Lifetimes, LocalityDelay, Maximum, Otherwise,
    ParallelLimits, PartitionAccess, PartitionCapacity, PathPart, Percent, PlaceIn, Placement,
    PlacementAction, PlacementRule, QueueConfig, QueueOrdering, QueuePath, QueueState, ReservationPolicy,
    Semantics, Share, Whose, any_tenant_limits,
};
use crate::place::NodeOrderKind;
use crate::resource::{RESOURCE_TYPES_MAX, ResourceTypes, Resources};

/// Names that need quoting as well as plain ones.
fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z_-]{1,6}", "[^.,]{1,6}", Just("\"\\\n\u{7f}é".to_owned())]
        .prop_map(|name: String| name.trim().to_owned())
        .prop_filter("no name of a partition", |name| !name.is_empty() && name != "*")
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
fn capacity(types: usize) -> BoxedStrategy<Capacity> {
    prop_oneof![
        percent(14).prop_map(Capacity::Percent),
        vec(0..=1i64 << 38, types).prop_map(|amounts| Capacity::Absolute(Resources::new(&amounts))),
        factor().prop_map(Capacity::Weight),
        vec(share(), types).prop_map(|shares| Capacity::mixed(&shares)),
    ]
    .boxed()
}

fn share() -> impl Strategy<Value = Share> {
    prop_oneof![
        percent(14).prop_map(Share::Percent),
        (0..=1i64 << 38).prop_map(Share::Amount),
        factor().prop_map(Share::Weight),
    ]
}

fn bound() -> impl Strategy<Value = Bound> {
    prop_oneof![
        percent(100).prop_map(Bound::Percent),
        (1i64 << 38..=1 << 42).prop_map(Bound::Amount),
        Just(Bound::NONE)
    ]
}

fn maximum(types: usize) -> BoxedStrategy<Maximum> {
    let amounts = vec(prop::option::of(1i64 << 38..=1 << 42), types).prop_map(|some| {
        let mut all = [None; RESOURCE_TYPES_MAX];
        all[..some.len()].copy_from_slice(&some);
        Maximum::Absolute(all)
    });
    let mixed = vec(bound(), types).prop_map(|bounds| Maximum::mixed(&bounds));
    prop_oneof![percent(100).prop_map(Maximum::Percent), amounts, mixed].boxed()
}

/// Which of the partitions a queue names: it says something about the first of each pair, and may use the second.
fn partitions(types: usize) -> BoxedStrategy<PartitionsPlan> {
    let own = (prop::option::of(capacity(types)), prop::option::of(maximum(types)))
        .prop_map(|(capacity, maximum)| PartitionCapacity { capacity, maximum });
    (vec((any::<prop::sample::Index>(), own), 0..3), any::<Option<Option<u8>>>(), any::<Option<u8>>()).boxed()
}

type PartitionsPlan = (Vec<(prop::sample::Index, PartitionCapacity)>, Option<Option<u8>>, Option<u8>);

/// Gives the queue, which must not be the root, and those below what their plans say about these partitions.
fn name_partitions(queue: &mut QueueConfig, names: &[String], above: &PartitionAccess) {
    let access = queue.accessible_partitions.take();
    // The generated queue names partitions by their numbers.
    let of_number = |number: &String| names.get(number.parse::<usize>().unwrap() % names.len().max(1));
    let access = access.map(|access| match access {
        PartitionAccess::All => above.clone(),
        PartitionAccess::Only(numbers) => {
            let own = numbers.iter().filter_map(of_number).filter(|name| above.includes(name));
            PartitionAccess::Only(own.cloned().collect())
        }
    });
    let own = access.as_ref().unwrap_or(above).clone();
    let may_use = |name: &&String| own.includes(name);
    let partitions = std::mem::take(&mut queue.partitions);
    let named = partitions.into_iter().filter_map(|(number, capacity)| {
        of_number(&number).filter(may_use).map(|name| (name.clone(), capacity))
    });
    queue.partitions = named.collect();
    queue.default_partition = queue
        .default_partition
        .take()
        .map(|number| of_number(&number).filter(may_use).cloned().unwrap_or_default());
    queue.accessible_partitions = access;
    queue.children.iter_mut().for_each(|child| name_partitions(child, names, &own));
}

fn users() -> impl Strategy<Value = (Percent, BTreeMap<String, Factor>)> {
    (percent(100), prop::collection::btree_map(".{0,4}", factor(), 0..3))
}

fn activation() -> impl Strategy<Value = (ParallelLimits, Option<Percent>, u32, Lifetimes)> {
    let by_user = prop::collection::btree_map(".{0,4}", any::<u32>(), 0..3);
    let lifetimes = (prop::option::of(0..=1_000u64), prop::option::of(1_000u64..))
        .prop_map(|(default_ms, maximum_ms)| Lifetimes { default_ms, maximum_ms });
    (any::<[Option<u32>; 2]>(), by_user, prop::option::of(percent(100)), any::<u32>(), lifetimes).prop_map(
        |([total, per_user], by_user, share, priority, lifetimes)| {
            (ParallelLimits { total, per_user, by_user }, share, priority, lifetimes)
        },
    )
}

fn child_ordering() -> impl Strategy<Value = QueueOrdering> {
    prop_oneof![
        Just(QueueOrdering::Utilization),
        Just(QueueOrdering::PriorityUtilization),
        Just(QueueOrdering::DemandPriority)
    ]
}

fn queue(types: usize) -> BoxedStrategy<QueueConfig> {
    let ordering = prop_oneof![
        Just(ApplicationOrdering::Fifo),
        Just(ApplicationOrdering::Fair),
        Just(ApplicationOrdering::FairBySize)
    ];
    let limits =
        (name(), capacity(types), maximum(types), prop::option::of(factor()), users(), partitions(types));
    let order = (ordering, child_ordering(), any::<i32>(), (any::<i32>(), any::<bool>()));
    let access = (prop::option::of(access_list()), prop::option::of(access_list()));
    let counts = any::<[Option<u32>; 2]>();
    (limits, order, any::<bool>(), counts, access, activation(), any_tenant_limits(types))
        .prop_map(|(limits, order, is_stopped, counts, (submitters, administrators), activation, tenants)| {
            let (parallel, master_share, default_priority, lifetimes) = activation;
            let (name, capacity, maximum, user_limit, (minimum, weights), partitions) = limits;
            let (ordering, child_ordering, priority, (offset, is_fence)) = order;
            let [total, per_user] = counts;
            let queue = QueueConfig::leaf(name, capacity)
                .with_maximum(maximum)
                .with_ordering(ordering)
                .with_child_ordering(child_ordering)
                .with_priority(priority)
                .with_priority_offset(offset, is_fence)
                .with_user_limit_factor(user_limit)
                .with_user_limit_minimum(minimum)
                .with_state(if is_stopped { QueueState::Stopped } else { QueueState::Running })
                .with_applications(ApplicationLimits { total, per_user })
                .with_parallel(parallel)
                .with_master_share(master_share)
                .with_default_application_priority(default_priority)
                .with_lifetimes(lifetimes)
                .with_limits(tenants);
            let (own, access, default) = partitions;
            let number = |index: prop::sample::Index| index.index(256).to_string();
            QueueConfig {
                user_weights: weights,
                submitters,
                administrators,
                partitions: own.into_iter().map(|(index, own)| (number(index), own)).collect(),
                accessible_partitions: access.map(|only| match only {
                    None => PartitionAccess::All,
                    Some(number) => PartitionAccess::Only([number.to_string()].into()),
                }),
                default_partition: default.map(|number| number.to_string()),
                ..queue
            }
        })
        .boxed()
}

fn auto_creation(types: usize) -> BoxedStrategy<AutoCreation> {
    let template = move || {
        (queue(types), factor()).prop_map(|(queue, weight)| QueueConfig {
            name: String::new(),
            partitions: BTreeMap::new(),
            accessible_partitions: None,
            default_partition: None,
            capacity: Capacity::Weight(weight),
            ..queue
        })
    };
    (1..=20u32, 1u32.., any::<Option<u32>>(), template(), template())
        .prop_map(|(depth_max, queues_max, expiry_ms, leaf, parent)| AutoCreation {
            depth_max,
            queues_max,
            expiry_ms: expiry_ms.map(u64::from),
            leaf,
            parent,
        })
        .boxed()
}

fn with_distinct_children(queue: QueueConfig, children: &[QueueConfig]) -> QueueConfig {
    let names = distinct(children.iter().map(|child| child.name.clone()).collect());
    let of_name = |name: &String| children.iter().find(|child| child.name == *name).cloned();
    queue.with_children(names.iter().filter_map(of_name).collect::<Vec<_>>())
}

fn root(types: usize) -> BoxedStrategy<QueueConfig> {
    let tree = queue(types).prop_recursive(4, 20, 5, move |below| {
        let creation = prop::option::weighted(0.2, auto_creation(types));
        (queue(types), creation, vec(below, 0..6)).prop_map(|(mut queue, creation, below)| {
            queue.auto_creation = creation.map(Box::new);
            with_distinct_children(queue, &below)
        })
    });
    (any::<bool>(), queue(types), vec(tree, 1..6))
        .prop_map(|(is_plain, settings, children)| {
            let root = QueueConfig { name: "root".to_owned(), ..settings };
            with_distinct_children(if is_plain { QueueConfig::root([]) } else { root }, &children)
        })
        .boxed()
}

/// Names and lists that an access list can have.
fn access_list() -> impl Strategy<Value = AccessList> {
    let names = || prop::collection::btree_set("[a-zé.\"\\\\-]{1,4}", 0..3);
    let named = (names(), names()).prop_map(|(users, groups)| AccessList::Named { users, groups });
    prop_oneof![1 => Just(AccessList::Everybody), 4 => named]
}

/// Paths that make sense in every tree, if what is missing may be created.
fn queue_path() -> impl Strategy<Value = QueuePath> {
    let part = prop_oneof![
        "[^.%]{0,5}[^.% \t]".prop_map(|name: String| name.trim().to_owned()).prop_map(PathPart::Name),
        "[^)]{1,5}".prop_map(PathPart::Tag),
        Just(PathPart::User),
        Just(PathPart::PrimaryGroup),
        Just(PathPart::SecondaryGroup),
        Just(PathPart::Application),
        Just(PathPart::Default),
        Just(PathPart::Specified),
        Just(PathPart::Provided),
    ];
    let part = part.prop_filter("a name is not empty", |part| *part != PathPart::Name(String::new()));
    let root = Just(PathPart::Name("root".to_owned()));
    (root, vec(part, 1..4)).prop_map(|(root, below)| QueuePath::new([vec![root], below].concat()))
}

fn placement() -> impl Strategy<Value = Placement> {
    let otherwise = prop::sample::select(vec![Otherwise::Skip, Otherwise::Reject, Otherwise::Default]);
    let place = (queue_path(), otherwise, any::<bool>()).prop_map(|(queue, otherwise, if_permitted)| {
        PlacementAction::Place(PlaceIn { queue, create: Creation::Path, otherwise, if_permitted })
    });
    let below_the_root = prop_oneof![Just(PathPart::User), Just(PathPart::Specified)];
    let default = below_the_root.prop_map(|part| PlacementAction::SetDefault(QueuePath::new(vec![part])));
    let action = prop_oneof![place, default, Just(PlacementAction::Reject)];
    let names = || vec(".{0,4}", 0..3);
    let whose =
        (names(), names(), names(), any::<bool>()).prop_map(|(users, groups, applications, except)| {
            let is_anybody = users.is_empty() && groups.is_empty() && applications.is_empty();
            Whose { users, groups, applications, except: except && !is_anybody }
        });
    let rule = (whose, action).prop_map(|(whose, action)| PlacementRule { whose, action });
    (any::<bool>(), vec(rule, 0..4))
        .prop_map(|(override_requested, rules)| Placement { override_requested, rules })
}

fn limits() -> impl Strategy<Value = EngineLimits> {
    let off_switch = proptest::option::of(1u32..);
    (proptest::array::uniform6(1usize..), 1u32.., off_switch).prop_map(
        |(sizes, leaf_quantum, off_switch_per_pass)| {
            let [batch_requests, pass_visits, group_requests, inbox, single_set_nodes, set_nodes] = sizes;
            EngineLimits {
                batch_requests,
                pass_visits,
                group_requests,
                inbox,
                leaf_quantum,
                off_switch_per_pass,
                single_set_nodes,
                set_nodes,
            }
        },
    )
}

/// Minimum and maximum sizes of containers.
fn allocation() -> impl Strategy<Value = ([i64; RESOURCE_TYPES_MAX], [Option<i64>; RESOURCE_TYPES_MAX])> {
    let maximum = proptest::array::uniform8(prop::option::of(1i64 << 20..=1 << 42));
    (proptest::array::uniform8(0..=1i64 << 20), maximum)
}

fn locality_delay() -> impl Strategy<Value = LocalityDelay> {
    prop_oneof![
        (any::<u32>(), any::<Option<u32>>(), any::<bool>()).prop_map(|(a, b, full_reset)| {
            LocalityDelay::Nodes { rack: b.map_or(a, |b| a.min(b)), any: b.map(|b| a.max(b)), full_reset }
        }),
        (any::<u64>(), any::<u64>()).prop_map(|(rack_ms, any_ms)| LocalityDelay::Time { rack_ms, any_ms }),
    ]
}

fn config() -> BoxedStrategy<EngineConfig> {
    let reservations = (any::<Option<u64>>(), any::<u64>(), percent(100), any::<bool>()).prop_map(
        |(delay_ms, age_limit_ms, nodes, continue_looking)| ReservationPolicy {
            delay_ms,
            age_limit_ms,
            nodes,
            continue_looking,
        },
    );
    let heartbeat = prop::option::of((1u64.., 1u32..))
        .prop_map(|some| some.map(|(interval_ms, missed_max)| HeartbeatPolicy { interval_ms, missed_max }));
    let node_order =
        prop::sample::select(vec![NodeOrderKind::Spread, NodeOrderKind::Pack, NodeOrderKind::First]);
    let trees = types().prop_flat_map(|types| {
        let root = root(types.len());
        (Just(types), root)
    });
    let sizes = (allocation(), any::<bool>(), any::<Option<u32>>(), placement(), limits());
    (trees, vec(name(), 0..5), node_order, reservations, locality_delay(), heartbeat, sizes)
        .prop_map(
            |((resources, root), partitions, node_order, reservations, locality_delay, heartbeat, sizes)| {
                let ((minimum, maximum), is_compatible, maximum_application_priority, placement, limits) =
                    sizes;
                let is_rounded = |i: &usize| *i < resources.len() && resources.device_type() != Some(*i);
                let mut allocation = AllocationSizes::default();
                for i in (0..RESOURCE_TYPES_MAX).filter(is_rounded) {
                    allocation.minimum.set(i, minimum[i]);
                    allocation.maximum[i] = maximum[i].map(|most| most - most % minimum[i].max(1));
                }
                let partitions = distinct(partitions);
                let mut root = root;
                root.partitions.clear();
                name_partitions(&mut root, &partitions, &PartitionAccess::All);
                EngineConfig {
                    resources,
                    partitions,
                    root,
                    node_order,
                    reservations,
                    locality_delay,
                    heartbeat,
                    allocation,
                    maximum_application_priority,
                    semantics: if is_compatible { Semantics::YarnCompatible } else { Semantics::Strict },
                    placement,
                    limits,
                }
            },
        )
        .boxed()
}

/// Words of the format, so that broken files still get far.
fn fragments() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "[queues.\"root.a\"]\n",
        "[queues.\"root.a.b\"]\n",
        "[queues.root]\n",
        "[queues.\"root.a\".partitions.x]\n",
        "partitions = ",
        "accessible_partitions = ",
        "default_partition = ",
        "[\"x\"]\n",
        "\"x\"\n",
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
        "{ memory_mib = \"1 %\", vcore_milli = \"2w\" }\n",
        "1.5\n",
        "-1\n",
        "[\"a\"]\n",
        "[[placement.rules]]\n",
        "queue = \"root.%user\"\n",
        "reject = true\n",
        "submitters = ",
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
