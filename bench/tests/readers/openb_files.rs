//! The real tables of OpenB.

use std::collections::BTreeMap;

use apportion::resource::DeviceNeed;
use apportion::{AttributeRule, Resources};
use apportion_bench::trace::{Format, GPU_MODEL};
use apportion_bench::workload::{Tasks, Workload};

use crate::support::{jobs, real_nodes, real_workload};

fn pods(name: &str) -> Option<Workload> {
    real_workload(Format::Openb, &format!("openb/openb_pod_list_{name}.csv.gz"))
}

fn task(workload: &Workload, index: usize) -> &Tasks {
    &workload.jobs[index].stages[0][0]
}

#[test]
fn node_lists_are_read_whole() {
    let Some(nodes) = real_nodes(Format::Openb, "openb/openb_node_list_all_node.csv.gz") else { return };
    assert_eq!(nodes.len(), 1523);
    assert_eq!(nodes.iter().map(|node| u32::from(node.devices)).sum::<u32>(), 6212);
    assert_eq!(nodes.iter().map(|node| node.capacity[1]).sum::<i64>(), 125_514_000);
    assert_eq!(nodes.iter().map(|node| node.capacity[0]).sum::<i64>(), 597_684 * 1024);
    assert_eq!(nodes.iter().map(|node| node.capacity[2]).sum::<i64>(), 6_212_000);
    let mut models = BTreeMap::new();
    for node in &nodes {
        *models.entry(node.attributes.get(GPU_MODEL).map_or("", String::as_str)).or_insert(0) += 1;
    }
    let expected = [
        ("", 310),
        ("A10", 2),
        ("G2", 549),
        ("G3", 39),
        ("P100", 134),
        ("T4", 404),
        ("V100M16", 55),
        ("V100M32", 30),
    ];
    assert_eq!(models.into_iter().collect::<Vec<_>>(), expected);
    assert_eq!(
        (nodes[0].name.as_str(), nodes[0].capacity),
        ("openb-node-0000", Resources::new(&[262_144, 32_000, 0]))
    );
}

#[test]
fn the_list_of_gpu_nodes_has_only_those() {
    let Some(nodes) = real_nodes(Format::Openb, "openb/openb_node_list_gpu_node.csv.gz") else { return };
    assert_eq!(nodes.len(), 1213);
    assert!(nodes.iter().all(|node| node.devices > 0 && node.rack == "default-rack"));
    assert_eq!(nodes[0].capacity, Resources::new(&[262_144, 64_000, 2000]));
    assert_eq!(nodes[0].attributes.get(GPU_MODEL).map(String::as_str), Some("P100"));
}

#[test]
fn the_default_pods_are_read_whole() {
    let Some(workload) = pods("default") else { return };
    assert_eq!((workload.jobs.len(), workload.asks()), (8152, 8152));
    assert_eq!(workload.resources.names(), ["memory_mib", "vcore_milli", "gpu_milli"]);
    assert_eq!(workload.resources.device_type(), Some(2));
    let devices: Vec<DeviceNeed> = (0..8152).filter_map(|index| task(&workload, index).devices).collect();
    assert_eq!(devices.len(), 8152 - 1088);
    assert_eq!(devices.iter().filter(|need| need.milli < 1000).count(), 3078);
    assert_eq!(devices.iter().filter(|need| need.count == 8).count(), 44);
    let milli: i64 = devices.iter().map(DeviceNeed::total_milli).sum();
    assert!((6_086_700..6_086_900).contains(&milli), "{milli}: 6,086.8 GPUs");
}

#[test]
fn single_pods_are_what_the_file_says() {
    let Some(workload) = pods("default") else { return };
    // openb-pod-0001,6000,12288,1,460,,LS,Running,427061,12902960,427061
    let job = &workload.jobs[1];
    assert_eq!((job.name.as_str(), job.submit_ms), ("openb-pod-0001", 427_061_000));
    assert_eq!((job.queue.as_str(), job.user.as_str(), job.master), ("default", "default", None));
    let second = task(&workload, 1);
    assert_eq!(second.size, Resources::new(&[12_288, 6000, 460]));
    assert_eq!(second.devices, Some(DeviceNeed { count: 1, milli: 460 }));
    assert_eq!(second.durations_ms, [Some((12_902_960 - 427_061) * 1000)]);
    assert_eq!(second.rule, None);
    // openb-pod-8151,3152,5600,1,590,,BE,Failed,12901761,12901792,12901762
    let last = task(&workload, 8151);
    assert_eq!(
        (workload.jobs[8151].submit_ms, last.durations_ms.as_slice()),
        (12_901_761_000, &[Some(30_000)][..])
    );
}

#[test]
fn models_are_rules() {
    let Some(workload) = pods("gpuspec10") else { return };
    let rules: Vec<&AttributeRule> =
        (0..8152).filter_map(|index| task(&workload, index).rule.as_ref()).collect();
    assert_eq!(rules.len(), 8152 - 7420);
    let both = AttributeRule::one_of(GPU_MODEL, ["V100M16", "V100M32"]);
    assert!(rules.iter().all(|rule| rule.conditions[0].attribute == GPU_MODEL));
    assert_eq!(rules.iter().filter(|rule| **rule == &both).count(), 55);
}

#[test]
fn the_other_lists_are_read_whole_and_sorted() {
    for (name, count) in [("cpu050", 7439), ("cpu250", 9420), ("gpushare100", 8152)] {
        let Some(workload) = pods(name) else { return };
        assert_eq!(workload.jobs.len(), count, "{name}");
        assert!(workload.jobs.is_sorted_by_key(|job| job.submit_ms), "{name}");
    }
}

#[test]
fn pods_without_times_arrive_each_second_and_stay() {
    let Some(workload) = pods("multigpu20") else { return };
    assert_eq!(workload.jobs.len(), 8324);
    for (index, job) in workload.jobs.iter().enumerate() {
        assert_eq!(job.submit_ms, index as u64 * 1000);
        assert_eq!(job.stages[0][0].durations_ms, [None]);
    }
}

#[test]
fn numbers_may_carry_a_point_and_times_may_be_missing() {
    let header = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n";
    let rows = "a,1,0,0,0,,,,5.0,9.0,7.0\nb,1,0,0,0,,,,5,9,\nc,1,0,2,500,A|B,,,4,,4\n";
    let read = jobs(Format::Openb, &format!("{header}{rows}"));
    let seen: Vec<_> =
        read.iter().map(|job| (job.name.as_str(), job.submit_ms, job.stages[0][0].durations_ms[0])).collect();
    assert_eq!(seen, [("c", 4000, None), ("a", 5000, Some(2000)), ("b", 5000, Some(4000))]);
    let task = &read[0].stages[0][0];
    assert_eq!((task.devices, task.size[2]), (Some(DeviceNeed { count: 2, milli: 500 }), 1000));
    assert_eq!(task.rule, Some(AttributeRule::one_of(GPU_MODEL, ["A", "B"])));
}
