use std::sync::Arc;

use apportion::Resources;

use super::{InstanceState, NodeInstance, RoleHistory};
use crate::client::{ContainerRef, NodeReport};
use crate::component::{ComponentId, ComponentSpec};

#[test]
fn unused_hosts_are_forgotten_unless_they_are_busy_excluded_or_online() {
    const COMPONENT: ComponentId = ComponentId(1);
    let mut history = RoleHistory::default();
    history.declare(&ComponentSpec::new("component", COMPONENT.0, 1, Resources::new(&[1])));
    for (host, used_ms) in [("busy", 9), ("excluded", 9), ("gone", 9), ("online", 9), ("recent", 10)] {
        let host: Arc<str> = host.into();
        history.used(&host, COMPONENT, used_ms);
        if *host != *"online" {
            history.host_unknown(&host);
        }
    }
    history.transition_instance(&"busy".into(), COMPONENT, ContainerRef(1), InstanceState::Live);
    history.transition_excluded(&"excluded".into(), true);
    let before = history.version();
    history.forget_before(10);
    let known = |host: &str, node: &NodeInstance| (host.to_owned(), node.entries.len());
    let kept: Vec<_> = history.nodes().map(|(host, node)| known(host, node)).collect();
    let expected = [("busy", 1), ("excluded", 0), ("online", 0), ("recent", 1)];
    assert_eq!(kept, expected.map(|(host, entries)| (host.to_owned(), entries)));
    assert!(history.version() > before, "there is something to save");
    let before = history.version();
    history.forget_before(10);
    assert_eq!(history.version(), before, "nothing is left to forget");
}

#[test]
fn a_report_changes_a_host_if_rack_label_or_usability_differ() {
    let first = NodeReport {
        host: "host".into(),
        rack: "rack".into(),
        label: "label".into(),
        capacity: Resources::new(&[8]),
        free: Resources::new(&[8]),
        is_usable: true,
    };
    let changes = |report: &NodeReport| {
        let mut node = NodeInstance::default();
        assert!(node.report(&first), "the first one");
        node.report(report)
    };
    assert!(!changes(&first));
    assert!(!changes(&NodeReport { capacity: Resources::new(&[4]), ..first.clone() }));
    assert!(changes(&NodeReport { rack: "another".into(), ..first.clone() }));
    assert!(changes(&NodeReport { label: "another".into(), ..first.clone() }));
    assert!(changes(&NodeReport { is_usable: false, ..first.clone() }));
}

#[test]
fn failures_are_counted_where_they_happened() {
    const COMPONENT: ComponentId = ComponentId(1);
    let (mut history, host): (_, Arc<str>) = (RoleHistory::default(), "host".into());
    history.failed(&host, COMPONENT, true);
    history.failed(&host, COMPONENT, false);
    assert_eq!(history.entry("host", COMPONENT).map(|entry| entry.failed_recently), Some(2));
    assert_eq!(history.entry("another", COMPONENT), None);
}

/// Requests list hosts anew if the number changes.
#[test]
fn each_change_of_the_usable_hosts_changes_their_version() {
    const COMPONENT: ComponentId = ComponentId(1);
    let mut history = RoleHistory::default();
    let alone = ComponentSpec {
        shuns_hosts_alone: true,
        node_failure_threshold: Some(1),
        ..ComponentSpec::new("component", COMPONENT.0, 1, Resources::new(&[1]))
    };
    history.declare(&alone);
    let (host, mut last): (Arc<str>, u64) = ("host".into(), history.hosts_version());
    let mut changes = |history: &RoleHistory| {
        let before = std::mem::replace(&mut last, history.hosts_version());
        history.hosts_version() != before
    };
    history.transition_excluded(&host, true);
    assert!(changes(&history), "excluded");
    history.transition_excluded(&host, false);
    assert!(changes(&history), "readmitted");
    history.host_unknown(&host);
    assert!(changes(&history), "offline");
    history.failed(&host, COMPONENT, true);
    assert!(!changes(&history), "one failure is tolerated");
    history.failed(&host, COMPONENT, true);
    assert!(changes(&history), "shunned by the component");
    history.declare(&ComponentSpec { shuns_hosts_alone: false, ..alone });
    assert!(changes(&history), "shunned by the service");
}
