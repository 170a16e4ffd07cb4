//! The state around a failed expectation, as small tables.

use apportion::view::View;
use apportion::{NodeState, PartitionId, Resources};
use comfy_table::Table;
use comfy_table::presets::NOTHING;

use super::amounts::to_text;
use super::cluster::Cluster;
use super::expect::word;

/// Longer tables are cut: the failure is named above them.
const ROWS_MAX: usize = 40;

/// The present queues, nodes, applications and pending asks.
pub(super) fn to_tables(cluster: &Cluster) -> String {
    cluster.engine.read(|view| {
        let tables =
            [queues(cluster, view), nodes(cluster, view), applications(cluster, view), asks(cluster, view)];
        format!("at {} ms\n{}", view.now_ms(), tables.into_iter().flatten().collect::<Vec<_>>().join("\n\n"))
    })
}

fn table<const N: usize>(head: [&str; N], rows: impl Iterator<Item = [String; N]>) -> Option<String> {
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(head);
    let mut rows = rows.peekable();
    rows.peek()?;
    for row in rows.by_ref().take(ROWS_MAX) {
        table.add_row(row);
    }
    let left = rows.count();
    let rest = if left > 0 { format!("\n and {left} more") } else { String::new() };
    Some(table.trim_fmt() + &rest)
}

fn queues(cluster: &Cluster, view: &View<'_>) -> Option<String> {
    let text = |amounts: &Resources| to_text(cluster.types(), amounts);
    let names = [String::new()].into_iter().chain(cluster.handle.config().partitions.iter().cloned());
    let partitions: Vec<(PartitionId, String)> = view.partition_ids().zip(names).collect();
    let rows = partitions.iter().flat_map(|(partition, name)| {
        let rows = view.queues().map(move |queue| (queue, queue.quota(*partition), name));
        // Other partitions are shown only where they are in use.
        rows.filter(|(_, quota, name)| name.is_empty() || !(quota.used.is_zero() && quota.pending.is_zero()))
    });
    let rows = rows.map(|(queue, quota, name)| {
        let place = if name.is_empty() { String::new() } else { format!(" ({name})") };
        [
            format!("{}{place}", queue.path()),
            text(&quota.used),
            text(&quota.reserved),
            text(&quota.pending),
            text(&quota.guaranteed),
            text(&quota.maximum),
            if queue.is_leaf() { text(&quota.user_limit) } else { String::new() },
        ]
    });
    table(["queue", "used", "reserved", "pending", "guaranteed", "maximum", "user limit"], rows)
}

fn nodes(cluster: &Cluster, view: &View<'_>) -> Option<String> {
    let text = |amounts: &Resources| to_text(cluster.types(), amounts);
    let rows = view.nodes().map(|node| {
        let reservation = view.reservations().find(|(_, reservation)| reservation.node == node.id());
        let state = match node.state() {
            _ if node.is_stale() => "stale",
            NodeState::Active => "active",
            NodeState::Draining => "draining",
        };
        [
            node.name().to_owned(),
            state.to_owned(),
            text(&node.allocated()),
            text(&node.free()),
            node.containers().len().to_string(),
            reservation.map_or_else(String::new, |(_, reservation)| {
                cluster.names.ask_called(reservation.ask).to_owned()
            }),
        ]
    });
    table(["node", "state", "used", "free", "containers", "reserved by"], rows)
}

fn applications(cluster: &Cluster, view: &View<'_>) -> Option<String> {
    let rows = cluster.names.applications.iter().filter_map(|(name, id)| {
        let application = view.application(*id)?;
        Some([
            name.clone(),
            application.queue().to_owned(),
            application.user().to_owned(),
            to_text(cluster.types(), &application.used()),
            application.containers().count().to_string(),
        ])
    });
    table(["application", "queue", "user", "used", "containers"], rows)
}

fn asks(cluster: &Cluster, view: &View<'_>) -> Option<String> {
    let rows = cluster.names.asks.iter().filter_map(|(name, named)| {
        let ask = view.ask(named.id)?;
        Some([
            name.clone(),
            to_text(cluster.types(), &ask.size()),
            ask.outstanding().to_string(),
            ask.reserved().to_string(),
            word(ask.pending_reason()),
        ])
    });
    table(["pending ask", "size", "pending", "reserved", "why"], rows)
}
