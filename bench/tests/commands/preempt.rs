//! `apportion-bench preempt` on the log of an engine, and the steps of scenarios that plan preemption.

use std::path::PathBuf;
use std::sync::Arc;

use apportion::config::{Capacity, EngineConfig, Percent, PreemptionRounds, QueueConfig};
use apportion::file_log::{FileLog, FileLogOptions};
use apportion::preempt::{PreemptionPolicy, WithinQueuePolicy};
use apportion::{ApplicationSpec, AskSpec, Engine, ManualClock, Mode, NodeSpec, ResourceTypes, Resources};
use serde_json::Value;

use crate::case::{Case, contains_all, json};

fn running(case: &Case) -> Engine {
    running_with(case, None)
}

/// An engine that writes its log into the folder `log` of the case, and is still running. `dev` has all of the cluster,
/// in an application without priority and one of priority 2 that wants more. `prod` is guaranteed a quarter of it.
pub(super) fn running_with(case: &Case, preemption: Option<PreemptionRounds>) -> Engine {
    let leaf = |(name, part)| {
        QueueConfig::leaf(name, Capacity::Percent(Percent::whole(part))).with_user_limit_factor(None)
    };
    let queues = QueueConfig::root([("dev", 50), ("prod", 25), ("lab", 25)].map(leaf));
    let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), queues);
    config.reservations.delay_ms = None;
    config.preemption = preemption;
    let log = FileLog::open(folder(case), FileLogOptions::default()).unwrap();
    let clock = ManualClock::new();
    let engine = Engine::start(config, Mode::Serial, Arc::new(clock.clone()), Some(Box::new(log))).unwrap();
    let (handle, events) = (engine.handle(), engine.handle().event_stream(1_000));
    let size = Resources::new(&[1_024, 1_000]);
    handle.add_node(NodeSpec::new("n0", Resources::new(&[10_240, 10_000]))).unwrap();
    for (now_ms, name, queue, priority, count, tag) in [
        (1_000, "trial", "root.dev", 0, 8, "kept"),
        (2_000, "urgent", "root.dev", 2, 4, "other"),
        (3_000, "shop", "root.prod", 0, 5, "other"),
    ] {
        let spec = ApplicationSpec::new(name, queue, "ann").with_priority(priority);
        let application = handle.submit_application(spec, &events).unwrap();
        handle.submit_ask(application, AskSpec::new(size, count).with_tag(tag)).unwrap();
        engine.run_until_quiet();
        clock.set(now_ms);
        handle.tick().unwrap();
    }
    engine.run_until_quiet();
    engine
}

pub(super) fn folder(case: &Case) -> PathBuf {
    case.folder.path().join("log")
}

pub(super) fn printed(case: &Case, arguments: &str) -> String {
    let output = case.run(&format!("preempt {arguments}"));
    let problem = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), problem.as_str()), (Some(0), ""), "{arguments}");
    String::from_utf8(output.stdout).unwrap()
}

pub(super) fn plan(case: &Case, arguments: &str) -> Value {
    json(printed(case, &format!("log --json {arguments}")).as_bytes())
}

/// The number of preemptions by rule, and the reasons of the asks that get nothing.
fn summary(plan: &Value) -> (Vec<(String, usize)>, Vec<String>) {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut rules: Vec<(String, usize)> = Vec::new();
    for preemption in plan["preemptions"].as_array().unwrap() {
        let rule = text(&preemption["rule"]);
        match rules.iter_mut().find(|(known, _)| *known == rule) {
            Some((_, count)) => *count += 1,
            None => rules.push((rule, 1)),
        }
    }
    let unhelped = plan["unhelped"].as_array().unwrap();
    (rules, unhelped.iter().map(|one| text(&one["reason"])).collect())
}

pub(super) const ONCE: &str = "--per-round 100% --natural-termination 100";

#[test]
fn the_log_of_a_running_engine_shows_who_would_lose_what() {
    let case = Case::new();
    let engine = running(&case);
    let text = printed(&case, "log");
    contains_all(
        &text,
        &[
            "Policy: the default, because the configuration of the run has no [engine.preemption]: dead zone 10 %, natural \
             termination 20 %, per round 10 %.\n\nAfter change ",
            ", at 3.000 s:\nroot: ",
            "root.dev: 10 GiB, 10 vcores used, nothing pending, 5 GiB, 5 vcores guaranteed",
            "\n\n1 container would start in place of 1 container; 1 ask gets less than its queue is owed.\n\
             root.dev loses 1 container (1 GiB, 1 vcore) to 1 ask of root.prod, because root.prod is below its \
             guarantee\n\nask-",
            "of root.prod on n0, because root.prod is below its guarantee: container-",
            "nothing for 1 container. This round takes no more of what it lacks.",
        ],
    );
    let all = engine.preemption_plan(&PreemptionPolicy::default());
    let mut expected = serde_json::to_value(&all).unwrap();
    expected["preemptions"].as_array_mut().unwrap().iter_mut().for_each(|one| one["host"] = "n0".into());
    let policy = serde_json::to_value(PreemptionPolicy::default()).unwrap();
    expected["losses"] = serde_json::json!([{
        "queue": "root.dev", "to": "root.prod", "rule": "guarantee",
        "size": { "memory_mib": 1_024, "vcore_milli": 1_000 }, "containers": 1, "asks": 1,
        "gangs": 0,
    }]);
    expected["policy"] = serde_json::json!({
        "source": "default", "options": [], "observe_only": false, "values": policy,
    });
    assert_eq!(json(printed(&case, "log --json").as_bytes()), expected);
    // The file in the folder is a log too.
    assert_eq!(printed(&case, "log/segment-0000000001.log"), text);
    drop(engine);
    assert_eq!(printed(&case, "log"), text, "the engine has ended");
}

#[test]
fn every_value_of_the_policy_has_an_option() {
    let case = Case::new();
    let engine = running(&case);
    let owed = |count| (vec![("guarantee".to_owned(), count)], Vec::<String>::new());
    let nothing = |reason: &str| (Vec::new(), vec![reason.to_owned()]);
    let part = |count| (vec![("guarantee".to_owned(), count)], vec!["round_spent".to_owned()]);
    for (options, expected) in [
        (ONCE, owed(2)),
        ("--per-round=10% --natural-termination=100", part(1)),
        ("--per-round=100% --natural-termination 40%", part(1)),
        ("--dead-zone 100%", nothing("dead_zone")),
        ("--exempt root.dev", nothing("exempt")),
        ("--exempt-application trial,urgent", nothing("exempt")),
        ("--exempt-tag kept,other", nothing("exempt")),
        ("--at 1s", (Vec::new(), Vec::new())),
    ] {
        assert_eq!(summary(&plan(&case, options)), expected, "{options}");
    }
    let within = |options: &str| summary(&plan(&case, &format!("{ONCE} --exempt root.dev {options}"))).0;
    let by_priority = |count| vec![("application_priority".to_owned(), count)];
    assert_eq!(within("--within-queue priority-first"), by_priority(1));
    assert_eq!(within("--within-queue priority-first --max-part 40%"), by_priority(2));
    assert_eq!(within("--within-queue user-limit-first --max-part 40%"), by_priority(2));
    assert_eq!(within("--within-queue priority-first --minimum-use 100%"), by_priority(1));
    assert_eq!(within("--within-queue priority-first --exempt-within root"), []);
    let (rules, _) = summary(&plan(&case, &format!("{ONCE} --balances")));
    assert_eq!(rules, [("guarantee".to_owned(), 2), ("balance".to_owned(), 1)]);
    // With another node, dev uses two thirds of its guarantee.
    let node = NodeSpec::new("n1", Resources::new(&[20_480, 20_000]));
    let node = engine.handle().add_node(node).unwrap();
    engine.handle().drain_node(node).unwrap();
    engine.run_until_quiet();
    assert_eq!(within("--within-queue priority-first --minimum-use 60%"), by_priority(2));
    assert_eq!(within("--within-queue priority-first --minimum-use 70%"), []);
}

/// The policy in the log's configuration is the one that counts, and each option replaces one of its values.
#[test]
fn the_plan_follows_the_policy_of_the_run() {
    let case = Case::new();
    let within = WithinQueuePolicy { max_part: Percent::ALL, ..WithinQueuePolicy::default() };
    let policy = PreemptionPolicy {
        natural_termination: Percent::ALL,
        per_round: Percent::ALL,
        exempt_tags: ["spared".to_owned()].into(),
        within_queue: Some(within),
        ..PreemptionPolicy::default()
    };
    let rounds =
        PreemptionRounds { policy: policy.clone(), observe_only: true, ..PreemptionRounds::default() };
    let _engine = running_with(&case, Some(rounds));
    let rules = |options: &str| summary(&plan(&case, options)).0;
    let counts = |guarantee, priority| {
        let of = |rule: &str, count| (count > 0).then(|| (rule.to_owned(), count));
        let both = [of("guarantee", guarantee), of("application_priority", priority)];
        both.into_iter().flatten().collect::<Vec<_>>()
    };
    for (options, expected) in [
        ("", counts(2, 2)),
        ("--per-round 10%", counts(1, 0)),
        ("--within-queue off", counts(2, 0)),
        ("--exempt root.dev --max-part 20%", counts(0, 1)),
        ("--exempt-within root.dev", counts(2, 0)),
        ("--default-policy", counts(1, 0)),
        ("--default-policy --natural-termination 100% --per-round 100%", counts(2, 0)),
    ] {
        assert_eq!(rules(options), expected, "{options}");
    }
    let used = plan(&case, "--dead-zone 5% --balances=false")["policy"].clone();
    assert_eq!((&used["source"], &used["observe_only"]), (&"run".into(), &true.into()));
    assert_eq!(used["options"], serde_json::json!(["--dead-zone", "--balances"]));
    let expected = PreemptionPolicy { dead_zone: Percent::whole(5), ..policy };
    assert_eq!(used["values"], serde_json::to_value(expected).unwrap());
    let used = plan(&case, "--default-policy")["policy"].clone();
    assert_eq!(
        (&used["source"], &used["options"]),
        (&"default".into(), &serde_json::json!(["--default-policy"]))
    );
    for (options, head) in [
        (
            "--dead-zone 5%",
            "Policy: that of the run, except --dead-zone: dead zone 5 %, natural termination 100 %, per round 100 %; exempt \
             tags: spared; within queues user limit first, minimum use 50 %, at most 100 %. The rounds of the run only \
             observe.\n\nAfter change ",
        ),
        ("--default-policy", "Policy: the default, as --default-policy says: dead zone 10 %, "),
    ] {
        let text = printed(&case, &format!("log {options}"));
        assert!(text.starts_with(head), "{text}");
    }
}

/// A queue without a guarantee takes only with `--balances`.
#[test]
fn balances_goes_on_above_the_guarantees() {
    let scenario = two_queues(0, 4)
        + "  - ask: { application: one, name: used, size: { memory: 1 }, count: 4 }
  - run_until_quiet
  - ask: { application: two, name: more, size: { memory: 1 }, count: 4 }
  - run_until_quiet
  - plan_preemption:
      policy: { per_round: 100 %, natural_termination: 100 %, balances: true }
      expect: { helped: { more: 2 }, rules: { balance: 2 } }
  - commit_plan
  - expect: { asks: { used: { running: 2 }, more: { running: 2 } } }
";
    let case = Case::new();
    case.file("it.yaml", &scenario);
    let output = case.run("scenario it.yaml");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let without = scenario.replace(", balances: true", "");
    case.file("it.yaml", without);
    let output = case.run("scenario it.yaml");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    contains_all(&text, &["plan helped:", "more: 0", "more: 2", "the plan: 0 containers would start"]);
}

#[test]
fn what_is_not_in_the_log_is_refused() {
    let case = Case::new();
    let _engine = running(&case);
    let in_case = |name: &str| case.folder.path().join(name);
    std::fs::create_dir(in_case("empty")).unwrap();
    std::fs::create_dir(in_case("gap")).unwrap();
    std::fs::copy(in_case("log/segment-0000000001.log"), in_case("gap/segment-0000000002.log")).unwrap();
    for (arguments, parts) in [
        ("none.log", vec!["none.log", "No such file"]),
        ("pods.csv", vec!["pods.csv", "not an Apportion log"]),
        ("gap", vec!["gap: the log has no segment 1"]),
        ("empty", vec!["empty", "no log"]),
        ("log --at 9999", vec!["log: change 9999 was asked for, and the last change of the log is "]),
        ("log --at 2days", vec!["the log ends at 3.000 s"]),
        (
            "log --exempt root.dve",
            vec!["log: up to change 21, at 3.000 s: there is no queue `root.dve`; did you mean `root.dev`?"],
        ),
        (
            "log --within-queue priority-first --exempt-within root.prd",
            vec!["there is no queue `root.prd`; did you mean `root.prod`?"],
        ),
        ("log --exempt-application tril", vec!["no application `tril`; did you mean `trial`?"]),
        ("log --per-round 101%", vec!["--per-round", "a percentage from 0% to 100% is needed"]),
        ("log --per-round 0%", vec!["--per-round", "with 0% a round takes nothing"]),
        ("log --exempt-tag=", vec!["--exempt-tag", "a value is required"]),
        ("log --dead-zone much", vec!["--dead-zone", "a percentage from 0% to 100% is needed"]),
        ("log --limit=-1", vec!["--limit", "-1"]),
        ("log --balances=maybe", vec!["--balances", "true, false"]),
        ("log --within-queue fair", vec!["--within-queue", "priority-first", "user-limit-first"]),
        (
            "log --max-part 10%",
            vec![
                "log: up to change 21, at 3.000 s: --max-part: the policy takes nothing within queues; give --within-queue \
                 priority-first",
            ],
        ),
        ("log --minimum-use 10%", vec!["--within-queue"]),
        ("log --exempt-within root", vec!["--within-queue"]),
    ] {
        let output = case.run(&format!("preempt {arguments}"));
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments}: {message}");
        contains_all(&message, &parts);
        assert!(output.stdout.is_empty(), "{arguments}");
    }
}

/// Each mistake in a step has its line and, where one is near, the right word.
#[test]
fn mistakes_in_the_steps_of_a_scenario_are_named() {
    let scenario = "about: it
config: |
  [resources]
  types = [\"memory\"]
  [queues.\"root.dev\"]
  capacity = \"100 %\"
applications:
  - { name: trial, queue: root.dev }
steps:
  - ask: { application: trial, name: tasks, size: { memory: 1 } }
";
    for (step, problem) in [
        ("commit_plan", "commit_plan: there is no plan; `plan_preemption` comes first"),
        ("plan_preemption: {}", "`expect` is missing"),
        ("plan_preemption: { expect: {} }", "plan_preemption: nothing is expected of plan"),
        ("plan_preemption: { expect: { victim: {} } }", "unknown key `victim`; did you mean `victims`?"),
        (
            "plan_preemption: { policy: { per_rond: 1 % }, expect: { victims: {} } }",
            "unknown key `per_rond`; did you mean `per_round`?",
        ),
        (
            "plan_preemption: { policy: { per_round: 101 % }, expect: { victims: {} } }",
            "plan_preemption: per_round: a percentage such as `20 %` belongs here",
        ),
        (
            "plan_preemption: { policy: { dead_zone: 3 }, expect: { victims: {} } }",
            "plan_preemption: dead_zone: a percentage such as `20 %` belongs here",
        ),
        ("plan_preemption: { policy: { within_queue: {} }, expect: { victims: {} } }", "`order` is missing"),
        (
            "plan_preemption: { policy: { within_queue: { order: priority } }, expect: { victims: {} } }",
            "unknown word `priority`; did you mean `priority_first`?",
        ),
        (
            "plan_preemption: { policy: { exempt: root.dve }, expect: { victims: {} } }",
            "The policy exempts root.dve, but there is no such queue; did you mean `root.dev`?",
        ),
        (
            "plan_preemption: { policy: { exempt_applications: tril }, expect: { victims: {} } }",
            "unknown application `tril`; did you mean `trial`?",
        ),
        ("plan_preemption: { expect: { victims: { root.dve: 1 } } }", "root.dve"),
        (
            "plan_preemption: { expect: { victims_of: { task: 1 } } }",
            "unknown ask `task`; did you mean `tasks`?",
        ),
        ("plan_preemption: { expect: { helped: { task: 1 } } }", "unknown ask `task`; did you mean `tasks`?"),
        ("plan_preemption: { expect: { victims_on: { n1: 1 } } }", "unknown node `n1`"),
        ("plan_preemption: { expect: { rules: { guarante: 1 } } }", "did you mean `guarantee`?"),
        (
            "plan_preemption: { expect: { unhelped: { tasks: { reason: no_nod } } } }",
            "unknown word `no_nod`; did you mean `no_node`?",
        ),
    ] {
        let case = Case::new();
        case.file("it.yaml", format!("{scenario}  - {step}\n"));
        let output = case.run("scenario it.yaml");
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{step}: {text}");
        contains_all(&text, &["it.yaml:11: ", problem]);
    }
    let case = Case::new();
    let parallel = scenario.replace("config:", "modes: [serial, parallel]\nconfig:");
    case.file("it.yaml", format!("{parallel}  - plan_preemption: {{ expect: {{ victims: {{}} }} }}\n"));
    let text = String::from_utf8(case.run("scenario it.yaml").stdout).unwrap();
    contains_all(&text, &["it.yaml:12: `plan_preemption` comes right after `run_until_quiet`"]);
}

/// A plan that another change has made stale is a failure of the scenario, which names the rejected preemption.
#[test]
fn a_stale_plan_fails() {
    let scenario = two_queues(1, 1)
        + "  - ask: { application: one, name: used, size: { memory: 1 } }
  - run_until_quiet
  - ask: { application: two, name: more, size: { memory: 1 } }
  - plan_preemption:
      policy: { per_round: 100 %, natural_termination: 100 % }
      expect: { victims_on: { n1: 1 } }
  - complete: { ask: used }
  - commit_plan
";
    let case = Case::new();
    case.file("it.yaml", scenario);
    let output = case.run("scenario it.yaml");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    contains_all(
        &text,
        &["it.yaml:24: commit_plan", "UnknownContainer", "because root.b is below its guarantee"],
    );
}

/// A scenario with a node and two queues. Only the second may have a guarantee. The steps are still to be added.
fn two_queues(guaranteed: u32, node: u32) -> String {
    format!(
        "about: it
config: |
  [resources]
  types = [\"memory\"]
  [queues.\"root.a\"]
  capacity = {{ memory = 0 }}
  user_limit_factor = \"unlimited\"
  [queues.\"root.b\"]
  capacity = {{ memory = {guaranteed} }}
  user_limit_factor = \"unlimited\"
nodes:
  - {{ name: n1, resources: {{ memory: {node} }} }}
applications:
  - {{ name: one, queue: root.a }}
  - {{ name: two, queue: root.b }}
steps:
"
    )
}
