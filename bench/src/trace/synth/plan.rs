//! A checked SYNTH trace from which jobs can be drawn.

use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use super::form::{ClassRecord, TaskRecord, TimeRecord, TraceRecord, WorkloadRecord};
use super::sample::{Choice, Sample, choice};
use crate::trace::budget::Budget;
use crate::trace::cluster::{CONTAINER_MEMORY_MIB, CONTAINER_VCORES, default_container, size};
use crate::trace::error::Mistake;
use crate::trace::number::at_most;
use crate::trace::stage::{Ask, JobKind, Stages, TaskKind};
use crate::workload::Job;

/// Default priority of maps and all other tasks.
const PRIORITY: u64 = 20;
const REDUCE_PRIORITY: u64 = 10;

/// Weighted workloads.
pub(super) struct Plan {
    workloads: Vec<Workload>,
    choice: Choice,
}

struct Workload {
    queue: String,
    classes: Vec<Class>,
    choice: Choice,
    /// Start of each interval of time, in seconds, ascending.
    starts_s: Vec<f64>,
    start_choice: Choice,
}

struct Class {
    name: String,
    user: String,
    kind: JobKind,
    tasks: Vec<Task>,
}

struct Task {
    kind: TaskKind,
    priority: u32,
    count: Sample,
    time_s: Sample,
    memory_mib: Sample,
    vcores: Sample,
}

impl Plan {
    /// Checks and converts the jobs of a file.
    ///
    /// # Errors
    /// When a value is missing or impossible.
    pub(super) fn new(trace: TraceRecord) -> Result<Self, Mistake> {
        let records = trace.workloads.unwrap_or_default();
        let weights = records.iter().map(|workload| workload.weight.map_or(1.0, |weight| weight.0));
        let choice = choice(weights).map_err(Mistake::in_key("workloads"))?;
        let workloads = records.into_iter().enumerate().map(|(index, record)| {
            Workload::new(record).map_err(|mistake| mistake.under(&format!("workloads[{index}]")))
        });
        Ok(Self { workloads: workloads.collect::<Result<_, _>>()?, choice })
    }

    /// Draws the job with this number.
    ///
    /// # Errors
    /// When it exceeds the budget, or a container is larger than an engine can count.
    pub(super) fn draw(
        &self,
        index: usize,
        budget: &mut Budget,
        random: &mut Pcg64Mcg,
    ) -> Result<Job, String> {
        let workload = &self.workloads[random.sample(&self.choice)];
        let class = &workload.classes[random.sample(&workload.choice)];
        let submit_ms = workload.draw_submit_ms(random);
        budget.take(1)?;
        let mut stages = Stages::new(class.kind);
        for task in &class.tasks {
            task.draw(&mut stages, budget, random)?;
        }
        Ok(Job {
            name: format!("{}_{index}", class.name),
            queue: workload.queue.clone(),
            user: class.user.clone(),
            priority: 0,
            submit_ms,
            master: Some(default_container()),
            stages: stages.finish(),
            starts_together: false,
        })
    }
}

impl Workload {
    fn new(record: WorkloadRecord) -> Result<Self, Mistake> {
        let records = record.classes.unwrap_or_default();
        let weights = records.iter().map(|class| class.weight.map_or(1.0, |weight| weight.0));
        let class_choice = choice(weights).map_err(Mistake::in_key("job_classes"))?;
        let classes = records.into_iter().enumerate().map(|(index, record)| {
            Class::new(record, index).map_err(|message| Mistake::in_item("job_classes", index, message))
        });
        let classes = classes.collect::<Result<_, _>>()?;
        let (starts_s, start_choice) =
            times(&record.times.unwrap_or_default()).map_err(Mistake::in_key("time_distribution"))?;
        let queue = record.queue.map_or_else(|| "default".into(), |queue| queue.0);
        Ok(Self { queue, classes, choice: class_choice, starts_s, start_choice })
    }

    /// Draws a time in one of the intervals; the last one has no length.
    fn draw_submit_ms(&self, random: &mut Pcg64Mcg) -> u64 {
        let stretch = random.sample(&self.start_choice);
        let start_s = self.starts_s[stretch];
        let end_s = self.starts_s.get(stretch + 1).copied().unwrap_or(start_s);
        ((start_s + (end_s - start_s) * random.random::<f64>()) * 1000.0) as u64
    }
}

/// Starts of the intervals and a choice among them.
fn times(records: &[TimeRecord]) -> Result<(Vec<f64>, Choice), String> {
    let starts_s: Option<Vec<f64>> = records.iter().map(|time| time.time_s.map(|time_s| time_s.0)).collect();
    let starts_s = starts_s.ok_or("every entry needs a `time`")?;
    if !starts_s.is_sorted() {
        return Err("the times must ascend".into());
    }
    let weights = records.iter().map(|time| time.weight.map_or(0.0, |weight| weight.0));
    Ok((starts_s, choice(weights)?))
}

impl Class {
    fn new(record: ClassRecord, index: usize) -> Result<Self, String> {
        let name = record.name.as_ref().map_or_else(|| format!("class_{index}"), |name| name.0.clone());
        let user = record.user.as_ref().map_or_else(|| "default".into(), |user| user.0.clone());
        let kind = record.kind.unwrap_or_default();
        let tasks: Result<_, String> = record.into_tasks()?.into_iter().map(Task::new).collect();
        Ok(Self { name, user, kind, tasks: tasks? })
    }
}

impl Task {
    fn new(record: TaskRecord) -> Result<Self, String> {
        let kind = record.kind.unwrap_or_default();
        let priority = if kind == TaskKind::Reduce { REDUCE_PRIORITY } else { PRIORITY };
        Ok(Self {
            kind,
            priority: at_most(record.priority.map_or(priority, |whole| whole.0), u64::from(u32::MAX))?,
            count: record.count.ok_or("a task needs a `count`")?,
            time_s: record.time_s.ok_or("a task needs a `time`")?,
            memory_mib: record.memory_mib.unwrap_or(Sample::Constant(CONTAINER_MEMORY_MIB as f64)),
            vcores: record.vcores.unwrap_or(Sample::Constant(CONTAINER_VCORES as f64)),
        })
    }

    /// Draws the containers; each has a separate time and size.
    fn draw(&self, stages: &mut Stages, budget: &mut Budget, random: &mut Pcg64Mcg) -> Result<(), String> {
        let count = if self.count.is_none() { 0 } else { self.count.draw_whole(random) };
        budget.take(count)?;
        for _ in 0..count {
            let duration_ms = (self.time_s.draw(random) * 1000.0).round() as u64;
            let ask = Ask {
                size: size(self.memory_mib.draw_whole(random), self.vcores.draw_whole(random))?,
                rule: None,
                priority: self.priority,
                host: None,
                delay_ms: 0,
            };
            stages.add(self.kind, ask, duration_ms, 1);
        }
        Ok(())
    }
}
