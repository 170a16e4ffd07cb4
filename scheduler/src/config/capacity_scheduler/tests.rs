//! What is imported, and what is reported.

use std::path::Path;

use super::*;
use crate::config::{
    ApplicationOrdering, Capacity, Factor, LocalityDelay, Maximum, Percent, QueueConfig, QueueOrdering,
    QueueState,
};
use crate::resource::Resources;

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
fn imported(properties: &[(&str, &str)]) -> Imported {
    import(&file(properties)).unwrap_or_else(|error| panic!("{error}"))
}

fn reasons(imported: &Imported) -> Vec<(&str, &str, usize)> {
    let strip = |key: &'_ str| key.len() - key.strip_prefix(known::PREFIX).map_or(key.len(), str::len);
    let entries = imported.not_carried_over.iter();
    entries.map(|entry| (&entry.key[strip(&entry.key)..], entry.reason.as_str(), entry.line)).collect()
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
    let leaf = |name: &str, percent| QueueConfig::leaf(name, Capacity::Percent(Percent::whole(percent)));
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
        ("root.c.ordering-policy", "fifo"),
        ("root.capacity", "100"),
        ("user-limit-factor", "1.25"),
        ("node-locality-delay", "40"),
        ("rack-locality-additional-delay", "60"),
        ("resource-calculator", "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"),
    ]);
    let factor = |text: &str| text.parse::<Factor>().unwrap();
    let leaf =
        |name: &str, capacity| QueueConfig::leaf(name, capacity).with_user_limit_factor(Some(factor("1.25")));
    let amounts = |amounts: &[i64]| Capacity::Absolute(Resources::new(amounts));
    let by_priority = QueueOrdering::PriorityUtilization;
    let b = QueueConfig::leaf("b", amounts(&[1])).with_child_ordering(by_priority).with_children([
        leaf("b1", Capacity::Weight(factor("2.5"))).with_user_limit_factor(None).with_priority(-3),
        leaf("b2", Capacity::Weight(Factor::ONE))
            .with_ordering(ApplicationOrdering::Fair)
            .with_maximum(Maximum::Percent("80.5".parse().unwrap())),
    ]);
    let a = leaf("a", amounts(&[4096, 2000])).with_maximum(Maximum::absolute(&[8192]));
    let c = leaf("c", amounts(&[2])).with_user_limit_factor(Some(factor("0.5")));
    assert_eq!(imported.config.root, QueueConfig::root([a, b, c]));
    assert_eq!(imported.config.locality_delay, LocalityDelay::Nodes { rack: 40, any: 100 });
    assert_eq!(reasons(&imported), []);
}

#[test]
fn users_have_weights_and_minimum_limits() {
    let imported = imported(&[
        ("root.queues", "a,b"),
        ("root.a.capacity", "50"),
        ("root.b.capacity", "50"),
        ("minimum-user-limit-percent", "50.5"),
        ("root.b.minimum-user-limit-percent", "25"),
        ("root.a.user-settings.j.r.weight", "1.5"),
        ("root.user-settings.ann.weight", "2"),
    ]);
    let root = imported.config.root;
    let minima = root.children.iter().map(|leaf| leaf.user_limit_minimum.to_string());
    assert_eq!(minima.collect::<Vec<_>>(), ["50.5 %", "25 %"]);
    let weight = |queue: &QueueConfig, user: &str| queue.user_weights.get(user).map(ToString::to_string);
    assert_eq!(weight(&root.children[0], "j.r").as_deref(), Some("1.5"), "a name may have dots");
    assert_eq!(weight(&root, "ann").as_deref(), Some("2"));
    assert_eq!(imported.not_carried_over, []);
}

#[test]
fn what_yarn_knows_and_this_engine_does_not_is_reported() {
    let later = "not supported by this engine yet";
    let imported = imported(&[
        ("root.queues", "a"),
        ("root.a.capacity", "100"),
        ("root.a.acl_administer_queue", "ops"),
        ("root.a.accessible-node-labels.gpu.capacity", "50"),
        ("root.a.user-settings.j.r.weight", "1.5"),
        ("root.acl_submit_applications", "*"),
        ("root.a.ordering-policy", "fifo-with-partitions"),
        ("maximum-am-resource-percent", "0.1"),
        ("schedule-asynchronously.enable", "true"),
        ("yarn.resourcemanager.monitor.capacity.preemption.observe_only", "true"),
        ("root.ordering-policy", "org.example.Order"),
        ("root.user-limit-factor", "2"),
        ("root.maximum-capacity", "50"),
        ("rack-locality-additional-delay", "-1"),
        ("resource-calculator", "org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator"),
    ]);
    let expected = [
        ("root.a.acl_administer_queue", later, 4),
        ("root.a.accessible-node-labels.gpu.capacity", later, 5),
        ("root.acl_submit_applications", later, 7),
        ("root.a.ordering-policy", "not supported by this engine yet, fifo is used", 8),
        ("maximum-am-resource-percent", later, 9),
        ("schedule-asynchronously.enable", "this engine always schedules asynchronously", 10),
        ("yarn.resourcemanager.monitor.capacity.preemption.observe_only", later, 11),
        ("root.ordering-policy", "not supported by this engine yet, utilization is used", 12),
        ("root.user-limit-factor", "users are limited in leaves only", 13),
        ("root.maximum-capacity", "the root has all there is", 14),
        (
            "rack-locality-additional-delay",
            "a delay by the number of outstanding containers is not supported by this engine yet; \
             where a rack-mate will do, any node will",
            15,
        ),
        ("resource-calculator", "this engine always compares dominant shares", 16),
    ];
    assert_eq!(reasons(&imported), expected);
    assert_eq!(imported.not_carried_over[0].value, "ops");
    assert_eq!(imported.config.locality_delay, LocalityDelay::Nodes { rack: 40, any: 40 });
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
fn of_properties_with_one_name_the_last_or_the_final_counts() {
    let text = "<configuration><property name='yarn.scheduler.capacity.root.queues' value='a'/>
<property><name>yarn.scheduler.capacity.root.a.capacity</name><value>1</value></property>
<property><name>yarn.scheduler.capacity.root.a.capacity</name><value>100</value><final>true</final></property>
<property><name>yarn.scheduler.capacity.root.a.capacity</name><value>2</value></property>
<property><name>yarn.scheduler.capacity.root.a.state</name></property></configuration>";
    let imported = import(text).unwrap();
    assert_eq!(
        imported.config.root,
        QueueConfig::root([QueueConfig::leaf("a", Capacity::Percent(Percent::ALL))])
    );
    let expected = [
        ("root.a.capacity", "overridden by line 3, which is final", 2),
        ("root.a.capacity", "overridden by line 3, which is final", 4),
        ("root.a.state", "it has no <value>, so Hadoop ignores it", 5),
    ];
    assert_eq!(reasons(&imported), expected);
}

#[test]
fn queues_created_on_demand_are_reported() {
    let imported = imported(&[
        ("root.queues", "a"),
        ("root.a.capacity", "100"),
        ("root.a.auto-queue-creation-v2.enabled", "true"),
        ("root.*.auto-queue-creation-v2.template.capacity", "1w"),
        ("root.a.bob.max-parallel-apps", "7"),
    ]);
    let creation =
        "this engine does not create queues on demand yet; a queue without listed children is a leaf";
    let unlisted = "its queue is not listed, and this engine does not create queues on demand yet";
    let expected = [
        ("root.a.auto-queue-creation-v2.enabled", creation, 4),
        ("root.*.auto-queue-creation-v2.template.capacity", creation, 5),
        ("root.a.bob.max-parallel-apps", unlisted, 6),
    ];
    assert_eq!(reasons(&imported), expected);
}

#[test]
fn numbers_finer_than_the_engines_are_rounded_down() {
    let weights = imported(&[
        ("root.queues", "a"),
        ("root.a.capacity", "0.3333w"),
        ("root.a.user-limit-factor", "1.0009"),
    ]);
    let expected = [
        ("root.a.capacity", "rounded down to 0.333", 3),
        ("root.a.user-limit-factor", "rounded down to 1", 4),
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
