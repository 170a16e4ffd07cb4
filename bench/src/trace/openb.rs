//! The tables of Alibaba's OpenB GPU cluster (Weng et al., USENIX ATC'23): nodes and pods.
//!
//! Units are those of the tables: MiB, thousandths of a core, thousandths of a GPU, seconds.

use std::collections::HashSet;

use apportion::resource::{DEVICE_MILLI, DEVICES_MAX, DeviceNeed};
use apportion::{AttributeRule, NodeSpec, ResourceTypes, Resources};

use super::budget::Budget;
use super::cluster::{Nodes, amount};
use super::error::{TraceError, shown};
use super::number::milliseconds;
use super::source::Source;
use super::table::{Columns, Row, Table};
use crate::workload::{Job, Tasks};

/// The node attribute that names the model of a node's GPUs.
pub const GPU_MODEL: &str = "gpu_model";

const NODE_COLUMNS: Columns = &["sn", "cpu_milli", "memory_mib", "gpu", "model"];
const POD_COLUMNS: Columns = &[
    "name",
    "cpu_milli",
    "memory_mib",
    "num_gpu",
    "gpu_milli",
    "gpu_spec",
    "qos",
    "pod_phase",
    "creation_time",
    "deletion_time",
    "scheduled_time",
];
/// The `multigpu*` files give neither the times of a pod nor its other requirements.
const UNTIMED_POD_COLUMNS: Columns = &["name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"];

const NAME: usize = 0;
const CPU_MILLI: usize = 1;
const MEMORY_MIB: usize = 2;
const GPU_COUNT: usize = 3;
const GPU_MODEL_OF_NODE: usize = 4;
const GPU_MILLI: usize = 4;
const GPU_SPEC: usize = 5;
const CREATION_TIME: usize = 8;
const DELETION_TIME: usize = 9;
const SCHEDULED_TIME: usize = 10;

/// Memory, virtual cores and GPUs, which are counted as devices.
///
/// # Errors
/// No file content causes one.
pub(super) fn resource_types() -> Result<ResourceTypes, apportion::resource::ResourceError> {
    ResourceTypes::new(["memory_mib", "vcore_milli", "gpu_milli"])?.with_devices("gpu_milli")
}

/// The nodes of a node list.
pub(super) fn read_nodes(source: Source<'_>) -> Result<Nodes, TraceError> {
    let mut table = Table::with_header(source, &[NODE_COLUMNS])?;
    let mut nodes = Nodes::default();
    while let Some(row) = table.next()? {
        let devices: u8 = row.at_most(GPU_COUNT, DEVICES_MAX as u64)?;
        let gpu_milli = i64::from(devices) * i64::from(DEVICE_MILLI);
        let mut node = NodeSpec::new(name(&row)?, capacity(&row, gpu_milli)?).with_devices(devices);
        let model = row.text(GPU_MODEL_OF_NODE);
        if !model.is_empty() {
            node = node.with_attribute(GPU_MODEL, model);
        }
        nodes.add(node).map_err(|message| row.error(NAME, message))?;
    }
    Ok(nodes)
}

/// The pods of a pod list, each a job of one container.
///
/// A pod runs from its scheduling (or its creation, if it was never scheduled) until its deletion. Pods of a list
/// without times arrive one per second in file order and run for ever.
pub(super) fn read_jobs(source: Source<'_>, budget: &mut Budget) -> Result<Vec<Job>, TraceError> {
    let mut table = Table::with_header(source, &[POD_COLUMNS, UNTIMED_POD_COLUMNS])?;
    let is_timed = table.columns() == POD_COLUMNS;
    let mut names = HashSet::new();
    let mut jobs = Vec::new();
    while let Some(row) = table.next()? {
        budget.take(1).map_err(|message| row.error(NAME, message))?;
        if !names.insert(row.text(NAME).to_owned()) {
            let message = format!("pod `{}` is there twice; names must differ", shown(row.text(NAME)));
            return Err(row.error(NAME, message));
        }
        let untimed = (milliseconds(jobs.len() as u64), None);
        let (submit_ms, duration_ms) = if is_timed { lifetime(&row)? } else { untimed };
        jobs.push(Job {
            name: name(&row)?,
            queue: "default".into(),
            user: "default".into(),
            priority: 0,
            submit_ms,
            master: None,
            stages: vec![vec![tasks(&row, duration_ms)?]],
            starts_together: false,
        });
    }
    Ok(jobs)
}

/// Submission time and duration of a pod; a pod that was not deleted runs for ever.
fn lifetime(row: &Row<'_>) -> Result<(u64, Option<u64>), TraceError> {
    let created = row.whole(CREATION_TIME)?;
    let deleted = row.whole_or_empty(DELETION_TIME)?;
    let scheduled = row.whole_or_empty(SCHEDULED_TIME)?;
    let started = scheduled.unwrap_or(created);
    let Some(deleted) = deleted else { return Ok((milliseconds(created), None)) };
    if deleted < created {
        return Err(row.error(DELETION_TIME, format!("{deleted} is before creation_time {created}")));
    }
    let Some(seconds) = deleted.checked_sub(started) else {
        return Err(row.error(DELETION_TIME, format!("{deleted} is before scheduled_time {started}")));
    };
    Ok((milliseconds(created), Some(milliseconds(seconds))))
}

fn tasks(row: &Row<'_>, duration_ms: Option<u64>) -> Result<Tasks, TraceError> {
    let count: u8 = row.at_most(GPU_COUNT, DEVICES_MAX as u64)?;
    let milli: u16 = row.at_most(GPU_MILLI, u64::from(DEVICE_MILLI))?;
    let devices = (count > 0).then_some(DeviceNeed { count, milli });
    if devices.is_some_and(|need| !need.is_valid()) {
        let message = format!("{milli} of each of {count} GPUs; 1 to {DEVICE_MILLI} is possible");
        return Err(row.error(GPU_MILLI, message));
    }
    let gpu_milli = devices.map_or(0, |need| need.total_milli());
    let size = capacity(row, gpu_milli)?;
    Ok(Tasks { devices, rule: model_rule(row)?, ..Tasks::new(size, vec![duration_ms]) })
}

fn model_rule(row: &Row<'_>) -> Result<Option<AttributeRule>, TraceError> {
    let models = row.text(GPU_SPEC);
    if models.is_empty() {
        return Ok(None);
    }
    let one_of: Vec<String> = models.split('|').map(str::to_owned).collect();
    if one_of.iter().any(String::is_empty) {
        let message = format!("`{}` has an empty model; `A|B` or nothing is needed", shown(models));
        return Err(row.error(GPU_SPEC, message));
    }
    Ok(Some(AttributeRule::one_of(GPU_MODEL, one_of)))
}

fn name(row: &Row<'_>) -> Result<String, TraceError> {
    match row.text(NAME) {
        "" => Err(row.error(NAME, "is empty; a name is needed")),
        name => Ok(name.to_owned()),
    }
}

fn capacity(row: &Row<'_>, gpu_milli: i64) -> Result<Resources, TraceError> {
    let column =
        |column, what| amount(what, row.whole(column)?).map_err(|message| row.error(column, message));
    Ok(Resources::new(&[column(MEMORY_MIB, "memory_mib")?, column(CPU_MILLI, "cpu_milli")?, gpu_milli]))
}
