//! The complete published traces: they run, every ask is accounted for, and the audit is clean.
//!
//! They are read from the folder that `APPORTION_DATA` names, by default `../shared/data` next to the project. If the
//! folder is absent, a test says so and passes, or fails if `APPORTION_DATA_REQUIRED` is set.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn data(test: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let folder =
        std::env::var_os("APPORTION_DATA").map_or_else(|| root.join("../shared/data"), PathBuf::from);
    if folder.is_dir() {
        return folder.canonicalize().ok();
    }
    let message = format!("{test}: no traces at {}", folder.display());
    assert!(std::env::var_os("APPORTION_DATA_REQUIRED").is_none(), "{message}");
    // A macro's output would be hidden in a passing test.
    let _ = writeln!(std::io::stderr(), "skipped: {message}");
    None
}

/// Replays with arguments in which file names are relative to the traces' folder.
fn replay(folder: &Path, arguments: &str) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_apportion-bench"))
        .current_dir(folder)
        .arg("replay")
        .args(arguments.split_whitespace())
        .args(["--json", "-"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    let figures: Value = serde_json::from_slice(&output.stdout).unwrap();
    let count = |key: &str| figures[key].as_u64().unwrap();
    let groups = count("placed") + count("unplaceable") + count("cancelled") + count("pending_at_end");
    assert_eq!(count("asks"), groups, "{arguments}: {figures}");
    assert_eq!(count("audit_violations"), 0, "{arguments}");
    figures
}

const OPENB: &str = "--format openb --nodes openb/openb_node_list_all_node.csv.gz --workload openb/openb_pod_list_default.csv.gz";
const QUEUES: &str = "--queues hadoop-sls/sample-conf-capacity-scheduler.xml";

#[test]
fn openb_in_parallel() {
    let Some(folder) = data("openb_in_parallel") else { return };
    let figures = replay(&folder, &format!("{OPENB} --mode parallel --proposers 2"));
    assert_eq!(figures["asks"], 8152);
    assert_eq!(figures["placed"], 8152, "at this speed the cluster is nearly idle");
    // With arrivals 275 times as dense as recorded, at most a fifth of the GPUs is in use. Pods run for weeks, and
    // most are asked for before the first ones end, but they are too few. So none waits.
    let compressed = replay(&folder, &format!("{OPENB} --compress 275 --mode parallel --proposers 2"));
    assert_eq!(compressed["asks"], 8152);
    assert_eq!(compressed["wait_ms"]["p99"], 0);
    assert!(compressed["utilisation"]["gpu_milli"]["peak"].as_f64() < Some(0.25), "{compressed}");
}

#[test]
fn openb_log_of_a_parallel_run_replays_to_its_state() {
    let Some(folder) = data("openb_log_of_a_parallel_run_replays_to_its_state") else { return };
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("run.log");
    let figures = replay(&folder, &format!("{OPENB} --mode parallel --proposers 2 --log {}", log.display()));
    let verified =
        Command::new(env!("CARGO_BIN_EXE_apportion-bench")).arg("verify").arg(&log).arg("--json").output();
    let replayed: Value = serde_json::from_slice(&verified.unwrap().stdout).unwrap();
    assert_eq!(replayed["state_digest"], figures["state_digest"]);
    assert_eq!(replayed["audit_violations"], 0);
}

#[test]
fn openb_under_pressure_makes_pods_wait() {
    let Some(folder) = data("openb_under_pressure_makes_pods_wait") else { return };
    for mode in ["serial", "parallel"] {
        let figures = replay(&folder, &format!("{OPENB} --compress 100000 --mode {mode}"));
        assert!(figures["wait_ms"]["p99"].as_u64() > Some(0), "{figures}");
        assert!(figures["utilisation"]["gpu_milli"]["peak"].as_f64() > Some(0.8), "{figures}");
    }
}

#[test]
fn openb_serial_runs_are_equal() {
    let Some(folder) = data("openb_serial_runs_are_equal") else { return };
    let digest = || replay(&folder, &format!("{OPENB} --mode serial --seed 7"))["commit_log_digest"].clone();
    let first = digest();
    assert_eq!(first, digest());
    let mut pods = String::new();
    let file = std::fs::File::open(folder.join("openb/openb_pod_list_default.csv.gz")).unwrap();
    flate2::read::GzDecoder::new(file).read_to_string(&mut pods).unwrap();
    let place = tempfile::tempdir().unwrap();
    let changed = place.path().join("pods.csv");
    std::fs::write(&changed, pods.replacen("openb-pod-0001,6000,", "openb-pod-0001,6001,", 1)).unwrap();
    let arguments = OPENB.replace("openb/openb_pod_list_default.csv.gz", &changed.display().to_string());
    let figures = replay(&folder, &format!("{arguments} --mode serial --seed 7"));
    assert_ne!(figures["commit_log_digest"], first, "one pod asks for one thousandth of a core more");
}

/// Two pods of `gpuspec10` want eight G2 GPUs with more cores and memory than any G2 node has.
#[test]
fn openb_in_its_other_shapes() {
    let Some(folder) = data("openb_in_its_other_shapes") else { return };
    for (list, asks, unplaceable) in [
        ("cpu050", 7439, 0),
        ("cpu250", 9420, 0),
        ("gpushare100", 8152, 0),
        ("gpuspec10", 8152, 2),
        ("multigpu20", 8324, 0),
    ] {
        let nodes = "openb/openb_node_list_gpu_node.csv.gz";
        let figures = replay(
            &folder,
            &format!("--format openb --nodes {nodes} --workload openb/openb_pod_list_{list}.csv.gz"),
        );
        assert_eq!(figures["asks"], asks, "{list}");
        assert_eq!(figures["unplaceable"], unplaceable, "{list}");
    }
}

#[test]
fn rumen_with_yarn_queues() {
    let Some(folder) = data("rumen_with_yarn_queues") else { return };
    for mode in ["serial", "parallel"] {
        let trace = "--format rumen --workload hadoop-sls/2jobs2min-rumen-jh.json.gz";
        let figures = replay(&folder, &format!("{trace} {QUEUES} --mode {mode}"));
        assert_eq!(figures["asks"], 2 * 96 + 2, "two jobs of 96 maps, and their masters");
        assert_eq!(figures["completed"], figures["asks"]);
    }
    for name in ["gridmix-wordcount", "gridmix-wordcount2"] {
        replay(&folder, &format!("--format rumen --workload hadoop-sls/{name}.json.gz"));
    }
}

#[test]
fn sls_jobs() {
    let Some(folder) = data("sls_jobs") else { return };
    for name in ["inputsls", "sls_dag"] {
        for nodes in ["", "--nodes hadoop-sls/nodes.json"] {
            let figures =
                replay(&folder, &format!("--format sls --workload hadoop-sls/{name}.json {nodes} {QUEUES}"));
            assert_eq!(figures["asks"], 7, "{name}: 3 and 2 tasks, and two masters");
            assert_eq!(figures["completed"], 7, "{name}");
        }
    }
}

#[test]
fn synth_workloads() {
    let Some(folder) = data("synth_workloads") else { return };
    for name in ["syn", "syn_generic", "syn_stream"] {
        let run = |seed: u32| {
            replay(
                &folder,
                &format!("--format synth --workload hadoop-sls/{name}.json {QUEUES} --seed {seed}"),
            )
        };
        let figures = run(1);
        assert_eq!(figures["nodes"], 20, "{name}");
        assert_eq!(figures["completed"], figures["asks"], "{name}");
        assert_eq!(figures["commit_log_digest"], run(1)["commit_log_digest"], "{name}");
        assert_ne!(figures["commit_log_digest"], run(2)["commit_log_digest"], "{name}");
    }
}

#[test]
fn swim_of_2009() {
    let Some(folder) = data("swim_of_2009") else { return };
    let figures = swim(&folder, "swim/FB-2009_samples_24_times_1hr_0.tsv.gz");
    assert_eq!(figures["nodes"], 600, "{figures}");
    assert!(figures["placed"].as_u64() > Some(100_000), "{figures}");
}

/// The first tenth of the jobs. The whole trace has 1.4 million asks, and `.ci/nightly` sets this variable for it.
#[test]
fn swim_of_2010() {
    let Some(folder) = data("swim_of_2010") else { return };
    let trace = std::fs::File::open(folder.join("swim/FB-2010_samples_24_times_1hr_0.tsv.gz")).unwrap();
    let jobs = if std::env::var_os("APPORTION_WHOLE_TRACES").is_some() { usize::MAX } else { 2_444 };
    let place = tempfile::tempdir().unwrap();
    let mut file = std::fs::File::create(place.path().join("jobs.tsv")).unwrap();
    for line in BufReader::new(flate2::read::MultiGzDecoder::new(trace)).lines().take(jobs) {
        writeln!(file, "{}", line.unwrap()).unwrap();
    }
    let figures = swim(place.path(), "jobs.tsv");
    assert_eq!(figures["nodes"], 3000, "{figures}");
    assert!(figures["placed"].as_u64() > Some(100_000), "{figures}");
}

fn swim(folder: &Path, workload: &str) -> Value {
    let figures = replay(folder, &format!("--format swim --workload {workload}"));
    assert_eq!(figures["unplaceable"], 0, "{figures}");
    assert!(figures["invented"][0].as_str().unwrap().contains("bytes only"), "{figures}");
    figures
}

/// Large jobs wait because free GPUs are spread over nodes, but never with room for them.
#[test]
fn philly_with_gangs() {
    let Some(folder) = data("philly_with_gangs") else { return };
    let options = "--format philly --workload philly --compress 50 --tick 5000";
    let figures = replay(&folder, &format!("{options} --seed 1"));
    assert_eq!((&figures["asks"], &figures["completed"]), (&15_817.into(), &15_817.into()));
    let gangs = &figures["gangs"];
    assert_eq!((&gangs["all"]["jobs"], &gangs["of_several"]), (&15_264.into(), &359.into()));
    assert_eq!((&gangs["waited_with_room"], &gangs["held_unit_h"]), (&0.into(), &0.0.into()), "{gangs}");
    assert!(gangs["jobs_checked"].as_u64() > Some(10_000), "{gangs}");
    assert!(gangs["sizes"][3]["waited_s"]["fragmented"].as_f64() > Some(0.0), "{gangs}");
}
