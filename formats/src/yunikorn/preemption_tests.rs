//! Preemption in YuniKorn's files.

use std::sync::Arc;

use apportion::config::{Percent, PreemptionPolicy, PreemptionRounds};
use apportion::{ApplicationSpec, AskSpec, Engine, ManualClock, Mode, NodeSpec, Resources};

use super::tests::{import, imported};
use super::*;

const GUARANTEED: &str = "resources: {guaranteed: {memory: 1Gi}}";

/// Each report's line and the beginning of its reason.
fn reports(imported: &Imported) -> Vec<(usize, String)> {
    let entries = imported.not_carried_over.iter();
    entries.map(|entry| (entry.line, entry.reason.chars().take(30).collect())).collect()
}

/// `root.a` with the leaf `root.a.x`, and `root.b`, all with guarantees and these properties.
fn tree(partition: &str, a: &str, x: &str, b: &str) -> String {
    format!(
        "partitions:
- name: default
  {partition}
  queues:
  - name: a
    properties: {{{a}}}
    {GUARANTEED}
    queues: [{{name: x, {GUARANTEED}, properties: {{{x}}}}}]
  - name: b
    properties: {{{b}}}
    {GUARANTEED}
"
    )
}

fn rounds(interval_ms: u64, exempt: &[&str]) -> PreemptionRounds {
    let policy = PreemptionPolicy {
        dead_zone: Percent::NONE,
        natural_termination: Percent::ALL,
        per_round: Percent::ALL,
        exempt: exempt.iter().map(|path| (*path).to_owned()).collect(),
        ..PreemptionPolicy::default()
    };
    PreemptionRounds { policy, interval_ms, max_wait_before_kill_ms: 0, observe_only: false }
}

#[test]
fn guarantees_are_enforced_unless_the_partition_says_otherwise() {
    for (partition, expected) in [
        ("", Some(rounds(30_000, &[]))),
        ("preemption: {enabled: true}", Some(rounds(30_000, &[]))),
        ("preemption: {enabled:}", Some(rounds(30_000, &[]))),
        ("preemption: {enabled: false}", None),
    ] {
        let imported = imported(&tree(partition, "", "", ""));
        assert_eq!(imported.config.preemption, expected, "{partition}");
        assert_eq!(reports(&imported), []);
    }
    let off = imported(&tree("preemption: {enabled: false}", "preemption.policy: disabled", "", ""));
    assert_eq!(reports(&off), [], "nothing is lost");
}

#[test]
fn a_disabled_queue_exempts_those_below_it_that_do_not_enable_it() {
    let of = |a: &str, x: &str| imported(&tree("", a, x, "")).config.preemption;
    assert_eq!(of("preemption.policy: disabled", ""), Some(rounds(30_000, &["root.a"])));
    assert_eq!(of("", "preemption.policy: disabled"), Some(rounds(30_000, &["root.a.x"])));
    assert_eq!(of("preemption.policy: disabled", "preemption.policy: default"), Some(rounds(30_000, &[])));
}

#[test]
fn the_shortest_delay_is_the_time_between_rounds() {
    let of = |a: &str, x: &str, b: &str| {
        let imported = imported(&tree("", a, x, b));
        (imported.config.preemption.as_ref().unwrap().interval_ms, reports(&imported))
    };
    assert_eq!(of("preemption.delay: 1m30s", "", "preemption.delay: 1.5m"), (90_000, vec![]));
    let shared = |line| (line, "a round serves all queues, so ".to_owned());
    assert_eq!(of("preemption.delay: 1m", "", ""), (30_000, vec![shared(6)]));
    assert_eq!(of("", "preemption.delay: 100us", ""), (1, vec![shared(8)]), "`root.b` has the default");
    let (interval_ms, reports) = of("", "preemption.delay: 5", "preemption.delay: 0s");
    let lines: Vec<_> = reports.iter().map(|(line, _)| *line).collect();
    assert_eq!((interval_ms, lines), (30_000, vec![8, 10]), "YuniKorn uses its default");
}

#[test]
fn fences_and_quota_preemption_are_reported() {
    let text = tree("preemption: {quotapreemptionenabled: true}", "preemption.policy: fence", "", "");
    let expected = [(3, "a queue above a lowered maximu"), (6, "this engine has no fences for ")];
    assert_eq!(reports(&imported(&text)), expected.map(|(line, reason)| (line, reason.to_owned())));
}

/// YuniKorn preempts only within guarantees. Here weights are guarantees, too.
#[test]
fn queues_without_a_guarantee_are_reported_where_others_have_one() {
    let none = imported("partitions:\n- queues:\n  - name: a\n  - name: b\n");
    assert_eq!((none.config.preemption.clone(), reports(&none)), (None, vec![]));
    let some = imported(&format!(
        "partitions:\n- queues:\n  - name: a\n    {GUARANTEED}\n    queues: [{{name: x}}]\n  - name: b\n  - name: c\n"
    ));
    assert!(some.config.preemption.is_some());
    let [entry] = &some.not_carried_over[..] else { panic!("one report: {:?}", some.not_carried_over) };
    let reason = "without a guarantee YuniKorn preempts nothing for this queue and 1 more; here a queue is owed its part \
                  by weight";
    assert_eq!((entry.line, entry.key.as_str(), entry.reason.as_str()), (6, "root.b.name", reason));
}

#[test]
fn created_queues_are_as_exempt_as_the_queue_above_them() {
    let text = format!(
        "partitions:
- placementrules: [{{name: user, create: true, parent: {{name: fixed, value: a}}}}]
  queues:
  - name: a
    parent: true
    {GUARANTEED}
    properties: {{preemption.policy: disabled}}
    childtemplate:
      properties: {{preemption.policy: fence, preemption.delay: 1m}}
    queues:
    - name: x
      {GUARANTEED}
      properties: {{preemption.policy: default}}
"
    );
    let imported = import(&text).unwrap();
    assert_eq!(imported.config.preemption, Some(rounds(30_000, &[])));
    let expected = [
        (7, "queues that are made on demand"),
        (9, "queues made on demand have the"),
        (9, "queues made on demand have the"),
    ];
    assert_eq!(reports(&imported), expected.map(|(line, reason)| (line, reason.to_owned())));
}

/// The containers that an ask of `root.b` takes from `root.a`, which has filled the cluster of 8 GiB, up to this time.
fn taken(text: &str, until_ms: u64) -> u64 {
    let clock = Arc::new(ManualClock::new());
    let engine =
        Engine::start(imported(text).config, Mode::Serial, Arc::clone(&clock) as _, None).expect("valid");
    let (handle, size) = (engine.handle(), Resources::new(&[1_024]));
    handle.add_node(NodeSpec::new("alpha", Resources::new(&[8_192, 8_000]))).expect("a new name");
    let events = handle.event_stream(100);
    for (name, queue) in [("trial", "root.a"), ("shop", "root.b")] {
        let job =
            handle.submit_application(ApplicationSpec::new(name, queue, "ann"), &events).expect("running");
        handle.submit_ask(job, AskSpec::new(size, 8)).expect("running");
        engine.run_until_quiet();
    }
    for now_ms in (0..=until_ms).step_by(1_000) {
        clock.set(now_ms);
        engine.run_until_quiet();
    }
    engine.stats().preempted
}

#[test]
fn an_ask_within_its_guarantee_preempts_after_the_delay() {
    let with = |a: &str, b: &str| {
        format!(
            "partitions:\n- queues:\n  - name: a\n    {GUARANTEED}\n    properties: {{{a}}}\n  - name: b\n{b}"
        )
    };
    let two = "    resources: {guaranteed: {memory: 2Gi}}";
    assert_eq!(taken(&with("", two), 29_000), 0);
    assert_eq!(taken(&with("", two), 31_000), 2, "all of its guarantee at once");
    assert_eq!(taken(&with("preemption.policy: disabled", two), 100_000), 0);
    assert_eq!(taken(&with("", ""), 31_000), 7, "its part by weight is what the guarantees leave");
}
