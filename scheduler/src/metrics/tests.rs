use std::collections::BTreeSet;
use std::sync::Arc;

use metrics_util::debugging::{DebugValue, DebuggingRecorder};

use super::*;
use crate::config::QueueConfig;
use crate::{ApplicationId, ApplicationSpec, AskSpec, Mode, NodeSpec, ResourceTypes, Resources, SystemClock};

/// An engine with a container, a pending ask, and a refused call.
fn engine() -> Engine {
    let config =
        crate::config::EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
    let engine = Engine::start(config, Mode::Serial, Arc::new(SystemClock::new()), None).unwrap();
    let handle = engine.handle();
    let events = handle.event_stream(10);
    handle.add_node(NodeSpec::new("n", Resources::new(&[10, 10]))).unwrap();
    let application = ApplicationSpec::new("x", "root.default", "ann");
    let application = handle.submit_application(application, &events).unwrap();
    handle.submit_ask(application, AskSpec::new(Resources::new(&[10, 10]), 2)).unwrap();
    let unknown: ApplicationId = "app-77".parse().unwrap();
    handle.submit_ask(unknown, AskSpec::new(Resources::new(&[1, 1]), 1)).unwrap();
    engine.run_until_quiet();
    engine
}

/// The recorded figures: name, labels, description, value.
fn recorded(engine: &Engine) -> Vec<(String, Vec<String>, Option<String>, f64)> {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    metrics::with_local_recorder(&recorder, || {
        describe();
        record(engine);
    });
    let mut found = Vec::new();
    for (key, _, description, value) in snapshotter.snapshot().into_vec() {
        let labels = key.key().labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
        let value = match value {
            DebugValue::Counter(count) => count as f64,
            DebugValue::Gauge(value) => value.into_inner(),
            DebugValue::Histogram(_) => panic!("no histogram is documented"),
        };
        found.push((key.key().name().to_owned(), labels, description.map(|text| text.to_string()), value));
    }
    found
}

#[test]
fn every_figure_is_documented_and_recorded() {
    let mut stats = engine().stats();
    stats.rejected.insert("node_full", 3);
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    metrics::with_local_recorder(&recorder, || record_stats(stats));
    let of_stats = snapshotter.snapshot().into_vec().into_iter().map(|(key, ..)| key.key().name().to_owned());
    let all = recorded(&engine()).into_iter().map(|(name, ..)| name).chain(of_stats);
    let all: BTreeSet<String> = all.collect();
    let documented: BTreeSet<String> = figures().map(|(name, _)| format!("apportion_{name}")).collect();
    assert_eq!(all, documented);
}

#[test]
fn figures_have_values_labels_and_descriptions() {
    let found = recorded(&engine());
    let value = |name: &str, labels: &[&str]| {
        let of = |one: &&(String, Vec<String>, Option<String>, f64)| {
            one.0 == name && labels.iter().all(|label| one.1.iter().any(|known| known == label))
        };
        let (_, _, description, value) = found.iter().find(of).unwrap_or_else(|| panic!("{name} {labels:?}"));
        assert!(description.as_ref().is_some_and(|text| text.ends_with('.')), "{name}: {description:?}");
        *value
    };
    assert_eq!(value("apportion_containers_allocated_total", &[]), 1.0);
    assert_eq!(value("apportion_nodes", &[]), 1.0);
    assert_eq!(value("apportion_containers", &[]), 1.0);
    assert_eq!(value("apportion_requests_committed_total", &[]), 1.0);
    assert_eq!(value("apportion_sets_wanted", &[]), 0.0);
    assert!(value("apportion_last_group_ms", &[]) >= value("apportion_last_commit_ms", &[]));
    assert!(value("apportion_last_commit_ms", &[]) > 1_700_000_000_000.0, "of today");
    assert_eq!(value("apportion_running", &[]), 1.0);
    assert_eq!(value("apportion_calls_refused_total", &["reason=application_ended"]), 1.0);
    let leaf = ["queue=root.default", "partition=", "resource=memory_mib"];
    assert_eq!(value("apportion_queue_used", &leaf), 10.0);
    assert_eq!(value("apportion_queue_guaranteed", &leaf), 10.0);
    assert_eq!(value("apportion_queue_pending", &leaf), 10.0);
    assert_eq!(value("apportion_capacity", &leaf[1..]), 10.0);
}
