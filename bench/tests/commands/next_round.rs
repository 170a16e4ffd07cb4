//! `explain` says whether a round of preemption would help a pending ask now, and if not, why.

use std::sync::Arc;

use apportion::config::{Capacity, EngineConfig, Percent, PreemptionRounds, QueueConfig};
use apportion::file_log::{FileLog, FileLogOptions};
use apportion::preempt::{PreemptionPolicy, WithinQueuePolicy};
use apportion::{ApplicationSpec, AskSpec, Engine, ManualClock, Mode, NodeSpec, ResourceTypes, Resources};
use serde_json::Value;

use crate::case::{Case, contains_all, json};
use crate::gangs;
use crate::preempt::running_with;

fn rounds(policy: PreemptionPolicy) -> Option<PreemptionRounds> {
    Some(PreemptionRounds { policy, ..PreemptionRounds::default() })
}

/// Takes all that is owed at once.
fn at_once() -> PreemptionPolicy {
    PreemptionPolicy {
        natural_termination: Percent::ALL,
        per_round: Percent::ALL,
        ..PreemptionPolicy::default()
    }
}

fn explains(case: &Case, arguments: &str) -> String {
    let output = case.run(&format!("explain log {arguments}"));
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The answer about the only ask of a job.
fn next_round(case: &Case, job: &str) -> Value {
    json(explains(case, &format!("--ask {job} --json")).as_bytes())["asks"][0]["next_round"].clone()
}

/// `shop` of `prod` wants 5 containers and is owed 2 of them, `urgent` of `dev` wants 2 and is owed none.
fn with(rounds: Option<PreemptionRounds>) -> (Case, Engine) {
    let case = Case::new();
    let engine = running_with(&case, rounds);
    (case, engine)
}

#[test]
fn an_ask_that_a_round_helps_has_its_victims() {
    let (case, _engine) = with(rounds(PreemptionPolicy::default()));
    let text = explains(&case, "--ask shop");
    contains_all(
        &text,
        &[
            "\nA round of preemption now would help it. Victims end 15.0 s after their announcement, if the room is still \
             needed:\nask-",
            " of root.prod on n0, because root.prod is below its guarantee: container-",
            " of root.dev (1 GiB, 1 vcore)\nNothing for 1 other container. This round takes no more of what it lacks.",
        ],
    );
    let answer = next_round(&case, "shop");
    assert_eq!((&answer["answer"], &answer["observe_only"]), (&"helped".into(), &false.into()));
    assert_eq!(answer["unhelped"], serde_json::json!({ "units": 1, "reason": "round_spent" }));
    let starts = answer["preemptions"].as_array().unwrap();
    assert_eq!(
        (starts.len(), &starts[0]["host"], &starts[0]["rule"]),
        (1, &"n0".into(), &"guarantee".into())
    );
    assert_eq!(starts[0]["victims"][0]["queue"], "root.dev");
    let planned = json(&case.run("preempt log --json").stdout);
    assert_eq!(planned["preemptions"], answer["preemptions"], "explain and preempt make the same plan");
    let longest = json(explains(&case, "--json").as_bytes())["pending_longest"].clone();
    assert!(longest.as_array().unwrap().iter().any(|kind| kind["next_round"] == answer), "{longest}");
    contains_all(&explains(&case, ""), &["A round of preemption now would help it. Victims end"]);
}

#[test]
fn an_ask_that_no_round_helps_has_the_reason() {
    let exempt = PreemptionPolicy { exempt: ["root.dev".to_owned()].into(), ..at_once() };
    let (case, _engine) = with(rounds(exempt));
    contains_all(
        &explains(&case, "--ask shop"),
        &["A round of preemption now would do nothing for it, although root.prod is owed more. Only \
           exempt queues use more than their fair amount of what it lacks.\n"],
    );
    let answer = next_round(&case, "shop");
    assert_eq!((&answer["answer"], &answer["unhelped"]["reason"]), (&"unhelped".into(), &"exempt".into()));
    assert!(answer.get("preemptions").is_none(), "{answer}");

    let (case, engine) = with(rounds(at_once()));
    let text = explains(&case, "--ask urgent");
    contains_all(
        &text,
        &[
            "would do nothing for it: root.dev has its fair amount of memory_mib and vcore_milli, with 10 GiB, 10 vcores used, 5 GiB, 5 vcores guaranteed, ",
        ],
    );
    assert_eq!(next_round(&case, "urgent")["answer"], "not_owed");
    let (handle, events) = (engine.handle(), engine.handle().event_stream(10));
    let late = handle.submit_application(ApplicationSpec::new("late", "root.prod", "ann"), &events).unwrap();
    handle.submit_ask(late, AskSpec::new(Resources::new(&[1_024, 1_000]), 1)).unwrap();
    engine.run_until_quiet();
    contains_all(
        &explains(&case, "--ask late"),
        &["would do nothing for it: what root.prod is owed is free, goes to asks that come before it, \
           or is less than one container.\n"],
    );
    assert_eq!(next_round(&case, "late")["answer"], "goes_to_others");
    assert_eq!(next_round(&case, "shop")["preemptions"].as_array().unwrap().len(), 2);
}

#[test]
fn without_rounds_the_configuration_is_the_reason() {
    let (case, _engine) = with(None);
    contains_all(
        &explains(&case, "--ask shop"),
        &["\nPreemption will not help it: the configuration of the run has no [engine.preemption]. "],
    );
    assert_eq!(next_round(&case, "shop"), serde_json::json!({ "answer": "not_configured" }));
    assert!(!explains(&case, "").contains("Preemption will not help"), "the list does not repeat it");
    let trial = json(explains(&case, "--ask trial --json").as_bytes());
    assert!(trial["asks"][0].get("next_round").is_none(), "it is not pending: {trial}");
}

#[test]
fn rounds_that_only_observe_help_no_ask() {
    let observed = rounds(at_once()).map(|rounds| PreemptionRounds { observe_only: true, ..rounds });
    let (case, _engine) = with(observed);
    contains_all(
        &explains(&case, "--ask shop"),
        &[
            "Preemption would help it now, but the rounds of the run only observe and end nothing:\nask-",
            ": 2 containers on 1 \
           host\n  on n0: container-",
        ],
    );
    assert_eq!(next_round(&case, "shop")["observe_only"], true);
}

#[test]
fn within_a_queue_the_other_applications_are_named() {
    let within = WithinQueuePolicy { max_part: Percent::ALL, ..WithinQueuePolicy::default() };
    let (case, engine) = with(rounds(PreemptionPolicy { within_queue: Some(within), ..at_once() }));
    contains_all(
        &explains(&case, "--ask urgent"),
        &["because the asking application has a higher priority: "],
    );
    assert_eq!(next_round(&case, "urgent")["preemptions"][0]["rule"], "application_priority");
    let (handle, events) = (engine.handle(), engine.handle().event_stream(10));
    let late = handle.submit_application(ApplicationSpec::new("late", "root.dev", "ann"), &events).unwrap();
    handle.submit_ask(late, AskSpec::new(Resources::new(&[1_024, 1_000]), 1)).unwrap();
    engine.run_until_quiet();
    contains_all(
        &explains(&case, "--ask late"),
        &[". Within root.dev no application has to give way to it.\n"],
    );
}

/// The second application of a queue with at most one active application.
#[test]
fn an_application_that_is_not_active_gets_nothing() {
    let case = Case::new();
    let mut leaf = QueueConfig::leaf("dev", Capacity::Percent(Percent::ALL));
    leaf.parallel.total = Some(1);
    let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::root([leaf]));
    config.preemption = Some(PreemptionRounds::default());
    let log = FileLog::open(case.folder.path().join("log"), FileLogOptions::default()).unwrap();
    let engine =
        Engine::start(config, Mode::Serial, Arc::new(ManualClock::new()), Some(Box::new(log))).unwrap();
    let (handle, events) = (engine.handle(), engine.handle().event_stream(100));
    let size = Resources::new(&[1_024, 1_000]);
    handle.add_node(NodeSpec::new("n0", size)).unwrap();
    for name in ["first", "second"] {
        let job = handle.submit_application(ApplicationSpec::new(name, "root.dev", "ann"), &events).unwrap();
        handle.submit_ask(job, AskSpec::new(size, 1)).unwrap();
    }
    engine.run_until_quiet();
    contains_all(
        &explains(&case, "--ask second"),
        &["\nA round of preemption now would do nothing for it: its application is not active.\n"],
    );
    assert_eq!(next_round(&case, "second")["answer"], "inactive");
}

/// `prod` has all memory of its guarantee and no core; `dev` has the other half of the memory, and all cores.
#[test]
fn a_queue_that_lacks_one_type_may_have_its_fair_amount_of_another() {
    let case = Case::new();
    let half = |name: &str| QueueConfig::leaf(name, Capacity::Percent(Percent::whole(50)));
    let queues = QueueConfig::root([half("prod"), half("dev")]);
    let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), queues);
    config.preemption = rounds(at_once());
    let log = FileLog::open(case.folder.path().join("log"), FileLogOptions::default()).unwrap();
    let clock = Arc::new(ManualClock::new());
    let engine = Engine::start(config, Mode::Serial, clock, Some(Box::new(log))).unwrap();
    let (handle, events) = (engine.handle(), engine.handle().event_stream(100));
    handle.add_node(NodeSpec::new("n0", Resources::new(&[10_240, 10_000]))).unwrap();
    for (name, queue, size, count) in [
        ("shop", "root.prod", [5_120, 0], 1),
        ("trial", "root.dev", [1_024, 2_000], 6),
        ("late", "root.prod", [1_024, 1_000], 1),
    ] {
        let job = handle.submit_application(ApplicationSpec::new(name, queue, "ann"), &events).unwrap();
        handle.submit_ask(job, AskSpec::new(Resources::new(&size), count)).unwrap();
        engine.run_until_quiet();
    }
    contains_all(
        &explains(&case, "--ask late"),
        &["would do nothing for it: root.prod has its fair amount of memory_mib, with 5 GiB used, "],
    );
    assert_eq!(next_round(&case, "late")["answer"], "not_owed");
}

/// Each role is answered for the whole gang.
#[test]
fn a_gang_that_waits_has_its_answer() {
    let case = gangs::with_log();
    for name in ["gang-1.1", "ask-0.1"] {
        contains_all(
            &explains(&case, &format!("--ask {name}")),
            &[
                "A round of preemption now would help it. Victims end 15.0 s after their announcement, if the room is still \
                 needed:\n3 containers of gang-1.1 of root.prod on alpha, because root.prod is \
               below its guarantee: container-",
            ],
        );
        let answer = &json(explains(&case, &format!("--ask {name} --json")).as_bytes())["next_round"];
        assert_eq!((&answer["answer"], &answer["preemptions"]), (&"helped".into(), &serde_json::json!([])));
        assert_eq!(answer["gangs"][0]["gang"], "gang-1.1", "{answer}");
        assert_eq!(answer["gangs"][0]["members"][0]["host"], "alpha", "{answer}");
    }
}
