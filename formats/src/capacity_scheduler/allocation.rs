//! Sizes of containers: YARN's smallest and largest allocation of memory and vcores.

use apportion::config::AllocationSizes;
use apportion::{ResourceTypes, Resources};

use super::property::{Setting, Settings};
use super::scheduler::whole;
use crate::{ConfigFileError, NotCarriedOver};

/// For each of YARN's units: the engine's type, and the amount of it per unit.
const UNITS: [(&str, &str, i64); 2] = [("mb", "memory_mib", 1), ("vcores", "vcore_milli", 1000)];

/// Reads the sizes for an engine that counts `types`. YARN's defaults do not replace missing settings.
pub(super) fn read(
    settings: &Settings<'_>,
    types: &ResourceTypes,
    report: &mut Vec<NotCarriedOver>,
) -> Result<AllocationSizes, ConfigFileError> {
    let mut sizes = AllocationSizes::default();
    let mut minimum = *Resources::ZERO.amounts();
    for (unit, name, factor) in UNITS {
        let setting = |end: &str| settings.get(&format!("yarn.scheduler.{end}-allocation-{unit}"));
        let (smallest, largest) = (setting("minimum"), setting("maximum"));
        let (least, most) = (number(settings, smallest)?, number(settings, largest)?);
        if let (Some(setting), Some(least), Some(most)) = (smallest, least, most)
            && least > most
        {
            return Err(
                settings.refused(&setting, format!("{least} is above the largest container's {most}"))
            );
        }
        let Some(index) = types.names().iter().position(|known| known == name) else {
            let uncounted = [smallest, largest].into_iter().flatten();
            report.extend(uncounted.map(|setting| settings.not_carried_over(&setting, "it is not counted")));
            continue;
        };
        let step = least.unwrap_or(0).max(1);
        let in_steps = most.map(|most| most - most % step);
        if let (Some(setting), Some(kept)) = (largest.filter(|_| in_steps != most), in_steps) {
            let reason =
                format!("it is not a multiple of the smallest container's {step}; {kept} is carried over");
            report.push(settings.not_carried_over(&setting, reason));
        }
        minimum[index] = least.map_or(0, |least| i64::from(least) * factor);
        sizes.maximum[index] = in_steps.map(|most| i64::from(most) * factor);
    }
    Ok(AllocationSizes { minimum: Resources::new(&minimum), ..sizes })
}

/// YARN's CapacityScheduler refuses sizes of zero.
fn number(settings: &Settings<'_>, setting: Option<Setting<'_>>) -> Result<Option<u32>, ConfigFileError> {
    setting.map(|setting| whole(settings, &setting, 1)).transpose()
}
