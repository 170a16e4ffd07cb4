//! The program from outside: exit codes, messages, and what it leaves behind.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

/// Three nodes and a pod for each, one of them too large for any node.
const NODES: &str = "sn,cpu_milli,memory_mib,gpu,model\nn0,8000,16384,2,T4\nn1,8000,16384,0,\n";
const PODS: &str = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n\
p0,1000,1024,1,500,,LS,Running,0,60,0\n\
p1,1000,1024,0,0,,BE,Running,5,60,5\n\
p2,99000,1024,0,0,,BE,Running,6,60,\n";

struct Case {
    folder: TempDir,
}

impl Case {
    fn new() -> Self {
        let case = Self { folder: tempfile::tempdir().unwrap() };
        case.file("nodes.csv", NODES).file("pods.csv", PODS);
        case
    }

    fn file(&self, name: &str, text: impl AsRef<[u8]>) -> &Self {
        fs::write(self.folder.path().join(name), text).unwrap();
        self
    }

    fn run(&self, arguments: &str) -> Output {
        let program = env!("CARGO_BIN_EXE_apportion-bench");
        Command::new(program)
            .args(arguments.split_whitespace())
            .current_dir(self.folder.path())
            .output()
            .unwrap()
    }

    /// Runs a replay of the pods that should fail on its input, and returns the message.
    fn refuses(&self, arguments: &str) -> String {
        let output = self.run(&format!("replay --json out.json --log out.log --report out.html {arguments}"));
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments}: {message}");
        for name in ["out.json", "out.log", "out.html"] {
            assert!(!self.folder.path().join(name).exists(), "{name} was left behind by {arguments}");
        }
        let left = fs::read_dir(self.folder.path()).unwrap().flatten();
        let temporary = left.filter(|entry| entry.file_name().to_string_lossy().ends_with(".tmp"));
        assert_eq!(temporary.count(), 0, "temporary files were left behind by {arguments}");
        message
    }
}

fn json(text: &[u8]) -> serde_json::Value {
    serde_json::from_slice(text).unwrap()
}

fn contains_all(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "`{part}` is missing in: {message}");
    }
}

const OPENB: &str = "--format openb --nodes nodes.csv --workload pods.csv";

#[test]
fn every_pod_is_in_exactly_one_group() {
    let case = Case::new();
    let output = case.run(&format!("replay {OPENB} --json -"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let figures = json(&output.stdout);
    for (key, value) in
        [("asks", 3), ("placed", 2), ("unplaceable", 1), ("pending_at_end", 0), ("audit_violations", 0)]
    {
        assert_eq!(figures[key], value, "{key}");
    }
    assert_eq!(figures["unplaceable_by_reason"]["vcore_milli_larger_than_any_node"], 1);
}

#[test]
fn serial_runs_are_equal_and_another_pod_makes_another_log() {
    let case = Case::new();
    let digest = || {
        json(&case.run(&format!("replay {OPENB} --mode serial --seed 7 --json -")).stdout)["commit_log_digest"].clone()
    };
    let (first, second) = (digest(), digest());
    assert_eq!(first, second);
    case.file("pods.csv", PODS.replace("p1,1000", "p1,1001"));
    assert_ne!(first, digest());
}

#[test]
fn verify_prints_the_digest_that_the_run_ended_with() {
    let case = Case::new();
    let output = case.run(&format!("replay {OPENB} --mode parallel --log run.log --json -"));
    let figures = json(&output.stdout);
    let verified = case.run("verify run.log --json");
    assert!(verified.status.success());
    let replayed = json(&verified.stdout);
    assert_eq!(replayed["state_digest"], figures["state_digest"]);
    let earlier = json(&case.run("verify run.log --at 2 --json").stdout);
    assert_eq!(earlier["changes"], 2);
    assert_ne!(earlier["state_digest"], replayed["state_digest"]);
}

#[test]
fn a_damaged_log_is_refused_with_its_place() {
    let case = Case::new();
    case.run(&format!("replay {OPENB} --log run.log"));
    let path = case.folder.path().join("run.log");
    let log = fs::read(&path).unwrap();
    let verify = |bytes: &[u8], argument: &str| {
        fs::write(&path, bytes).unwrap();
        let output = case.run(&format!("verify run.log {argument}"));
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    contains_all(&verify(&log[..log.len() - 1], ""), &["run.log", "ends in the middle of a group at byte"]);
    let mut flipped = log.clone();
    flipped[40] ^= 1;
    contains_all(&verify(&flipped, ""), &["damaged at byte 8"]);
    contains_all(&verify(b"not a log", ""), &["not an Apportion log"]);
    contains_all(&verify(&log, "--at 99999"), &["change 99999 was asked for"]);
}

#[test]
fn wrong_traces_are_refused_with_file_and_line() {
    let case = Case::new();
    contains_all(&case.refuses("--format openb --nodes nodes.csv --workload none.csv"), &["none.csv"]);
    contains_all(&case.refuses("--format openb --workload pods.csv"), &["pods.csv", "--nodes"]);
    case.file("cut.csv.gz", [0x1f, 0x8b, 8, 0, 0, 0]).file("plain.csv.gz", PODS);
    contains_all(&case.refuses("--format openb --nodes nodes.csv --workload cut.csv.gz"), &["cut.csv.gz"]);
    contains_all(
        &case.refuses("--format openb --nodes nodes.csv --workload plain.csv.gz"),
        &["plain.csv.gz", "gzip"],
    );
    case.file("pods.csv", PODS.replace("memory_mib", "memory_mb"));
    contains_all(&case.refuses(OPENB), &["pods.csv:1", "memory_mb", "memory_mib"]);
    case.file("pods.csv", PODS.replace("p1,1000", "p1,-1000"));
    contains_all(&case.refuses(OPENB), &["pods.csv:3", "cpu_milli", "-1000"]);
    case.file("pods.csv", PODS.replace("p1,1000", "p1,99999999999999999999"));
    contains_all(&case.refuses(OPENB), &["pods.csv:3", "cpu_milli"]);
    case.file("pods.csv", PODS).file("nodes.csv", NODES.replace("n1,", "n0,"));
    contains_all(&case.refuses(OPENB), &["nodes.csv:3", "n0"]);
    case.file("nodes.csv", NODES.lines().next().unwrap());
    contains_all(&case.refuses(OPENB), &["nodes.csv", "zero nodes"]);
}

#[test]
fn wrong_queues_are_refused_with_the_nearest_right_name() {
    let case = Case::new();
    let job = |queue: &str| {
        format!(
            "{{\"num.nodes\":1}}{{\"am.type\":\"mapreduce\",\"job.start.ms\":0,\"job.queue.name\":\"{queue}\",\
             \"job.id\":\"j\",\"job.tasks\":[{{\"container.start.ms\":0,\"container.end.ms\":9}}]}}"
        )
    };
    let queues =
        "[queues.\"root.analytics\"]\ncapacity = \"60 %\"\n[queues.\"root.search\"]\ncapacity = \"40 %\"\n";
    case.file("jobs.json", job("analitics")).file("queues.toml", queues);
    let arguments = "--format sls --workload jobs.json --queues queues.toml";
    contains_all(&case.refuses(arguments), &["`analitics`", "did you mean `analytics`?"]);
    case.file("jobs.json", job("analytics"));
    assert!(case.run(&format!("replay {arguments}")).status.success());
    case.file("queues.toml", queues.replace("40", "41"));
    contains_all(&case.refuses(arguments), &["queues.toml:", "101 %"]);
    case.file("queues.toml", queues.replace("capacity = \"40", "capazity = \"40"));
    contains_all(&case.refuses(arguments), &["queues.toml:4", "capazity", "did you mean"]);
    case.file("queues.yaml", queues);
    contains_all(&case.refuses("--format sls --workload jobs.json --queues queues.yaml"), &[".toml or .xml"]);
}

#[test]
fn unknown_keys_of_a_trace_name_the_nearest_one() {
    let case = Case::new();
    case.file("jobs.json", "{\"job.id\":\"j\",\"job.task\":[]}");
    contains_all(
        &case.refuses("--format sls --workload jobs.json"),
        &["jobs.json:1", "job.task", "job.tasks"],
    );
    contains_all(&case.refuses("--format slss --workload jobs.json"), &["slss", "sls"]);
}

#[test]
fn the_demo_leaves_a_report_that_needs_no_network() {
    let case = Case::new();
    let output = case.run("demo --nodes 50 --seconds 5 --report report.html --json figures.json");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = fs::read_to_string(case.folder.path().join("report.html")).unwrap();
    assert!(page.matches("<svg").count() >= 5);
    let outside = page.replace("http://www.w3.org/2000/svg", "");
    assert!(!outside.contains("http"), "the page refers to something outside");
    let figures = json(&fs::read(Path::new(case.folder.path()).join("figures.json")).unwrap());
    assert_eq!(figures["asks"], figures["placed"]);
}

#[test]
fn completions_and_help_are_there() {
    let case = Case::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(case.run(&format!("completions {shell}")).stdout.len() > 500);
    }
    let help = String::from_utf8(case.run("replay --help").stdout).unwrap();
    contains_all(&help, &["--compress", "--proposers", "Example:"]);
}

#[test]
fn throughput_places_everything_and_compares_itself_with_the_yardstick() {
    let case = Case::new();
    let fill = "throughput --workload fill --nodes 100 --apps 5 --leaves 3 --asks 1000 --repeat 2";
    let output = case.run(&format!("{fill} --with-limit --json -"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let figures = json(&output.stdout);
    assert_eq!((&figures["placed"], &figures["committed"]), (&1000.into(), &1000.into()));
    for key in ["allocations_per_second", "limit_allocations_per_second", "ratio_to_limit", "batch_mean"] {
        assert!(figures[key].as_f64().unwrap() > 0.0, "{key}: {figures}");
    }
    let text = String::from_utf8(case.run(fill).stdout).unwrap();
    contains_all(&text, &["allocations per second (median of 2)", "write lock:", "audit: nothing found"]);
    for wrong in [
        "--nodes 9",
        "--asks 0",
        "--proposers 0",
        "--workload nonsense",
        "--repeat 0",
        "--batch 0",
        "--asks 5",
        "--workload fill --rate 5",
        "--workload fill --seconds 5",
    ] {
        assert_eq!(case.run(&format!("throughput {wrong}")).status.code(), Some(2), "{wrong}");
    }
}

#[test]
fn a_busy_cluster_is_kept_busy() {
    let case = Case::new();
    let churn = "throughput --nodes 100 --apps 8 --leaves 4 --seconds 0.05 --repeat 2 --batch 64";
    let output = case.run(&format!("{churn} --json - --report r.html"));
    let page = fs::read_to_string(case.folder.path().join("r.html")).unwrap();
    assert_eq!(page.matches("<svg").count(), 4);
    contains_all(&page, &["throughput of churn", "run 2", "All figures"]);
    assert!(!page.replace("http://www.w3.org/2000/svg", "").contains("http"), "nothing outside is needed");
    for wrong in ["--json out --report ./out", "--report nowhere/r.html"] {
        assert_eq!(case.run(&format!("{churn} {wrong}")).status.code(), Some(2), "{wrong}");
    }
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let figures = json(&output.stdout);
    assert_eq!(figures["workload"], "churn");
    for key in ["allocations_per_second", "commit_lock_share", "commit_lock_ns_per_allocation_median"] {
        assert!(figures[key].as_f64().unwrap() > 0.0, "{key}: {figures}");
    }
    let age = &figures["proposal_age_us"];
    assert!(0.0 < age["p50"].as_f64().unwrap() && age["p50"].as_f64() <= age["p99"].as_f64(), "{age}");
}

#[test]
fn storms_and_crowds_are_kept_busy_too() {
    let case = Case::new();
    let tiny = "--nodes 100 --apps 8 --leaves 4 --seconds 0.05 --repeat 1 --json -";
    for workload in ["constrained", "conflict-storm", "scale"] {
        let output = case.run(&format!("throughput --workload {workload} {tiny}"));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let figures = json(&output.stdout);
        assert_eq!((&figures["workload"], &figures["nodes"]), (&workload.into(), &100.into()));
        assert!(figures["placed"].as_u64().unwrap() > 0, "{figures}");
        assert!(figures["used_part"].as_f64().unwrap() > 0.5, "{figures}");
        assert_eq!(figures["runs"].as_array().unwrap().len(), 1);
        for key in ["bytes_per_node", "bytes_per_container", "peak_rss_bytes"] {
            assert_eq!(figures[key].is_number(), cfg!(target_os = "linux"), "{key}: {figures}");
        }
    }
}

#[test]
fn full_clusters_stay_full() {
    let case = Case::new();
    for (workload, leaves) in [("backlog-s", 4), ("backlog-l", 4), ("wide-tree", 20)] {
        let tiny = format!("--nodes 40 --apps 40 --leaves {leaves} --asks 16000 --seconds 0.05 --repeat 1");
        let output = case.run(&format!("throughput --workload {workload} {tiny} --json -"));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let figures = json(&output.stdout);
        assert_eq!((&figures["workload"], &figures["asks"]), (&workload.into(), &16_000.into()));
        assert!(figures["placed"].as_u64().unwrap() > 0, "{figures}");
        assert!(figures["used_part"].as_f64().unwrap() > 0.8, "{figures}");
        assert!(figures["pending"].as_u64().unwrap() > 5_000, "{figures}");
    }
    let too_few = case.run("throughput --workload backlog-s --nodes 40 --apps 40 --asks 100 --repeat 1");
    let message = String::from_utf8(too_few.stderr).unwrap();
    assert_eq!(too_few.status.code(), Some(1), "{message}");
    contains_all(&message, &["of the cluster is in use", "are there enough asks?"]);
}

#[test]
fn fairness_is_read_on_virtual_time() {
    let case = Case::new();
    let tiny = "fairness --nodes 40 --apps 400 --leaves 20 --asks 16000 --seconds 5";
    for mode in ["serial", "parallel"] {
        let output = case.run(&format!("{tiny} --mode {mode} --json -"));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let figures = json(&output.stdout);
        assert_eq!((&figures["mode"], &figures["virtual_s"]), (&mode.into(), &5.0.into()));
        assert!(figures["smallest"]["leaves_with_pending"].as_u64().unwrap() > 0, "{figures}");
        assert!(figures["used_part"].as_f64().unwrap() > 0.9, "{figures}");
    }
    let text = String::from_utf8(case.run(tiny).stdout).unwrap();
    contains_all(&text, &["serial mode", "40 of 40", "of their fair share"]);
    for wrong in ["--nodes 9", "--mode sideways", "--seconds 0", "--asks 0", "--json nowhere/f.json"] {
        assert_eq!(case.run(&format!("fairness {wrong}")).status.code(), Some(2), "{wrong}");
    }
}

#[test]
fn starvation_is_told_with_and_without_reservations() {
    let case = Case::new();
    let tiny = "starvation --nodes 40 --apps 40 --leaves 4 --asks 8000 --seconds 300";
    let figures = json(&case.run(&format!("{tiny} --json -")).stdout);
    let [with, without] = ["with_reservations", "without_reservations"].map(|which| &figures[which]);
    assert!(with["kept_free_part"].as_f64().unwrap() > 0.0, "{figures}");
    assert_eq!(without["kept_free_part"], 0.0, "{figures}");
    for one in [with, without] {
        assert!(one["large_waited"].as_u64().unwrap() + one["large_still_waiting"].as_u64().unwrap() > 0);
    }
    let text = String::from_utf8(case.run(tiny).stdout).unwrap();
    contains_all(&text, &["with reservations:", "without reservations:", "mean lives"]);
    assert_eq!(case.run("starvation --leaves 0").status.code(), Some(2));
}

#[test]
fn asks_at_a_rate_say_how_long_they_took() {
    let case = Case::new();
    let paced = "throughput --workload constrained --nodes 200 --apps 8 --leaves 4 --rate 2000 --seconds 0.2 --repeat 1";
    let output = case.run(&format!("{paced} --json -"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let figures = json(&output.stdout);
    let placed = figures["placed"].as_u64().unwrap();
    assert!((1..=420).contains(&placed), "not faster than asked for: {placed}");
    let latency = &figures["latency_us"];
    assert!(0.0 < latency["p50"].as_f64().unwrap() && latency["p50"].as_f64() <= latency["p99"].as_f64());
    for wrong in ["--rate 0", "--rate 5 --with-limit"] {
        assert_eq!(case.run(&format!("throughput {wrong}")).status.code(), Some(2), "{wrong}");
    }
}

#[test]
fn the_yardstick_is_measured_alone() {
    let case = Case::new();
    let output = case.run("limit --nodes 100 --leaves 8 --seconds 0.01 --repeat 3 --json -");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(json(&output.stdout)["limit_allocations_per_second"].as_f64().unwrap() > 0.0);
    for wrong in ["--seconds 0", "--seconds many", "--nodes 0", "--leaves 0"] {
        assert_eq!(case.run(&format!("limit {wrong}")).status.code(), Some(2), "{wrong}");
    }
}

#[test]
fn a_sweep_runs_each_load_as_a_replay_would() {
    let case = Case::new();
    let output = case.run(&format!("sweep {OPENB} --compress 1,60 --report sweep.html --json -"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let runs = json(&output.stdout);
    for (place, compress) in [(0, 1.0), (1, 60.0)] {
        let alone = json(&case.run(&format!("replay {OPENB} --compress {compress} --json -")).stdout);
        assert_eq!(runs[place]["compress"], compress);
        assert_eq!(runs[place]["state_digest"], alone["state_digest"]);
    }
    assert!(fs::read_to_string(case.folder.path().join("sweep.html")).unwrap().contains("<svg"));
    assert_eq!(case.run(&format!("sweep {OPENB} --compress 1,0")).status.code(), Some(2));
}

#[test]
fn a_sweep_needs_no_trace_and_takes_seeds_together() {
    let case = Case::new();
    let sweep =
        "sweep --demo 20 --sizes 0.5,1 --node-orders spread,pack --application-orders fair --seeds 1,2";
    let output = case.run(&format!("{sweep} --report sweep.html --json -"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let runs = json(&output.stdout);
    assert_eq!(runs.as_array().unwrap().len(), 8);
    for (place, order, size, seed) in [(0, "spread", 0.5, 1), (3, "spread", 1.0, 2), (6, "pack", 1.0, 1)] {
        let run = &runs[place];
        assert_eq!((&run["node_order"], &run["application_order"]), (&order.into(), &"fair".into()));
        assert_eq!((&run["size"], &run["seed"]), (&size.into(), &seed.into()));
        assert_eq!(run["nodes"].as_f64().unwrap(), 20.0 * size);
    }
    let (one, other) = (runs[2]["placed"].as_f64().unwrap(), runs[3]["placed"].as_f64().unwrap());
    assert_ne!(one, other, "seeds draw other jobs");
    let placed = &runs[2]["over_seeds"]["placed"];
    assert_eq!(placed["median"].as_f64().unwrap(), (one + other) / 2.0);
    assert_eq!(placed["min"].as_f64().unwrap(), one.min(other));
    let page = fs::read_to_string(case.folder.path().join("sweep.html")).unwrap();
    contains_all(&page, &["<svg", "Time per allocation", "spread, fair", "pack, fair", "8 simulations"]);
    let table = String::from_utf8(case.run(sweep).stdout).unwrap();
    contains_all(&table, &["policy", "nodes", "wall time each", "pack, fair", " to "]);
}

#[test]
fn a_sweep_of_another_size_is_of_the_same_jobs() {
    let case = Case::new();
    let output = case.run(&format!("sweep {OPENB} --sizes 1,1.5,3 --json -"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let runs = json(&output.stdout);
    let figures = |key: &str| [0, 1, 2].map(|place| runs[place][key].as_u64().unwrap());
    assert_eq!((figures("nodes"), figures("asks")), ([2, 3, 6], [3; 3]));
}

#[test]
fn what_a_sweep_cannot_vary_is_refused() {
    let case = Case::new();
    for (arguments, parts) in [
        ("--compress 1,2", vec!["--format", "--workload"]),
        ("--demo --format openb", vec!["--demo", "--format"]),
        ("--demo --seeds 1,2,1", vec!["--seeds", "1 is named twice"]),
        ("--demo --sizes 0", vec!["--sizes", "0.001 to 1000"]),
        ("--demo 100000 --sizes 1,20", vec!["--sizes 20", "2000000", "1000000"]),
        ("--demo --node-orders pakc", vec!["pakc", "pack"]),
        ("--format openb --nodes nodes.csv --workload pods.csv --seeds 1,2", vec!["--seeds", "openb"]),
    ] {
        let output = case.run(&format!("sweep {arguments}"));
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments}: {message}");
        contains_all(&message, &parts);
    }
}

#[test]
fn outputs_that_cannot_be_written_are_refused_before_anything_runs() {
    let case = Case::new();
    fs::create_dir(case.folder.path().join("folder")).unwrap();
    for (arguments, parts) in [
        ("--json folder", ["folder", "is a folder"]),
        ("--report nowhere/r.html", ["nowhere/r.html", "no such folder"]),
        ("--log -", ["-", "give it a file"]),
        ("--json same --log same", ["--json", "--log"]),
        ("--json pods.csv", ["--workload", "--json"]),
        ("--json out --report ./out", ["--json", "--report"]),
    ] {
        let output = case.run(&format!("replay {OPENB} {arguments}"));
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments}: {message}");
        contains_all(&message, &parts);
        assert!(output.stdout.is_empty(), "{arguments}: nothing ran");
        assert!(!message.contains(".tmp"), "{arguments}: {message}");
    }
    assert_eq!(fs::read_to_string(case.folder.path().join("pods.csv")).unwrap(), PODS);
    assert_eq!(fs::read_dir(case.folder.path()).unwrap().count(), 3, "nothing is left behind");
}

#[test]
fn times_that_cannot_be_counted_are_refused() {
    let case = Case::new();
    for factor in ["0", "-1", "1e-300", "1e300", "nan", "x"] {
        let output = case.run(&format!("replay {OPENB} --compress={factor}"));
        assert_eq!(output.status.code(), Some(2), "{factor}");
    }
}
