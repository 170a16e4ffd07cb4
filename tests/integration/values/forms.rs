//! The forms of values in JSON, and that they are read as they were written.

use apportion::config::{Maximum, QueueConfig};
use apportion::engine::{Attachment, Health};
use apportion::event::{Event, EventKind, Refusal};
use apportion::explain::{Explanation, Stage};
use apportion::request::RejectReason;
use apportion::{
    AuditReport, Change, Engine, EngineStats, Mode, NodeId, RackId, ResourceAllocationCommitRequest,
    StateDigest,
};
use apportion_tests::support::cluster::Cluster;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::explain::plain;
use crate::{engine, leaf};

fn json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

/// Writes and reads a value in JSON, as text and as a tree, and compares.
fn assert_comes_back<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T) {
    let text = serde_json::to_string(value).unwrap();
    assert_eq!(&serde_json::from_str::<T>(&text).unwrap(), value, "{text}");
    assert_eq!(&serde_json::from_value::<T>(json(value)).unwrap(), value, "{text}");
}

/// One node, and an application with three containers of which two fit.
fn full() -> (Cluster, apportion::ApplicationId, apportion::AskId) {
    let (mut cluster, application) = plain();
    cluster.node("n1", &[200, 2]);
    let ask = cluster.ask(application, &[100, 1], 3);
    cluster.run();
    (cluster, application, ask)
}

#[test]
fn identifiers_are_texts_for_people_and_numbers_for_logs() {
    let node: NodeId = "node-3.1".parse().unwrap();
    assert_eq!(json(&node), "node-3.1");
    assert_eq!(
        json(&[("rack-7".parse::<RackId>().unwrap(), 1)].into_iter().collect::<Racks>()),
        json!({"rack-7": 1})
    );
    assert_comes_back(&node);
    let error = serde_json::from_str::<NodeId>("\"ask-3\"").unwrap_err().to_string();
    assert!(error.contains("`node-12`"), "{error}");
    assert_eq!(postcard::to_allocvec(&node).unwrap(), [3, 1]);
    assert_eq!(postcard::from_bytes::<NodeId>(&[3, 1]).unwrap(), node);
    let digest = StateDigest(0xab);
    assert_eq!(json(&digest), "000000000000000000000000000000ab");
    assert_comes_back(&digest);
}

type Racks = std::collections::BTreeMap<RackId, u32>;

#[test]
fn an_event_is_written_with_its_label_and_read_back_in_any_format() {
    let (cluster, application, _) = full();
    let events = cluster.engine.handle().event_stream(10);
    let attached = cluster.engine.handle().attach(application, &events).unwrap();
    cluster.engine.run_until_quiet();
    let attachment: Attachment = attached.try_take().unwrap().unwrap();
    assert_comes_back(&attachment);
    let container = attachment.containers[0];
    let event = Event {
        seq: attachment.seq,
        application,
        kind: EventKind::Allocated {
            ask: container.ask,
            container: container.container,
            node: container.node,
            locality: apportion::Locality::OffSwitch,
            allocation_request_id: 7,
        },
    };
    let allocated = json!({"ask": "ask-0", "container": "container-0", "node": "node-0",
        "locality": "off_switch", "allocation_request_id": 7});
    let seq = attachment.seq.0;
    assert_eq!(
        json(&event),
        json!({"seq": seq, "application": "app-0", "kind": {event.kind.label(): allocated}})
    );
    assert_comes_back(&event);
    let bytes = postcard::to_allocvec(&event).unwrap();
    assert_eq!(postcard::from_bytes::<Event>(&bytes).unwrap(), event);
    let activated = Event { kind: EventKind::ApplicationActivated, ..event };
    assert_eq!(json(&activated)["kind"], "application_activated");
}

/// So counts by label and values name the same thing alike.
#[test]
fn the_names_in_json_are_the_labels() {
    for reason in RejectReason::ALL {
        assert_eq!(json(reason), reason.label());
    }
    for label in Refusal::LABELS.iter().filter(|label| **label != "cannot_grow") {
        let refusal: Refusal = serde_json::from_value(json!(label)).unwrap();
        assert_eq!(refusal.label(), *label);
    }
    assert_eq!(json(&Refusal::CannotGrow(RejectReason::NodeFull)), json!({"cannot_grow": "node_full"}));
    let earlier: Refusal = serde_json::from_value(json!("invalid_limits")).unwrap();
    assert_eq!(earlier, Refusal::InvalidConfiguration);
    let cluster = Cluster::serial(engine([leaf("a", 100)]));
    let mut earlier = json(&cluster.engine.health());
    earlier["refused"] = json!({"invalid_limits": 2});
    earlier.as_object_mut().unwrap().remove("round_pending");
    let health: Health = serde_json::from_value(earlier).unwrap();
    assert_eq!((health.refused["invalid_configuration"], health.round_pending), (2, false));
    let change = Change::TimeAdvanced { now_ms: 5 };
    assert_eq!(json(&change), json!({change.label(): {"now_ms": 5}}));
    assert_eq!(json(&Mode::Parallel { proposers: 2 }), json!({"parallel": {"proposers": 2}}));
}

#[test]
fn statistics_and_reports_come_back() {
    let (mut cluster, _, ask) = full();
    cluster.commit(ResourceAllocationCommitRequest::allocate(ask, "node-0".parse().unwrap()));
    cluster.run();
    cluster.cancel("ask-9".parse().unwrap(), 1);
    cluster.run();
    let (stats, health): (EngineStats, Health) = (cluster.engine.stats(), cluster.engine.health());
    assert_eq!((json(&stats)["rejected"]["node_full"].clone(), stats.rejected_total()), (json!(1), 1));
    assert_comes_back(&stats);
    assert_eq!(json(&health)["refused"], json!({"unknown_ask": 1}));
    assert_comes_back(&health);
    let mut unknown = json(&health);
    unknown["refused"] = json!({"bad_mood": 1});
    let error = serde_json::from_value::<Health>(unknown).unwrap_err().to_string();
    assert!(error.contains("unknown reason `bad_mood`; known are application_ended"), "{error}");
    let violation = apportion::Violation { invariant: "I1".into(), detail: "node-0".to_owned() };
    assert_comes_back(&AuditReport { violations: vec![violation] });
    let timing = json(&cluster.engine.take_timing());
    assert_eq!(timing["lock_held_ns_per_allocation"]["p999"], json!(0), "{timing}");
}

/// Explanations with different obstacles: a full node, and a queue at its maximum.
#[test]
fn explanations_come_back() {
    let (cluster, _, ask) = full();
    let explanation: Explanation = cluster.engine.explain(ask);
    assert_eq!(json(&explanation)["shortage"]["node"], "node-0");
    assert_eq!(explanation.pending().unwrap().funnel.at(Stage::NoRoom), 1);
    assert_comes_back(&explanation);

    let low: QueueConfig = leaf("a", 100).with_maximum(Maximum::absolute(&[50]));
    let mut cluster = Cluster::serial(engine([low, leaf("b", 0)]));
    cluster.node("n1", &[200]);
    let application = cluster.application("root.a", "ann");
    let ask = cluster.ask(application, &[20], 3);
    cluster.run();
    let explanation = cluster.engine.explain(ask);
    assert_eq!(json(&explanation)["blocker"]["what"], "queue_maximum");
    assert_comes_back(&explanation);
    assert_comes_back(&cluster.engine.explain("ask-7".parse().unwrap()));
}

#[test]
fn views_are_rows_with_named_amounts() {
    let (cluster, application, ask) = full();
    let rows = |engine: &Engine| {
        engine.read(|view| {
            let node = view.nodes().next().unwrap();
            let queue = view.queue("root.default").unwrap();
            [json(&node), json(&view.ask(ask)), json(&view.application(application)), json(&queue)]
        })
    };
    let [node, ask, application, queue] = rows(&cluster.engine);
    assert_eq!(
        (&node["id"], &node["name"], &node["state"]),
        (&json!("node-0"), &json!("n1"), &json!("active"))
    );
    assert_eq!(node["capacity"], json!({"memory_mib": 200, "vcore_milli": 2}));
    assert_eq!((&node["free"], &node["partition"]), (&json!({}), &json!("")));
    assert_eq!((&ask["size"]["memory_mib"], &ask["outstanding"]), (&json!(100), &json!(1)));
    assert_eq!(
        (&application["queue"], &application["containers"][1]["node"]),
        (&json!("root.default"), &json!("node-0"))
    );
    assert_eq!((&queue["status"], &queue["applications"]), (&json!("running"), &json!(1)));
    assert_eq!(queue["partitions"][0]["used"], json!({"memory_mib": 200, "vcore_milli": 2}));
    assert_eq!(queue["partitions"][0]["containers"], 2);
}

#[test]
fn views_are_lines_with_units() {
    let (cluster, application, ask) = full();
    cluster.engine.read(|view| {
        let node = view.nodes().next().unwrap().to_string();
        assert_eq!(
            node,
            "n1 (node-0): 200 MiB, 0.002 vcores of 200 MiB, 0.002 vcores allocated, 2 containers"
        );
        let pending = view.ask(ask).unwrap().to_string();
        assert_eq!(
            pending,
            "ask-0 of app-0: 1 more container of 100 MiB, 0.001 vcores, pending since 0.000 s"
        );
        let application = view.application(application).unwrap().to_string();
        assert!(
            application.ends_with(" in root.default: 2 containers with 200 MiB, 0.002 vcores, 1 pending ask")
        );
        let queue = view.queue("root.default").unwrap().to_string();
        assert!(queue.starts_with("root.default: 200 MiB, 0.002 vcores used, 200 MiB"), "{queue}");
        assert!(queue.ends_with("; 1 application"), "{queue}");
    });
}
