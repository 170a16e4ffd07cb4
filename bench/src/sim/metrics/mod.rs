//! Job completion, slowdown, waiting and shares, by queue and by user, recorded while a simulation runs.

mod bins;
mod contention;
mod demand;
mod finish;
mod group;
mod job;
mod outcome;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use apportion::{ContainerId, Resources};
use rustc_hash::FxHashMap;

use self::bins::Bins;
use self::contention::Contention;
use self::demand::Demand;
use self::group::{Group, LeafSeries};
pub use self::job::JobOutcome;
pub use self::outcome::{ContainerOutcome, Deviation, Fairness, GroupOutcome, Outcomes, Timeline};
use super::jobs::Part;
use super::run::size_of;
use crate::workload::Workload;

/// Records for [`Outcomes`], collected during a simulation.
#[derive(Debug)]
pub(super) struct Metrics<'a> {
    workload: &'a Workload,
    cluster: Resources,
    tick_ms: u64,
    now_ms: u64,
    jobs: Vec<JobOutcome>,
    leaves: Members,
    users: Members,
    user_names: Vec<&'a str>,
    used: Resources,
    running: u64,
    waiting: u64,
    used_over_time: Vec<Bins>,
    running_over_time: Bins,
    waiting_over_time: Bins,
    demand: Demand,
    containers: Option<Containers>,
}

/// The groups of all leaves, or of all users.
#[derive(Debug)]
struct Members {
    groups: Vec<Group>,
    contention: Contention,
    /// Members that changed since time last advanced.
    changed: BTreeSet<usize>,
}

/// All containers, if the caller wants them.
#[derive(Debug, Default)]
struct Containers {
    outcomes: Vec<ContainerOutcome>,
    running: FxHashMap<ContainerId, usize>,
}

impl Members {
    fn new(groups: Vec<Group>) -> Self {
        Self { contention: Contention::new(groups.len()), groups, changed: BTreeSet::new() }
    }

    /// The member, with its sums brought up to date.
    fn at(&mut self, place: usize, now_ms: u64, cluster: &Resources) -> &mut Group {
        self.changed.insert(place);
        let group = &mut self.groups[place];
        group.advance(now_ms, cluster);
        group
    }

    fn advance(&mut self, elapsed_ms: u64, share: impl Fn(&Group) -> Option<f64>) {
        for place in std::mem::take(&mut self.changed) {
            let group = &self.groups[place];
            let share = if group.waiting > 0 { share(group) } else { None };
            self.contention.set(place, share);
        }
        self.contention.advance(elapsed_ms);
    }
}

impl<'a> Metrics<'a> {
    /// `leaf_of` names the leaf of each job; there are `leaves` leaves.
    pub(super) fn new(
        workload: &'a Workload,
        leaf_of: &[usize],
        leaves: usize,
        tick_ms: u64,
        with_containers: bool,
    ) -> Self {
        let users: BTreeSet<&str> = workload.jobs.iter().map(|job| job.user.as_str()).collect();
        let user_names: Vec<&str> = users.into_iter().collect();
        let user_of = |name: &str| user_names.binary_search(&name).unwrap_or_default();
        let jobs = workload.jobs.iter().zip(leaf_of);
        let jobs = jobs.map(|(job, leaf)| JobOutcome {
            queue: *leaf,
            user: user_of(&job.user),
            asked: job.asks(),
            ..JobOutcome::default()
        });
        let bins = || Bins::new(tick_ms);
        Self {
            workload,
            cluster: workload.nodes.iter().map(|node| node.capacity).sum(),
            tick_ms,
            now_ms: 0,
            jobs: jobs.collect(),
            leaves: Members::new(vec![Group::new(Some(LeafSeries::new(tick_ms))); leaves]),
            users: Members::new(vec![Group::new(None); user_names.len()]),
            user_names,
            used: Resources::ZERO,
            running: 0,
            waiting: 0,
            used_over_time: vec![bins(); workload.resources.len()],
            running_over_time: bins(),
            waiting_over_time: bins(),
            demand: Demand::default(),
            containers: with_containers.then(Containers::default),
        }
    }

    /// Whether [`set_guarantees`](Self::set_guarantees) has not been called yet.
    pub(super) fn lacks_guarantees(&self) -> bool {
        self.leaves.groups.iter().all(|leaf| leaf.guaranteed.is_none())
    }

    /// Sets the guarantee of each leaf, as a dominant share of the cluster. Call it before time passes with nodes in
    /// place.
    pub(super) fn set_guarantees(&mut self, guaranteed: &[f64]) {
        for (leaf, share) in self.leaves.groups.iter_mut().zip(guaranteed) {
            leaf.guaranteed = Some(*share);
        }
    }

    /// Advances time to `now_ms`; the state has not changed since the last call.
    pub(super) fn advance(&mut self, now_ms: u64) {
        let elapsed_ms = now_ms - self.now_ms;
        if elapsed_ms == 0 {
            return;
        }
        let cluster = &self.cluster;
        let relative = |leaf: &Group| {
            let guaranteed = leaf.guaranteed.filter(|share| *share > 0.0)?;
            Some(leaf.share(cluster) / guaranteed)
        };
        self.leaves.advance(elapsed_ms, relative);
        self.users.advance(elapsed_ms, |user| Some(user.share(cluster)));
        for (index, bins) in self.used_over_time.iter_mut().enumerate() {
            let part = if cluster[index] > 0 { self.used[index] as f64 / cluster[index] as f64 } else { 0.0 };
            bins.add(self.now_ms, now_ms, part);
        }
        self.running_over_time.add(self.now_ms, now_ms, self.running as f64);
        self.waiting_over_time.add(self.now_ms, now_ms, self.waiting as f64);
        self.now_ms = now_ms;
    }

    /// Applies an update to the leaf and the user of a job.
    fn with_groups(&mut self, job: usize, act: impl Fn(&mut Group, &Resources)) {
        let (leaf, user) = (self.jobs[job].queue, self.jobs[job].user);
        act(self.leaves.at(leaf, self.now_ms, &self.cluster), &self.cluster);
        act(self.users.at(user, self.now_ms, &self.cluster), &self.cluster);
    }

    /// The size of a container that counts as demand; `None` if no node can hold it.
    fn demand_of(&mut self, part: Part) -> Option<Resources> {
        let size = size_of(self.workload, part);
        let tasks = part.tasks.map(|(stage, tasks)| &self.workload.jobs[part.job].stages[stage][tasks]);
        self.demand.is_placeable(self.workload, &size, tasks).then_some(size)
    }

    pub(super) fn job_submitted(&mut self, job: usize) {
        self.jobs[job].submitted_ms = Some(self.now_ms);
        self.jobs[job].ideal_ms = job::ideal_ms(&self.workload.jobs[job], self.now_ms, self.tick_ms);
    }

    pub(super) fn job_finished(&mut self, job: usize) {
        self.jobs[job].finished_ms = Some(self.now_ms);
    }

    /// Counts requested containers. Returns whether some empty node could hold them.
    pub(super) fn asked(&mut self, part: Part, count: u64) -> bool {
        self.waiting += count;
        let Some(size) = self.demand_of(part) else { return false };
        self.with_groups(part.job, |group, cluster| group.asked(&size, count, cluster));
        true
    }

    /// Counts requested containers that are not wanted any more. Returns the same as [`asked`](Self::asked).
    pub(super) fn cancelled(&mut self, part: Part, count: u64) -> bool {
        self.waiting -= count;
        let Some(size) = self.demand_of(part) else { return false };
        self.with_groups(part.job, |group, _| group.cancelled(&size, count));
        true
    }

    pub(super) fn started(&mut self, container: ContainerId, part: Part, node: usize, asked_ms: u64) {
        let (now_ms, size) = (self.now_ms, size_of(self.workload, part));
        let waited_ms = now_ms - asked_ms;
        self.waiting -= 1;
        self.running += 1;
        self.used += size;
        self.with_groups(part.job, |group, _| group.started(&size, waited_ms));
        let job = &mut self.jobs[part.job];
        job.first_start_ms.get_or_insert(now_ms);
        job.placed += 1;
        job.waiting_sum_ms = job.waiting_sum_ms.saturating_add(waited_ms);
        job.waiting_max_ms = job.waiting_max_ms.max(waited_ms);
        if let Some(containers) = &mut self.containers {
            containers.running.insert(container, containers.outcomes.len());
            let (job, tasks) = (part.job, part.tasks);
            containers.outcomes.push(ContainerOutcome {
                job,
                tasks,
                node,
                asked_ms,
                started_ms: now_ms,
                ended_ms: None,
                is_preempted: false,
            });
        }
    }

    pub(super) fn ended(&mut self, container: ContainerId, part: Part) {
        self.jobs[part.job].completed += 1;
        self.stopped(container, part, false);
    }

    /// Counts a container that ended without completing, and the time that it ran for nothing.
    pub(super) fn preempted(&mut self, container: ContainerId, part: Part, lost_ms: u64) {
        let job = &mut self.jobs[part.job];
        job.preempted += 1;
        job.lost_ms = job.lost_ms.saturating_add(lost_ms);
        self.stopped(container, part, true);
    }

    /// Counts a container that its job gave back because another one was preempted, and the lost time.
    pub(super) fn given_back(&mut self, container: ContainerId, part: Part, lost_ms: u64) {
        let job = &mut self.jobs[part.job];
        job.lost_ms = job.lost_ms.saturating_add(lost_ms);
        self.stopped(container, part, false);
    }

    fn stopped(&mut self, container: ContainerId, part: Part, is_preempted: bool) {
        let size = size_of(self.workload, part);
        self.running -= 1;
        self.used -= size;
        self.with_groups(part.job, |group, _| {
            group.ended(&size);
            if is_preempted {
                group.taken += size;
            }
        });
        if let Some(containers) = &mut self.containers
            && let Some(place) = containers.running.remove(&container)
        {
            let outcome = &mut containers.outcomes[place];
            (outcome.ended_ms, outcome.is_preempted) = (Some(self.now_ms), is_preempted);
        }
    }

    /// What all leaves together miss of their entitlements, as a part of the cluster.
    pub(super) fn owed(&self) -> f64 {
        self.leaves.groups.iter().map(|leaf| leaf.owed(&self.cluster)).sum()
    }
}
