//! Queue files, by their ending.

use std::path::Path;

use apportion::ResourceTypes;
use apportion::config::EngineConfig;
use apportion::config::capacity_scheduler::from_capacity_scheduler_xml;
use apportion::config::toml::from_toml;

use super::Failure;
use crate::sim::queues_for;
use crate::workload::Workload;

/// One leaf for each queue that jobs name, equal shares.
pub(super) fn config_with_equal_shares(workload: &Workload) -> EngineConfig {
    EngineConfig::new(workload.resources.clone(), queues_for(workload))
}

/// Reads a native TOML file or YARN's `capacity-scheduler.xml`. What the latter says in vain is listed on
/// standard error.
pub(super) fn read_queues(path: &Path, types: &ResourceTypes) -> Result<EngineConfig, Failure> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| Failure::input(format!("{name}: {error}")))?;
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("toml") => {
            let config = from_toml(&text, &name).map_err(Failure::input)?;
            if config.resources != *types {
                return Err(Failure::input(format!(
                    "{name}: counts {}, the trace counts {}; [resources] should name the latter",
                    types_text(&config.resources),
                    types_text(types),
                )));
            }
            Ok(config)
        }
        Some("xml") => {
            let imported = from_capacity_scheduler_xml(&text, &name, types).map_err(Failure::input)?;
            for entry in &imported.not_carried_over {
                let value =
                    if entry.value.is_empty() { String::new() } else { format!(" = {}", entry.value) };
                eprintln!("{name}:{}: not carried over: {}{value}: {}", entry.line, entry.key, entry.reason);
            }
            Ok(imported.config)
        }
        _ => Err(Failure::input(format!("{name}: a queue file ends in .toml or .xml"))),
    }
}

fn types_text(types: &ResourceTypes) -> String {
    let devices = types.device_type().map(|index| format!(" (devices: {})", types.names()[index]));
    format!("{}{}", types.names().join(", "), devices.unwrap_or_default())
}
