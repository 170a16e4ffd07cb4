//! Files like those of `sweep` and `replay`, but with only the figures under test.

use serde_json::{Value, json};

use super::*;

fn run(seed: u64, slowdown: f64) -> Value {
    json!({
        "format": "demo", "mode": "serial", "seed": seed, "nodes": 4, "asks": 10, "placed": 10, "makespan_s": 60.0,
        "jobs": {"finished": 3, "slowdown": {"mean": slowdown}},
        "queues": [{"path": "root.a", "below": slowdown / 100.0}],
    })
}

fn case(mut run: Value, key: &str, value: &str) -> Value {
    run[key] = value.into();
    run
}

fn file(name: &str, runs: &[Value]) -> ResultFile {
    let runs = runs.iter().map(|run| Run { figures: run.clone(), seed: run["seed"].as_u64().unwrap() });
    ResultFile { name: name.into(), runs: runs.collect(), stopped: 0 }
}

fn of(slowdowns: &[f64]) -> ResultFile {
    let runs: Vec<Value> = (1..).zip(slowdowns).map(|(seed, slowdown)| run(seed, *slowdown)).collect();
    file("x.json", &runs)
}

fn verdict(comparison: &Comparison, figure: &str) -> Verdict {
    comparison.rows.iter().find(|row| row.figure == figure).unwrap().verdict
}

#[test]
fn a_file_is_the_same_as_itself() {
    let same = compare(&of(&[1.0, 2.0, 3.0]), &of(&[1.0, 2.0, 3.0]), None).unwrap();
    assert_eq!((same.count(Verdict::Same), same.rows.len()), (5, 5));
    assert!(same.is_paired && same.notes.is_empty(), "{same:?}");
}

#[test]
fn a_small_shift_of_every_seed_counts_and_large_scatter_does_not() {
    let first = [1.0, 2.0, 3.0, 4.0, 5.0];
    let shifted = compare(&of(&first), &of(&[1.1, 2.12, 3.09, 4.1, 5.11]), None).unwrap();
    assert_eq!(verdict(&shifted, "slowdown, mean"), Verdict::Differs);
    assert_eq!(verdict(&shifted, "missing to its guarantee"), Verdict::Differs);
    assert_eq!(verdict(&shifted, "placed"), Verdict::Same);
    let row = shifted.rows.iter().find(|row| row.figure == "slowdown, mean").unwrap();
    assert_eq!(row.means[0], 3.0);
    assert!((row.difference - 0.104).abs() < 1e-9, "{row:?}");
    let scattered = compare(&of(&first), &of(&[5.0, 1.5, 4.5, 2.0, 3.0]), None).unwrap();
    assert_eq!(verdict(&scattered, "slowdown, mean"), Verdict::Noise);
    assert_eq!(scattered.count(Verdict::Differs), 0);
}

#[test]
fn a_counted_difference_also_exceeds_the_tolerance() {
    let shift = |tolerance| compare(&of(&[1.0, 2.0, 3.0]), &of(&[1.1, 2.1, 3.1]), tolerance).unwrap();
    assert_eq!(verdict(&shift(None), "slowdown, mean"), Verdict::Differs);
    assert_eq!(verdict(&shift(Some(0.1)), "slowdown, mean"), Verdict::Noise);
}

/// A policy that leaves slow jobs unfinished has the better mean.
#[test]
fn unfinished_jobs_are_pointed_out() {
    let mut fewer = run(1, 2.0);
    fewer["jobs"]["finished"] = 2.into();
    let comparison = compare(&of(&[2.0]), &file("y.json", &[fewer]), None).unwrap();
    let note = comparison.notes.first().map_or("", String::as_str);
    assert!(note.starts_with("jobs finished is not the same in both files"), "{comparison:?}");
}

/// Half of an invisible difference is invisible.
#[test]
fn a_difference_invisible_in_print_does_not_count() {
    let comparison = compare(&of(&[0.002]), &of(&[0.001]), None).unwrap();
    assert_eq!(verdict(&comparison, "missing to its guarantee"), Verdict::Noise);
    assert_eq!(verdict(&comparison, "slowdown, mean"), Verdict::Differs);
}

#[test]
fn single_runs_are_compared_within_the_tolerance() {
    let single = |slowdown| compare(&of(&[2.0]), &of(&[slowdown]), None).unwrap();
    let near = single(2.05);
    assert_eq!((near.runs, near.tolerance), (1, 0.05));
    assert_eq!((near.count(Verdict::Noise), near.count(Verdict::Differs)), (2, 0));
    assert_eq!(single(2.5).count(Verdict::Differs), 2);
    assert_eq!(single(2.5).rows[0].interval, None);
}

#[test]
fn other_seeds_are_compared_as_unrelated() {
    let other = file("y.json", &[run(7, 1.1), run(8, 2.1), run(9, 3.1)]);
    let comparison = compare(&of(&[1.0, 2.0, 3.0]), &other, None).unwrap();
    assert!(!comparison.is_paired);
    assert_eq!(verdict(&comparison, "slowdown, mean"), Verdict::Noise);
}

/// Settings that vary within a file identify its points; settings that differ between the files are compared.
#[test]
fn points_are_matched_by_their_varied_settings() {
    let sweep = |queues: &str, slowdowns: [f64; 2], orders: [&str; 2]| {
        let runs = slowdowns.into_iter().zip(orders).map(|(slowdown, order)| {
            case(case(run(1, slowdown), "node_order", order), "queues_file", queues)
        });
        file(queues, &runs.collect::<Vec<_>>())
    };
    let first = sweep("a.xml", [1.0, 2.0], ["spread", "pack"]);
    let comparison = compare(&first, &sweep("b.xml", [4.0, 1.0], ["pack", "spread"]), None).unwrap();
    let slowdowns: Vec<(&str, [f64; 2])> = comparison
        .rows
        .iter()
        .filter(|row| row.figure == "slowdown, mean")
        .map(|row| (row.point.as_str(), row.means))
        .collect();
    assert_eq!(slowdowns, [("node order spread", [1.0, 1.0]), ("node order pack", [2.0, 4.0])]);
    assert!(
        comparison.notes.iter().any(|note| note.contains("queues file: a.xml and b.xml")),
        "{comparison:?}"
    );
    let partly = compare(&first, &sweep("b.xml", [4.0, 1.0], ["pack", "first"]), None).unwrap();
    for part in ["only in a.xml: node order spread", "only in b.xml: node order first"] {
        assert!(partly.notes.iter().any(|note| note == part), "{partly:?}");
    }
    assert_eq!(compare(&first, &sweep("b.xml", [4.0, 1.0], ["x", "y"]), None), None);
}

/// Among many figures, some move together by chance: a difference that would count alone does not count among twenty.
#[test]
fn a_coincidence_among_many_figures_does_not_count() {
    let queue = |number: usize, below: f64| json!({"path": format!("root.q{number}"), "below": below});
    let runs = |queues: usize, moves: bool| -> Vec<Value> {
        let run_of = |(seed, (coincidence, chance)): (u64, (f64, f64))| {
            let by = |difference: f64| if moves { 0.2 + difference } else { 0.2 };
            let mut run = run(seed, 2.0);
            let below =
                |number: usize| if number == 0 { by(coincidence) } else { by(chance * number as f64) };
            run["queues"] = (0..queues).map(|number| queue(number, below(number))).collect();
            run
        };
        // p = 0.036 for the first queue alone.
        (1..).zip([(0.010, 0.01), (0.011, -0.01), (0.018, 0.001)]).map(run_of).collect()
    };
    let differing = |queues: usize| {
        let (first, second) = (file("a", &runs(queues, false)), file("b", &runs(queues, true)));
        compare(&first, &second, None).unwrap().count(Verdict::Differs)
    };
    assert_eq!((differing(1), differing(20)), (1, 0));
}

/// Five seeds, but only the first has a job in this queue: one observation gives no measure of noise.
#[test]
fn a_figure_of_one_seed_is_compared_within_the_tolerance() {
    let with_one = |slowdown: f64| {
        let mut runs: Vec<Value> = (1..=5).map(|seed| run(seed, 2.0)).collect();
        runs[0]["queues"][0]["slowdown"] = json!({"mean": slowdown});
        file("x.json", &runs)
    };
    assert_eq!(compare(&with_one(3.0), &with_one(3.01), None).unwrap().count(Verdict::Differs), 0);
    assert_eq!(compare(&with_one(3.0), &with_one(4.0), None).unwrap().count(Verdict::Differs), 1);
}
