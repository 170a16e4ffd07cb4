//! Imported settings and reported ones.

use std::path::Path;

use apportion::Resources;
use apportion::config::{
    ApplicationOrdering, Bound, Capacity, Factor, Lifetimes, LocalityDelay, Maximum, ParallelLimits,
    PartitionAccess, PartitionCapacity, Percent, QueueConfig, QueueOrdering, QueueState, Share,
};

use super::*;

/// A file with one property per line, the first one at line 2.
pub(super) fn file(properties: &[(&str, &str)]) -> String {
    let property = |(name, value): &(&str, &str)| {
        let key =
            if name.starts_with("yarn") { (*name).to_owned() } else { format!("{}{name}", known::PREFIX) };
        format!("<property><name>{key}</name><value>{value}</value></property>\n")
    };
    format!("<configuration>\n{}</configuration>\n", properties.iter().map(property).collect::<String>())
}

pub(super) fn import(text: &str) -> Result<Imported, ConfigFileError> {
    from_capacity_scheduler_xml(text, "cs.xml", &ResourceTypes::memory_and_vcores())
}

#[track_caller]
pub(super) fn imported(properties: &[(&str, &str)]) -> Imported {
    import(&file(properties)).unwrap_or_else(|error| panic!("{error}"))
}

pub(super) fn reasons(imported: &Imported) -> Vec<(&str, &str, usize)> {
    let strip = |key: &'_ str| key.len() - key.strip_prefix(known::PREFIX).map_or(key.len(), str::len);
    let entries = imported.not_carried_over.iter();
    entries.map(|entry| (&entry.key[strip(&entry.key)..], entry.reason.as_str(), entry.line)).collect()
}

/// A leaf with YARN's default part for masters.
fn with_masters(name: &str, capacity: Capacity) -> QueueConfig {
    QueueConfig::leaf(name, capacity).with_master_share(Some(Percent::whole(10)))
}

#[test]
fn the_sample_of_the_load_simulator_is_imported() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let data = std::env::var_os("APPORTION_DATA").unwrap_or_else(|| "../shared/data".into());
    let path = workspace.join(data).join("hadoop-sls/sample-conf-capacity-scheduler.xml");
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: {} is absent", path.display());
        return;
    };
    let imported = import(&text).unwrap();
    let leaf = |name: &str, percent| with_masters(name, Capacity::Percent(Percent::whole(percent)));
    let leaves = [leaf("sls_queue_1", 25), leaf("sls_queue_2", 25), leaf("sls_queue_3", 50)];
    assert_eq!(imported.config.root, QueueConfig::root(leaves), "the maximum of 100 is that of a new leaf");
    assert_eq!(imported.config.locality_delay, LocalityDelay::default());
    assert_eq!(imported.not_carried_over, vec![]);
}

#[test]
fn every_property_that_is_read_is_read() {
    let imported = imported(&[
        ("root.queues", " a, b ,c"),
        ("root.a.capacity", "[memory=4Gi,vcores=2]"),
        ("root.a.maximum-capacity", "[memory=8192]"),
        ("root.b.capacity", "[memory=1]"),
        ("root.b.queues", "b1,b2"),
        ("root.b.b1.capacity", "2.5w"),
        ("root.b.b1.user-limit-factor", "-1"),
        ("root.b.b2.capacity", "1w"),
        ("root.b.b2.ordering-policy", "fair"),
        ("root.b.b2.maximum-capacity", "80.5"),
        ("root.b.ordering-policy", "priority-utilization"),
        ("root.b.b1.priority", "-3"),
        ("root.ordering-policy", "utilization"),
        ("root.c.capacity", "[memory=2]"),
        ("root.c.maximum-capacity", "-1"),
        ("root.c.user-limit-factor", "0.5"),
        ("root.c.ordering-policy", "fair"),
        ("root.c.ordering-policy.fair.enable-size-based-weight", "true"),
        ("root.capacity", "100"),
        ("user-limit-factor", "1.25"),
        ("node-locality-delay", "40"),
        ("rack-locality-additional-delay", "60"),
        ("rack-locality-full-reset", "false"),
        ("reservations-continue-look-all-nodes", "false"),
        ("resource-calculator", "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"),
    ]);
    let factor = |text: &str| text.parse::<Factor>().unwrap();
    let leaf =
        |name: &str, capacity| with_masters(name, capacity).with_user_limit_factor(Some(factor("1.25")));
    let amounts = |amounts: &[i64]| Capacity::Absolute(Resources::new(amounts));
    let by_priority = QueueOrdering::PriorityUtilization;
    let b = QueueConfig::leaf("b", amounts(&[1])).with_child_ordering(by_priority).with_children([
        leaf("b1", Capacity::Weight(factor("2.5"))).with_user_limit_factor(None).with_priority(-3),
        leaf("b2", Capacity::Weight(Factor::ONE))
            .with_ordering(ApplicationOrdering::Fair)
            .with_maximum(Maximum::Percent("80.5".parse().unwrap())),
    ]);
    let a = leaf("a", amounts(&[4096, 2000])).with_maximum(Maximum::absolute(&[8192]));
    let c = leaf("c", amounts(&[2]))
        .with_ordering(ApplicationOrdering::FairBySize)
        .with_user_limit_factor(Some(factor("0.5")));
    assert_eq!(imported.config.root, QueueConfig::root([a, b, c]));
    let delay = LocalityDelay::Nodes { rack: 40, any: Some(100), full_reset: false };
    assert_eq!(imported.config.locality_delay, delay);
    assert!(!imported.config.reservations.continue_looking);
    assert_eq!(reasons(&imported), []);
}

#[test]
fn users_have_weights_and_minimum_limits() {
    let imported = imported(&[
        ("root.queues", "a,b"),
        ("root.a.capacity", "50"),
        ("root.b.capacity", "50"),
        ("minimum-user-limit-percent", "50.5"),
        ("per-node-heartbeat.maximum-offswitch-assignments", "3"),
        ("root.b.minimum-user-limit-percent", "25"),
        ("root.a.user-settings.j.r.weight", "1.5"),
        ("root.user-settings.ann.weight", "1.98"),
    ]);
    let root = imported.config.root;
    let minima = root.children.iter().map(|leaf| leaf.user_limit_minimum.to_string());
    assert_eq!(minima.collect::<Vec<_>>(), ["50.5 %", "25 %"]);
    assert_eq!(imported.config.limits.off_switch_per_pass, Some(3));
    let weight = |queue: &QueueConfig, user: &str| queue.user_weights.get(user).map(ToString::to_string);
    assert_eq!(weight(&root.children[0], "j.r").as_deref(), Some("1.5"), "a name may have dots");
    assert_eq!(weight(&root, "ann").as_deref(), Some("1.98"));
    assert_eq!(imported.not_carried_over, []);
}

#[test]
fn each_resource_may_have_a_kind_of_its_own() {
    let imported = imported(&[
        ("legacy-queue-mode.enabled", "false"),
        ("root.queues", "a,b"),
        ("root.a.capacity", "[memory=50.55555%,vcores=2w]"),
        ("root.a.maximum-capacity", "[memory=80%]"),
        ("root.b.capacity", "[memory=4096,vcores=1w]"),
    ]);
    let [a, b] = &imported.config.root.children[..] else { panic!("two queues") };
    let part = Share::Percent("50.5555".parse().unwrap());
    assert_eq!(a.capacity, Capacity::mixed(&[part, Share::Weight(Factor::whole(2))]));
    assert_eq!(a.maximum, Maximum::mixed(&[Bound::Percent(Percent::whole(80))]));
    assert_eq!(b.capacity, Capacity::mixed(&[Share::Amount(4096), Share::Weight(Factor::ONE)]));
    assert_eq!(reasons(&imported), [("root.a.capacity", "rounded down to 50.5555 %", 4)]);
}

#[test]
fn labels_are_partitions_with_capacities_of_their_own() {
    let imported = imported(&[
        ("root.queues", "a,b,c"),
        ("root.a.capacity", "50"),
        ("root.b.capacity", "30"),
        ("root.c.capacity", "20"),
        ("root.accessible-node-labels.gpu.capacity", "100"),
        ("root.accessible-node-labels.gpu.maximum-capacity", "90"),
        ("root.a.accessible-node-labels", "gpu, fast"),
        ("root.a.accessible-node-labels.gpu.capacity", "75"),
        ("root.a.accessible-node-labels.gpu.maximum-capacity", "80"),
        ("root.a.default-node-label-expression", "gpu"),
        ("root.b.accessible-node-labels.gpu.capacity", "25"),
        ("root.c.accessible-node-labels", " "),
        ("root.c.accessible-node-labels.gpu.capacity", "40"),
        ("root.a.queues", "d"),
        ("root.a.d.capacity", "100"),
        ("root.a.d.accessible-node-labels.gpu.capacity", "100"),
        ("maximum-applications", "1000"),
    ]);
    let part = |percent: u32, maximum: u32| PartitionCapacity {
        capacity: Some(Capacity::Percent(Percent::whole(percent))),
        maximum: Some(Maximum::Percent(Percent::whole(maximum))),
    };
    assert_eq!(imported.config.partitions, ["fast", "gpu"]);
    let [a, b, c] = &imported.config.root.children[..] else { panic!("three queues") };
    let only = |names: &[&str]| PartitionAccess::Only(names.iter().map(|name| (*name).to_owned()).collect());
    let partitions = |queue: &QueueConfig| queue.partitions.clone().into_values().collect::<Vec<_>>();
    assert_eq!(a.accessible_partitions, Some(only(&["fast", "gpu"])));
    assert_eq!(a.default_partition.as_deref(), Some("gpu"));
    assert_eq!(partitions(a), [part(0, 100), part(75, 80)], "nothing is said about `fast`");
    assert_eq!((b.accessible_partitions.clone(), partitions(b)), (None, vec![part(0, 100), part(25, 100)]));
    assert_eq!((c.accessible_partitions.clone(), partitions(c)), (Some(only(&[])), vec![]));
    assert_eq!(partitions(&a.children[0]), [part(0, 100), part(100, 100)]);
    let largest = [&a.children[0], b, c].map(|leaf| leaf.applications.total);
    assert_eq!(largest, [Some(750), Some(300), Some(200)], "where a leaf is guaranteed most");
    let expected = [
        ("root.accessible-node-labels.gpu.maximum-capacity", "the root always has the whole cluster", 7),
        ("root.c.accessible-node-labels.gpu.capacity", "the queue may not use this partition", 14),
    ];
    assert_eq!(reasons(&imported), expected);
}

#[test]
fn keys_of_yarn_that_the_engine_lacks_are_reported() {
    let later = "not supported by this engine yet";
    let victims = "YARN preempts only if yarn.resourcemanager.scheduler.monitor.enable is true and its policies \
                   include preemption";
    let access = "YARN checks access lists only with yarn.acl.enable = true";
    let imported = imported(&[
        ("root.queues", "a"),
        ("root.a.capacity", "100"),
        ("root.a.acl_administer_queue", "ops"),
        ("root.a.accessible-node-labels.gpu.maximum-am-resource-percent", "50"),
        ("root.a.user-settings.j.r.weight", "1"),
        ("root.acl_submit_applications", "*"),
        ("root.a.ordering-policy", "fifo-with-partitions"),
        ("lazy-preemption-enabled", "false"),
        ("schedule-asynchronously.enable", "true"),
        ("yarn.resourcemanager.monitor.capacity.preemption.observe_only", "true"),
        ("root.ordering-policy", "org.example.Order"),
        ("root.user-limit-factor", "2"),
        ("root.maximum-capacity", "50"),
        ("rack-locality-additional-delay", "-1"),
        ("resource-calculator", "org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator"),
    ]);
    let expected = [
        ("root.a.acl_administer_queue", access, 4),
        ("root.a.accessible-node-labels.gpu.maximum-am-resource-percent", later, 5),
        ("root.acl_submit_applications", access, 7),
        ("root.a.ordering-policy", "not supported by this engine yet, fifo is used", 8),
        ("lazy-preemption-enabled", victims, 9),
        ("schedule-asynchronously.enable", "this engine always schedules asynchronously", 10),
        ("yarn.resourcemanager.monitor.capacity.preemption.observe_only", victims, 11),
        ("root.ordering-policy", "not supported by this engine yet, utilization is used", 12),
        ("root.user-limit-factor", "users are limited in leaves only", 13),
        ("root.maximum-capacity", "the root always has the whole cluster", 14),
        (
            "rack-locality-additional-delay",
            "a delay by the number of outstanding containers is for the yarn_compatible semantics; \
             otherwise where a rack-mate will do, any node will",
            15,
        ),
        ("resource-calculator", "this engine always compares dominant shares", 16),
    ];
    assert_eq!(reasons(&imported), expected);
    assert_eq!(imported.not_carried_over[0].value, "ops");
    assert_eq!(
        imported.config.locality_delay,
        LocalityDelay::Nodes { rack: 40, any: None, full_reset: true }
    );
}

#[test]
fn applications_are_limited_as_yarn_limits_them() {
    let with = |more: &[(&str, &str)]| {
        let queues = [("root.queues", "a,b"), ("root.a.capacity", "29"), ("root.b.capacity", "71")];
        let below = [("root.b.queues", "c"), ("root.b.c.capacity", "100"), ("root.b.state", "stopped")];
        imported(&[&queues[..], &below, more].concat())
    };
    let limits = |imported: &Imported| {
        let root = &imported.config.root;
        let limits = |queue: &QueueConfig| (queue.applications.total, queue.applications.per_user);
        [
            limits(root),
            limits(&root.children[0]),
            limits(&root.children[1]),
            limits(&root.children[1].children[0]),
        ]
    };
    let none = (None, None);
    let unlimited = with(&[]);
    assert_eq!(limits(&unlimited), [none; 4]);
    assert_eq!(unlimited.config.root.children[1].state, QueueState::Stopped);
    assert_eq!(unlimited.config.root.children[1].children[0].state, QueueState::Running);
    let system = ("maximum-applications", "100");
    let parts = with(&[system, ("root.a.user-limit-factor", "0.5")]);
    assert_eq!(limits(&parts), [(Some(100), None), (Some(29), Some(14)), none, (Some(71), None)]);
    let own = with(&[system, ("root.a.maximum-applications", "7"), ("global-queue-max-application", "9")]);
    assert_eq!(limits(&own), [(Some(100), None), (Some(7), None), none, (Some(9), None)]);
    assert_eq!(reasons(&own), []);
    let weighted = imported(&[("root.queues", "a"), ("root.a.capacity", "1w"), system]);
    assert_eq!(reasons(&weighted).len(), 1, "{:?}", reasons(&weighted));
    assert_eq!(weighted.config.root.applications.total, Some(100));
}

#[test]
fn applications_wait_as_yarn_lets_them_wait() {
    let imported = imported(&[
        ("root.queues", "a,b"),
        ("root.a.capacity", "29"),
        ("root.b.capacity", "71"),
        ("max-parallel-apps", "30"),
        ("root.a.max-parallel-apps", "4"),
        ("user.max-parallel-apps", "3"),
        ("user.j.r.max-parallel-apps", "5"),
        ("maximum-am-resource-percent", "0.255"),
        ("root.b.maximum-am-resource-percent", "1.5"),
        ("root.maximum-am-resource-percent", "0.5"),
    ]);
    let root = &imported.config.root;
    let by_user = [("j.r".to_owned(), 5)].into();
    assert_eq!(root.parallel, ParallelLimits { total: Some(30), per_user: Some(3), by_user });
    let of = |leaf: usize| (root.children[leaf].parallel.total, root.children[leaf].master_share);
    assert_eq!(of(0), (Some(4), Some("25.5".parse().unwrap())));
    assert_eq!(of(1), (Some(30), Some(Percent::ALL)));
    let expected = [
        ("root.b.maximum-am-resource-percent", "masters may use at most the whole leaf; 100 % is used", 10),
        ("root.maximum-am-resource-percent", "a limit for masters applies to leaves only", 11),
    ];
    assert_eq!(reasons(&imported), expected);
}

#[test]
fn priorities_of_applications_have_a_default_and_a_maximum() {
    let imported = imported(&[
        ("root.queues", "a,b"),
        ("root.a.capacity", "50"),
        ("root.b.capacity", "50"),
        ("root.a.default-application-priority", "3"),
        ("yarn.cluster.max-application-priority", "10"),
        ("root.default-application-priority", "1"),
    ]);
    let config = &imported.config;
    let of_leaves = config.root.children.iter().map(|leaf| leaf.default_application_priority);
    assert_eq!(of_leaves.collect::<Vec<_>>(), [3, 0]);
    assert_eq!(config.maximum_application_priority, Some(10));
    let expected = [("root.default-application-priority", "applications are in leaves only", 7)];
    assert_eq!(reasons(&imported), expected);
}

#[test]
fn lifetimes_are_in_seconds() {
    let imported = imported(&[
        ("root.queues", "a"),
        ("root.a.capacity", "100"),
        ("root.a.default-application-lifetime", "-1"),
        ("root.maximum-application-lifetime", "60"),
    ]);
    let root = &imported.config.root;
    assert_eq!(root.lifetimes, Lifetimes { default_ms: None, maximum_ms: Some(60_000) });
    assert_eq!(root.children[0].lifetimes, Lifetimes::default());
    assert_eq!(reasons(&imported), []);
}

#[test]
fn of_properties_with_one_name_the_last_or_the_final_counts() {
    let text = "<configuration><property name='yarn.scheduler.capacity.root.queues' value='a'/>
<property><name>yarn.scheduler.capacity.root.a.capacity</name><value>1</value></property>
<property><name>yarn.scheduler.capacity.root.a.capacity</name><value>100</value><final>true</final></property>
<property><name>yarn.scheduler.capacity.root.a.capacity</name><value>2</value></property>
<property><name>yarn.scheduler.capacity.root.a.state</name></property></configuration>";
    let imported = import(text).unwrap();
    assert_eq!(imported.config.root, QueueConfig::root([with_masters("a", Capacity::Percent(Percent::ALL))]));
    let expected = [
        ("root.a.capacity", "overridden by line 3, which is final", 2),
        ("root.a.capacity", "overridden by line 3, which is final", 4),
        ("root.a.state", "it has no <value>, so Hadoop ignores it", 5),
    ];
    assert_eq!(reasons(&imported), expected);
}

#[test]
fn numbers_finer_than_the_engines_are_rounded_down() {
    let weights = imported(&[
        ("root.queues", "a"),
        ("root.a.capacity", "0.3333w"),
        ("root.a.user-limit-factor", "1.0009"),
        ("minimum-user-limit-percent", "33.33333"),
        ("root.user-settings.ann.weight", "1.2345"),
    ]);
    let expected = [
        ("root.a.capacity", "rounded down to 0.333", 3),
        ("root.a.user-limit-factor", "rounded down to 1", 4),
        ("minimum-user-limit-percent", "rounded down to 33.3333 %", 5),
        ("root.user-settings.ann.weight", "rounded down to 1.234", 6),
    ];
    assert_eq!(reasons(&weights), expected);

    let third = "33.33333333333";
    let imported_thirds = imported(&[
        ("root.queues", "a,b,c"),
        ("root.a.capacity", third),
        ("root.b.capacity", third),
        ("root.c.capacity", "33.34"),
    ]);
    let percent = |text: &str| Capacity::Percent(text.parse().unwrap());
    let capacities =
        imported_thirds.config.root.children.iter().map(|child| child.capacity).collect::<Vec<_>>();
    assert_eq!(capacities, [percent("33.3333"), percent("33.3333"), percent("33.3334")]);
    let expected = [
        ("root.a.capacity", "rounded down to 33.3333 %", 3),
        ("root.b.capacity", "rounded down to 33.3333 %", 4),
        ("root.c.capacity", "taken as 33.3334 %, for a sum of 100 %", 5),
    ];
    assert_eq!(reasons(&imported_thirds), expected);
}

#[test]
fn the_queues_with_nothing_below_a_queue_with_nothing_are_fine() {
    let imported = imported(&[
        ("root.queues", "a,b"),
        ("root.a.capacity", "100"),
        ("root.b.capacity", "0"),
        ("root.b.queues", "c"),
        ("root.b.c.capacity", "0"),
    ]);
    assert_eq!(imported.config.root.children[1].children[0].capacity, Capacity::Percent(Percent::default()));
}

#[test]
fn a_queue_may_be_called_like_a_key() {
    let imported = imported(&[
        ("root.queues", "capacity"),
        ("root.capacity.capacity", "100"),
        ("root.capacity", "100"),
        ("root.capacity.maximum-capacity", "100"),
    ]);
    assert_eq!(imported.config.root.children[0].name, "capacity");
    assert_eq!(imported.not_carried_over, []);
}
