//! The SLS, Rumen and node file readers on small inputs.

use apportion::Resources;
use apportion_bench::trace::{Format, Source, read_nodes};

use crate::support::{jobs, refusal, widths, workload};

fn job(keys: &str, tasks: &str) -> String {
    format!(r#"{{"job.start.ms": "1500", "job.queue.name": "root.q", {keys} "job.tasks": [{tasks}]}}"#)
}

#[test]
fn what_is_not_said_has_the_defaults_of_the_simulator() {
    let read = jobs(Format::Sls, &job("", r#"{"container.start.ms": 10, "container.end.ms": "35"}"#));
    let [job] = read.as_slice() else { panic!("{read:?}") };
    assert_eq!((job.name.as_str(), job.queue.as_str(), job.user.as_str()), ("job_0", "root.q", "default"));
    assert_eq!((job.submit_ms, job.priority), (1500, 0));
    assert_eq!(job.master, Some(Resources::new(&[1024, 1000])));
    let task = &job.stages[0][0];
    assert_eq!((task.size, task.priority), (Resources::new(&[1024, 1000]), 20));
    assert_eq!(task.durations_ms, [Some(25)]);
    assert!(task.hosts.is_empty());
}

#[test]
fn sizes_priorities_and_counts_come_from_the_file() {
    let keys = r#""am.memory-mb": 2048, "am.vcores": "2", "job.count": 3, "job.id": "j", "job.user": "u","#;
    let task = r#"{"count": 4, "container.memory-mb": 512, "container.vcores": 3, "container.priority": 7,
        "container.type": "reduce", "duration.ms": 9}"#;
    let read = jobs(Format::Sls, &job(keys, task));
    let names: Vec<&str> = read.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(names, ["j", "j/2", "j/3"]);
    assert!(read.iter().all(|job| job.master == Some(Resources::new(&[2048, 2000])) && widths(job) == [4]));
    let task = &read[2].stages[0][0];
    assert_eq!((task.size, task.priority), (Resources::new(&[512, 3000]), 7));
}

#[test]
fn reduces_wait_for_maps_and_delays_are_for_dags() {
    let tasks = r#"{"container.type": "map", "duration.ms": 1, "container.request.delay": 50},
        {"container.type": "reduce", "container.duration.ms": 1}"#;
    let read = |kind: &str| jobs(Format::Sls, &job(&format!("\"am.type\": \"{kind}\","), tasks)).remove(0);
    assert_eq!(widths(&read("mapreduce")), [1, 1]);
    assert_eq!(read("mapreduce").stages[0][0].delay_ms, 0);
    assert_eq!(widths(&read("stream")), [2]);
    let dag = read("dag");
    assert_eq!(dag.stages[0].iter().map(|tasks| tasks.delay_ms).collect::<Vec<_>>(), [50, 0]);
}

#[test]
fn the_cluster_is_stated_or_made_of_the_hosts() {
    let job = job("", r#"{"container.host": "/r1/h1", "duration.ms": 1}"#);
    let hosts = workload(Format::Sls, &job).unwrap().nodes;
    assert_eq!((hosts.len(), hosts[0].name.as_str(), hosts[0].rack.as_str()), (1, "h1", "r1"));
    assert_eq!(hosts[0].capacity, Resources::new(&[10_240, 10_000]));
    let stated = workload(Format::Sls, &format!("{{\"num.nodes\": 4, \"num.racks\": 2}}{job}")).unwrap();
    assert_eq!(stated.nodes.len(), 4);
    assert_eq!((stated.nodes[3].name.as_str(), stated.nodes[3].rack.as_str()), ("node3", "rack1"));
    assert_eq!(stated.jobs[0].stages[0][0].hosts, ["h1"]);
}

#[test]
fn a_label_expression_is_a_rule_on_the_nodes_label() {
    let read = jobs(Format::Sls, &job(r#""job.label.expression": "big","#, r#"{"duration.ms": 1}"#));
    let rule = read[0].stages[0][0].rule.clone().unwrap();
    let nodes =
        r#"{"rack": "/r", "nodes": [{"node": "a", "labels": "big, x(exclusive=false)"}, {"node": "b"}]}"#;
    let nodes = read_nodes(Format::Sls, Source::new("t", nodes.as_bytes())).unwrap();
    assert_eq!(nodes.iter().map(|node| rule.holds(&node.attributes)).collect::<Vec<_>>(), [true, false]);
    assert_eq!(nodes[0].rack, "r");
}

#[test]
fn impossible_tasks_are_refused() {
    let task = |task: &str| refusal(Format::Sls, &job("", task));
    let end = task(r#"{"container.start.ms": 5, "container.end.ms": 4}"#);
    assert_eq!(end, "t:1: job.tasks[0]: container.end.ms 4 is before container.start.ms 5");
    assert!(task(r#"{"duration.ms": 0}"#).contains("runs for 0 ms"));
    assert!(task(r#"{"container.start.ms": 5}"#).contains("has no duration"));
    assert!(task(r#"{"duration.ms": 1, "container.host": "/h/"}"#).contains("`/RACK/HOST` is needed"));
    assert!(task(r#"{"duration.ms": 1, "container.vcores": 9007199254740992}"#).contains("vcores of"));
    assert!(refusal(Format::Sls, r#"{"num.nodes": 0}"#).contains("zero nodes"));
    assert!(
        refusal(Format::Sls, r#"{"num.nodes": 1}{"num.nodes": 1}"#)
            .starts_with("t:1: num.nodes: the cluster")
    );
}

#[test]
fn jobs_come_by_time_and_then_in_file_order() {
    let job = |id: u32, start_ms: u32| {
        format!(r#"{{"job.id": {id}, "job.start.ms": {start_ms}, "job.queue.name": "q", "job.tasks": []}}"#)
    };
    let read = jobs(Format::Sls, &[job(0, 9), job(1, 5), job(2, 9), job(3, 5)].concat());
    let names: Vec<&str> = read.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(names, ["1", "3", "0", "2"]);
}

#[test]
fn rumen_takes_the_last_attempt_and_times_from_the_first_job() {
    let text = r#"{"jobID": "a", "submitTime": 1000, "strange": {"x": [1]}, "mapTasks": [{"attempts": [
            {"hostName": "/r/h1", "startTime": 1, "finishTime": 3},
            {"hostName": "/r/h2", "startTime": 10, "finishTime": 35}]}],
            "reduceTasks": [{"attempts": [{"startTime": 5, "finishTime": 6, "location": null}]}]}
        {"jobID": "b", "user": "u", "queue": "q", "submitTime": -1, "launchTime": 4000}
        {"jobID": "c", "mapTasks": [{"startTime": 1700, "attempts": [{"startTime": 1800, "finishTime": 1801}]}]}
        {"jobID": "d", "submitTime": 1}"#;
    let read = jobs(Format::Rumen, text);
    let when: Vec<(&str, u64)> = read.iter().map(|job| (job.name.as_str(), job.submit_ms)).collect();
    assert_eq!(when, [("a", 0), ("d", 0), ("c", 700), ("b", 3000)]);
    assert_eq!((read[3].queue.as_str(), read[3].user.as_str()), ("q", "u"));
    let first = &read[0];
    assert_eq!((first.queue.as_str(), first.user.as_str()), ("default", "default"));
    let [[map], [reduce]] = [first.stages[0].as_slice(), first.stages[1].as_slice()] else {
        panic!("{first:?}")
    };
    assert_eq!(
        (map.durations_ms.as_slice(), map.hosts.as_slice(), map.priority),
        (&[Some(25)][..], &["h2".to_owned()][..], 10)
    );
    assert_eq!(
        (reduce.durations_ms.as_slice(), reduce.hosts.len(), reduce.priority),
        (&[Some(1)][..], 0, 20)
    );
}

#[test]
fn impossible_rumen_jobs_are_refused() {
    let job =
        |task: &str| refusal(Format::Rumen, &format!("\n{{\"submitTime\": 1, \"mapTasks\": [{task}]}}"));
    assert_eq!(job("{}"), "t:2: mapTasks[0]: has no attempts; at least one is needed");
    let unknown_end = job(r#"{"attempts": [{"startTime": 1, "finishTime": -1}]}"#);
    assert_eq!(unknown_end, "t:2: mapTasks[0]: its last attempt has no startTime or no finishTime");
    assert!(job(r#"{"attempts": [{"startTime": 2, "finishTime": 1}]}"#).contains("is before startTime 2"));
    assert!(job(r#"{"attempts": [{"startTime": -2, "finishTime": 1}]}"#).contains("`-2` is negative"));
    assert!(refusal(Format::Rumen, "{}").contains("submitTime: is missing"));
}
