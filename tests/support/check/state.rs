//! Compares the engine's state, as any caller can read it, with the model's.

use std::collections::BTreeMap;

use apportion::view::View;
use apportion::{ContainerId, Engine, ExecutionType, NodeId, Resources};

use crate::support::oracle::{Amounts, Books, NOTHING, Oracle, amounts};

/// Panics at the first difference.
pub(super) fn compare(engine: &Engine, oracle: &Oracle) {
    let books = oracle.books();
    engine.read(|view| {
        assert_eq!(view.now_ms(), oracle.now_ms, "the time");
        compare_queues(view, oracle, &books);
        compare_nodes(view, oracle, &books);
        compare_applications(view, oracle, &books);
        compare_asks(view, oracle);
        compare_containers(view, oracle);
    });
}

fn same(got: Resources, expected: &Amounts, what: &str) {
    assert_eq!(amounts(&got), *expected, "{what}: left got, right expected");
}

fn compare_queues(view: &View<'_>, oracle: &Oracle, books: &Books) {
    let present = || oracle.tree.queues.iter().filter(|queue| queue.is_present);
    assert_eq!(view.queues().count(), present().count(), "queues");
    assert_eq!(view.queue_tree(), oracle.tree.config(0), "the tree");
    let expired = (0..oracle.tree.queues.len()).find(|queue| {
        oracle.tree.expires_ms(*queue, &oracle.busy()).is_some_and(|at_ms| at_ms <= oracle.now_ms)
    });
    assert_eq!(expired, None, "this queue should have expired");
    for (number, partition) in oracle.partitions.iter().enumerate() {
        same(view.capacity(*partition), &books.totals[number], &format!("{partition}"));
        let all = oracle.tree.queues.iter().zip(&books.queues[number]);
        for (queue, book) in all.filter(|(queue, _)| queue.is_present) {
            let seen = view.queue(&queue.path).unwrap();
            let quota = seen.quota(*partition);
            let what = |detail: &str| format!("{} in {partition}: {detail}", queue.path);
            assert_eq!(seen.is_leaf(), queue.is_leaf, "{}", what("is a leaf"));
            same(quota.guaranteed, &book.limits.guaranteed, &what("guaranteed"));
            same(quota.maximum, &book.limits.maximum, &what("maximum"));
            if seen.is_leaf() {
                same(quota.user_limit, &book.limits.user, &what("user limit"));
            }
            same(quota.share_base, &book.base, &what("base of the share"));
            same(quota.used, &book.used, &what("used"));
            same(quota.reserved, &book.reserved, &what("reserved"));
            same(quota.pending, &book.pending, &what("pending"));
            assert_eq!(quota.containers, book.containers, "{}", what("containers"));
            let priority = oracle.computed_demand_priority(oracle.tree.named(&queue.path).unwrap());
            assert_eq!(seen.demand_priority(), priority, "{}", what("priority"));
            let wanting = oracle.wanting_of(&queue.path);
            assert_eq!(seen.active_user_count(), wanting, "{}", what("active users"));
        }
    }
    for ((number, leaf, user), used) in &books.users {
        let leaf = &oracle.tree.queues[*leaf].path;
        let seen = view.queue(leaf).unwrap().used_by(user, oracle.partitions[*number]);
        same(seen, used, &format!("used by {user} in {leaf}"));
    }
}

fn compare_nodes(view: &View<'_>, oracle: &Oracle, books: &Books) {
    let ids: Vec<NodeId> = view.nodes().map(|node| node.id()).collect();
    assert!(ids.iter().eq(oracle.nodes.keys()), "nodes {ids:?}");
    assert_eq!(view.node_count(), ids.len());
    assert_eq!(view.reservations().count(), oracle.reservations.len(), "reservations");
    for (id, node) in &oracle.nodes {
        let (seen, book) = (view.node(*id).unwrap(), &books.nodes[id]);
        let free = std::array::from_fn(|i| node.capacity[i] - book.used[i]);
        assert_eq!((seen.name(), seen.partition()), (&*node.name, node.partition), "{id}");
        assert_eq!((seen.state(), seen.is_stale()), (node.state, node.stale), "state of {id}");
        assert_eq!(seen.is_reserved(), oracle.reservations.contains_key(id), "reservation on {id}");
        same(seen.capacity(), &node.capacity, &format!("capacity of {id}"));
        same(seen.allocated(), &book.used, &format!("allocated on {id}"));
        same(seen.free(), &free, &format!("free on {id}"));
        assert_eq!(seen.devices().free_milli(), book.device_free, "devices of {id}");
        assert_eq!(seen.containers().len(), book.containers, "containers on {id}");
    }
}

fn compare_applications(view: &View<'_>, oracle: &Oracle, books: &Books) {
    for (id, application) in &oracle.applications {
        let seen = view.application(*id).unwrap_or_else(|| panic!("{id} is lost"));
        let asks = oracle.asks.values().filter(|ask| ask.application == *id).count();
        assert_eq!((seen.name(), seen.user()), (&*application.spec.name, &*application.spec.user));
        assert_eq!(seen.queue(), oracle.tree.queues[application.leaf].path, "leaf of {id}");
        assert_eq!(seen.is_active(), application.is_active, "{id} is active");
        assert_eq!(seen.ending(), application.ending, "{id} is ending");
        assert_eq!(seen.expires_ms(), application.expires_ms, "end of {id}");
        assert_eq!(seen.priority(), application.priority, "priority of {id}");
        assert_eq!(seen.submitted_ms(), application.since_ms, "submission of {id}");
        assert_eq!(seen.pending_asks() as usize, asks, "asks of {id}");
        same(seen.used(), books.applications.get(id).unwrap_or(&NOTHING), &format!("used by {id}"));
        let mut running: Vec<ContainerId> = seen.containers().map(|on_node| on_node.container).collect();
        running.sort();
        let own = oracle.containers.values().filter(|container| container.application == *id);
        let mut own: Vec<ContainerId> = own.filter_map(|container| container.id).collect();
        own.sort();
        assert_eq!(running, own, "containers of {id}");
    }
}

fn compare_asks(view: &View<'_>, oracle: &Oracle) {
    let seen = view.asks().map(|ask| {
        let numbers = (
            ask.outstanding(),
            ask.reserved(),
            ask.missed_opportunities(),
            ask.re_reservations(),
            ask.pending_since_ms(),
        );
        (ask.id(), (ask.application(), amounts(&ask.size()), numbers))
    });
    let known = oracle.asks.iter().map(|(id, ask)| {
        let numbers = (ask.outstanding, oracle.reserved(*id), ask.missed, ask.re_reserved, ask.since_ms);
        (*id, (ask.application, amounts(&ask.spec.size), numbers))
    });
    let (seen, known): (BTreeMap<_, _>, BTreeMap<_, _>) = (seen.collect(), known.collect());
    assert_eq!(
        seen, known,
        "asks (owner, size, outstanding, reserved, missed, reserved in vain, since): left got, right expected"
    );
}

fn compare_containers(view: &View<'_>, oracle: &Oracle) {
    assert_eq!(view.container_count(), oracle.containers.len());
    let seen = view.containers().map(|(id, seen)| {
        let is_guaranteed = seen.execution_type == ExecutionType::Guaranteed;
        let stopping = seen.stopping.map(|stopping| (stopping.cause, stopping.until_ms));
        (id, (seen.application, seen.node, amounts(&seen.size), is_guaranteed, stopping))
    });
    let known = oracle.containers.values().map(|own| {
        let size = own.put_aside.unwrap_or(own.size);
        (own.id.unwrap(), (own.application, own.node, size, own.put_aside.is_none(), own.stopping))
    });
    let (seen, known): (BTreeMap<_, _>, BTreeMap<_, _>) = (seen.collect(), known.collect());
    assert_eq!(seen, known, "containers (owner, node, size, guaranteed, stopping): left got, right expected");
}
