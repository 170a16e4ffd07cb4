//! Settings that `yarn-site.xml` and `resource-types.xml` add to the queues.

use apportion::Resources;
use apportion::config::{AllocationSizes, Capacity, HeartbeatPolicy, LocalityDelay};

use super::tests::file;
use super::*;

const QUEUES: [(&str, &str); 2] = [("root.queues", "a"), ("root.a.capacity", "100")];

fn import(
    queues: &[(&str, &str)],
    site: &[(&str, &str)],
    resource_types: &[(&str, &str)],
) -> Result<Imported, ConfigFileError> {
    let (queues, site, types) = (file(queues), file(site), file(resource_types));
    let files = YarnFiles {
        queues: NamedText { name: "cs.xml", text: &queues },
        site: Some(NamedText { name: "site.xml", text: &site }),
        resource_types: Some(NamedText { name: "types.xml", text: &types }),
    };
    from_yarn_files(&files, None)
}

#[track_caller]
fn refused(site: &[(&str, &str)], resource_types: &[(&str, &str)], message: &str) {
    assert_eq!(import(&QUEUES, site, resource_types).unwrap_err().to_string(), message);
}

fn reported(imported: &Imported) -> Vec<(&str, usize, &str, &str)> {
    let entries = imported.not_carried_over.iter();
    entries.map(|entry| (&*entry.file_name, entry.line, &*entry.key, &*entry.reason)).collect()
}

#[test]
fn silent_nodes_are_skipped_as_the_site_says() {
    let of = |site: &[(&str, &str)]| import(&QUEUES, site, &[]).unwrap().config.heartbeat;
    let multiplier = ("yarn.scheduler.skip.node.multiplier", "5");
    let interval = ("yarn.resourcemanager.nodemanagers.heartbeat-interval-ms", "250");
    assert_eq!(of(&[]), None, "without a word nodes need not heartbeat");
    assert_eq!(of(&[multiplier]), Some(HeartbeatPolicy { interval_ms: 1000, missed_max: 5 }));
    assert_eq!(of(&[interval]), Some(HeartbeatPolicy { interval_ms: 250, missed_max: 2 }));
    assert_eq!(of(&[multiplier, interval]), Some(HeartbeatPolicy { interval_ms: 250, missed_max: 5 }));
    let message = "site.xml:2:66: yarn.scheduler.skip.node.multiplier: `0` is not a whole number from 1";
    refused(&[("yarn.scheduler.skip.node.multiplier", "0")], &[], message);
}

#[test]
fn all_files_are_one_configuration_and_the_queues_come_last() {
    let queues = [QUEUES[0], QUEUES[1], ("node-locality-delay", "7")];
    let site = [("node-locality-delay", "40"), ("lazy-preemption-enabled", "true")];
    let imported = import(&queues, &site, &[]).unwrap();
    assert_eq!(imported.config.locality_delay, LocalityDelay::Nodes { rack: 7, any: None, full_reset: true });
    let key = |name| format!("{}{name}", known::PREFIX);
    let (delay, lazy) = (key("node-locality-delay"), key("lazy-preemption-enabled"));
    let expected = [
        ("site.xml", 2, &*delay, "overridden by cs.xml:4"),
        (
            "site.xml",
            3,
            &*lazy,
            "YARN preempts only if yarn.resourcemanager.scheduler.monitor.enable is true and its policies include \
             preemption",
        ),
    ];
    assert_eq!(reported(&imported), expected);
}

#[test]
fn in_other_files_only_keys_of_the_scheduler_must_be_known() {
    let foreign = ("yarn.web-proxy.address", "x:1");
    let class = |name| ("yarn.resourcemanager.scheduler.class", name);
    let imported = import(&QUEUES, &[foreign, class("org.example.FairScheduler")], &[]).unwrap();
    let another = "this engine schedules as the capacity scheduler does";
    let expected = [
        ("site.xml", 2, "yarn.web-proxy.address", "not a key of the scheduler"),
        ("site.xml", 3, "yarn.resourcemanager.scheduler.class", another),
    ];
    assert_eq!(reported(&imported), expected);
    let imported = import(&QUEUES, &[class("org.example.CapacityScheduler")], &[]).unwrap();
    assert_eq!(imported.not_carried_over, []);
    refused(
        &[("yarn.scheduler.skip.node.multiplyer", "2")],
        &[],
        "site.xml:2:17: unknown key `yarn.scheduler.skip.node.multiplyer`; \
         did you mean `yarn.scheduler.skip.node.multiplier`?",
    );
    refused(
        &[("yarn.scheduler.minimum-allocation-mb", "9"), ("yarn.scheduler.maximum-allocation-mb", "8")],
        &[],
        "site.xml:2:67: yarn.scheduler.minimum-allocation-mb: 9 is above the largest container's 8",
    );
}

#[test]
fn containers_have_the_sizes_that_the_site_allows() {
    let key = |end: &str| format!("yarn.scheduler.{end}");
    let keys = ["minimum-allocation-mb", "maximum-allocation-mb", "minimum-allocation-vcores"].map(key);
    let site = [(keys[0].as_str(), "512"), (keys[1].as_str(), "8192"), (keys[2].as_str(), "1")];
    let imported = import(&QUEUES, &site, &[]).unwrap();
    let AllocationSizes { minimum, maximum, .. } = imported.config.allocation;
    assert_eq!(minimum, Resources::new(&[512, 1000]));
    assert_eq!(maximum[..2], [Some(8192), None]);
    assert_eq!(reported(&imported), []);
    for wrong in ["-1", "0"] {
        let message = format!("site.xml:2:67: {}: `{wrong}` is not a whole number from 1", keys[0]);
        refused(&[(keys[0].as_str(), wrong)], &[], &message);
    }
}

#[test]
fn a_largest_container_that_is_not_in_steps_is_rounded_down() {
    let site =
        [("yarn.scheduler.minimum-allocation-mb", "300"), ("yarn.scheduler.maximum-allocation-mb", "1000")];
    let imported = import(&QUEUES, &site, &[]).unwrap();
    let reason = "it is not a multiple of the smallest container's 300; 900 is carried over";
    assert_eq!(reported(&imported), [("site.xml", 3, site[1].0, reason)]);
    assert_eq!(imported.config.allocation.maximum[0], Some(900));
    assert_eq!(imported.config.validate(), Ok(()));
}

#[test]
fn listed_resource_types_are_counted_in_their_units() {
    let types = [
        ("yarn.resource-types", "yarn.io/gpu, disk,bandwidth"),
        ("yarn.resource-types.disk.units", "G"),
        ("yarn.resource-types.bandwidth.units", "m"),
    ];
    let amounts = "[memory=4Gi,vcores=2,yarn.io/gpu=3,disk=2T,bandwidth=5]";
    let queues = [("root.queues", "a"), ("root.a.capacity", amounts)];
    let imported = import(&queues, &[], &types).unwrap();
    let names = ["memory_mib", "vcore_milli", "gpu", "disk_g", "bandwidth_milli"];
    assert_eq!(imported.config.resources, ResourceTypes::new(names).unwrap());
    let capacity = Capacity::Absolute(Resources::new(&[4096, 2000, 3, 2000, 5]));
    assert_eq!(imported.config.root.children[0].capacity, capacity);
    assert_eq!(reported(&imported), []);
    refused(
        &[],
        &[types[0], ("yarn.resource-types.disk.units", "furlong")],
        "types.xml:3:61: yarn.resource-types.disk.units: `furlong` is not a known unit",
    );
    refused(
        &[],
        &[("yarn.resource-types", "a,b,c,d,e,f,g")],
        "types.xml:2:17: 9 resource types given, from 1 to 8 are possible",
    );
    refused(
        &[],
        &[("yarn.resource-type", "a")],
        "types.xml:2:17: unknown key `yarn.resource-type`; did you mean `yarn.resource-types`?",
    );
}
