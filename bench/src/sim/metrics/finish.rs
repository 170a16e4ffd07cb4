//! From recorded values to reported figures.

use super::bins::Bins;
use super::group::{Group, LeafSeries};
use super::outcome::{Deviation, Fairness, GroupOutcome, Outcomes, Timeline};
use super::{JobOutcome, Metrics};
use crate::statistics::{Summary, jain};

impl Metrics<'_> {
    /// The outcomes; `paths` are those of the leaves.
    pub(in crate::sim) fn finish(&mut self, paths: &[String]) -> Outcomes {
        let (now_ms, cluster) = (self.now_ms, self.cluster);
        for group in self.leaves.groups.iter_mut().chain(&mut self.users.groups) {
            group.advance(now_ms, &cluster);
        }
        let names: Vec<String> = self.user_names.iter().map(|name| (*name).to_owned()).collect();
        let mut queues = self.outcomes_of(&self.leaves.groups, paths, |job| job.queue);
        for (queue, leaf) in queues.iter_mut().zip(&self.leaves.groups) {
            queue.deviation = deviation(leaf);
        }
        let users = self.outcomes_of(&self.users.groups, &names, |job| job.user);
        Outcomes {
            fairness: self.fairness(&queues, &users),
            total: self.total(),
            queues,
            users,
            timeline: self.timeline(),
            jobs: std::mem::take(&mut self.jobs),
            containers: self.containers.take().unwrap_or_default().outcomes,
        }
    }

    fn outcomes_of(
        &self,
        groups: &[Group],
        names: &[String],
        place: fn(&JobOutcome) -> usize,
    ) -> Vec<GroupOutcome> {
        let mut jobs: Vec<Vec<&JobOutcome>> = vec![Vec::new(); groups.len()];
        for job in &self.jobs {
            jobs[place(job)].push(job);
        }
        let each = groups.iter().zip(names).zip(jobs);
        each.map(|((group, name), jobs)| {
            let totals = &group.totals;
            GroupOutcome {
                name: name.clone(),
                demand_ms: totals.demand_ms,
                share: totals.share_ms / (self.now_ms as f64).max(1.0),
                share_in_demand: totals.share_ms / (totals.demand_ms as f64).max(1.0),
                waiting_ms: waiting(std::slice::from_ref(group)),
                ..of_jobs(&jobs)
            }
        })
        .collect()
    }

    fn total(&self) -> GroupOutcome {
        let jobs: Vec<&JobOutcome> = self.jobs.iter().collect();
        GroupOutcome { waiting_ms: waiting(&self.leaves.groups), ..of_jobs(&jobs) }
    }

    fn fairness(&self, queues: &[GroupOutcome], users: &[GroupOutcome]) -> Fairness {
        let (queues_contended_ms, queues_jain) = self.leaves.contention.outcome();
        let (users_contended_ms, users_jain) = self.users.contention.outcome();
        let slowdown = |groups: &[GroupOutcome]| {
            let means = groups.iter().filter_map(|group| Some(group.bounded_slowdown?.mean));
            jain(&means.collect::<Vec<_>>())
        };
        Fairness {
            queues_contended_ms,
            queues: queues_jain,
            users_contended_ms,
            users: users_jain,
            queues_slowdown: slowdown(queues),
            users_slowdown: slowdown(users),
        }
    }

    fn timeline(&self) -> Timeline {
        let end_ms = self.now_ms;
        let of_leaves = |bins: fn(&LeafSeries) -> &Bins| {
            let series = self.leaves.groups.iter().filter_map(|leaf| leaf.series.as_ref());
            series.map(|series| bins(series).means(end_ms)).collect()
        };
        Timeline {
            interval_ms: self.running_over_time.width_ms(),
            running: self.running_over_time.means(end_ms),
            waiting: self.waiting_over_time.means(end_ms),
            used: self.used_over_time.iter().map(|bins| bins.means(end_ms)).collect(),
            shares: of_leaves(|leaf| &leaf.shares),
            entitled: of_leaves(|leaf| &leaf.entitled),
            taken: of_leaves(|leaf| &leaf.taken),
        }
    }
}

/// The figures that depend only on jobs.
fn of_jobs(jobs: &[&JobOutcome]) -> GroupOutcome {
    let of = |figure: fn(&JobOutcome) -> Option<f64>| Summary::of(jobs.iter().filter_map(|job| figure(job)));
    let sum = |count: fn(&JobOutcome) -> u64| jobs.iter().map(|job| count(job)).fold(0, u64::saturating_add);
    GroupOutcome {
        jobs: jobs.len() as u64,
        finished: sum(|job| u64::from(job.finished_ms.is_some())),
        asked: sum(|job| job.asked),
        placed: sum(|job| job.placed),
        completed: sum(|job| job.completed),
        preempted: sum(|job| job.preempted),
        lost_ms: sum(|job| job.lost_ms),
        completion_ms: of(|job| job.completion_ms().map(|ms| ms as f64)),
        slowdown: of(JobOutcome::slowdown),
        bounded_slowdown: of(JobOutcome::bounded_slowdown),
        ..GroupOutcome::default()
    }
}

fn waiting(groups: &[Group]) -> Option<Summary> {
    let counts = groups.iter().flat_map(|group| &group.waits_ms);
    Summary::of_counts(counts.map(|(wait_ms, count)| (*wait_ms as f64, *count)).collect())
}

fn deviation(leaf: &Group) -> Option<Deviation> {
    let (totals, span_ms) = (&leaf.totals, (leaf.totals.demand_ms as f64).max(1.0));
    Some(Deviation {
        guaranteed: leaf.guaranteed?,
        below: totals.below_ms / span_ms,
        below_max: totals.below_max,
        below_longest_ms: totals.below_longest_ms,
        above: totals.above_ms / span_ms,
    })
}
