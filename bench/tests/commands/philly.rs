//! `replay --format philly`: gangs on and off, with preemption, on a small invented trace; and wrong command lines.

use serde_json::Value;

use crate::case::{Case, contains_all, fetches_nothing, json};

const HEADER: &str = "vc,arrival_s,gpus,approx_duration_s\n";

/// Every job runs for 100 s.
fn case(rows: &str) -> Case {
    let case = Case::new();
    case.file("philly_vc_jobs.csv", format!("{HEADER}{rows}")).file("philly_runtime.csv", "runtime\n100.0\n");
    case
}

fn figures(case: &Case, options: &str) -> Value {
    let nodes = if options.contains("--node-count") { "" } else { "--node-count 2" };
    let output =
        case.run(&format!("replay --format philly --workload . {nodes} --tick 1000 --json - {options}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    json(&output.stdout)
}

/// The message names the path that is missing, and what belongs there.
#[test]
fn a_missing_folder_or_table_is_named() {
    let case = Case::new();
    for folder in ["jobs", "times"] {
        std::fs::create_dir(case.folder.path().join(folder)).unwrap();
    }
    case.file("jobs/philly_vc_jobs.csv", HEADER).file("times/philly_runtime.csv", "runtime\n100.0\n");
    let error = |workload: &str| {
        let output = case.run(&format!("replay --format philly --workload {workload}"));
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    contains_all(
        &error("nowhere"),
        &[
            "nowhere: no such file or folder; a table of jobs belongs here, or a folder with philly_vc_jobs.csv.gz and",
        ],
    );
    contains_all(
        &error("times"),
        &[
            "times/philly_vc_jobs.csv.gz: no such file; the table of jobs belongs here, as philly_vc_jobs.csv or ",
        ],
    );
    contains_all(
        &error("jobs"),
        &[
            "jobs/philly_runtime.csv.gz: no such file; the table of run times belongs here, as philly_runtime.csv or ",
        ],
    );
}

/// `a` fills both nodes. Later `b` wants one of them, which is half of the cluster, as guaranteed.
const TWO_OWNERS: &str = "a,0,16,9\nb,10,8,9\nb,1000,8,9\n";

/// Two gangs of `a` fill four nodes, of which half are guaranteed to `b`. The later one makes room for `b`, which
/// wants all of it.
#[test]
fn a_preempted_gang_starts_again_as_a_whole() {
    let case = case("a,0,16,9\na,0,16,9\nb,10,8,9\nb,10,8,9\nb,2000,8,9\nb,3000,8,9\n");
    let figures = figures(&case, "--node-count 4 --preemption on --report report.html --jobs-csv jobs.csv");
    assert_eq!(
        (&figures["preemption"]["preempted"], &figures["preemption"]["given_back"]),
        (&2.into(), &0.into())
    );
    let (asks, placed) = (figures["asks"].as_u64().unwrap(), figures["placed"].as_u64().unwrap());
    assert_eq!((asks, placed, figures["completed"].as_u64().unwrap()), (8, 10, 8));
    let gangs = &figures["gangs"];
    assert_eq!(
        (&gangs["as_gangs"], &gangs["of_several"], &gangs["unit"]),
        (&true.into(), &2.into(), &"gpu".into())
    );
    assert_eq!((&gangs["waited_with_room"], &gangs["held_unit_h"]), (&0.into(), &0.0.into()));
    let large = &gangs["sizes"][3];
    assert_eq!(
        (&large["name"], &large["jobs"], &large["attempts_lost"]),
        (&"9 or more".into(), &2.into(), &1.into())
    );
    let begun_s = gangs["queues"][1]["queueing_s"]["max"].as_f64().unwrap();
    let lost = gangs["lost_unit_h"].as_f64().unwrap();
    assert!((lost - 16.0 * (10.0 + begun_s) / 3_600.0).abs() < 1e-9, "{lost}: 16 GPUs until `b` began");
    let done = gangs["done_unit_h"].as_f64().unwrap();
    assert!((done - 64.0 * 100.0 / 3_600.0).abs() < 1e-9, "{done}: each job once, to its end");
    let page = std::fs::read_to_string(case.folder.path().join("report.html")).unwrap();
    fetches_nothing(&page);
    let parts = [
        "Queueing by size",
        "Job completion by size",
        "Why jobs wait",
        "There was room within limits for 0 gangs",
    ];
    contains_all(&page, &parts);
    contains_all(&page, &["The trace has virtual clusters", "with seed 0, from 1 run time of"]);
}

#[test]
fn without_gangs_members_hold_their_gpus() {
    let case = case("a,0,4,9\na,10,16,9\nb,20,8,9\n");
    let [on, off] = ["on", "off"].map(|gangs| figures(&case, &format!("--gangs {gangs}")));
    assert_eq!((&on["gangs"]["held_unit_h"], &on["gangs"]["as_gangs"]), (&0.0.into(), &true.into()));
    let held = off["gangs"]["held_unit_h"].as_f64().unwrap();
    assert!((held - 8.0 * 190.0 / 3_600.0).abs() < 1e-9, "{held}: 8 GPUs from 10 s to 200 s");
    let completion = |figures: &Value, queue: usize| {
        figures["gangs"]["queues"][queue]["completion_s"]["max"].as_f64().unwrap()
    };
    let both = |figures: &Value| (completion(figures, 0), completion(figures, 1));
    // With gangs, room is held for the gang, which begins at 100 s, and `b` begins at 200 s. Without, `b` begins at
    // 100 s, when the other node is free, and the gang at 200 s.
    assert_eq!((both(&on), both(&off)), ((190.0, 280.0), (290.0, 180.0)));
    let table = case.run("replay --format philly --workload . --node-count 2").stdout;
    contains_all(&String::from_utf8(table).unwrap(), &["9 or more", "0 gangs, 0 other jobs", "fragmented"]);
}

#[test]
fn the_same_seed_gives_the_same_log() {
    let case = case(TWO_OWNERS);
    case.file("philly_runtime.csv", "runtime\n10\n20\n30\n40\n50\n");
    let digest = |seed: u32| figures(&case, &format!("--seed {seed}"))["commit_log_digest"].clone();
    assert_eq!(digest(1), digest(1));
    assert_ne!(digest(1), digest(2));
}

#[test]
fn what_is_missing_or_wrong_is_named() {
    let refusal = |case: &Case, arguments: &str| {
        let output = case.run(&format!("replay {arguments}"));
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        String::from_utf8(output.stderr).unwrap()
    };
    let philly = "--format philly --workload";
    let case = case("a,0,1,9\na,7,none,9\n");
    contains_all(
        &refusal(&case, &format!("{philly} .")),
        &["philly_vc_jobs.csv:3: gpus: `none` is not a whole number"],
    );
    let nothing = Case::new();
    contains_all(
        &refusal(&nothing, &format!("{philly} .")),
        &["philly_vc_jobs.csv.gz: no such file; the table of jobs belongs here"],
    );
    nothing.file("philly_runtime.csv", "runtime\n7\n");
    contains_all(&refusal(&nothing, &format!("{philly} .")), &["philly_vc_jobs.csv.gz: no such file"]);
    contains_all(
        &refusal(&case, "--format openb --workload pods.csv --node-count 3"),
        &["--node-count 3: only swim and philly have it"],
    );
    let good = self::case("a,0,1,9\n");
    contains_all(&refusal(&good, &format!("{philly} . --nodes nodes.csv")), &["give their number"]);
}
