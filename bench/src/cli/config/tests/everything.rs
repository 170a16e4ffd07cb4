//! A configuration that sets every key.

use super::*;

fn rules() -> Vec<MappingRule> {
    let path = |text: &str| text.parse::<QueuePath>().unwrap();
    let place = PlaceIn {
        queue: path("root.%provided"),
        create: Creation::Leaf,
        fallback: Fallback::Default,
        if_permitted: true,
    };
    let names = || vec!["ann".to_owned()];
    let filter = RuleFilter { users: names(), groups: names(), applications: names(), except: true };
    let rule = |action| MappingRule { filter: filter.clone(), action };
    vec![
        rule(MappingAction::Place(place)),
        rule(MappingAction::SetDefault(path("root.b"))),
        rule(MappingAction::Reject),
    ]
}

/// A queue with a kind of capacity for each type.
fn mixed() -> QueueConfig {
    let percent = |text: &str| text.parse::<Percent>().unwrap();
    let shares = [Share::Percent(percent("1")), Share::Weight("2.5".parse().unwrap()), Share::Amount(1)];
    QueueConfig::leaf("e", Capacity::mixed(&shares))
        .with_maximum(Maximum::mixed(&[Bound::Percent(percent("90")), Bound::Amount(7)]))
}

fn reservations() -> ReservationPolicy {
    let nodes = "7".parse().unwrap();
    ReservationPolicy { delay_ms: None, age_limit_ms: 1, nodes, continue_looking: false }
}

/// Every field of a queue, as in [`everything`].
fn every_field() -> QueueConfig {
    let percent = |text: &str| text.parse::<Percent>().unwrap();
    let gpu = PartitionCapacity {
        capacity: Some(Capacity::Percent(percent("8.5"))),
        maximum: Some(Maximum::mixed(&[Bound::Percent(percent("90"))])),
    };
    QueueConfig {
        name: "a".to_owned(),
        capacity: Capacity::Absolute(Resources::new(&[1, 2, 3])),
        maximum: Maximum::absolute(&[4, 5]),
        partitions: [("gpu".to_owned(), gpu)].into(),
        accessible_partitions: Some(PartitionAccess::Only(["gpu".to_owned()].into())),
        default_partition: Some("gpu".to_owned()),
        ordering: ApplicationOrdering::Fair,
        child_ordering: QueueOrdering::PriorityUtilization,
        priority: -3,
        priority_offset: 4,
        priority_fence: true,
        user_limit_factor: None,
        user_limit_minimum: percent("12.5"),
        user_weights: [("alice".to_owned(), "1.5".parse().unwrap())].into(),
        state: QueueState::Stopped,
        applications: ApplicationLimits { total: Some(5), per_user: Some(2) },
        auto_creation: None,
        submitters: Some(AccessList::Everybody),
        administrators: Some("ann ops".parse().unwrap()),
        parallel: ParallelLimits { total: Some(4), per_user: Some(1), by_user: [("bob".into(), 2)].into() },
        master_share: Some(percent("7.5")),
        default_application_priority: 3,
        lifetimes: Lifetimes { default_ms: Some(5), maximum_ms: Some(6) },
        limits: vec![HolderLimit {
            users: vec!["ann".to_owned(), "*".to_owned()],
            groups: vec!["dev".to_owned()],
            maximum: std::array::from_fn(|i| (i == 1).then_some(7)),
            parallel: Some(2),
        }],
        children: Vec::new(),
    }
}

fn preemption() -> PreemptionRounds {
    let percent = |text: &str| text.parse::<Percent>().unwrap();
    let names = |name: &str| [name.to_owned()].into();
    let within = WithinQueuePolicy {
        order: WithinQueueOrder::PriorityFirst,
        minimum_use: percent("51"),
        max_part: percent("21.5"),
        exempt: names("root.b"),
    };
    let policy = PreemptionPolicy {
        dead_zone: percent("11"),
        natural_termination: percent("22"),
        per_round: percent("33"),
        exempt: names("root.a"),
        exempt_applications: names("shop"),
        exempt_tags: names("keep"),
        balances: true,
        within_queue: Some(within),
    };
    PreemptionRounds { policy, interval_ms: 1, max_wait_before_kill_ms: 2, observe_only: true }
}

/// A configuration in which no field has its default, so that every key is written. It uses no `..`, so that a new
/// field does not compile until it is added here.
pub(super) fn everything() -> EngineConfig {
    let percent = |text: &str| text.parse::<Percent>().unwrap();
    let creation = AutoCreation {
        depth_max: 3,
        queues_max: 4,
        expiry_ms: None,
        leaf: QueueConfig::leaf("", Capacity::Absolute(Resources::new(&[1]))),
        parent: QueueConfig::leaf("", Capacity::Weight(Factor::ONE)).with_priority(1),
    };
    let maker = QueueConfig::leaf("d", Capacity::Weight(Factor::ONE)).with_auto_creation(creation);
    let weighted = QueueConfig::leaf("b", Capacity::Weight("2.5".parse().unwrap()))
        .with_maximum(Maximum::Percent(percent("80.5")))
        .with_user_limit_factor(Some("1.5".parse().unwrap()));
    let part = QueueConfig::leaf("c", Capacity::Percent(percent("33.3333")));
    EngineConfig {
        resources: ResourceTypes::new(["memory_mib", "vcore_milli", "gpu_milli"])
            .unwrap()
            .with_devices("gpu_milli")
            .unwrap(),
        partitions: vec!["gpu".to_owned()],
        non_exclusive_partitions: vec!["gpu".to_owned()],
        root: QueueConfig::root([every_field(), weighted, part, mixed(), maker]),
        node_order: NodeOrderKind::Pack,
        reservations: reservations(),
        locality_delay: LocalityDelay::Nodes { rack: 4, any: Some(8), full_reset: false },
        allocation: AllocationSizes {
            minimum: Resources::new(&[2, 1]),
            maximum: [Some(4), None, None, None, None, None, None, None],
            allow_empty: true,
        },
        semantics: Semantics::YarnCompatible,
        queue_mapping: QueueMapping { override_requested: false, rules: rules() },
        maximum_application_priority: Some(9),
        stop_timeout_ms: 11,
        stop_ended_applications: true,
        heartbeat: Some(HeartbeatPolicy { interval_ms: 1, missed_max: 2 }),
        limits: EngineLimits {
            batch_requests: 1,
            pass_visits: 2,
            group_requests: 3,
            inbox: 4,
            off_switch_per_pass: Some(2),
            single_set_nodes: 6,
            set_nodes: 7,
        },
        preemption: Some(preemption()),
        opportunistic: Some(OpportunisticPolicy { queue_length_max: 5 }),
        gather_limit_ms: Some(12),
    }
}
