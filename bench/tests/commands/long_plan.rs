//! The text of `apportion-bench preempt` for a plan with many victims.

use std::sync::Arc;

use apportion::config::{Capacity, EngineConfig, Percent, QueueConfig};
use apportion::file_log::{FileLog, FileLogOptions};
use apportion::{ApplicationSpec, AskSpec, Engine, ManualClock, Mode, NodeSpec, ResourceTypes, Resources};

use crate::case::{Case, contains_all};
use crate::preempt::{ONCE, folder, plan, printed};

/// 30 asks of `prod`, one of them for 100 containers, get the room of 129 containers of `dev` on 4 hosts. `lab` has 3
/// asks that are larger than what it is owed.
fn large(case: &Case) -> Engine {
    let leaf = |(name, part)| {
        QueueConfig::leaf(name, Capacity::Percent(Percent::whole(part))).with_user_limit_factor(None)
    };
    let queues = QueueConfig::root([("dev", 30), ("prod", 65), ("lab", 5)].map(leaf));
    let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), queues);
    config.reservations.delay_ms = None;
    let log = FileLog::open(folder(case), FileLogOptions::default()).unwrap();
    let engine =
        Engine::start(config, Mode::Serial, Arc::new(ManualClock::new()), Some(Box::new(log))).unwrap();
    let (handle, events) = (engine.handle(), engine.handle().event_stream(1_000));
    for host in 0..4 {
        handle.add_node(NodeSpec::new(format!("n{host}"), Resources::new(&[51_200, 50_000]))).unwrap();
    }
    let size = |units: i64| Resources::new(&[units * 1_024, units * 1_000]);
    for (queue, asks) in [
        ("root.dev", vec![(1, 200)]),
        ("root.prod", [(1, 100)].into_iter().chain([(1, 1); 29]).collect()),
        ("root.lab", vec![(11, 1), (11, 1), (11, 2)]),
    ] {
        let job = handle.submit_application(ApplicationSpec::new(queue, queue, "ann"), &events).unwrap();
        for (units, count) in asks {
            handle.submit_ask(job, AskSpec::new(size(units), count)).unwrap();
        }
        engine.run_until_quiet();
    }
    engine
}

#[test]
fn a_long_plan_is_summed_up_and_cut() {
    let case = Case::new();
    let _engine = large(&case);
    let text = printed(&case, &format!("log {ONCE}"));
    contains_all(
        &text,
        &[
            "129 containers would start in place of 129 containers; ",
            "\nroot.dev loses 129 containers (129 GiB, 129 vcores) to 30 asks of root.prod, because root.prod is below its \
             guarantee\n\nask-",
            ", because root.prod is below its guarantee: 100 containers on 4 hosts\n  on n",
            "\n  ... and 99 more containers; --limit 0 shows all\nask-",
            "\n... and 10 more asks; --limit 0 shows all\n\n3 asks of root.lab: nothing for 3 containers. Its queue is owed less than one container.\n  ask-30 (1 container), ask-31",
        ],
    );
    let lines = |text: &str, begin: &str| text.lines().filter(|line| line.starts_with(begin)).count();
    assert_eq!((lines(&text, "ask-"), lines(&text, "  on n")), (20, 1), "{text}");
    let all = printed(&case, &format!("log {ONCE} --limit 0"));
    assert_eq!((lines(&all, "ask-"), lines(&all, "  on n")), (30, 100), "{all}");
    assert!(!all.contains("..."), "{all}");
    let some = printed(&case, &format!("log {ONCE} --limit 40"));
    assert_eq!((lines(&some, "ask-"), lines(&some, "  on n")), (30, 11), "{some}");
    let few = printed(&case, &format!("log {ONCE} --limit 2"));
    assert_eq!((lines(&few, "ask-"), lines(&few, "  on n")), (2, 1), "{few}");
    contains_all(
        &few,
        &[
            "\n... and 2 more queues; --limit 0 shows all\n",
            "... and 28 more asks; ",
            ", ... and 1 more; --limit 0",
        ],
    );
    let json = plan(&case, ONCE);
    assert_eq!(plan(&case, &format!("{ONCE} --limit 1")), json, "JSON is complete");
    assert_eq!(
        (json["preemptions"].as_array().unwrap().len(), &json["losses"][0]["asks"]),
        (129, &30.into())
    );
}
