//! Containers that start and end.

use apportion::{AskId, ContainerId, NodeId};

use super::jobs::{AskRun, Part};
use super::run::{Agenda, SimError, Simulation, size_of};

/// A running container.
#[derive(Clone, Copy, Debug)]
pub(super) struct Running {
    pub(super) part: Part,
    /// Its place among its part's durations.
    number: usize,
    pub(super) node: usize,
    pub(super) started_ms: u64,
}

impl Simulation<'_> {
    pub(super) fn container_started(
        &mut self,
        ask: AskId,
        container: ContainerId,
        node: NodeId,
        now_ms: u64,
    ) -> Result<(), SimError> {
        let Some(run) = self.asks.get_mut(&ask) else { return Ok(()) };
        let AskRun { part, submitted_ms, next: number, last } = *run;
        run.next += 1;
        if number == last {
            self.asks.remove(&ask);
        }
        let node = self.node_index[&node];
        self.metrics.started(container, part, node, submitted_ms);
        self.containers.insert(container, Running { part, number, node, started_ms: now_ms });
        let size = size_of(self.workload, part);
        self.tally.started(node, self.leaves[part.job], &size, now_ms - submitted_ms);
        if let Some(watch) = &mut self.watch {
            watch.started(part.job, node, &size);
        }
        match part.tasks {
            Some(_) if self.workload.jobs[part.job].starts_together => {
                self.member_started(part.job, container, now_ms);
                Ok(())
            }
            None => self.master_started(part.job, container, now_ms),
            Some((stage, tasks)) => {
                let tasks = &self.workload.jobs[part.job].stages[stage][tasks];
                if let Some(duration_ms) = tasks.durations_ms[number] {
                    self.schedule(now_ms, duration_ms.max(1), Agenda::Complete(container));
                }
                Ok(())
            }
        }
    }

    /// Begins the job's first stage, or continues where the job was when its master was preempted.
    fn master_started(&mut self, job: usize, master: ContainerId, now_ms: u64) -> Result<(), SimError> {
        let run = &mut self.jobs[job];
        run.master = Some(master);
        let step = if std::mem::take(&mut run.is_without_master) {
            run.held.take()
        } else {
            Some(run.begin(&self.workload.jobs[job]))
        };
        step.map_or(Ok(()), |step| self.go_on(job, &step, now_ms))
    }

    pub(super) fn container_ended(&mut self, container: ContainerId, now_ms: u64) -> Result<(), SimError> {
        let Some(running) = self.containers.remove(&container) else { return Ok(()) };
        let job = running.part.job;
        self.metrics.ended(container, running.part);
        let size = size_of(self.workload, running.part);
        self.tally.ended(running.node, self.leaves[job], &size);
        if let Some(watch) = &mut self.watch {
            watch.freed(running.node, &size);
        }
        if running.part.tasks.is_none() {
            return self.end_application(job);
        }
        if self.workload.jobs[job].starts_together {
            self.member_completed(job);
        }
        let step = self.jobs[job].task_completed(&self.workload.jobs[job]);
        self.go_on(job, &step, now_ms)
    }

    /// The work of a preempted container is lost. Its job asks for it again at once, and its task starts from zero. The
    /// tasks of a preempted master run on; its job takes no further step before the master runs again.
    pub(super) fn container_preempted(
        &mut self,
        container: ContainerId,
        now_ms: u64,
    ) -> Result<(), SimError> {
        let Some(running) = self.containers.remove(&container) else { return Ok(()) };
        let Running { part, number, node, started_ms } = running;
        let (size, lost_ms) = (size_of(self.workload, part), now_ms - started_ms);
        self.metrics.preempted(container, part, lost_ms);
        self.tally.preempted(node, self.leaves[part.job], &size, lost_ms);
        if let Some(watch) = &mut self.watch {
            watch.freed(node, &size);
        }
        if part.tasks.is_none() {
            self.jobs[part.job].is_without_master = true;
        } else if self.workload.jobs[part.job].starts_together && self.member_preempted(part, container) {
            return Ok(());
        }
        self.submit_ask(AskRun { part, submitted_ms: now_ms, next: number, last: number })
    }
}
