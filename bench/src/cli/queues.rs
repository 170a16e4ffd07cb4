//! Queue files for a trace.

use std::path::Path;

use apportion::ResourceTypes;
use apportion::config::EngineConfig;

use super::config::{Format, read_file, report_line};
use super::{Failure, note};
use crate::sim::queues_for;
use crate::workload::Workload;

/// The queues of the trace; without such queues, one leaf for each queue that jobs name, with equal shares. Containers
/// may be empty, since a trace may have such tasks.
pub(super) fn config_of(workload: &Workload) -> EngineConfig {
    let queues = workload.queues.clone().unwrap_or_else(|| queues_for(workload));
    let mut config = EngineConfig::new(workload.resources.clone(), queues);
    config.allocation.allow_empty = true;
    config
}

/// Reads a configuration of any format. Keys without effect are listed on standard error.
pub(super) fn read_queues(path: &Path, types: &ResourceTypes) -> Result<EngineConfig, Failure> {
    let (format, imported) = read_file(path, types)?;
    if format == Format::Native && imported.config.resources != *types {
        return Err(Failure::input(format!(
            "{}: counts {}, the trace counts {}; [resources] should name the latter",
            path.display(),
            types_text(&imported.config.resources),
            types_text(types),
        )));
    }
    for entry in &imported.not_carried_over {
        note(&report_line(entry));
    }
    Ok(imported.config)
}

fn types_text(types: &ResourceTypes) -> String {
    let devices = types.device_type().map(|index| format!(" (devices: {})", types.names()[index]));
    format!("{}{}", types.names().join(", "), devices.unwrap_or_default())
}
