//! `explain`, `log` and `preempt` on a log with gangs and announced victims of preemption.

use std::sync::Arc;

use apportion::config::{Capacity, EngineConfig, Percent, PreemptionRounds, QueueConfig};
use apportion::file_log::{FileLog, FileLogOptions};
use apportion::gang::GangSpec;
use apportion::preempt::{PreemptionCost, PreemptionPolicy, WithinQueuePolicy};
use apportion::{
    ApplicationSpec, AskSpec, Engine, ManualClock, Mode, NodeSpec, PartitionId, ResourceTypes, Resources,
};
use serde_json::Value;

use crate::case::{Case, contains_all, json};

/// An engine with the log in the folder `log` of the case, and one node. `dev` is guaranteed this part of it, and
/// `prod` the rest.
fn engine(case: &Case, dev: u32, preemption: Option<PreemptionRounds>) -> (Engine, ManualClock) {
    let leaf = |(name, part)| {
        QueueConfig::leaf(name, Capacity::Percent(Percent::whole(part))).with_user_limit_factor(None)
    };
    let queues = QueueConfig::root([("dev", dev), ("prod", 100 - dev)].map(leaf));
    let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), queues);
    config.preemption = preemption;
    let log = FileLog::open(case.folder.path().join("log"), FileLogOptions::default()).unwrap();
    let clock = ManualClock::new();
    let engine = Engine::start(config, Mode::Serial, Arc::new(clock.clone()), Some(Box::new(log))).unwrap();
    engine.handle().add_node(NodeSpec::new("alpha", Resources::new(&[10_240, 10_000]))).unwrap();
    (engine, clock)
}

/// A case with the log of an engine. `trial` of `dev` fills the cluster with a gang of 2 members and 8 plain
/// containers. The gang of `training` of `prod` waits for 1 and 2 members, and its victims are announced.
pub(super) fn with_log() -> Case {
    let case = Case::new();
    let policy = PreemptionPolicy {
        natural_termination: Percent::ALL,
        per_round: Percent::ALL,
        ..PreemptionPolicy::default()
    };
    let (engine, clock) = engine(&case, 50, Some(PreemptionRounds { policy, ..PreemptionRounds::default() }));
    let (handle, events) = (engine.handle(), engine.handle().event_stream(1_000));
    let size = Resources::new(&[1_024, 1_000]);
    let trial = handle.submit_application(ApplicationSpec::new("trial", "root.dev", "ann"), &events).unwrap();
    handle.submit_gang(GangSpec::new(trial).with_role("worker", AskSpec::new(size, 2))).unwrap();
    handle.submit_ask(trial, AskSpec::new(size, 8)).unwrap();
    engine.run_until_quiet();
    let first = engine.read(|view| view.application(trial).unwrap().containers().next()).unwrap().container;
    handle.set_preemption_cost(first, PreemptionCost::Units(7)).unwrap();
    let spec = ApplicationSpec::new("training", "root.prod", "bob");
    let training = handle.submit_application(spec, &events).unwrap();
    let gang = GangSpec::new(training).with_role("server", AskSpec::new(size, 1)).with_role_of_at_least(
        "worker",
        AskSpec::new(size, 3),
        2,
    );
    handle.submit_gang(gang).unwrap();
    for now_ms in [1_000, 4_000, 7_000] {
        clock.set(now_ms);
        handle.tick().unwrap();
        engine.run_until_quiet();
    }
    case
}

/// A case with the log of an engine in which a plan of preemption ends all of `gang-0`, of `trial` of `dev`.
pub(super) fn with_victim_gang() -> Case {
    let case = Case::new();
    let (engine, _) = engine(&case, 0, None);
    let (handle, events) = (engine.handle(), engine.handle().event_stream(1_000));
    let size = Resources::new(&[5_120, 5_000]);
    let trial = handle.submit_application(ApplicationSpec::new("trial", "root.dev", "ann"), &events).unwrap();
    handle.submit_gang(GangSpec::new(trial).with_role("worker", AskSpec::new(size, 2))).unwrap();
    engine.run_until_quiet();
    let shop = handle.submit_application(ApplicationSpec::new("shop", "root.prod", "bob"), &events).unwrap();
    handle.submit_ask(shop, AskSpec::new(size, 2)).unwrap();
    engine.run_until_quiet();
    case
}

pub(super) fn printed(case: &Case, arguments: &str) -> String {
    let output = case.run(arguments);
    let problem = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), problem.as_str()), (Some(0), ""), "{arguments}");
    String::from_utf8(output.stdout).unwrap()
}

fn lines(case: &Case, arguments: &str) -> Vec<Value> {
    printed(case, &format!("log log --json {arguments}")).lines().map(|line| json(line.as_bytes())).collect()
}

#[test]
fn the_asks_of_a_gang_are_asks_of_its_job() {
    let case = with_log();
    let text = printed(&case, "explain log --ask training");
    contains_all(&text, &["ask-1.1 wants 1 container", "ask-0.1 wants 3 containers", "for training"]);
    let trial = json(printed(&case, "explain log --ask trial --json").as_bytes());
    assert_eq!(trial["asks"].as_array().unwrap().len(), 2, "{trial}");
}

/// Every listed change of a gang or a preemption, and each event of it, names its subjects.
#[test]
fn the_log_names_gangs_and_announced_victims() {
    let case = with_log();
    let announced = lines(&case, "--kind preemption_announced");
    assert_eq!(announced.len(), 3, "{announced:?}");
    for one in announced.iter().flat_map(|line| [line, &line["events"][0]]) {
        let container = one["container"].as_str().unwrap_or_default();
        assert!(container.starts_with("container-"), "{one}");
        assert_eq!((&one["job"], &one["node"]), (&"trial".into(), &"alpha".into()));
        let notice = serde_json::json!({ "ask": "ask-1.1", "rule": "guarantee", "kill_ms": 19_000 });
        assert_eq!(one["notice"], notice, "{one}");
    }
    let text = printed(&case, "log log --kind preemption_announced");
    contains_all(
        &text,
        &["of trial by ann in root.dev on alpha, to make room for ask-1.1 at 19.000 s, rule guarantee"],
    );
    assert_eq!(lines(&case, "--ask ask-1.1 --kind preemption_announced").len(), 3, "by their beneficiary");
    assert_eq!(lines(&case, "--gang gang-1.1 --kind preemption_announced").len(), 3, "by the gang");

    let submitted = lines(&case, "--job training --kind gang_submitted");
    assert_eq!(submitted.len(), 1, "{submitted:?}");
    let asks = serde_json::json!(["ask-1.1", "ask-0.1"]);
    assert_eq!((&submitted[0]["gang"], &submitted[0]["asks"]), (&"gang-1.1".into(), &asks));
    assert_eq!(lines(&case, "--ask ask-0.1 --kind gang_submitted").len(), 1);
    let text = printed(&case, "log log");
    contains_all(
        &text,
        &[
            "gang submitted: gang-1.1 of training by bob in root.prod, server: 1 container of 1 GiB, 1 vcore as ask-1.1, \
             at least 1, worker: 3 containers of 1 GiB, 1 vcore as ask-0.1, at least 2",
            "gang started: gang-0 of trial by ann in root.dev",
            "of trial by ann in root.dev on alpha, cost 7 units",
        ],
    );
}

/// `preempt` prints these identifiers.
#[test]
fn gangs_and_containers_are_explained_by_their_identifiers() {
    let case = with_log();
    let of_gang = printed(&case, "explain log --ask gang-1.1");
    assert_eq!(of_gang, printed(&case, "explain log --ask ask-1.1"));
    contains_all(&of_gang, &["It is role server of gang-1.1"]);

    let victim = lines(&case, "--kind preemption_announced")[0]["container"].as_str().unwrap().to_owned();
    let text = printed(&case, &format!("explain log --ask {victim}"));
    let announced =
        "is announced to end to make room for ask-1.1 at 19.000 s, because root.prod is below its guarantee.";
    let order = "This one is guaranteed, costs 0 units, and its \
         application has priority 0.";
    contains_all(&text, &[&format!("{victim} of trial on alpha {announced}\n"), order]);
    let figures = json(printed(&case, &format!("explain log --ask {victim} --json")).as_bytes());
    assert_eq!((&figures["preemption"]["ask"], &figures["host"]), (&"ask-1.1".into(), &"alpha".into()));
    assert_eq!(
        (&figures["victim_class"], &figures["application_priority"]),
        (&"guaranteed".into(), &0.into())
    );
    let text = printed(&case, &format!("explain log --ask {victim} --at 2s"));
    contains_all(&text, &[&format!("{victim} of trial on alpha is not announced to end by preemption.\n")]);

    for (id, problem) in
        [("container-99", "no container-99 is running"), ("gang-1", "no gang gang-1 was submitted")]
    {
        let output = case.run(&format!("explain log --ask {id}"));
        assert_eq!(output.status.code(), Some(2), "{id}");
        contains_all(&String::from_utf8_lossy(&output.stderr), &[problem]);
    }
}

#[test]
fn a_plan_names_the_hosts_of_gangs_and_the_gangs_that_end() {
    let once = "--per-round 100% --natural-termination 100%";
    let case = with_log();
    let plan = json(printed(&case, &format!("preempt log --json {once}")).as_bytes());
    let members = plan["gangs"][0]["members"].as_array().unwrap();
    assert_eq!((members.len(), &members[0]["host"]), (3, &"alpha".into()));
    assert!(plan["gangs"][0].get("ended_gangs").is_none(), "{plan}");

    let case = with_victim_gang();
    let plan = json(printed(&case, &format!("preempt log --json {once}")).as_bytes());
    let start = &plan["preemptions"][0];
    assert_eq!((&start["host"], &start["ended_gangs"]), (&"alpha".into(), &serde_json::json!(["gang-0"])));
    let text = printed(&case, &format!("preempt log {once}"));
    contains_all(&text, &[" of root.prod on alpha, because ", "; with them all of gang-0 ends\n"]);
}

/// The master is the first container of `trial`, and the last that preemption takes.
#[test]
fn a_victim_within_its_queue_makes_room_for_an_application_of_higher_priority() {
    let case = Case::new();
    let within_queue = Some(WithinQueuePolicy { max_part: Percent::ALL, ..WithinQueuePolicy::default() });
    let policy = PreemptionPolicy { within_queue, ..PreemptionPolicy::default() };
    let (engine, clock) = engine(&case, 50, Some(PreemptionRounds { policy, ..PreemptionRounds::default() }));
    let (handle, events) = (engine.handle(), engine.handle().event_stream(1_000));
    let size = Resources::new(&[1_024, 1_000]);
    let trial = ApplicationSpec::new("trial", "root.dev", "ann").with_master(size, PartitionId::DEFAULT);
    let urgent = ApplicationSpec::new("urgent", "root.dev", "ann").with_priority(9);
    for (spec, count) in [(trial, 10), (urgent, 1)] {
        let job = handle.submit_application(spec, &events).unwrap();
        handle.submit_ask(job, AskSpec::new(size, count)).unwrap();
        engine.run_until_quiet();
    }
    clock.set(4_000);
    handle.tick().unwrap();
    engine.run_until_quiet();
    let victim = lines(&case, "--kind preemption_announced")[0]["container"].as_str().unwrap().to_owned();
    contains_all(
        &printed(&case, &format!("explain log --ask {victim}")),
        &[" s, because the asking application has a higher priority.\n", "This one is guaranteed, "],
    );
    contains_all(&printed(&case, "explain log --ask container-0"), &["This one is a master, costs 0 units"]);
    let figures = json(printed(&case, "explain log --ask container-0 --json").as_bytes());
    assert_eq!(figures["victim_class"], "master");
}
