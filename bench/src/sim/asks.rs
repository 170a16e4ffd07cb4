//! Asks of a simulation: their submission, and how long the engine takes for them.

use std::time::Instant;

use apportion::event::{Event, EventKind};
use apportion::{AskId, AskSpec};

use super::jobs::{AskRun, Part};
use super::run::{SimError, Simulation};
use crate::workload::Tasks;

impl Simulation<'_> {
    pub(super) fn ask(
        &mut self,
        job: usize,
        part: Option<(usize, usize)>,
        now_ms: u64,
    ) -> Result<(), SimError> {
        let content = &self.workload.jobs[job];
        let count = part.map_or(1, |(stage, tasks)| content.stages[stage][tasks].durations_ms.len());
        let last = count.saturating_sub(1);
        self.submit_ask(AskRun { part: Part { job, tasks: part }, submitted_ms: now_ms, next: 0, last })
    }

    /// Asks for the containers of a part from `next` to `last`.
    pub(super) fn submit_ask(&mut self, run: AskRun) -> Result<(), SimError> {
        let Part { job, tasks } = run.part;
        let Some(application) = self.jobs[job].application else { return Ok(()) };
        let content = &self.workload.jobs[job];
        let mut spec = match (tasks, content.master) {
            (Some((stage, tasks)), _) => self.spec_of(&content.stages[stage][tasks]),
            (None, Some(master)) => AskSpec::new(master, 1),
            (None, None) => return Ok(()),
        };
        let count = (run.last + 1 - run.next) as u64;
        spec.count = u32::try_from(count).unwrap_or(u32::MAX);
        let submit = |error| SimError::Submit { what: format!("an ask of job `{}`", content.name), error };
        let ask = self.handle.submit_ask(application, spec).map_err(submit)?;
        self.record_ask(ask, run);
        Ok(())
    }

    /// Counts the containers of a submitted ask.
    pub(super) fn record_ask(&mut self, ask: AskId, run: AskRun) {
        let count = (run.last + 1 - run.next) as u64;
        self.tally.submitted += count;
        if !self.metrics.asked(run.part, count) {
            self.tally.hopeless += count;
        }
        self.asks.insert(ask, run);
        if self.measures_latency {
            self.asked_at.insert(ask, Instant::now());
        }
    }

    pub(super) fn spec_of(&self, tasks: &Tasks) -> AskSpec {
        let count = u32::try_from(tasks.durations_ms.len()).unwrap_or(u32::MAX);
        let hosts = tasks.hosts.iter().filter_map(|host| self.handle.node(host));
        let mut spec = AskSpec::new(tasks.size, count).with_priority(tasks.priority).on_hosts(hosts);
        spec.devices = tasks.devices;
        spec.rule = tasks.rule.clone().map(Box::new);
        spec
    }

    /// Wall time from submission to commit of asks placed at once.
    pub(super) fn record_latencies(&mut self, events: &[Event]) {
        let groups = self.commit_times.take_groups();
        if !self.measures_latency {
            return;
        }
        for event in events {
            let EventKind::Allocated { ask, .. } = event.kind else { continue };
            let Some(asked_at) = self.asked_at.remove(&ask) else { continue };
            let group = groups.partition_point(|(last, _)| *last < event.seq);
            if let Some((_, committed_at)) = groups.get(group) {
                let latency = committed_at.saturating_duration_since(asked_at);
                self.tally.ask_to_commit_us.saturating_record(latency.as_micros() as u64);
            }
        }
        // An ask that was not placed at once waits for virtual time to pass, not for the engine.
        self.asked_at.clear();
    }
}
