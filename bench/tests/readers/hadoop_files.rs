//! The real samples of YARN's simulator.

use apportion::Resources;
use apportion_bench::trace::Format;
use apportion_bench::workload::{Job, Workload};

use crate::support::{real_nodes, real_workload, widths};

fn sample(format: Format, name: &str) -> Option<Workload> {
    real_workload(format, &format!("hadoop-sls/{name}"))
}

fn names(jobs: &[Job]) -> Vec<&str> {
    jobs.iter().map(|job| job.name.as_str()).collect()
}

#[test]
fn rumen_has_two_jobs_of_96_maps() {
    let Some(workload) = sample(Format::Rumen, "2jobs2min-rumen-jh.json.gz") else { return };
    assert_eq!(names(&workload.jobs), ["job_1369942127770_1205", "job_1369942127770_1206"]);
    assert!(workload.jobs.iter().all(|job| widths(job) == [96] && job.user == "jenkins"));
    let submitted: Vec<u64> = workload.jobs.iter().map(|job| job.submit_ms).collect();
    assert_eq!(submitted, [0, 1_371_222_159_703 - 1_371_222_054_499]);
    let first = &workload.jobs[0].stages[0][0];
    assert_eq!(first.hosts, ["a2118.smile.com"]);
    assert_eq!(first.durations_ms[..2], [Some(78_206 - 61_163), Some(76_092 - 61_164)]);
    assert_eq!((first.priority, first.size), (10, Resources::new(&[1024, 1000])));
    assert!(workload.nodes.iter().all(|node| node.rack == "default-rack"));
}

#[test]
fn gridmix_has_maps_and_a_reduce() {
    for (name, count) in [("gridmix-wordcount.json.gz", 1), ("gridmix-wordcount2.json.gz", 2)] {
        let Some(workload) = sample(Format::Rumen, name) else { return };
        assert_eq!(workload.jobs.len(), count);
        assert!(workload.jobs.iter().all(|job| widths(job) == [3, 1] && job.queue == "default"));
        let reduce = &workload.jobs[0].stages[1][0];
        assert_eq!((reduce.priority, reduce.durations_ms.as_slice()), (20, &[Some(70_759 - 60_807)][..]));
        assert_eq!(workload.nodes.len(), 1);
        assert_eq!(workload.nodes[0].name, "foo.example.com");
    }
}

#[test]
fn sls_has_two_jobs_on_the_hosts_they_name() {
    let Some(workload) = sample(Format::Sls, "inputsls.json") else { return };
    assert_eq!(names(&workload.jobs), ["job_1", "job_2"]);
    assert_eq!(workload.queues_named(), ["sls_queue_1", "sls_queue_2"]);
    let [first, second] = workload.jobs.as_slice() else { panic!("two jobs") };
    assert_eq!((widths(first), widths(second)), (vec![3], vec![2]));
    assert_eq!(second.submit_ms, 105_204);
    let task = &first.stages[0][1];
    assert_eq!(
        (task.hosts.as_slice(), task.durations_ms.as_slice()),
        (&["node3".to_owned()][..], &[Some(14_928)][..])
    );
    let nodes: Vec<&str> = workload.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(nodes, ["node1", "node3", "node2"]);
}

#[test]
fn the_dag_has_delays() {
    let Some(workload) = sample(Format::Sls, "sls_dag.json") else { return };
    let delays: Vec<u64> = workload.jobs[0].stages[0].iter().map(|tasks| tasks.delay_ms).collect();
    assert_eq!(delays, [1000, 1500, 0]);
    assert_eq!(workload.jobs[0].stages.len(), 1);
}

#[test]
fn the_node_file_has_19_nodes_on_5_racks() {
    let Some(nodes) = real_nodes(Format::Sls, "hadoop-sls/nodes.json") else { return };
    assert_eq!(nodes.len(), 19, "the empty object of rack5 is not a node");
    assert_eq!((nodes[18].name.as_str(), nodes[18].rack.as_str()), ("node19", "rack5"));
    assert!(nodes.iter().all(|node| node.capacity == Resources::new(&[10_240, 10_000])));
}

#[test]
fn the_node_file_with_resources_has_amounts_and_labels() {
    let Some(nodes) = real_nodes(Format::Rumen, "hadoop-sls/nodes-with-resources.json") else { return };
    let memory_mib: Vec<i64> = nodes.iter().map(|node| node.capacity[0]).collect();
    assert_eq!(memory_mib, [2048, 10_240, 10_240, 6144]);
    let vcore_milli: Vec<i64> = nodes.iter().map(|node| node.capacity[1]).collect();
    assert_eq!(vcore_milli, [6000, 10_000, 10_000, 12_000]);
    let label = |node: usize, label: &str| nodes[node].attributes.get(label).map(String::as_str);
    assert_eq!((label(3, "label:label1"), label(3, "label:label2")), (Some("exclusive"), Some("shared")));
    assert_eq!(label(1, "label:label1"), None);
}

#[test]
fn both_forms_of_synth_give_like_jobs() {
    for name in ["syn.json", "syn_generic.json"] {
        let Some(workload) = sample(Format::Synth, name) else { return };
        assert_eq!((workload.jobs.len(), workload.nodes.len()), (10, 20));
        let racks: std::collections::BTreeSet<&str> =
            workload.nodes.iter().map(|node| node.rack.as_str()).collect();
        assert_eq!(racks.len(), 5);
        for job in &workload.jobs {
            assert_eq!((job.queue.as_str(), job.user.as_str()), ("sls_queue_1", "foobar"));
            assert!((1000..60_000).contains(&job.submit_ms));
            let [maps, reduces] = job.stages.as_slice() else { panic!("{name}: {job:?}") };
            assert_eq!((maps[0].size, maps[0].priority), (Resources::new(&[1024, 1000]), 20));
            assert_eq!((reduces[0].size, reduces[0].priority), (Resources::new(&[2048, 2000]), 10));
        }
    }
}

#[test]
fn the_stream_runs_for_60_000_seconds() {
    let Some(workload) = sample(Format::Synth, "syn_stream.json") else { return };
    assert_eq!(workload.jobs.len(), 5);
    for job in &workload.jobs {
        let [stage] = job.stages.as_slice() else { panic!("{job:?}") };
        assert_eq!(
            (stage[0].size, stage[0].durations_ms.as_slice()),
            (Resources::new(&[4096, 4000]), &[Some(60_000_000); 2][..])
        );
        assert!((1000..2000).contains(&job.submit_ms));
    }
}
