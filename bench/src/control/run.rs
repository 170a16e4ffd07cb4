//! The loop on virtual time.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use anyhow::bail;
use apportion::ApplicationSpec;
use apportion_placement::control::{Job, JobRequest};
use apportion_placement::{EngineClient, ServiceSettings};
use uuid::Uuid;

use super::experiment::{ControlShape, Experiment};
use super::record::{ExperimentRecord, FaultCounts, Watch};
use super::slow_hosts::{READ_MS, SlowHosts};
use crate::interrupt::Interruption;
use crate::report::counted;
use crate::services::YearShape;
use crate::services::cluster::{Cluster, JOBS, SERVICES};
use crate::services::jobs::Jobs;

/// The part of the cluster that the other jobs keep busy.
pub const BUSY_PERCENT: i64 = 60;
const MINUTE_MS: u64 = 60_000;
/// The longest search for a place for a container.
const EXPIRES_AFTER_MS: u64 = 5 * MINUTE_MS;
/// Number of retries of a container, where faults are injected.
const RETRIES: u32 = 3;
/// The interval between losses of nodes, where nodes are lost.
const LOST_EVERY_MS: u64 = 20_000;
/// An experiment that takes longer counts as endless.
const MOST_MS: u64 = 24 * 60 * MINUTE_MS;

/// Lets the job execute the requests of the experiment, until `go_on` ends it; `None` if it ended before the
/// first request.
///
/// # Errors
/// When the engine wrongly refuses a call, or the job does not finish.
pub fn run_experiment(
    shape: &ControlShape,
    experiment: Experiment,
    has_faults: bool,
    seed: u64,
    go_on: &dyn Fn() -> ControlFlow<()>,
) -> anyhow::Result<Option<ExperimentRecord>> {
    let year = YearShape { nodes: shape.nodes, node_order: experiment.node_order(), ..YearShape::default() };
    let cluster = Cluster::start(&year)?;
    let busy = Cluster::slots(shape.nodes) * BUSY_PERCENT / 100;
    let jobs = Jobs::start(&cluster.handle, JOBS, busy, seed)?;
    let spec = ApplicationSpec::new("job", SERVICES, "ann");
    let client = EngineClient::submit(cluster.handle.clone(), spec, usize::MAX)?;
    let hosts = SlowHosts::new(client, seed);
    let job = Job::start(experiment.job(shape)?, ServiceSettings::default(), hosts, None, 0)?;
    let mut run = Run {
        cluster,
        jobs,
        job,
        go_on,
        now_ms: 0,
        lost: Vec::new(),
        nodes_lost: 0,
        last_ms: None,
        is_stopped: false,
    };
    run.pass_until(MINUTE_MS, |run| run.job.service().state().missing() == 0)?;
    if run.is_stopped {
        return Ok(None);
    }
    let missing = run.job.service().state().missing();
    if missing > 0 {
        bail!(
            "{missing} of the job's containers found no place in a minute: it is too large for {}",
            counted(shape.nodes.into(), "node")
        );
    }
    // Standbys have read all state before the first request.
    run.pass_until(READ_MS[1], |_| false)?;
    if run.is_stopped {
        return Ok(None);
    }
    run.measure(shape, experiment, has_faults).map(Some)
}

struct Run<'a> {
    cluster: Cluster,
    jobs: Jobs,
    job: Job<SlowHosts>,
    go_on: &'a dyn Fn() -> ControlFlow<()>,
    now_ms: u64,
    /// Nodes to be lost, with times; the next one last.
    lost: Vec<(u64, u32)>,
    nodes_lost: u32,
    last_ms: Option<u64>,
    /// Whether `go_on` has ended the experiment.
    is_stopped: bool,
}

impl Run<'_> {
    fn measure(
        mut self,
        shape: &ControlShape,
        experiment: Experiment,
        has_faults: bool,
    ) -> anyhow::Result<ExperimentRecord> {
        let begun_ms = self.now_ms;
        if has_faults {
            self.job.client_mut().inject_faults(shape.fault_percent);
            self.lost = self.nodes_to_lose(shape);
        }
        let actions = experiment.actions(shape, &self.by_host());
        let requests = u32::try_from(actions.len()).unwrap_or(u32::MAX);
        for (action, number) in actions.into_iter().zip(1_u128..) {
            let retries = if has_faults { RETRIES } else { 0 };
            let request = JobRequest { action, expires_after_ms: EXPIRES_AFTER_MS, retries };
            self.job.submit(Uuid::from_u128(number), request, self.now_ms);
        }
        let mut watch = Watch::default();
        self.pass_until(MOST_MS, |run| {
            watch.look(&mut run.job, run.now_ms - begun_ms);
            run.job.request_count() == 0
        })?;
        let mut took_ms = watch.last_word_ms;
        if self.is_stopped {
            watch.add_open(&self.job);
            took_ms = self.now_ms - begun_ms;
        } else {
            self.job.client_mut().inject_faults(0);
            self.pass_until(MOST_MS, |run| {
                watch.look(&mut run.job, run.now_ms - begun_ms);
                run.lost.is_empty() && run.job.service().state().missing() == 0
            })?;
        }
        let is_whole = !self.is_stopped && self.job.service().state().missing() == 0;
        Ok(ExperimentRecord {
            experiment,
            interrupted: self.is_stopped.then_some(Interruption::Virtual(self.now_ms - begun_ms)),
            requests,
            terminal_answers: watch.terminal_answers,
            steps: watch.steps,
            configured: self.job.status().configured,
            took_ms,
            whole_ms: is_whole.then(|| self.now_ms - begun_ms),
            below_configured: watch.below,
            done: watch.done,
            faults: self.faults(),
            used_part: self.cluster.used_part(),
            audit_violations: self.cluster.engine.audit().violations.len(),
        })
    }

    fn faults(&self) -> FaultCounts {
        FaultCounts { nodes_lost: self.nodes_lost, ..self.job.service().client().faults() }
    }

    /// Nodes that run containers of the job and are not drained.
    fn nodes_to_lose(&self, shape: &ControlShape) -> Vec<(u64, u32)> {
        let state = self.job.service().state();
        let is_used = |node: &u32| {
            let name = crate::services::cluster::host(*node);
            !node.is_multiple_of(10) && state.containers_on(&name).next().is_some()
        };
        let nodes = (0..shape.nodes).rev().filter(is_used).take(shape.lost_nodes as usize);
        let timed = (1..).zip(nodes).map(|(number, node)| (self.now_ms + number * LOST_EVERY_MS, node));
        let mut lost: Vec<(u64, u32)> = timed.collect();
        lost.reverse();
        lost
    }

    /// Number of the job's containers on each host, the busiest first.
    fn by_host(&self) -> Vec<(String, u32)> {
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        for known in self.job.status().processors {
            *counts.entry(known.host.unwrap_or_default()).or_default() += 1;
        }
        let mut counts: Vec<(String, u32)> = counts.into_iter().collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        counts
    }

    /// Lets time pass until `is_done`, or until `go_on` ends it.
    fn pass_until(&mut self, most_ms: u64, mut is_done: impl FnMut(&mut Self) -> bool) -> anyhow::Result<()> {
        let until_ms = self.now_ms + most_ms;
        self.run_until_idle()?;
        while !is_done(self) {
            if (self.go_on)().is_break() {
                self.is_stopped = true;
                return Ok(());
            }
            let next_ms = [
                self.jobs.next_ms(),
                self.last_ms,
                self.job.service().client().next_ms(),
                self.lost.last().map(|(at_ms, _)| *at_ms),
                self.cluster.engine.next_timer_ms(),
            ];
            let next_ms = next_ms.into_iter().flatten().min().unwrap_or(until_ms);
            if self.now_ms >= until_ms || (next_ms >= until_ms && most_ms < MOST_MS) {
                return Ok(());
            }
            if next_ms >= until_ms {
                bail!(
                    "the job does not come to rest: {:?}",
                    self.job.service().status(self.now_ms).outstanding
                );
            }
            self.now_ms = next_ms.max(self.now_ms);
            self.cluster.set_time(self.now_ms)?;
            self.jobs.end_until(self.now_ms)?;
            while let Some((_, node)) = self.lost.pop_if(|(at_ms, _)| *at_ms <= self.now_ms) {
                self.cluster.node_down(node)?;
                self.nodes_lost += 1;
            }
            self.run_until_idle()?;
        }
        Ok(())
    }

    fn report_caught_up(&mut self) {
        for (container, standby) in self.job.client_mut().take_caught_up() {
            let Ok(standby) = standby.parse() else { continue };
            let runs = self.job.processor_status(&standby).and_then(|status| status.container);
            if runs == Some(container) {
                self.job.report_caught_up(&standby, self.now_ms);
            }
        }
    }

    /// Lets cluster, jobs and hosts work until nothing more happens at this time.
    fn run_until_idle(&mut self) -> anyhow::Result<()> {
        loop {
            self.jobs.poll(self.now_ms)?;
            self.job.client_mut().pass(self.now_ms);
            self.report_caught_up();
            let before = self.job.service().moves();
            self.last_ms = self.job.tick(self.now_ms).map(|next_ms| next_ms.max(self.now_ms + 1));
            let is_quiet = self.job.service().moves() == before;
            if !self.cluster.work() && is_quiet {
                self.cluster.sample();
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use anyhow::Context;

    use super::*;

    fn whole(
        shape: &ControlShape,
        experiment: Experiment,
        has_faults: bool,
        seed: u64,
    ) -> anyhow::Result<ExperimentRecord> {
        let record = run_experiment(shape, experiment, has_faults, seed, &|| ControlFlow::Continue(()))?;
        record.context("it was not stopped")
    }

    /// Results are counted even if no request has its final answer.
    #[test]
    fn a_stopped_experiment_reports_its_finished_steps() -> anyhow::Result<()> {
        let steps = Cell::new(0);
        let run = |steps_max: u32| {
            steps.set(0);
            let go_on = || {
                steps.set(steps.get() + 1);
                if steps.get() < steps_max { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            };
            run_experiment(&small(), Experiment::RollingRestart, false, 3, &go_on)
        };
        assert_eq!(run(1)?, None, "it was asked for nothing");
        let all = whole(&small(), Experiment::RollingRestart, false, 3)?;
        run(u32::MAX)?;
        let late = run(steps.get() * 9 / 10)?.context("it was asked for something")?;
        assert_eq!((late.interrupted, late.terminal_answers), (Some(Interruption::Virtual(late.took_ms)), 0));
        assert!(0 < late.steps.succeeded && late.steps.succeeded < all.steps.succeeded, "{:?}", late.steps);
        assert_eq!((late.whole_ms, late.audit_violations), (None, 0));
        Ok(())
    }

    fn small() -> ControlShape {
        ControlShape { nodes: 40, processors: 80, ..ControlShape::default() }
    }

    #[test]
    fn without_faults_nothing_fails_and_the_budget_is_kept() -> anyhow::Result<()> {
        for experiment in Experiment::ALL {
            let record = whole(&small(), experiment, false, 3)?;
            let name = experiment.name();
            assert_eq!(
                (record.steps.failed, record.terminal_answers),
                (0, record.requests),
                "{name}: {record:?}"
            );
            assert_eq!(record.steps.succeeded, record.steps.steps, "{name}");
            let budget = experiment.pace().disruption_budget.get();
            assert!(record.below_configured_max() <= budget, "{name}: {}", record.below_configured_max());
            assert!(
                record.steps.steps > 0 && record.below_configured_max() > 0,
                "{name}: {:?}",
                record.steps
            );
            assert_eq!((record.below_configured_end(), record.audit_violations), (0, 0), "{name}");
        }
        Ok(())
    }

    #[test]
    fn with_faults_every_request_has_its_last_word_and_all_containers_come_back() -> anyhow::Result<()> {
        for experiment in Experiment::ALL {
            let record = whole(&small(), experiment, true, 3)?;
            let name = experiment.name();
            assert_eq!(record.terminal_answers, record.requests, "{name}: {record:?}");
            assert_eq!(
                (record.below_configured_end(), record.audit_violations),
                (0, 0),
                "{name}: {record:?}"
            );
            assert_eq!(record.faults.nodes_lost, 3, "{name}");
        }
        Ok(())
    }

    #[test]
    fn a_rebalance_moves_a_hundred_containers_off_a_tenth_of_the_nodes() -> anyhow::Result<()> {
        let shape = ControlShape::default();
        let record = whole(&shape, Experiment::Rebalance, false, 1)?;
        assert_eq!(record.requests, shape.nodes / 10);
        assert!(record.steps.steps >= 100, "{:?}", record.steps);
        Ok(())
    }

    #[test]
    fn an_experiment_is_the_same_every_time() -> anyhow::Result<()> {
        let run = || whole(&small(), Experiment::Drain, true, 5);
        assert_eq!(run()?, run()?);
        Ok(())
    }
}
