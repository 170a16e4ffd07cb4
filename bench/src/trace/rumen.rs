//! Rumen job traces, made from Hadoop's job history, as YARN's simulator reads them: it uses only times and hosts,
//! and its configuration gives the sizes.

use super::budget::Budget;
use super::cluster::{Nodes, default_container};
use super::error::{Mistake, TraceError};
use super::field::{FromText, Text, json_scalar};
use super::json_stream::{Document, Documents};
use super::number::whole;
use super::record::record;
use super::source::Source;
use super::stage::{Ask, JobKind, Stages, TaskKind};
use crate::workload::Job;

const MAP_PRIORITY: u32 = 10;
const REDUCE_PRIORITY: u32 = 20;

/// A time in ms since 1970; Rumen writes -1 for an unknown time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Moment(Option<u64>);

impl FromText for Moment {
    const EXPECTED: &'static str = "a time in ms";

    fn from_text(text: &str) -> Result<Self, String> {
        if text == "-1" { Ok(Self(None)) } else { whole(text).map(|time_ms| Self(Some(time_ms))) }
    }
}

json_scalar!(Moment);

record! {
    /// A job.
    struct JobRecord, unknown keys Skipped, {
        id: Text = "jobID",
        user: Text = "user",
        queue: Text = "queue",
        submitted: Moment = "submitTime",
        launched: Moment = "launchTime",
        maps: Vec<TaskRecord> = "mapTasks",
        reduces: Vec<TaskRecord> = "reduceTasks",
    }
}

record! {
    /// A task, which may have been tried several times.
    struct TaskRecord, unknown keys Skipped, {
        started: Moment = "startTime",
        attempts: Vec<AttemptRecord> = "attempts",
    }
}

record! {
    /// One attempt of a task.
    struct AttemptRecord, unknown keys Skipped, {
        host: Text = "hostName",
        started: Moment = "startTime",
        finished: Moment = "finishTime",
    }
}

/// The state of the reader.
struct Reader<'b> {
    budget: &'b mut Budget,
    /// When the first job was submitted, in ms since 1970.
    origin_ms: Option<u64>,
    hosts: Nodes,
    jobs: Vec<Job>,
}

/// The jobs, and the cluster of the hosts on which they ran.
///
/// The last attempt of a task gives its duration and its preferred host. Submission times are relative to the
/// first job in the file; an earlier job is submitted at 0. A job without a `submitTime` counts as submitted
/// at its launch, or else at the start of its first task.
pub(super) fn read(source: Source<'_>, budget: &mut Budget) -> Result<(Nodes, Vec<Job>), TraceError> {
    let mut documents = Documents::new(source);
    let mut reader = Reader { budget, origin_ms: None, hosts: Nodes::default(), jobs: Vec::new() };
    while let Some(Document { value, line }) = documents.next::<JobRecord>()? {
        reader.take(value).map_err(|mistake| documents.error_in(line, mistake))?;
    }
    Ok((reader.hosts, reader.jobs))
}

impl Reader<'_> {
    fn take(&mut self, job: JobRecord) -> Result<(), Mistake> {
        let submitted_ms = submitted_ms(&job).ok_or_else(|| {
            let message = "is missing, and there is no launchTime or startTime instead".to_owned();
            Mistake::in_key("submitTime")(message)
        })?;
        let origin_ms = *self.origin_ms.get_or_insert(submitted_ms);
        self.budget.take(1).map_err(Mistake::in_key("jobID"))?;
        let mut stages = Stages::new(JobKind::MapReduce);
        for (key, kind, tasks) in [
            ("mapTasks", TaskKind::Map, job.maps.unwrap_or_default()),
            ("reduceTasks", TaskKind::Reduce, job.reduces.unwrap_or_default()),
        ] {
            for (index, task) in tasks.into_iter().enumerate() {
                let added = self.add_task(&mut stages, kind, task);
                added.map_err(|message| Mistake::in_item(key, index, message))?;
            }
        }
        let text = |text: Option<Text>, default: &str| text.map_or_else(|| default.to_owned(), |text| text.0);
        self.jobs.push(Job {
            name: job.id.map_or_else(|| format!("job_{}", self.jobs.len()), |id| id.0),
            queue: text(job.queue, "default"),
            user: text(job.user, "default"),
            priority: 0,
            submit_ms: submitted_ms.saturating_sub(origin_ms),
            master: Some(default_container()),
            stages: stages.finish(),
            starts_together: false,
        });
        Ok(())
    }

    fn add_task(&mut self, stages: &mut Stages, kind: TaskKind, task: TaskRecord) -> Result<(), String> {
        let last = task.attempts.unwrap_or_default().pop();
        let attempt = last.ok_or_else(|| "has no attempts; at least one is needed".to_owned())?;
        let (Some(started_ms), Some(finished_ms)) = (time_ms(attempt.started), time_ms(attempt.finished))
        else {
            return Err("its last attempt has no startTime or no finishTime".into());
        };
        let duration_ms = finished_ms.checked_sub(started_ms).ok_or_else(|| {
            format!("finishTime {finished_ms} of its last attempt is before startTime {started_ms}")
        })?;
        let ask = Ask {
            size: default_container(),
            rule: None,
            priority: if kind == TaskKind::Reduce { REDUCE_PRIORITY } else { MAP_PRIORITY },
            host: attempt.host.map(|host| self.hosts.host(&host.0)).transpose()?,
            delay_ms: 0,
        };
        self.budget.take(1)?;
        stages.add(kind, ask, duration_ms, 1);
        Ok(())
    }
}

fn submitted_ms(job: &JobRecord) -> Option<u64> {
    let tasks = job.maps.iter().chain(&job.reduces).flatten();
    let first_start_ms = || tasks.filter_map(|task| time_ms(task.started)).min();
    time_ms(job.submitted).or_else(|| time_ms(job.launched)).or_else(first_start_ms)
}

fn time_ms(moment: Option<Moment>) -> Option<u64> {
    moment.and_then(|moment| moment.0)
}
