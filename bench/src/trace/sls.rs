//! SLS job traces, the simplest input of YARN's scheduler load simulator.
//!
//! Every application has a master. Only the difference between a container's times counts, because the scheduler
//! decides when it starts.

use apportion::{AttributeRule, Resources};

use super::budget::Budget;
use super::cluster::{CONTAINER_MEMORY_MIB, CONTAINER_VCORES, Nodes, size};
use super::error::{Mistake, TraceError};
use super::field::{Text, Whole};
use super::json_stream::{Document, Documents};
use super::number::at_most;
use super::record::record;
use super::source::Source;
use super::stage::{Ask, ExecutionKind, JobKind, Stages, TaskKind};
use super::topology::label_rule;
use crate::workload::Job;

/// Default priority of a container.
const PRIORITY: u64 = 20;

record! {
    /// A job, or the size of the cluster.
    struct EntryRecord, unknown keys Refused, {
        num_nodes: Whole = "num.nodes",
        num_racks: Whole = "num.racks",
        kind: JobKind = "am.type" | "yarn.sls.am.type",
        id: Text = "job.id",
        user: Text = "job.user",
        queue: Text = "job.queue.name",
        count: Whole = "job.count",
        label: Text = "job.label.expression",
        start_ms: Whole = "job.start.ms",
        _end_ms: Whole = "job.end.ms",
        master_memory_mib: Whole = "am.memory-mb",
        master_vcores: Whole = "am.vcores",
        tasks: Vec<TaskRecord> = "job.tasks",
        _description: Text = "description",
    }
}

record! {
    /// A group of equal containers of a job.
    struct TaskRecord, unknown keys Refused, {
        count: Whole = "count",
        host: Text = "container.host",
        start_ms: Whole = "container.start.ms",
        end_ms: Whole = "container.end.ms",
        duration_ms: Whole = "container.duration.ms" | "duration.ms",
        priority: Whole = "container.priority",
        kind: TaskKind = "container.type",
        _execution_kind: ExecutionKind = "container.execution.type",
        _allocation_id: Whole = "container.allocation.id",
        request_delay_ms: Whole = "container.request.delay",
        memory_mib: Whole = "container.memory-mb",
        vcores: Whole = "container.vcores",
        _description: Text = "description",
    }
}

/// The state of the reader.
struct Reader<'b> {
    budget: &'b mut Budget,
    /// The cluster that the file states.
    stated: Option<Nodes>,
    /// The hosts that tasks name.
    hosts: Nodes,
    jobs: Vec<Job>,
}

/// The jobs, and the cluster: `num.nodes` on `num.racks` if the file gives them, otherwise the hosts that tasks name.
///
/// A job with a count appears that many times; copies after the first are called `ID/2`, ...
/// Opportunistic containers are read as guaranteed ones.
pub(super) fn read(source: Source<'_>, budget: &mut Budget) -> Result<(Nodes, Vec<Job>), TraceError> {
    let mut documents = Documents::new(source);
    let mut reader = Reader { budget, stated: None, hosts: Nodes::default(), jobs: Vec::new() };
    while let Some(Document { value, line }) = documents.next::<EntryRecord>()? {
        reader.take(value).map_err(|mistake| documents.error_in(line, mistake))?;
    }
    Ok((reader.stated.unwrap_or(reader.hosts), reader.jobs))
}

impl Reader<'_> {
    fn take(&mut self, mut entry: EntryRecord) -> Result<(), Mistake> {
        let has_cluster = entry.num_nodes.is_some();
        if let Some(Whole(nodes)) = entry.num_nodes {
            if self.stated.is_some() {
                return Err(Mistake::in_key("num.nodes")("the cluster is stated twice".into()));
            }
            let racks = entry.num_racks.map_or(1, |racks| racks.0);
            self.stated = Some(Nodes::generated(nodes, racks).map_err(Mistake::in_key("num.nodes"))?);
        }
        match entry.tasks.take() {
            None if has_cluster => Ok(()),
            None => Err(Mistake::missing("job.tasks")),
            Some(tasks) => self.take_job(entry, tasks),
        }
    }

    fn take_job(&mut self, entry: EntryRecord, tasks: Vec<TaskRecord>) -> Result<(), Mistake> {
        let start_ms = entry.start_ms.ok_or_else(|| Mistake::missing("job.start.ms"))?.0;
        let queue = entry.queue.ok_or_else(|| Mistake::missing("job.queue.name"))?.0;
        let expression = entry.label.map_or_else(String::new, |label| label.0);
        let rule = label_rule(&expression).map_err(Mistake::in_key("job.label.expression"))?;
        let master = sized(entry.master_memory_mib, entry.master_vcores);
        let kind = entry.kind.unwrap_or_default();
        let mut stages = Stages::new(kind);
        let mut containers = 1;
        for (index, task) in tasks.into_iter().enumerate() {
            let added = self.add_task(&mut stages, kind, rule.as_ref(), task);
            containers += added.map_err(|message| Mistake::in_item("job.tasks", index, message))?;
        }
        let job = Job {
            name: entry.id.map_or_else(|| format!("job_{}", self.jobs.len()), |id| id.0),
            queue,
            user: entry.user.map_or_else(|| "default".into(), |user| user.0),
            priority: 0,
            submit_ms: start_ms,
            master: Some(master.map_err(Mistake::in_key("am.memory-mb, am.vcores"))?),
            stages: stages.finish(),
            starts_together: false,
        };
        let count = entry.count.map_or(1, |count| count.0);
        self.add_copies(&job, containers, count).map_err(Mistake::in_key("job.count"))
    }

    /// Adds the containers of one record and returns their number.
    fn add_task(
        &mut self,
        stages: &mut Stages,
        job_kind: JobKind,
        rule: Option<&AttributeRule>,
        task: TaskRecord,
    ) -> Result<u64, String> {
        let duration_ms = duration_ms(&task)?;
        let count = task.count.map_or(1, |count| count.0);
        let delay_ms = task.request_delay_ms.map_or(0, |delay| delay.0);
        let ask = Ask {
            size: sized(task.memory_mib, task.vcores)?,
            rule: rule.cloned(),
            priority: at_most(task.priority.map_or(PRIORITY, |whole| whole.0), u64::from(u32::MAX))?,
            host: task.host.map(|host| self.hosts.host(&host.0)).transpose()?,
            delay_ms: if job_kind == JobKind::Dag { delay_ms } else { 0 },
        };
        self.budget.take(count)?;
        stages.add(task.kind.unwrap_or_default(), ask, duration_ms, count as usize);
        Ok(count)
    }

    /// Adds the job as often as its count says; the budget already includes the tasks of the first copy.
    fn add_copies(&mut self, job: &Job, containers: u64, count: u64) -> Result<(), String> {
        self.budget.take(count.saturating_sub(1).saturating_mul(containers).saturating_add(count.min(1)))?;
        for copy in 1..=count {
            let name = if copy == 1 { job.name.clone() } else { format!("{}/{copy}", job.name) };
            self.jobs.push(Job { name, ..job.clone() });
        }
        Ok(())
    }
}

fn sized(memory_mib: Option<Whole>, vcores: Option<Whole>) -> Result<Resources, String> {
    let memory_mib = memory_mib.map_or(CONTAINER_MEMORY_MIB, |whole| whole.0);
    size(memory_mib, vcores.map_or(CONTAINER_VCORES, |whole| whole.0))
}

/// Duration of a container: as stated, or the difference between its start and its end.
fn duration_ms(task: &TaskRecord) -> Result<u64, String> {
    let duration_ms = match (task.duration_ms, task.start_ms, task.end_ms) {
        (Some(Whole(duration_ms)), ..) => duration_ms,
        (None, Some(Whole(start_ms)), Some(Whole(end_ms))) => end_ms
            .checked_sub(start_ms)
            .ok_or_else(|| format!("container.end.ms {end_ms} is before container.start.ms {start_ms}"))?,
        _ => {
            let keys = "`container.start.ms` and `container.end.ms`, or `duration.ms`";
            return Err(format!("has no duration: {keys} are needed"));
        }
    };
    if duration_ms == 0 { Err("runs for 0 ms; at least 1 is needed".into()) } else { Ok(duration_ms) }
}
