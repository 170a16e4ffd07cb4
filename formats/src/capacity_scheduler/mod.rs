//! Importer of YARN's `capacity-scheduler.xml`, together with `yarn-site.xml` and `resource-types.xml`.
//!
//! `docs/configuration.md`, "From YARN", lists the imported keys and their meaning. All other keys that YARN knows
//! are reported as [`NotCarriedOver`](super::NotCarriedOver). Unknown keys are errors. So are settings that
//! YARN refuses: sibling capacities that do not sum to 100 %, configured queues that are not listed, a
//! maximum below the capacity.

mod access;
mod activation;
mod allocation;
mod amounts;
mod applications;
mod auto_creation;
mod defaults;
mod keys;
mod known;
mod labels;
mod mapping;
mod mapping_json;
mod number;
mod opportunistic;
mod preemption;
mod property;
mod queue;
mod scheduler;
mod sibling;
mod tree;
mod types;
mod users;
mod value;
mod xml;

#[cfg(test)]
mod auto_creation_tests;
#[cfg(test)]
mod check_tests;
#[cfg(test)]
mod damage_tests;
#[cfg(test)]
mod files_tests;
#[cfg(test)]
mod preemption_tests;
#[cfg(test)]
mod queue_mapping_tests;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod tests;

use apportion::ResourceTypes;
use apportion::config::{ConfigError, EngineConfig};

use self::property::{File, Settings};
use self::queue::Queues;
use self::types::Types;
use crate::file::Source;
use crate::{ConfigFileError, Imported};

/// The text of a file, with a name for messages.
#[derive(Clone, Copy, Debug)]
pub struct NamedText<'a> {
    /// The name.
    pub name: &'a str,
    /// The text.
    pub text: &'a str,
}

/// The files that configure scheduling in a YARN cluster. Hadoop reads them into one configuration, the queues
/// last.
#[derive(Clone, Copy, Debug)]
pub struct YarnFiles<'a> {
    /// `capacity-scheduler.xml`
    pub queues: NamedText<'a>,
    /// `yarn-site.xml`: heartbeats of nodes, and any key of `capacity-scheduler.xml`.
    pub site: Option<NamedText<'a>>,
    /// `resource-types.xml`: further resources with their units.
    pub resource_types: Option<NamedText<'a>>,
}

/// Imports the text of a `capacity-scheduler.xml` for an engine that counts `types`. YARN's `memory` becomes
/// `memory_mib`, `vcores` becomes `vcore_milli`, and `yarn.io/gpu` becomes `gpu_milli` or `gpu`. `file_name`
/// appears only in messages.
///
/// # Errors
/// The first mistake, with its line and column. It is broken XML, XML with a document type, or a key that YARN does
/// not know (with the nearest known one). Or it is a value of the wrong form, or a setting that YARN or
/// [`EngineConfig::validate`] refuses.
pub fn from_capacity_scheduler_xml(
    text: &str,
    file_name: &str,
    types: &ResourceTypes,
) -> Result<Imported, ConfigFileError> {
    let queues = NamedText { name: file_name, text };
    from_yarn_files(&YarnFiles { queues, site: None, resource_types: None }, Some(types))
}

/// Imports a cluster's files for an engine that counts `types`. Without `types`, the engine counts memory, vcores
/// and the resources in `yarn.resource-types`.
///
/// # Errors
/// As [`from_capacity_scheduler_xml`], in any of the files. In `yarn-site.xml` unknown keys are errors only if they
/// begin with `yarn.scheduler.`, `yarn.resource-type` or `yarn.resourcemanager.monitor.capacity.preemption.`.
pub fn from_yarn_files(
    files: &YarnFiles<'_>,
    types: Option<&ResourceTypes>,
) -> Result<Imported, ConfigFileError> {
    let queues = file(&files.queues)?;
    let others = [files.site, files.resource_types];
    let others = others.iter().flatten().map(file).collect::<Result<Vec<_>, _>>()?;
    let mut report = Vec::new();
    let settings = Settings::new(&others, &queues, &mut report);
    let listed = tree::listed(&settings)?;
    keys::check(&settings, &listed, &mut report)?;
    let types = Types::read(&settings, types)?;
    let labels = labels::named(&settings, &listed)?;
    let mut root = Queues::new(&settings, &types, &mut report)?.root(&listed, &labels)?;
    users::read(&settings, &listed, &mut root, &mut report)?;
    applications::read(&settings, &listed, &mut root, &labels, &mut report)?;
    auto_creation::read(&settings, &types, &listed, &mut root, &mut report)?;
    access::read(&settings, &listed, &mut root, &mut report)?;
    activation::read(&settings, &listed, &mut root, &mut report)?;
    defaults::read(&settings, &listed, &mut root, &mut report)?;
    let mut config = EngineConfig::new(types.engine().clone(), root);
    config.queue_mapping = mapping::read(&settings, &listed, &mut report)?;
    config.partitions = labels;
    scheduler::read(&settings, &mut config, &mut report)?;
    config.preemption = preemption::read(&settings, &listed, &mut report)?;
    config.opportunistic = opportunistic::read(&settings, &mut report)?;
    let names = [Some(files.queues), files.site, files.resource_types].map(|file| file.map(|file| file.name));
    let place = |name: &str| names.iter().position(|known| *known == Some(name));
    report.sort_by_key(|entry| (place(&entry.file_name), entry.line));
    // A template with a star is read once for each queue that it is for.
    report.dedup();
    config.validate().map_err(|error| refused(&settings, error))?;
    Ok(Imported { config, not_carried_over: report })
}

fn file<'a>(file: &NamedText<'a>) -> Result<File<'a>, ConfigFileError> {
    let source = Source::new(file.name, file.text)?;
    let properties = xml::properties(&source)?;
    Ok(File { source, properties })
}

/// An error of the engine, at the property of the queue that it is about.
fn refused(settings: &Settings<'_>, error: ConfigError) -> ConfigFileError {
    let keys = match &error {
        ConfigError::Queue { path, .. } => ["capacity", "queues"].map(|name| tree::queue_key(path, name)),
        ConfigError::QueueMapping { .. } => {
            ["mapping-rule-json", "queue-mappings"].map(|name| format!("{}{name}", known::PREFIX))
        }
        _ => ["capacity", "queues"].map(|name| tree::queue_key("root", name)),
    };
    let setting = keys.iter().find_map(|key| settings.get(key));
    match setting {
        Some(setting) => setting.source.config(setting.key_offset, error),
        None => settings.source().config(0, error),
    }
}

/// The body of a fuzz target: imports `data`. An imported configuration must be valid.
#[doc(hidden)]
pub fn fuzz_capacity_scheduler_xml(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let types = ResourceTypes::memory_and_vcores();
    if let Ok(imported) = from_capacity_scheduler_xml(&text, "fuzz.xml", &types) {
        assert_eq!(imported.config.validate(), Ok(()));
    }
}
