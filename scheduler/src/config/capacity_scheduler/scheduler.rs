//! Settings of the whole scheduler: locality delay and resource calculator.

use super::known::PREFIX;
use super::property::{Setting, Settings};
use super::value;
use crate::config::file::excerpt;
use crate::config::{ConfigFileError, LocalityDelay, NotCarriedOver};

/// YARN's delay until a rack-mate will do, if only the additional delay is configured.
const RACK_NODES_DEFAULT: u32 = 40;

/// The delay in distinct nodes (`capacity-scheduler.md` 2.7): YARN counts missed opportunities, each of which
/// is meant to be another node. `None` if the file has neither delay.
pub(super) fn locality_delay(
    settings: &Settings<'_>,
    report: &mut Vec<NotCarriedOver>,
) -> Result<Option<LocalityDelay>, ConfigFileError> {
    let rack = settings.get(&format!("{PREFIX}node-locality-delay"));
    let additional = settings.get(&format!("{PREFIX}rack-locality-additional-delay"));
    if rack.is_none() && additional.is_none() {
        return Ok(None);
    }
    let rack = match rack {
        // Without a delay for the rack its nodes are as good as the named ones.
        Some(setting) => nodes(settings, &setting)?.unwrap_or(0),
        None => RACK_NODES_DEFAULT,
    };
    let mut any = rack;
    if let Some(setting) = additional {
        match nodes(settings, &setting)? {
            Some(more) => any = rack.saturating_add(more),
            None => report.push(settings.not_carried_over(
                &setting,
                "a delay by the number of outstanding containers is not supported by this engine yet; \
                 where a rack-mate will do, any node will",
            )),
        }
    }
    Ok(Some(LocalityDelay::Nodes { rack, any }))
}

/// A number of nodes; `None` for YARN's `-1`.
fn nodes(settings: &Settings<'_>, setting: &Setting<'_>) -> Result<Option<u32>, ConfigFileError> {
    let text = settings.value(setting)?;
    if value::is_minus_one(text) {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| {
        settings.refused(setting, format!("`{}` is no whole number from 0, nor -1", excerpt(text)))
    })
}

/// Reports a calculator that compares less than this engine does.
pub(super) fn check_calculator(settings: &Settings<'_>, report: &mut Vec<NotCarriedOver>) {
    let setting = settings.get(&format!("{PREFIX}resource-calculator"));
    if let Some(setting) = setting.filter(|setting| !setting.value.ends_with(".DominantResourceCalculator")) {
        report.push(settings.not_carried_over(&setting, "this engine always compares dominant shares"));
    }
}
