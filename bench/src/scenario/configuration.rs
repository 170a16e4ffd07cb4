//! Configurations within scenarios, and in files next to them.

use std::fmt::Write;
use std::path::Path;

use apportion::ResourceTypes;
use apportion::config::{EngineConfig, QueueConfig, Reconfiguration, quoted_key, quoted_text};
use apportion_formats::ConfigFileError;
use apportion_formats::capacity_scheduler::from_capacity_scheduler_xml;
use apportion_formats::toml::from_toml;

use super::amounts::index_of;
use super::form::{ScenarioForm, ShareForm, UpdateQueueForm};
use super::problem::{BadScenario, Done, StepError};
use crate::text::read_text;

/// The configuration of a scenario's runs.
pub(super) fn config_of(form: &ScenarioForm, file: &Path) -> Result<EngineConfig, BadScenario> {
    let bad = |line: u64, problem: String| BadScenario { file: file.display().to_string(), line, problem };
    match (&form.config, &form.config_file) {
        (Some(text), None) => from_toml(&text.value, "config").map_err(|error| {
            let line = text.referenced.line() + error.line as u64 - 1;
            bad(line, format!("config: {}", error.problem))
        }),
        (None, Some(path)) => {
            let beside = file.parent().unwrap_or(Path::new(".")).join(&path.value);
            read_config(&beside).map_err(|problem| bad(path.referenced.line(), problem))
        }
        (None, None) => Err(bad(1, "no configuration; give `config` or `config_file`".into())),
        (Some(_), Some(path)) => {
            Err(bad(path.referenced.line(), "give either `config` or `config_file`, not both".into()))
        }
    }
}

fn read_config(path: &Path) -> Result<EngineConfig, String> {
    let name = path.display().to_string();
    let text = read_text(path, u64::MAX).map_err(|error| error.to_string())?;
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("toml") => from_toml(&text, &name).map_err(|error| error.to_string()),
        Some("xml") => from_capacity_scheduler_xml(&text, &name, &ResourceTypes::memory_and_vcores())
            .map(|imported| imported.config)
            .map_err(|error| error.to_string()),
        _ => Err(format!(
            "{name}: a configuration ends in .toml or .xml; `config convert` makes one of a queues.yaml"
        )),
    }
}

/// A queue with the limits of an update, parsed by the configuration's reader.
pub(super) fn queue_of(form: &UpdateQueueForm, types: &ResourceTypes) -> Done<QueueConfig> {
    let mut text = header(types);
    let _ = writeln!(text, "[queues.{}]", quoted_text(&form.queue));
    let given = [
        ("capacity", &form.capacity),
        ("maximum_capacity", &form.maximum_capacity),
        ("user_limit_factor", &form.user_limit_factor),
        ("user_limit_minimum", &form.user_limit_minimum),
        ("priority", &form.priority),
        ("state", &form.state),
        ("maximum_applications", &form.maximum_applications),
        ("maximum_applications_per_user", &form.maximum_applications_per_user),
        ("maximum_parallel_applications", &form.maximum_parallel_applications),
        ("maximum_parallel_applications_per_user", &form.maximum_parallel_applications_per_user),
        ("maximum_master_share", &form.maximum_master_share),
    ];
    for (key, share) in given {
        if let Some(share) = share {
            let _ = writeln!(text, "{key} = {}", share_text(share, types)?);
        }
    }
    let config = from_toml(&text, "update").map_err(|error| StepError::Bad(error.problem.to_string()))?;
    let mut queue = config.root;
    while let Some(child) = queue.children.pop() {
        queue = child;
    }
    Ok(queue)
}

/// The wanted configuration, or an error that does not depend on the engine's state. If it omits resource types and
/// partitions, those of `config` apply.
pub(super) fn reconfiguration(text: &str, config: &EngineConfig) -> Result<Reconfiguration, ConfigFileError> {
    let mut whole = if text.contains("[resources]") { String::new() } else { header(&config.resources) };
    if !text.contains("[engine]") {
        let names = config.partitions.iter().map(|name| quoted_text(name)).collect::<Vec<_>>().join(", ");
        let _ = writeln!(whole, "[engine]\npartitions = [{names}]");
    }
    from_toml(&(whole + text), "reconfigure").map(|config| Reconfiguration::from(&config))
}

/// The resource types in the format of a configuration.
fn header(types: &ResourceTypes) -> String {
    let names = types.names().iter().map(|name| quoted_text(name)).collect::<Vec<_>>().join(", ");
    let mut text = format!("[resources]\ntypes = [{names}]\n");
    if let Some(devices) = types.device_type() {
        let _ = writeln!(text, "devices = {}", quoted_text(&types.names()[devices]));
    }
    text
}

fn share_text(share: &ShareForm, types: &ResourceTypes) -> Done<String> {
    Ok(match share {
        ShareForm::Whole(number) => number.to_string(),
        ShareForm::Part(number) => number.to_string(),
        ShareForm::Text(text) => quoted_text(text),
        ShareForm::Each(shares) => {
            let mut pairs = Vec::new();
            for (name, share) in shares {
                let index = index_of(types, name).map_err(StepError::Bad)?;
                pairs.push(format!("{} = {}", quoted_key(&types.names()[index]), share_text(share, types)?));
            }
            format!("{{ {} }}", pairs.join(", "))
        }
    })
}
