//! The end of a simulation: every ask is accounted for, and the state is audited.

use std::collections::BTreeMap;
use std::time::Instant;

use apportion::AttributeCondition;
use apportion::explain::PendingReason;
use apportion::resource::{SHARE_ONE, dominant_share};

use super::gang::Watch;
use super::record::{NOT_ASKED_YET, QueueUse, RunRecord};
use super::run::{SimError, Simulation};
use crate::pending::longest_pending;
use crate::workload::{Tasks, Workload};

impl Simulation<'_> {
    pub(super) fn finish(mut self, started: Instant) -> Result<RunRecord, SimError> {
        let elapsed = started.elapsed();
        let (mut unplaceable, mut pending_at_end) = self.sort_pending();
        for (reason, count) in std::mem::take(&mut self.refused) {
            *unplaceable.entry(reason).or_default() += count;
        }
        if self.not_asked_yet() > 0 {
            pending_at_end.insert(NOT_ASKED_YET.into(), self.not_asked_yet());
        }
        let audit = self.engine.audit();
        let state_digest = self.engine.digest();
        self.engine.shutdown();
        let outcomes = self.metrics.finish(&self.leaf_paths);
        let names = self.workload.resources.names();
        Ok(RunRecord {
            resource_names: names.to_vec(),
            invented: self.workload.invented.sentences(),
            nodes: self.workload.nodes.len(),
            asks: self.workload.asks(),
            placed: self.tally.placed,
            completed: self.tally.completed,
            preemption: self.preempts.then(|| self.tally.preemption(self.engine.stats().preemption_rounds)),
            gangs: self.watch.take().map(Watch::finish),
            unplaceable,
            cancelled: self.tally.cancelled,
            pending_at_end,
            pending_longest: self.engine.read(longest_pending),
            stats: self.engine.stats(),
            makespan_ms: self.engine.read(|view| view.now_ms()),
            interrupted: self.interrupted,
            elapsed,
            ask_to_commit_us: Some(self.tally.ask_to_commit_us.clone()).filter(|h| !h.is_empty()),
            wait_ms: self.tally.wait_ms.clone(),
            utilisation: self.tally.utilisation(names.len()),
            queues: self.queue_use(),
            outcomes,
            node_use: self.tally.node_use(),
            busy_ms: self.tally.busy_ms(),
            series: self.tally.series.clone(),
            log_error: self.engine.log_error(),
            audit_violations: audit
                .violations
                .iter()
                .map(|v| format!("{}: {}", v.invariant, v.detail))
                .collect(),
            log_digest: self.commit_times.digest(),
            state_digest,
        })
    }

    /// Divides the remaining asks into those that no node could ever hold and those that are merely pending.
    fn sort_pending(&self) -> (BTreeMap<String, u64>, BTreeMap<String, u64>) {
        let (mut unplaceable, mut pending) = (BTreeMap::new(), BTreeMap::new());
        self.engine.read(|view| {
            for (id, run) in &self.asks {
                let Some(ask) = view.ask(*id) else { continue };
                let units = u64::from(ask.outstanding());
                let reason = ask.pending_reason();
                if reason == PendingReason::NoNodeLargeEnough {
                    let tasks =
                        run.part.tasks.map(|(stage, t)| &self.workload.jobs[run.part.job].stages[stage][t]);
                    *unplaceable.entry(why_no_node(self.workload, tasks)).or_default() += units;
                } else {
                    *pending.entry(label(reason).to_owned()).or_default() += units;
                }
            }
        });
        (unplaceable, pending)
    }

    fn queue_use(&self) -> Vec<QueueUse> {
        let each = self.leaf_paths.iter().zip(self.guaranteed_shares()).enumerate();
        each.map(|(leaf, (path, guaranteed_share))| QueueUse {
            path: path.clone(),
            guaranteed_share,
            mean_share: self.tally.leaf_share(leaf),
            placed: self.tally.leaf_placed[leaf],
        })
        .collect()
    }

    /// The guarantee of each leaf, as a dominant share of the cluster.
    pub(super) fn guaranteed_shares(&self) -> Vec<f64> {
        self.engine.read(|view| {
            let total: apportion::Resources =
                view.partition_ids().map(|partition| view.capacity(partition)).sum();
            let leaves = view.queues().filter(|queue| queue.is_leaf());
            let guaranteed =
                leaves.map(|queue| view.partition_ids().map(|p| queue.quota(p).guaranteed).sum());
            guaranteed.map(|amount| dominant_share(&amount, &total) as f64 / SHARE_ONE as f64).collect()
        })
    }
}

/// The property of the tasks that no node can meet.
fn why_no_node(workload: &Workload, tasks: Option<&Tasks>) -> String {
    let Some(tasks) = tasks else { return "master_larger_than_any_node".into() };
    let names = workload.resources.names();
    let largest = |i: usize| workload.nodes.iter().map(|node| node.capacity[i]).max().unwrap_or(0);
    let too_large = (0..names.len()).find(|i| tasks.size[*i] > largest(*i));
    if let Some(index) = too_large {
        return format!("{}_larger_than_any_node", names[index]);
    }
    if let Some(need) = tasks.devices
        && workload.nodes.iter().all(|node| node.devices < need.count)
    {
        return "more_devices_than_any_node".into();
    }
    match &tasks.rule {
        Some(rule) => match rule.conditions.iter().find(|condition| is_met_nowhere(workload, condition)) {
            Some(condition) => format!("no_node_with_{}", condition.attribute),
            None => "no_node_has_it_all".into(),
        },
        None => "no_node_has_it_all".into(),
    }
}

fn is_met_nowhere(workload: &Workload, condition: &AttributeCondition) -> bool {
    !workload.nodes.iter().any(|node| condition.holds(&node.attributes))
}

fn label(reason: PendingReason) -> &'static str {
    match reason {
        PendingReason::NoNodeLargeEnough => "no_node_large_enough",
        PendingReason::Inactive => "inactive",
        PendingReason::QueueLimit => "queue_limit",
        PendingReason::UserLimit => "user_limit",
        PendingReason::BlockedHeadroom => "blocked_headroom",
        PendingReason::HoldsReservation => "holds_reservation",
        PendingReason::WaitsForHosts => "waits_for_hosts",
        PendingReason::TagLimit => "tag_limit",
        PendingReason::NoRoom => "no_room",
        PendingReason::Runnable => "runnable",
        PendingReason::WaitsForGang => "waits_for_gang",
        PendingReason::QueuesFull => "queues_full",
    }
}
