#![doc = include_str!("../doc/metrics.md")]

#[cfg(test)]
mod tests;

use metrics::{counter, describe_counter, describe_gauge, gauge};

use crate::engine::{Engine, Health};
use crate::resource::Resources;
use crate::stats::EngineStats;
use crate::view::{QueueView, View};

/// The rows of the table above: the name and the meaning of each figure.
fn figures() -> impl Iterator<Item = (&'static str, &'static str)> {
    let rows =
        include_str!("../doc/metrics.md").lines().filter_map(|line| line.strip_prefix("| `apportion_"));
    rows.filter_map(|row| {
        let mut cells = row.split('|').map(str::trim);
        let name = cells.next()?.trim_end_matches('`');
        Some((name, cells.nth(1)?))
    })
}

/// Tells the recorder what each name means.
pub fn describe() {
    for (name, meaning) in figures() {
        let name = format!("apportion_{name}");
        if name.ends_with("_total") {
            describe_counter!(name, meaning);
        } else {
            describe_gauge!(name, meaning);
        }
    }
}

/// Sets all figures to their present values. A walk over applications and queues blocks the engine.
pub fn record(engine: &Engine) {
    record_stats(engine.stats());
    record_health(&engine.health());
    engine.read(record_view);
}

// No field is left out by `..`, so that a new one is recorded or named here.
fn record_stats(stats: EngineStats) {
    let EngineStats {
        committed,
        allocated,
        reserved,
        rejected,
        batches,
        sets_checked_out_max,
        groups,
        refused,
        placed_by_committer,
        preemption_rounds,
        preempted,
        proposer_panics,
    } = stats;
    counter!("apportion_requests_committed_total").absolute(committed);
    counter!("apportion_containers_allocated_total").absolute(allocated);
    counter!("apportion_reservations_total").absolute(reserved);
    for (reason, count) in rejected {
        counter!("apportion_requests_rejected_total", "reason" => reason).absolute(count);
    }
    counter!("apportion_batches_total").absolute(batches);
    gauge!("apportion_sets_checked_out_max").set(sets_checked_out_max as f64);
    counter!("apportion_groups_total").absolute(groups);
    for (reason, count) in refused {
        counter!("apportion_calls_refused_total", "reason" => reason).absolute(count);
    }
    counter!("apportion_containers_placed_by_committer_total").absolute(placed_by_committer);
    counter!("apportion_preemption_rounds_total").absolute(preemption_rounds);
    counter!("apportion_containers_preempted_total").absolute(preempted);
    counter!("apportion_proposer_panics_total").absolute(proposer_panics);
}

fn record_health(health: &Health) {
    let Health {
        is_running,
        last_group_ms,
        last_commit_ms,
        messages_waiting,
        sets_wanted,
        sets_checked_out,
        round_pending,
        proposers_given_up,
        // As in the statistics.
        proposer_panics: _,
        refused: _,
    } = *health;
    gauge!("apportion_running").set(f64::from(u8::from(is_running)));
    gauge!("apportion_last_group_ms").set(last_group_ms as f64);
    gauge!("apportion_last_commit_ms").set(last_commit_ms as f64);
    gauge!("apportion_messages_waiting").set(messages_waiting as f64);
    gauge!("apportion_sets_wanted").set(f64::from(sets_wanted));
    gauge!("apportion_sets_checked_out").set(sets_checked_out as f64);
    gauge!("apportion_preemption_round_pending").set(f64::from(u8::from(round_pending)));
    counter!("apportion_proposers_given_up_total").absolute(proposers_given_up);
}

fn record_view(view: &View<'_>) {
    gauge!("apportion_nodes").set(view.node_count() as f64);
    gauge!("apportion_containers").set(view.container_count() as f64);
    gauge!("apportion_applications").set(view.applications().count() as f64);
    for partition in view.partition_ids() {
        let name = view.partition_name(partition);
        for (resource, amount) in amounts(view, view.capacity(partition)) {
            let partition = name.to_owned();
            gauge!("apportion_capacity", "partition" => partition, "resource" => resource).set(amount);
        }
    }
    view.queues().for_each(|queue| record_queue(view, &queue));
}

fn record_queue(view: &View<'_>, queue: &QueueView<'_>) {
    let path = queue.path().to_owned();
    gauge!("apportion_queue_applications", "queue" => path).set(f64::from(queue.application_count()));
    for partition in view.partition_ids() {
        let quota = queue.quota(partition);
        for (name, resources) in [
            ("apportion_queue_guaranteed", quota.guaranteed),
            ("apportion_queue_maximum", quota.maximum),
            ("apportion_queue_used", quota.used),
            ("apportion_queue_pending", quota.pending),
        ] {
            for (resource, amount) in amounts(view, resources) {
                let labels = [
                    ("queue", queue.path().to_owned()),
                    ("partition", view.partition_name(partition).to_owned()),
                    ("resource", resource),
                ];
                gauge!(name, &labels).set(amount);
            }
        }
    }
}

fn amounts(view: &View<'_>, resources: Resources) -> impl Iterator<Item = (String, f64)> {
    let named = view.resource_types().names().iter().cloned();
    named.zip(resources.amounts().iter().map(|amount| *amount as f64).collect::<Vec<_>>())
}
