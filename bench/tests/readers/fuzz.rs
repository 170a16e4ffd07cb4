//! No reader panics on any bytes: neither arbitrary bytes nor realistic text with damage.

use std::io::Write;

use apportion_bench::trace::fuzz;
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

const PODS: &str = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
openb-pod-0000,12000,16384,1,1000,,LS,Running,0,12537496,0
openb-pod-0001,6000,12288,1,460,T4|G2,LS,Running,427061.0,12902960.0,
openb-pod-0002,12000,24576,0,0,,BE,Pending,1558381,12902960,1558382
";
const UNTIMED_PODS: &str =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np0,12000,16384,8,1000\np1,6000,12288,0,0\n";
const NODES: &str = "sn,cpu_milli,memory_mib,gpu,model\nn0,32000,262144,0,\nn1,96000,393216,8,G2\n";
const SLS: &str = r#"{"num.nodes": 4, "num.racks": "2"}
{"am.type":"mapreduce","job.start.ms":0,"job.end.ms":9000,"job.queue.name":"qa","job.id":"j1","job.user":"u1",
 "job.count":2,"am.memory-mb":1024,"am.vcores":1,"job.label.expression":"big","job.tasks":[
 {"count":3,"container.host":"/rack0/node0","container.start.ms":500,"container.end.ms":3500,
 "container.priority":20,"container.type":"map","container.memory-mb":2048,"container.vcores":1},
 {"container.duration.ms":2000,"container.priority":10,"container.type":"reduce"}]}
{"yarn.sls.am.type":"dag","job.start.ms":"5","job.queue.name":"qb","job.tasks":[
 {"container.request.delay":7,"duration.ms":"1","container.execution.type":"OPPORTUNISTIC"}]}
"#;
const RUMEN: &str = r#"{"jobID":"job_1_0001","user":"u1","queue":"qa","submitTime":1000,"finishTime":9000,
 "mapTasks":[{"startTime":1400,"attempts":[{"hostName":"/rack0/node1","startTime":1500,"finishTime":4000,
 "location":{"layers":["rack0","node1"]}}]}],"reduceTasks":[{"attempts":[{"startTime":-1,"finishTime":9}]}]}
{"jobID":"job_1_0002","launchTime":2000,"mapTasks":[],"computons":-1,"priority":null}
"#;
const SYNTH: &str = r#"{"description":"tiny","num_nodes":10,"nodes_per_rack":5,"num_jobs":20,"rand_seed":7,"workloads":[
 {"workload_name":"w","workload_weight":1,"queue_name":"qa","job_classes":[{"class_name":"c","class_weight":1,
 "user_name":"u","type":"mapreduce","deadline_factor":{"val":2},"reservation":{"val":0.0},"tasks":[
 {"type":"map","priority":20,"count":{"val":5},"time":{"val":10,"std":2,"dist":"NORM"},"max_memory":{"val":1024},
 "max_vcores":{"discrete":[1,2],"weights":[3,1]},"execution_type":"GUARANTEED"}]},
 {"mtasks_avg":5,"mtasks_stddev":1,"rtasks_avg":5,"mtime_avg":10,"mtime_stddev":2,"rtime_avg":20}],
 "time_distribution":[{"time":0,"weight":1},{"time":60000,"weight":0}]}]}
"#;
const SWIM: &str = "job0\t9\t9\t1762\t0\t14347\njob1\t18\t9\t97000000000\t6090000000\t697\tpath\t\t\n";
const PHILLY: &str = "vc,arrival_s,gpus,approx_duration_s\nee9e8c,0,1,34340\n2869ce,60,12,1932357\n";
const RUN_TIMES: &str = "runtime\n0.0\n131.0\n1186.0\n";
const TOPOLOGY: &str = r#"{"rack":"rack0","nodes":[{"node":"node0","memory-mb":16384,"vcores":16,"gpu":2,
 "labels":"big, fast(exclusive=false)"},{"node":"node1"},{}]}
{"rack":"/rack1","nodes":[{"node":"node2","vcores":"3"}]}
"#;

/// Harmful text in place of a number, a key or an end.
const SHARDS: [&str; 22] = [
    "-1",
    "0",
    "1e308",
    "-0.0",
    "NaN",
    "null",
    "9007199254740992",
    "18446744073709551616",
    "{",
    "}",
    "[]",
    "\"",
    "\\",
    ",",
    "\t",
    "\n",
    "\"\\ud800\"",
    "\u{feff}",
    "é",
    ".0",
    "1e-308",
    "4503599627370496",
];

/// Replaces parts of `text` by shards, bytes or other parts of it.
fn damaged(text: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let shard = prop_oneof![
        select(SHARDS.as_slice()).prop_map(|shard| shard.as_bytes().to_vec()),
        vec(any::<u8>(), 0..4),
        (any::<Index>(), 0..80usize).prop_map(|(start, length)| {
            let start = start.index(text.len());
            text.as_bytes()[start..(start + length).min(text.len())].to_vec()
        }),
    ];
    vec((any::<Index>(), 0..12usize, shard), 1..6).prop_map(move |changes| {
        let mut bytes = text.as_bytes().to_vec();
        for (start, length, shard) in changes {
            let start = start.index(bytes.len() + 1);
            let end = (start + length).min(bytes.len());
            bytes.splice(start..end, shard);
        }
        bytes
    })
}

/// Replaces whole numbers only, so that most of the result is still well-formed.
fn renumbered(text: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let number = prop_oneof![
        any::<u64>().prop_map(|number| number.to_string()),
        (0..64u32).prop_map(|bits| (1u64 << bits).to_string()),
        (-3..40i32).prop_map(|number| number.to_string()),
        any::<f64>().prop_map(|number| number.to_string()),
    ];
    vec((any::<Index>(), number), 1..4).prop_map(move |changes| {
        let mut parts: Vec<String> =
            text.split_inclusive(|c: char| !c.is_ascii_digit()).map(str::to_owned).collect();
        for (place, number) in changes {
            let place = place.index(parts.len());
            let end = parts[place].trim_start_matches(|c: char| c.is_ascii_digit()).to_owned();
            if end.len() < parts[place].len() {
                parts[place] = number + &end;
            }
        }
        parts.concat().into_bytes()
    })
}

fn input(text: &'static str) -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![1 => vec(any::<u8>(), 0..200), 4 => damaged(text), 4 => renumbered(text)]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn openb_never_panics(data in prop_oneof![input(PODS), input(UNTIMED_PODS), input(NODES)]) {
        fuzz::fuzz_openb(&data);
    }

    #[test]
    fn sls_never_panics(data in input(SLS)) {
        fuzz::fuzz_sls(&data);
    }

    #[test]
    fn rumen_never_panics(data in input(RUMEN)) {
        fuzz::fuzz_rumen(&data);
    }

    #[test]
    fn synth_never_panics(data in input(SYNTH)) {
        fuzz::fuzz_synth(&data);
    }

    #[test]
    fn swim_never_panics(data in input(SWIM)) {
        fuzz::fuzz_swim(&data);
    }

    #[test]
    fn philly_never_panics(data in prop_oneof![input(PHILLY), input(RUN_TIMES)]) {
        fuzz::fuzz_philly(&data);
    }

    #[test]
    fn topology_never_panics(data in input(TOPOLOGY)) {
        fuzz::fuzz_topology(&data);
    }

    #[test]
    fn gzip_never_panics(
        data in prop_oneof![input(SWIM), input(TOPOLOGY)],
        level in 0..9u32,
        flips in vec((any::<Index>(), any::<u8>()), 0..3),
        is_cut in any::<bool>(),
    ) {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::new(level));
        encoder.write_all(&data).unwrap();
        let mut packed = encoder.finish().unwrap();
        for (place, flip) in flips {
            let place = place.index(packed.len());
            packed[place] ^= flip;
        }
        packed.truncate(if is_cut { packed.len() / 2 } else { packed.len() });
        fuzz::fuzz_gzip(&packed);
    }
}

#[test]
fn the_texts_are_right_before_they_are_damaged() {
    use apportion_bench::trace::{Format, ReadOptions, RunTimes, Source, read_nodes, read_workload};
    let is_good = |format, text: &str| {
        read_workload(format, Source::new("t", text.as_bytes()), &ReadOptions::default())
            .map(|read| read.jobs.len())
    };
    assert_eq!(is_good(Format::Openb, PODS).unwrap(), 3);
    assert_eq!(is_good(Format::Openb, UNTIMED_PODS).unwrap(), 2);
    assert_eq!(is_good(Format::Sls, SLS).unwrap(), 3);
    assert_eq!(is_good(Format::Synth, SYNTH).unwrap(), 20);
    assert_eq!(is_good(Format::Swim, SWIM).unwrap(), 2);
    let options = ReadOptions { run_times: vec![7].into(), ..ReadOptions::default() };
    let philly = read_workload(Format::Philly, Source::new("t", PHILLY.as_bytes()), &options);
    assert_eq!(philly.unwrap().jobs.len(), 2);
    assert!(RunTimes::read(Source::new("t", RUN_TIMES.as_bytes())).is_ok());
    assert!(
        is_good(Format::Rumen, RUMEN).unwrap_err().to_string().contains("no startTime"),
        "one -1 is in it"
    );
    assert_eq!(is_good(Format::Rumen, &RUMEN.replace("-1,", "1,")).unwrap(), 2);
    assert_eq!(read_nodes(Format::Sls, Source::new("t", TOPOLOGY.as_bytes())).unwrap().len(), 3);
    assert_eq!(read_nodes(Format::Openb, Source::new("t", NODES.as_bytes())).unwrap().len(), 2);
}
