//! Opportunistic containers and their queues at nodes.

use apportion::config::OpportunisticPolicy;

use super::property::Settings;
use super::scheduler::whole;
use crate::{ConfigFileError, NotCarriedOver};

const SWITCH: &str = "yarn.resourcemanager.opportunistic-container-allocation.enabled";
const LENGTH: &str = "yarn.resourcemanager.nm-container-queuing.max-queue-length";
const OFF: &str = "YARN queues containers at nodes only if yarn.resourcemanager.opportunistic-container-allocation.enabled is true";

/// Reads the queues' policy; `None` if the files do not switch it on. The length is checked anyway.
pub(super) fn read(
    settings: &Settings<'_>,
    report: &mut Vec<NotCarriedOver>,
) -> Result<Option<OpportunisticPolicy>, ConfigFileError> {
    let length = settings.get(LENGTH);
    let defaults = OpportunisticPolicy::default();
    let queue_length_max =
        length.map_or(Ok(defaults.queue_length_max), |setting| whole(settings, &setting, 1))?;
    if settings.switch(SWITCH, false)? {
        return Ok(Some(OpportunisticPolicy { queue_length_max }));
    }
    report.extend(length.map(|setting| settings.not_carried_over(&setting, OFF)));
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity_scheduler::refusals::refused_with;
    use crate::capacity_scheduler::tests::{imported, reasons};

    const QUEUES: [(&str, &str); 2] = [("root.queues", "a"), ("root.a.capacity", "100")];

    /// A file with further properties from line 4 on.
    fn with(more: &[(&str, &str)]) -> crate::Imported {
        imported(&[&QUEUES[..], more].concat())
    }

    #[test]
    fn queues_at_nodes_are_read_if_they_are_switched_on() {
        let of = |more: &[(&str, &str)]| with(more).config.opportunistic;
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[(SWITCH, "true")]), Some(OpportunisticPolicy::default()));
        let policy = Some(OpportunisticPolicy { queue_length_max: 4 });
        assert_eq!(of(&[(SWITCH, "true"), (LENGTH, "4")]), policy);
        let off = with(&[(LENGTH, "4")]);
        assert_eq!((off.config.opportunistic, reasons(&off)), (None, vec![(LENGTH, OFF, 4)]));
        let properties = [&QUEUES[..], &[(SWITCH, "true"), (LENGTH, "0")]].concat();
        refused_with(&properties, &format!("5:89: {LENGTH}: `0` is not a whole number from 1"));
    }
}
