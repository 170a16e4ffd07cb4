//! Importer of YARN's `capacity-scheduler.xml`.
//!
//! Read are the queue tree (`queues`), `capacity` and `maximum-capacity` in percent, as weights (`3w`) and as
//! amounts (`[memory=4Gi,vcores=2]`), `user-limit-factor`, the leaves' `ordering-policy`, and the locality
//! delays. Everything else that YARN knows is reported as [`NotCarriedOver`](super::NotCarriedOver); what YARN does not know is an
//! error, and so is what YARN would refuse: capacities of siblings that do not sum to 100 %, queues that are
//! configured but not listed, a maximum below the capacity.

mod keys;
mod known;
mod property;
mod queue;
mod scheduler;
mod sibling;
mod tree;
mod value;
mod xml;

#[cfg(test)]
mod damage;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod tests;

use self::property::Settings;
use self::queue::Queues;
use super::file::Source;
use super::{ConfigError, ConfigFileError, EngineConfig, Imported};
use crate::resource::ResourceTypes;

/// Imports the text of a `capacity-scheduler.xml` for an engine that counts `types`. YARN's `memory` is the
/// type `memory_mib`, `vcores` is `vcore_milli`, and `yarn.io/gpu` is `gpu_milli` or `gpu`. `file_name` is only
/// for messages.
///
/// # Errors
/// The first thing that is wrong, with its line and column: broken XML, or XML with a document type; a key
/// that YARN does not know (with the nearest one it does); a value of the wrong form; whatever YARN or
/// `validate` would refuse.
pub fn from_capacity_scheduler_xml(
    text: &str,
    file_name: &str,
    types: &ResourceTypes,
) -> Result<Imported, ConfigFileError> {
    let source = Source::new(file_name, text)?;
    let properties = xml::properties(&source)?;
    let mut report = Vec::new();
    let settings = Settings::new(&source, &properties, &mut report);
    let listed = tree::listed(&settings)?;
    keys::check(&settings, &listed, &mut report)?;
    let root = Queues::new(&settings, types, &mut report)?.root(&listed)?;
    let mut config = EngineConfig::new(types.clone(), root);
    if let Some(delay) = scheduler::locality_delay(&settings, &mut report)? {
        config.locality_delay = delay;
    }
    scheduler::check_calculator(&settings, &mut report);
    report.sort_by_key(|entry| entry.line);
    config.validate().map_err(|error| refused(&settings, error))?;
    Ok(Imported { config, not_carried_over: report })
}

/// What the engine refuses, at the property of the queue it is about.
fn refused(settings: &Settings<'_>, error: ConfigError) -> ConfigFileError {
    let path = match &error {
        ConfigError::Queue { path, .. } => path.as_str(),
        _ => "root",
    };
    let keys = ["capacity", "queues"].map(|name| tree::queue_key(path, name));
    let setting = keys.iter().find_map(|key| settings.get(key));
    settings.source().config(setting.map_or(0, |setting| setting.key_offset), error)
}

/// The body of a fuzz target: imports `data`, and what can be imported must be a valid configuration.
#[doc(hidden)]
pub fn fuzz_capacity_scheduler_xml(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let types = ResourceTypes::memory_and_vcores();
    if let Ok(imported) = from_capacity_scheduler_xml(&text, "fuzz.xml", &types) {
        assert_eq!(imported.config.validate(), Ok(()));
    }
}
