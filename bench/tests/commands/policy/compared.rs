//! `compare` from the command line.

use std::fs;

use crate::case::{Case, contains_all, fetches_nothing, json};

/// Writes a sweep of the demo, and returns the name of its file.
fn sweep(case: &Case, name: &str, arguments: &str) {
    let output = case.run(&format!("sweep --demo 5 {arguments} --json {name}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn equal_seeds_give_equal_results() {
    let case = Case::new();
    for name in ["a.json", "b.json"] {
        sweep(&case, name, "--seeds 1,2,3 --compress 1,2");
    }
    let output = case.run("compare a.json b.json");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    contains_all(&text, &["0 figures differ beyond noise, 0 within noise", "3 seeds"]);
    let figures = json(&case.run("compare a.json b.json --json -").stdout);
    assert_eq!(
        (&figures["differs"], &figures["runs"], &figures["paired"]),
        (&0.into(), &3.into(), &true.into())
    );
    assert_eq!(figures["same"].as_u64().unwrap() as usize, figures["figures"].as_array().unwrap().len());
}

#[test]
fn twice_the_load_differs_beyond_noise_and_ends_with_1() {
    let case = Case::new();
    sweep(&case, "a.json", "--seeds 1,2,3,4,5,6 --compress 1");
    sweep(&case, "b.json", "--seeds 1,2,3,4,5,6 --compress 4");
    let output = case.run("compare a.json b.json --report difference.html");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!((output.status.code(), &*output.stderr), (Some(1), &b""[..]), "{text}");
    contains_all(&text, &["completion, mean", "differs", "6 seeds", "compress: 1.0 and 4.0"]);
    let page = fs::read_to_string(case.folder.path().join("difference.html")).unwrap();
    contains_all(&page, &["Differences beyond noise", "<svg", "completion, mean", "How they were compared"]);
    fetches_nothing(&page);
    let figures = json(&case.run("compare a.json b.json --json -").stdout);
    let figure = |name: &str| {
        let all = figures["figures"].as_array().unwrap();
        all.iter().find(|row| row["figure"] == name && row["about"] == "").unwrap().clone()
    };
    assert_eq!(figure("placed")["verdict"], "same");
    let completion = figure("completion, mean");
    assert_eq!(completion["verdict"], "differs");
    assert!(completion["ci95"][0].as_f64().unwrap() > 0.0, "{completion}");
    assert!(completion["means"][1].as_f64() > completion["means"][0].as_f64());
    let tolerant = case.run("compare a.json b.json --tolerance 100");
    assert_eq!(tolerant.status.code(), Some(0));
}

#[test]
fn single_runs_are_compared_with_a_tolerance() {
    let case = Case::new();
    let replay = "replay --format openb --nodes nodes.csv --workload pods.csv";
    for (name, arguments) in [("a.json", ""), ("b.json", "--mode parallel"), ("c.json", "--compress 0.1")] {
        assert!(case.run(&format!("{replay} {arguments} --json {name}")).status.success());
    }
    let same = case.run("compare a.json b.json");
    let text = String::from_utf8(same.stdout).unwrap();
    assert_eq!(same.status.code(), Some(0), "{text}");
    contains_all(&text, &["A single run tells nothing of noise", "mode: serial and parallel"]);
    let different = case.run("compare a.json c.json");
    let text = String::from_utf8(different.stdout).unwrap();
    assert_eq!(different.status.code(), Some(1), "{text}");
    contains_all(&text, &["virtual time", "60.0 s", "105.0 s", "differs"]);
}

#[test]
fn files_that_are_no_results_are_refused_with_what_is_wrong() {
    let case = Case::new();
    sweep(&case, "good.json", "--seeds 1");
    sweep(&case, "pack.json", "--seeds 1 --node-orders pack,first");
    sweep(&case, "spread.json", "--seeds 1 --node-orders spread");
    case.file("empty.json", "").file("array.json", "[]").file("text.json", "nodes,asks\n1,2\n");
    case.file("other.json", "{\"files\": []}").file("rates.json", "{\"workload\": \"fill\", \"seed\": 1}");
    for (arguments, parts) in [
        ("good.json", vec!["B.json"]),
        ("good.json none.json", vec!["none.json: cannot be read: No such file", "`replay --json FILE`"]),
        ("good.json empty.json", vec!["empty.json: is not JSON", "`replay --json FILE`"]),
        ("text.json good.json", vec!["text.json: is not JSON"]),
        ("good.json array.json", vec!["array.json: is an array without a run"]),
        (
            "good.json other.json",
            vec!["other.json: is not a result", "`seed`", "`replay`, `demo` and `sweep`"],
        ),
        ("rates.json good.json", vec!["rates.json: is a result of `throughput`"]),
        ("pack.json spread.json", vec!["no point in common"]),
        ("good.json good.json --json good.json", vec!["good.json", "--json"]),
        ("good.json good.json --tolerance=-1", vec!["--tolerance"]),
        ("good.json good.json --report nowhere/r.html", vec!["no such folder"]),
    ] {
        let output = case.run(&format!("compare {arguments}"));
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments}: {message}");
        contains_all(&message, &parts);
        assert!(output.stdout.is_empty(), "{arguments}");
    }
}

#[test]
fn runs_of_other_durations_are_pointed_out() {
    let case = Case::new();
    let replay = "replay --format openb --nodes nodes.csv --workload pods.csv";
    assert!(case.run(&format!("{replay} --json a.json")).status.success());
    assert!(case.run(&format!("{replay} --compress-durations 10 --json b.json")).status.success());
    let text = String::from_utf8(case.run("compare a.json b.json").stdout).unwrap();
    contains_all(&text, &["the runs differ in compress durations: 1.0 and 10.0"]);
}
