//! The names that callers use without the state's lock.

use std::sync::Arc;

use loom::thread;

use super::{Bound, Cluster, model, one};
use crate::change::{AskOfKind, AskSpec, NodeSpec};
use crate::engine::{Handle, SubmitError};
use crate::sync::NameMap;

/// I10. A node is added under the name of a node that is being removed. The bug: the removal takes the successor's
/// name, the successor gets an identifier that the state still knows, or its registration comes first.
#[test]
fn a_name_that_was_given_up_is_given_once() {
    model(Bound::None, || {
        let cluster = Cluster::serial(1);
        let old = cluster.nodes[0];
        let handle = cluster.handle.clone();
        let other = thread::spawn(move || handle.add_node(NodeSpec::new("n0", one())));
        cluster.handle.remove_node(old).unwrap();
        cluster.commit();
        let added = other.join().unwrap();
        cluster.commit();
        match added {
            Ok(new) => assert!(new != old && cluster.handle.node("n0") == Some(new)),
            Err(error) => {
                assert!(matches!(error, SubmitError::DuplicateNode { .. }), "{error}");
                assert_eq!(cluster.handle.node("n0"), None);
            }
        }
        assert_eq!(cluster.engine.read(|view| view.node_count()), cluster.handle.node("n0").iter().count());
        cluster.expect_sound();
    });
}

/// I10. A node is removed by its name while it is being registered. The bug: the removal overtakes the registration
/// and is refused, but takes the name, so the node stays without one.
#[test]
fn a_node_that_is_being_registered_keeps_its_name() {
    model(Bound::None, || {
        let cluster = Cluster::serial(0);
        let handle = cluster.handle.clone();
        let other = thread::spawn(move || handle.add_node(NodeSpec::new("n", one())).map(drop));
        if let Some(node) = cluster.handle.node("n") {
            drop(cluster.handle.remove_node(node).unwrap());
        }
        other.join().unwrap().unwrap();
        cluster.commit();
        assert_eq!(cluster.engine.read(|view| view.node_count()), cluster.handle.node("n").iter().count());
    });
}

/// Two nodes with one name at the same time. The bug: a name that is looked up and entered in two steps.
#[test]
fn of_two_nodes_of_one_name_one_is_added() {
    model(Bound::None, || {
        let cluster = Cluster::serial(0);
        // The lock of a rack's number would keep the two calls apart.
        let _ = cluster.handle.rack(&NodeSpec::new("n", one()).rack);
        let handle = cluster.handle.clone();
        let other = thread::spawn(move || handle.add_node(NodeSpec::new("n", one())).ok());
        let own = cluster.handle.add_node(NodeSpec::new("n", one())).ok();
        let added = own.xor(other.join().unwrap());
        assert!(added.is_some());
        cluster.commit();
        assert_eq!(cluster.handle.node("n"), added);
        assert_eq!(cluster.engine.read(|view| view.node_count()), 1);
    });
}

/// A reader against a removal. The bug: a name that still leads to a node after its removal was reported.
#[test]
fn a_name_leads_to_its_node_or_nowhere() {
    model(Bound::None, || {
        let cluster = Cluster::serial(1);
        let (handle, old) = (cluster.handle.clone(), cluster.nodes[0]);
        let other = thread::spawn(move || handle.node("n0"));
        cluster.handle.remove_node(old).unwrap();
        cluster.commit();
        assert_eq!(cluster.handle.node("n0"), None);
        assert!(other.join().unwrap().is_none_or(|found| found == old));
    });
}

/// The removal of a name that a successor has taken. The bug: a removal that does not compare identifiers.
#[test]
fn a_late_removal_leaves_the_successor_its_name() {
    model(Bound::None, || {
        let names = Arc::new(NameMap::new());
        names.get_or_insert_with("name", || 1);
        let theirs = Arc::clone(&names);
        let other = thread::spawn(move || theirs.remove("name", 1));
        names.remove("name", 1);
        assert_eq!(names.get_or_insert_with("name", || 2), (2, true));
        other.join().unwrap();
        assert_eq!(names.get("name"), Some(2));
    });
}

/// Two callers name unknown racks. The bug: one number for two racks, or two for one.
#[test]
fn a_rack_has_one_number() {
    model(Bound::None, || {
        let cluster = Cluster::serial(0);
        let handle = cluster.handle.clone();
        let other = thread::spawn(move || (handle.rack("a"), handle.rack("b")));
        let (b, a) = (cluster.handle.rack("b"), cluster.handle.rack("a"));
        assert_eq!(other.join().unwrap(), (a, b));
        assert_ne!(a, b);
    });
}

/// I11. Two callers ask for nodes on the same rack, which none has named before. The bug: a number that the second
/// caller finds although the log does not name its rack yet. The engine refuses such an ask.
#[test]
fn a_rack_is_named_before_it_is_asked_for() {
    model(Bound::None, || {
        let cluster = Cluster::serial(1);
        let ask = |handle: &Handle, application| {
            let rack = handle.rack("far away");
            handle.submit_ask(application, AskSpec::new(one(), 1).on_racks([rack])).unwrap();
        };
        let (handle, application) = (cluster.handle.clone(), cluster.application);
        let other = thread::spawn(move || ask(&handle, application));
        ask(&cluster.handle, cluster.application);
        other.join().unwrap();
        cluster.commit();
        assert_eq!(cluster.engine.stats().refused.len(), 0);
    });
}

/// I10. Two callers register the same kind of asks and ask for it at once. The bug: a kind that the second caller
/// finds although the committer does not know it yet, so that its ask overtakes the kind.
#[test]
fn a_kind_comes_before_its_asks() {
    model(Bound::None, || {
        let cluster = Cluster::serial(1);
        let ask = |handle: &Handle, application| {
            let kind = handle.register_ask_kind(AskSpec::new(one(), 1)).unwrap();
            let ask = AskOfKind { application, kind, count: 1, allocation_request_id: 0 };
            handle.submit_asks_of_kinds([ask]).unwrap();
            kind
        };
        let (handle, application) = (cluster.handle.clone(), cluster.application);
        let other = thread::spawn(move || ask(&handle, application));
        let kind = ask(&cluster.handle, cluster.application);
        assert_eq!(other.join().unwrap(), kind);
        cluster.commit();
        assert_eq!(cluster.engine.read(|view| view.asks().count()), 2);
    });
}
