use apportion_placement::control::StepTally;

use super::*;

fn record(experiment: Experiment, interrupted_ms: Option<u64>) -> ExperimentRecord {
    ExperimentRecord {
        experiment,
        interrupted: interrupted_ms.map(Interruption::Virtual),
        requests: 1,
        terminal_answers: 1,
        steps: StepTally { steps: 9, succeeded: 4, ..StepTally::default() },
        configured: 100,
        below_configured: vec![(0, 1)],
        done: vec![(0, 4)],
        took_ms: interrupted_ms.unwrap_or(90_000),
        whole_ms: None,
        faults: FaultCounts { starts_failed: 0, stops_failed: 1, nodes_lost: 1 },
        used_part: 0.6,
        audit_violations: 0,
    }
}

fn report(runs: [Vec<ExperimentRecord>; 2]) -> ControlReport {
    ControlReport::new(ControlShape::default(), 1, runs)
}

#[test]
fn an_interrupted_report_says_how_far_it_came_and_what_was_not_begun() {
    let report = report([
        vec![record(Experiment::Drain, Some(50_000))],
        vec![record(Experiment::Drain, Some(20_000))],
    ]);
    let text = to_control_text(&report);
    assert!(text.starts_with("interrupted at 50.0 s of virtual time\n"), "{text}");
    for name in [" rolling restart: not begun\n", "       rebalance: not begun"] {
        assert_eq!(text.matches(name).count(), 2, "{text}");
    }
    assert!(text.contains("; 0 starts and 1 stop failed, 1 node lost; 1 of 1 request has"), "{text}");
    assert!(text.ends_with(
        "1 container is down in the end\n rolling restart: not begun\n       rebalance: not begun"
    ));
    let page = to_control_html(&report).unwrap();
    assert!(
        page.contains("<tr><td>interrupted at<td>50.0 s of virtual time<td>not begun<td>not begun"),
        "{page}"
    );
    assert!(page.contains("<b>rebalance, faults</b>"), "{page}");
}

#[test]
fn a_whole_report_has_nothing_of_interruptions() {
    let runs = Experiment::ALL.map(|one| record(one, None)).to_vec();
    let report = report([runs.clone(), runs]);
    let page = to_control_html(&report).unwrap();
    assert!(!page.contains("nterrupted") && !to_control_text(&report).contains("interrupted"), "{page}");
}

#[test]
fn a_signal_between_two_experiments_is_told_with_the_time_of_the_first() {
    let report = report([vec![record(Experiment::Drain, None)], Vec::new()]);
    assert_eq!(report.interruption(), Some(Interruption::Virtual(90_000)));
    let page = to_control_html(&report).unwrap();
    assert!(page.contains("<b>not known</b>containers down in the end"), "{page}");
}
