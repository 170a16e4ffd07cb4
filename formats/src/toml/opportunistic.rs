//! The table `engine.opportunistic`.

use apportion::config::OpportunisticPolicy;

use super::table::Section;
use super::write::Writer;
use crate::ConfigFileError;

/// Reads the table; without it the engine refuses opportunistic asks.
pub(super) fn read(engine: &Section<'_>) -> Result<Option<OpportunisticPolicy>, ConfigFileError> {
    let section = engine.section("opportunistic", &["queue_length_max"])?;
    if !section.is_given() {
        return Ok(None);
    }
    let length = section.read("queue_length_max", |entry| entry.whole())?;
    let defaults = OpportunisticPolicy::default();
    Ok(Some(OpportunisticPolicy { queue_length_max: length.unwrap_or(defaults.queue_length_max) }))
}

/// Writes the table, if nodes queue opportunistic containers.
pub(super) fn write(file: &mut Writer, policy: Option<&OpportunisticPolicy>) {
    if let Some(OpportunisticPolicy { queue_length_max }) = policy {
        file.table("engine.opportunistic");
        file.line("queue_length_max", queue_length_max);
    }
}
