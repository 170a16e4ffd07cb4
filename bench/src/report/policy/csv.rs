//! Tables for other programs: a row for each job, a row for each container.

use std::io::Write;

use crate::sim::{ContainerOutcome, JobOutcome, RunRecord};
use crate::workload::{Job, Workload};

const JOB_COLUMNS: [&str; 18] = [
    "job",
    "queue",
    "user",
    "priority",
    "submitted_s",
    "first_start_s",
    "finished_s",
    "completion_s",
    "without_waiting_s",
    "slowdown",
    "bounded_slowdown",
    "waiting_mean_s",
    "waiting_max_s",
    "asked",
    "placed",
    "completed",
    "preempted",
    "lost_s",
];
const CONTAINER_COLUMNS: [&str; 11] = [
    "job",
    "queue",
    "user",
    "stage",
    "tasks",
    "node",
    "asked_s",
    "started_s",
    "ended_s",
    "waiting_s",
    "preempted",
];

/// Writes a row for each job, in the workload's order. The time of an event that did not happen is empty.
///
/// # Errors
/// When part of it could not be written.
pub fn write_jobs_csv(workload: &Workload, record: &RunRecord, out: &mut dyn Write) -> csv::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    table.write_record(JOB_COLUMNS)?;
    for (job, outcome) in workload.jobs.iter().zip(&record.outcomes.jobs) {
        table.write_record(job_cells(job, outcome, record))?;
    }
    Ok(table.flush()?)
}

fn job_cells(job: &Job, outcome: &JobOutcome, record: &RunRecord) -> Vec<String> {
    let time = |ms: Option<u64>| ms.map_or_else(String::new, seconds);
    let ratio = |ratio: Option<f64>| ratio.map_or_else(String::new, |ratio| format!("{ratio:.4}"));
    let waiting_mean = if outcome.placed > 0 {
        format!("{:.3}", outcome.waiting_sum_ms as f64 / outcome.placed as f64 / 1_000.0)
    } else {
        String::new()
    };
    vec![
        job.name.clone(),
        record.outcomes.queues[outcome.queue].name.clone(),
        job.user.clone(),
        job.priority.to_string(),
        time(outcome.submitted_ms),
        time(outcome.first_start_ms),
        time(outcome.finished_ms),
        time(outcome.completion_ms()),
        time(outcome.ideal_ms),
        ratio(outcome.slowdown()),
        ratio(outcome.bounded_slowdown()),
        waiting_mean,
        time((outcome.placed > 0).then_some(outcome.waiting_max_ms)),
        outcome.asked.to_string(),
        outcome.placed.to_string(),
        outcome.completed.to_string(),
        outcome.preempted.to_string(),
        seconds(outcome.lost_ms),
    ]
}

/// Writes a row for each container placed, in the order of placement, with its size by resource type.
///
/// # Errors
/// When part of it could not be written.
pub fn write_containers_csv(workload: &Workload, record: &RunRecord, out: &mut dyn Write) -> csv::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    let types = record.resource_names.iter().map(String::as_str);
    table.write_record(CONTAINER_COLUMNS.into_iter().chain(types))?;
    for container in &record.outcomes.containers {
        table.write_record(container_cells(workload, record, container))?;
    }
    Ok(table.flush()?)
}

fn container_cells(workload: &Workload, record: &RunRecord, container: &ContainerOutcome) -> Vec<String> {
    let job = &workload.jobs[container.job];
    let queue = record.outcomes.jobs[container.job].queue;
    let (stage, tasks, size) = match container.tasks {
        // Counted from 1.
        Some((stage, tasks)) => {
            let size = job.stages[stage][tasks].size;
            ((stage + 1).to_string(), (tasks + 1).to_string(), size)
        }
        None => ("master".to_owned(), String::new(), job.master.unwrap_or_default()),
    };
    let mut cells = vec![
        job.name.clone(),
        record.outcomes.queues[queue].name.clone(),
        job.user.clone(),
        stage,
        tasks,
        workload.nodes[container.node].name.clone(),
        seconds(container.asked_ms),
        seconds(container.started_ms),
        container.ended_ms.map_or_else(String::new, seconds),
        seconds(container.started_ms - container.asked_ms),
        u8::from(container.is_preempted).to_string(),
    ];
    let types = record.resource_names.len();
    cells.extend(size.amounts().iter().take(types).map(i64::to_string));
    cells
}

/// Seconds, exact to the millisecond.
fn seconds(ms: u64) -> String {
    format!("{}.{:03}", ms / 1_000, ms % 1_000)
}
