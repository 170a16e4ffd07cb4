//! The measuring commands from the command line, at small sizes.

use std::fs;

use crate::case::{Case, contains_all, fetches_nothing, json};

#[test]
fn throughput_runs_in_every_mode() {
    let case = Case::new();
    let tiny = "throughput --nodes 100 --apps 8 --leaves 4 --seconds 0.05 --repeat 1 --json -";
    let modes = [
        ("", "background", 0),
        ("--mode background", "background", 0),
        ("--mode serial", "serial", 0),
        ("--proposers 1", "parallel", 1),
        ("--mode parallel", "parallel", 2),
    ];
    for (options, mode, proposers) in modes {
        let report = json(&case.run(&format!("{tiny} {options}")).stdout);
        assert_eq!((report["mode"].as_str(), report["proposers"].as_u64()), (Some(mode), Some(proposers)));
    }
    let wrong = case.run("throughput --mode background --proposers 2");
    assert_eq!(wrong.status.code(), Some(2));
    contains_all(
        &String::from_utf8_lossy(&wrong.stderr),
        &["--proposers 2", "background mode has no proposers", "--mode parallel"],
    );
}

#[test]
fn throughput_places_everything_and_compares_itself_with_the_yardstick() {
    let case = Case::new();
    let fill = "throughput --workload fill --nodes 100 --apps 5 --leaves 3 --asks 1000 --repeat 2";
    let output = case.run(&format!("{fill} --with-limit --json -"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let figures = json(&output.stdout);
    assert_eq!((&figures["placed"], &figures["committed"]), (&1000.into(), &1000.into()));
    let ratios = ["ratio_to_limit", "ratio_to_cycle"];
    let rates = ["allocations_per_second", "limit_allocations_per_second", "cycle_allocations_per_second"];
    for key in rates.into_iter().chain(ratios).chain(["batch_mean"]) {
        assert!(figures[key].as_f64().unwrap() > 0.0, "{key}: {figures}");
    }
    assert!(figures["runs"][1]["cycle_allocations_per_second"].as_f64().unwrap() > 0.0, "{figures}");
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
    contains_all(&page, &["the median of 2 runs by rate"]);
    let one = case.run(&format!("{} --report one.html", churn.replace("--repeat 2", "--repeat 1")));
    contains_all(&String::from_utf8(one.stdout).unwrap(), &["allocations per second (one run), "]);
    contains_all(&fs::read_to_string(case.folder.path().join("one.html")).unwrap(), &["seed 1; one run<"]);
    contains_all(&page, &["throughput of churn", "run 2", "All figures"]);
    let page_alone = String::from_utf8(case.run(&format!("{churn} --report -")).stdout).unwrap();
    assert!(
        page_alone.starts_with("<!doctype html>") && page_alone.trim_end().ends_with("</html>"),
        "{page_alone}"
    );
    fetches_nothing(&page);
    for wrong in ["--json out --report ./out", "--report nowhere/r.html"] {
        assert_eq!(case.run(&format!("{churn} {wrong}")).status.code(), Some(2), "{wrong}");
    }
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let figures = json(&output.stdout);
    assert_eq!(figures["workload"], "churn");
    for key in ["allocations_per_second", "commit_lock_share", "commit_lock_ns_per_allocation_median"] {
        assert!(figures[key].as_f64().unwrap() > 0.0, "{key}: {figures}");
    }
    let waiting = figures["commit_lock_wait_share"].as_f64().unwrap();
    assert!(0.0 < waiting && waiting < 1.0, "{figures}");
    let age = &figures["proposal_age_us"];
    assert!(0.0 < age["p50"].as_f64().unwrap() && age["p50"].as_f64() <= age["p99"].as_f64(), "{age}");
}

#[test]
fn waiting_times_are_measured_by_rate_and_mode() {
    let case = Case::new();
    let tiny = "latency --nodes 100 --apps 8 --leaves 4 --seconds 0.1 --repeat 2 --rates 100000000,2000,2000";
    let output = case.run(&format!("{tiny} --json - --report r.html --plot p.svg"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let figures = json(&output.stdout);
    let points = figures["points"].as_array().unwrap();
    let point = |point: &serde_json::Value| {
        (point["mode"].clone(), point["proposers"].as_u64(), point["rate"].as_u64())
    };
    let modes = [("background", Some(0)), ("parallel", Some(1))];
    let at = |rate: u64| modes.map(|(mode, proposers)| (mode.into(), proposers, Some(rate)));
    assert_eq!(points.iter().map(point).collect::<Vec<_>>(), [at(2_000), at(100_000_000)].concat());
    assert!(points[2..].iter().all(|point| point["keeps_up"] == false), "{figures}");
    for point in &points[..2] {
        let [p50, p99] = ["p50_us", "p99_us"].map(|key| point[key]["median"].as_f64().unwrap());
        assert!(0.0 < p50 && p50 <= p99, "{point}");
    }
    let read = |name: &str| fs::read_to_string(case.folder.path().join(name)).unwrap();
    contains_all(&read("r.html"), &["parallel, 1 proposer: median", "too fast: "]);
    fetches_nothing(&read("r.html"));
    contains_all(&read("p.svg"), &["<svg", "asks a second"]);
    assert!(points.iter().all(|point| point["runs"] == 2), "{figures}");
    let text = String::from_utf8(case.run(&format!("{tiny} --mode serial,serial")).stdout).unwrap();
    contains_all(&text, &["serial: median", "2,000", "too fast: ", "audit: nothing found"]);
    assert_eq!(text.matches("serial: median").count(), 1, "{text}");
    for (option, start) in [("--plot -", "<svg"), ("--report -", "<!doctype html>")] {
        let text = String::from_utf8(case.run(&format!("{tiny} --mode serial {option}")).stdout).unwrap();
        assert!(text.starts_with(start) && !text.contains("audit: nothing found"), "{option}: {text}");
    }
}

#[test]
fn a_wrong_rate_or_mode_measures_nothing() {
    let case = Case::new();
    for (wrong, reason) in [
        ("--rates 0", "0 is not in"),
        ("--rates", "a value is required"),
        ("--rates 99 --seconds 1", "a run of 1 s would have 99 asks"),
        ("--mode background,serial --proposers 2", "background mode has no proposers; add --mode parallel"),
        ("--mode sideways", "background"),
        ("--json out --plot ./out", "--plot"),
        ("--report - --plot -", "standard output takes one of them"),
    ] {
        let output = case.run(&format!("latency {wrong}"));
        assert_eq!(output.status.code(), Some(2), "{wrong}");
        contains_all(&String::from_utf8_lossy(&output.stderr), &[reason]);
        assert!(!case.folder.path().join("out").exists(), "{wrong}");
    }
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
    contains_all(&text, &["serial mode", " of 40", "of their fair share"]);
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
fn leaves_return_with_and_without_preemption() {
    let case = Case::new();
    let tiny = "reclaim --nodes 20 --apps 100 --leaves 20 --asks 4000 --seconds 270 --mean-life 1800 \
                --natural-termination 100% --per-round 100%";
    let output = case.run(&format!("{tiny} --json out.json --report out.html"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    contains_all(
        &text,
        &["2 of 20 leaves on 20 nodes", "with preemption: ", "without preemption: ", "was lost"],
    );
    let read = |name: &str| fs::read(case.folder.path().join(name)).unwrap();
    let figures = json(&read("out.json"));
    assert_eq!((&figures["leave_s"], &figures["return_s"]), (&90.0.into(), &180.0.into()));
    let [with, without] = ["with_preemption", "without_preemption"].map(|which| &figures[which]);
    assert!(with["preempted"].as_u64().unwrap() > 0 && without["preempted"] == 0, "{text}");
    let last = |run: &serde_json::Value| {
        run["series"]["returning_owed_guarantee"].as_array().unwrap().last().cloned()
    };
    assert!(last(with).unwrap().as_f64() < last(without).unwrap().as_f64(), "{text}");
    let page = String::from_utf8(read("out.html")).unwrap();
    contains_all(
        &page,
        &["<svg", "Owed and taken", "The share of the returning leaves", "From whom it was taken"],
    );
    fetches_nothing(&page);
    for wrong in
        ["--interval 0", "--per-round 101%", "--mean-life 0", "--json x --report x", "--report no/x.html"]
    {
        assert_eq!(case.run(&format!("reclaim {wrong}")).status.code(), Some(2), "{wrong}");
    }
    let too_few = case.run("reclaim --nodes 10 --apps 10 --leaves 1 --asks 0");
    assert_eq!(too_few.status.code(), Some(2));
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
    for wrong in ["--seconds 0", "--seconds many", "--nodes 0", "--leaves 0", "--apps 5", "--asks 5"] {
        assert_eq!(case.run(&format!("limit {wrong}")).status.code(), Some(2), "{wrong}");
    }
}

#[test]
fn the_full_cycle_has_the_same_digest_on_every_run() {
    let case = Case::new();
    let tiny = "limit --cycle --nodes 60 --leaves 4 --apps 12 --repeat 2";
    for work in ["", " --asks 500"] {
        let figures = |options: &str| {
            let output = case.run(&format!("{tiny}{work} {options} --json -"));
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            json(&output.stdout)
        };
        let first = figures("--seconds 0.01");
        assert!(first["cycle_allocations_per_second"].as_f64().unwrap() > 0.0, "{first}");
        assert_eq!(first["placements_digest"], figures("--seconds 0.05")["placements_digest"]);
        assert_ne!(first["placements_digest"], figures("--seed 2 --seconds 0.01")["placements_digest"]);
    }
    let text = String::from_utf8(case.run(&format!("{tiny} --seconds 0.01")).stdout).unwrap();
    contains_all(&text, &["through the full cycle, one thread", "digest of the placements: "]);
    assert_eq!(case.run("limit --cycle --nodes 9").status.code(), Some(2));
}
