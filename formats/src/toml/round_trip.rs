//! Written configurations are read back unchanged, and no text makes the reader panic.

mod preemption;
mod queues;

use std::collections::BTreeMap;

use apportion::config::{
    AccessList, AllocationSizes, ApplicationLimits, ApplicationOrdering, AutoCreation, Bound, Capacity,
    Creation, EngineLimits, Factor, Fallback, HeartbeatPolicy, Lifetimes, LocalityDelay, MappingAction,
    MappingRule, Maximum, NodeOrderKind, OpportunisticPolicy, ParallelLimits, PartitionAccess,
    PartitionCapacity, PathPart, Percent, PlaceIn, QueueConfig, QueueMapping, QueueOrdering, QueuePath,
    QueueState, ReservationPolicy, RuleFilter, Semantics, Share,
};
use apportion::resource::RESOURCE_TYPES_MAX;
use apportion::{ResourceTypes, Resources};
use proptest::collection::vec;
use proptest::prelude::*;
use queues::{name_partitions, percent, root};

use super::*;
use crate::damage::damage;

/// Plain names, and names that need quoting.
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

/// Access lists with valid names.
fn access_list() -> impl Strategy<Value = AccessList> {
    let names = || prop::collection::btree_set("[a-zé.\"\\\\-]{1,4}", 0..3);
    let named = (names(), names()).prop_map(|(users, groups)| AccessList::Named { users, groups });
    prop_oneof![1 => Just(AccessList::Everybody), 4 => named]
}

/// Paths that are valid in every tree, if missing queues may be created.
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

fn queue_mapping() -> impl Strategy<Value = QueueMapping> {
    let fallback = prop::sample::select(vec![Fallback::Skip, Fallback::Reject, Fallback::Default]);
    let place = (queue_path(), fallback, any::<bool>()).prop_map(|(queue, fallback, if_permitted)| {
        MappingAction::Place(PlaceIn { queue, create: Creation::Path, fallback, if_permitted })
    });
    let below_the_root = prop_oneof![Just(PathPart::User), Just(PathPart::Specified)];
    let default = below_the_root.prop_map(|part| MappingAction::SetDefault(QueuePath::new(vec![part])));
    let action = prop_oneof![place, default, Just(MappingAction::Reject)];
    let names = || vec(".{0,4}", 0..3);
    let filter =
        (names(), names(), names(), any::<bool>()).prop_map(|(users, groups, applications, except)| {
            let is_anybody = users.is_empty() && groups.is_empty() && applications.is_empty();
            RuleFilter { users, groups, applications, except: except && !is_anybody }
        });
    let rule = (filter, action).prop_map(|(filter, action)| MappingRule { filter, action });
    (any::<bool>(), vec(rule, 0..4))
        .prop_map(|(override_requested, rules)| QueueMapping { override_requested, rules })
}

fn limits() -> impl Strategy<Value = EngineLimits> {
    let off_switch = proptest::option::of(1u32..);
    (proptest::array::uniform6(1usize..), off_switch).prop_map(|(sizes, off_switch_per_pass)| {
        let [batch_requests, pass_visits, group_requests, inbox, single_set_nodes, set_nodes] = sizes;
        EngineLimits {
            batch_requests,
            pass_visits,
            group_requests,
            inbox,
            off_switch_per_pass,
            single_set_nodes,
            set_nodes,
        }
    })
}

/// Minimum and maximum sizes of containers.
fn allocation() -> impl Strategy<Value = ([i64; RESOURCE_TYPES_MAX], [Option<i64>; RESOURCE_TYPES_MAX], bool)>
{
    let maximum = proptest::array::uniform8(prop::option::of(1i64 << 20..=1 << 42));
    (proptest::array::uniform8(0..=1i64 << 20), maximum, any::<bool>())
}

fn locality_delay() -> impl Strategy<Value = LocalityDelay> {
    prop_oneof![
        (any::<u32>(), any::<Option<u32>>(), any::<bool>()).prop_map(|(a, b, full_reset)| {
            LocalityDelay::Nodes { rack: b.map_or(a, |b| a.min(b)), any: b.map(|b| a.max(b)), full_reset }
        }),
        (any::<u64>(), any::<u64>())
            .prop_map(|(a, b)| LocalityDelay::Time { rack_ms: a.min(b), any_ms: a.max(b) }),
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
    let sizes = (allocation(), any::<bool>(), any::<Option<u32>>(), queue_mapping(), limits());
    let partitions = (vec(name(), 0..5), any::<u8>());
    let opportunistic = prop::option::of(1u32..)
        .prop_map(|length| length.map(|queue_length_max| OpportunisticPolicy { queue_length_max }));
    let policies = (reservations, locality_delay(), heartbeat, preemption::preemption(), opportunistic);
    (trees, partitions, node_order, policies, sizes)
        .prop_map(|((resources, root), partitions, node_order, policies, sizes)| {
            let (reservations, locality_delay, heartbeat, preemption, opportunistic) = policies;
            let (
                (minimum, maximum, allow_empty),
                is_compatible,
                maximum_application_priority,
                queue_mapping,
                limits,
            ) = sizes;
            let is_rounded = |i: &usize| *i < resources.len() && resources.device_type() != Some(*i);
            let mut allocation = AllocationSizes { allow_empty, ..AllocationSizes::default() };
            let mut rounded = [0; RESOURCE_TYPES_MAX];
            for i in (0..RESOURCE_TYPES_MAX).filter(is_rounded) {
                rounded[i] = minimum[i];
                allocation.maximum[i] = maximum[i].map(|most| most - most % minimum[i].max(1));
            }
            allocation.minimum = Resources::new(&rounded);
            let (partitions, lending) = partitions;
            let partitions = distinct(partitions);
            let mut root = root;
            root.partitions.clear();
            name_partitions(&mut root, &partitions, &PartitionAccess::All);
            let is_lending = |(number, _): &(usize, &String)| lending >> number & 1 == 1;
            let lending = partitions.iter().enumerate().filter(is_lending);
            let preemption = preemption.map(|plan| preemption::rounds(plan, &root));
            EngineConfig {
                resources,
                non_exclusive_partitions: lending.map(|(_, name)| name.clone()).collect(),
                partitions,
                root,
                node_order,
                reservations,
                locality_delay,
                heartbeat,
                allocation,
                maximum_application_priority,
                stop_timeout_ms: u64::from(maximum_application_priority.unwrap_or(5)),
                stop_ended_applications: maximum_application_priority.is_some(),
                semantics: if is_compatible { Semantics::YarnCompatible } else { Semantics::Strict },
                queue_mapping,
                limits,
                preemption,
                opportunistic,
                gather_limit_ms: maximum_application_priority.map(|limit| u64::from(limit).max(1)),
            }
        })
        .boxed()
}

/// Words of the format, so that broken files still get past the first checks.
fn fragments() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "[queues.\"root.a\"]\n",
        "[queues.\"root.a.b\"]\n",
        "[queues.root]\n",
        "[queues.\"root.a\".partitions.x]\n",
        "partitions = ",
        "non_exclusive_partitions = ",
        "accessible_partitions = ",
        "default_partition = ",
        "[\"x\"]\n",
        "\"x\"\n",
        "[engine]\n",
        "[resources]\n",
        "[engine.limits]\n",
        "[engine.preemption]\n",
        "[engine.opportunistic]\n",
        "queue_length_max = ",
        "[engine.preemption.within_queue]\n",
        "exempt = ",
        "per_round = ",
        "[\"root.a\"]\n",
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
    fn a_written_configuration_is_read_back(config in config()) {
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
    fn no_damage_makes_the_reader_panic(config in config(), damage in damage()) {
        damage.read_with(to_toml(&config), fuzz_toml);
    }
}
