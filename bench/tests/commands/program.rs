//! The program from the command line: exit codes, messages, and the files it leaves.

#[cfg(unix)]
mod interrupt;
mod interrupt_reports;
#[cfg(target_os = "linux")]
mod streams;

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::case::{Case, NODES, PODS, contains_all, fetches_nothing, json};

const OPENB: &str = "--format openb --nodes nodes.csv --workload pods.csv";

/// Runs a replay of the pods that should fail on its input, and returns the message.
fn refuses(case: &Case, arguments: &str) -> String {
    let output = case.run(&format!("replay --json out.json --log out.log --report out.html {arguments}"));
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments}: {message}");
    for name in ["out.json", "out.log", "out.html"] {
        assert!(!case.folder.path().join(name).exists(), "{name} was left behind by {arguments}");
    }
    let left = fs::read_dir(case.folder.path()).unwrap().flatten();
    let temporary = left.filter(|entry| entry.file_name().to_string_lossy().ends_with(".tmp"));
    assert_eq!(temporary.count(), 0, "temporary files were left behind by {arguments}");
    message
}

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
    contains_all(&verify(&log[..log.len() - 1], ""), &["run.log", "the last group of the log, at byte"]);
    let mut flipped = log.clone();
    flipped[40] ^= 1;
    contains_all(&verify(&flipped, ""), &["damaged at byte 8"]);
    contains_all(&verify(b"not a log", ""), &["not an Apportion log"]);
    contains_all(&verify(&log, "--at 99999"), &["change 99999 was asked for"]);
}

#[test]
fn wrong_traces_are_refused_with_file_and_line() {
    let case = Case::new();
    contains_all(&refuses(&case, "--format openb --nodes nodes.csv --workload none.csv"), &["none.csv"]);
    contains_all(&refuses(&case, "--format openb --workload pods.csv"), &["pods.csv", "--nodes"]);
    case.file("cut.csv.gz", [0x1f, 0x8b, 8, 0, 0, 0]).file("plain.csv.gz", PODS);
    contains_all(&refuses(&case, "--format openb --nodes nodes.csv --workload cut.csv.gz"), &["cut.csv.gz"]);
    contains_all(
        &refuses(&case, "--format openb --nodes nodes.csv --workload plain.csv.gz"),
        &["plain.csv.gz", "gzip"],
    );
    case.file("pods.csv", PODS.replace("memory_mib", "memory_mb"));
    contains_all(&refuses(&case, OPENB), &["pods.csv:1", "memory_mb", "memory_mib"]);
    case.file("pods.csv", PODS.replace("p1,1000", "p1,-1000"));
    contains_all(&refuses(&case, OPENB), &["pods.csv:3", "cpu_milli", "-1000"]);
    case.file("pods.csv", PODS.replace("p1,1000", "p1,99999999999999999999"));
    contains_all(&refuses(&case, OPENB), &["pods.csv:3", "cpu_milli"]);
    case.file("pods.csv", PODS).file("nodes.csv", NODES.replace("n1,", "n0,"));
    contains_all(&refuses(&case, OPENB), &["nodes.csv:3", "n0"]);
    case.file("nodes.csv", NODES.lines().next().unwrap());
    contains_all(&refuses(&case, OPENB), &["nodes.csv", "zero nodes"]);
}

#[test]
fn empty_files_are_called_empty() {
    let case = Case::new();
    for name in ["empty.csv", "empty.csv.gz", "empty.json", "empty.toml", "empty.xml", "empty.yaml"] {
        case.file(name, "");
    }
    case.file("blank.toml", "\u{feff} \n\n");
    for (arguments, name) in [
        ("--format openb --nodes nodes.csv --workload empty.csv", "empty.csv"),
        ("--format openb --nodes nodes.csv --workload empty.csv.gz", "empty.csv.gz"),
        ("--format openb --nodes empty.csv --workload pods.csv", "empty.csv"),
        ("--format sls --workload empty.json", "empty.json"),
        ("--format swim --workload empty.json", "empty.json"),
        ("--format openb --nodes nodes.csv --workload pods.csv --queues empty.yaml", "empty.yaml"),
    ] {
        contains_all(&refuses(&case, arguments), &[&format!(" {name}: the file is empty\n")]);
    }
    for name in ["empty.toml", "empty.xml", "empty.yaml", "blank.toml"] {
        let output = case.run(&format!("config check {name}"));
        assert_eq!(output.status.code(), Some(2));
        contains_all(&String::from_utf8(output.stderr).unwrap(), &[&format!(" {name}: the file is empty\n")]);
    }
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
    contains_all(&refuses(&case, arguments), &["`analitics`", "did you mean `analytics`?"]);
    case.file("jobs.json", job("analytics"));
    assert!(case.run(&format!("replay {arguments}")).status.success());
    case.file("queues.toml", queues.replace("40", "41"));
    contains_all(&refuses(&case, arguments), &["queues.toml:", "101 %"]);
    case.file("queues.toml", queues.replace("capacity = \"40", "capazity = \"40"));
    contains_all(&refuses(&case, arguments), &["queues.toml:4", "capazity", "did you mean"]);
    case.file("queues.yaml", queues);
    contains_all(
        &refuses(&case, "--format sls --workload jobs.json --queues queues.yaml"),
        &["queues.yaml:2:1:", "not YAML"],
    );
}

#[test]
fn unknown_keys_of_a_trace_name_the_nearest_one() {
    let case = Case::new();
    case.file("jobs.json", "{\"job.id\":\"j\",\"job.task\":[]}");
    contains_all(
        &refuses(&case, "--format sls --workload jobs.json"),
        &["jobs.json:1", "job.task", "job.tasks"],
    );
    contains_all(&refuses(&case, "--format slss --workload jobs.json"), &["slss", "sls"]);
}

#[test]
fn the_demo_leaves_a_report_that_needs_no_network() {
    let case = Case::new();
    let output = case.run("demo --nodes 50 --seconds 5 --report report.html --json figures.json");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = fs::read_to_string(case.folder.path().join("report.html")).unwrap();
    assert!(page.matches("<svg").count() >= 5);
    fetches_nothing(&page);
    let (_, latency) = page.split_once("<h2>Latency</h2>").unwrap();
    let latency = latency.split_once("</section>").unwrap().0;
    contains_all(latency, &["to the commit of its first container", " asks.", "part of asks"]);
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
    contains_all(&help, &["--compress", "--proposers", "--gangs", "Examples:"]);
    let defaults = [
        ("fairness", [2_000, 20_000, 1_000, 800_000, 290]),
        ("starvation", [5_000, 2_000, 20, 1_000_000, 1_200]),
    ];
    for (command, values) in defaults {
        let help = String::from_utf8(case.run(&format!("{command} --help")).stdout).unwrap();
        let options = ["--nodes", "--apps", "--leaves", "--asks", "--seconds"];
        for (option, value) in options.into_iter().zip(values) {
            let (_, rest) = help.split_once(&format!("      {option} ")).unwrap();
            let own: Vec<&str> = rest.split_once("      --").unwrap().0.split_whitespace().collect();
            assert!(own.join(" ").ends_with(&format!(" [default: {value}]")), "{command} {option}: {own:?}");
        }
    }
}

/// Sources the script and completes words, as the Tab key does.
#[test]
#[cfg(unix)]
fn bash_completes_options_of_subcommands() {
    let case = Case::new();
    case.file("completions", case.run("completions bash").stdout);
    let complete = |words: &str| {
        let script = "source completions; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); \
                      _apportion__bench apportion-bench \"${@: -1}\" \"${@: -2:1}\"; echo \"${COMPREPLY[@]}\"";
        let mut bash = Command::new("bash");
        bash.args(["-c", script, "bash", "apportion-bench"]).args(words.split(' '));
        let output = bash.current_dir(case.folder.path()).output().unwrap();
        assert!(output.stderr.is_empty(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(complete("repl"), "replay");
    assert_eq!(complete("replay --mo"), "--mode");
    assert_eq!(complete("replay --mode p"), "parallel");
    assert_eq!(complete("config check --clus"), "--cluster");
    assert_eq!(complete("replay --format ph"), "philly");
    assert_eq!(complete("sweep --format op"), "openb");
}

/// A closed pipe means that the reader has seen enough.
#[test]
fn a_pipe_that_is_closed_is_no_failure() {
    for arguments in [&["completions", "bash"][..], &["config", "schema"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let program = env!("CARGO_BIN_EXE_apportion-bench");
        let output = Command::new(program).args(arguments).stdout(writer).output().unwrap();
        assert_eq!((output.status.code(), &*output.stderr), (Some(0), &b""[..]), "{arguments:?}");
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
    contains_all(
        &table,
        &["policy", "nodes", "10 (size 0.5)", "20 (size 1)", "wall time each", "pack, fair", " to "],
    );
    let table = String::from_utf8(case.run("sweep --demo 20").stdout).unwrap();
    contains_all(&table, &["nodes", " 20 "]);
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
        ("", vec!["--demo", "--format"]),
        ("--compress 1,2", vec!["--demo", "--format"]),
        ("--format openb", vec!["--workload"]),
        ("--workload pods.csv", vec!["--format"]),
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
fn proposers_of_serial_mode_are_refused() {
    let case = Case::new();
    for command in [&*format!("replay {OPENB}"), "fairness --nodes 10", "starvation --nodes 10"] {
        let output = case.run(&format!("{command} --proposers 3"));
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{command}: {message}");
        contains_all(&message, &["--proposers 3", "--mode parallel"]);
    }
    assert!(case.run(&format!("replay {OPENB} --mode parallel --proposers 3")).status.success());
}

/// A run that measures nothing is refused, since its figures would look real.
#[test]
fn runs_that_measure_nothing_are_refused() {
    let case = Case::new();
    let tiny = "--nodes 10 --apps 1 --leaves 1 --asks 1";
    for (arguments, parts) in [
        ("demo --nodes 1 --seconds 1".to_owned(), ["no job arrives in 1 s", "--nodes"]),
        (format!("fairness {tiny} --seconds 1"), ["no leaf waits", "--asks"]),
        (format!("starvation {tiny} --seconds 300"), ["no large container", "--asks"]),
        (format!("starvation {tiny} --seconds 240"), ["the first 240 s are not counted", "--seconds"]),
        (
            "throughput --workload churn --nodes 10 --repeat 1 --rate 1 --seconds 0.01".into(),
            ["no container", "--seconds"],
        ),
    ] {
        let output = case.run(&format!("{arguments} --json out.json"));
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments}: {message}");
        assert!(output.stdout.is_empty() && !case.folder.path().join("out.json").exists(), "{arguments}");
        contains_all(&message, &parts);
    }
}

#[test]
fn text_that_is_no_text_is_refused_with_its_line() {
    let case = Case::new();
    let broken = |head: &str| [head.as_bytes(), b"\xff\xfe"].concat();
    case.file("bad.csv", broken("")).file("bad.json", broken("\n"));
    for name in ["bad.toml", "bad.xml", "bad.yaml"] {
        case.file(name, broken("a\n"));
    }
    let replays =
        ["sls", "rumen", "synth"].map(|format| format!("replay --format {format} --workload bad.json"));
    let checks = ["toml", "xml", "yaml"].map(|end| format!("config check bad.{end}"));
    let others = ["replay --format swim --workload bad.csv".to_owned(), "scenario bad.yaml".to_owned()];
    for arguments in replays.iter().chain(&checks).chain(&others) {
        let output = case.run(arguments);
        let text = [output.stdout, output.stderr].concat();
        let message = String::from_utf8(text).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments}: {message}");
        assert!(message.contains("not UTF-8 text"), "{arguments}: {message}");
    }
}

#[test]
fn times_that_cannot_be_counted_are_refused() {
    let case = Case::new();
    for factor in ["0", "-1", "1e-300", "1e300", "nan", "x"] {
        let output = case.run(&format!("replay {OPENB} --compress={factor}"));
        assert_eq!(output.status.code(), Some(2), "{factor}");
    }
}
