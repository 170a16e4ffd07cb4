//! Settings of the whole scheduler: locality delay, heartbeats, and settings that this engine does not vary.

use apportion::config::{EngineConfig, HeartbeatPolicy, LocalityDelay};

use super::allocation;
use super::defaults;
use super::known::PREFIX;
use super::property::{Setting, Settings};
use super::value;
use crate::file::excerpt;
use crate::{ConfigFileError, NotCarriedOver};

/// YARN's delay before a rack-mate is accepted, if only the additional delay is configured.
const RACK_NODES_DEFAULT: u32 = 40;

/// YARN's heartbeat interval, and the number of heartbeats that a node may miss.
const HEARTBEAT_MS_DEFAULT: u64 = 1000;
const MISSED_DEFAULT: u32 = 2;

/// Reads the settings into `config`.
pub(super) fn read(
    settings: &Settings<'_>,
    config: &mut EngineConfig,
    report: &mut Vec<NotCarriedOver>,
) -> Result<(), ConfigFileError> {
    if let Some(delay) = locality_delay(settings, report)? {
        config.locality_delay = delay;
    }
    config.reservations.continue_looking =
        settings.switch(&format!("{PREFIX}reservations-continue-look-all-nodes"), true)?;
    config.heartbeat = heartbeat(settings)?;
    let off_switch = settings.get(&format!("{PREFIX}per-node-heartbeat.maximum-offswitch-assignments"));
    config.limits.off_switch_per_pass = off_switch.map(|setting| whole(settings, &setting, 1)).transpose()?;
    config.maximum_application_priority = defaults::maximum_priority(settings)?;
    check_calculator(settings, report);
    check_class(settings, report);
    config.allocation = allocation::read(settings, &config.resources, report)?;
    Ok(())
}

/// The heartbeat policy; `None` if the files have neither key.
fn heartbeat(settings: &Settings<'_>) -> Result<Option<HeartbeatPolicy>, ConfigFileError> {
    let interval = settings.get("yarn.resourcemanager.nodemanagers.heartbeat-interval-ms");
    let missed = settings.get("yarn.scheduler.skip.node.multiplier");
    if interval.is_none() && missed.is_none() {
        return Ok(None);
    }
    let interval_ms = interval.map_or(Ok(HEARTBEAT_MS_DEFAULT), |setting| whole(settings, &setting, 1))?;
    let missed_max = missed.map_or(Ok(MISSED_DEFAULT), |setting| whole(settings, &setting, 1))?;
    Ok(Some(HeartbeatPolicy { interval_ms, missed_max }))
}

/// A whole number of at least `least`.
pub(super) fn whole<T: std::str::FromStr + PartialOrd + From<u8>>(
    settings: &Settings<'_>,
    setting: &Setting<'_>,
    least: u8,
) -> Result<T, ConfigFileError> {
    let text = settings.value(setting)?;
    text.parse().ok().filter(|number| *number >= T::from(least)).ok_or_else(|| {
        settings.refused(setting, format!("`{}` is not a whole number from {least}", excerpt(text)))
    })
}

/// Reports the choice of another scheduler.
fn check_class(settings: &Settings<'_>, report: &mut Vec<NotCarriedOver>) {
    let setting = settings.get("yarn.resourcemanager.scheduler.class");
    if let Some(setting) = setting.filter(|setting| !setting.value.ends_with(".CapacityScheduler")) {
        report.push(
            settings.not_carried_over(&setting, "this engine schedules as the capacity scheduler does"),
        );
    }
}

/// The delay in nodes (`capacity-scheduler.md` 2.7): YARN counts missed opportunities, each meant to be another
/// node. `None` if the file has neither delay.
fn locality_delay(
    settings: &Settings<'_>,
    report: &mut Vec<NotCarriedOver>,
) -> Result<Option<LocalityDelay>, ConfigFileError> {
    let rack = settings.get(&format!("{PREFIX}node-locality-delay"));
    let additional = settings.get(&format!("{PREFIX}rack-locality-additional-delay"));
    let full_reset = settings.switch(&format!("{PREFIX}rack-locality-full-reset"), true)?;
    if rack.is_none() && additional.is_none() {
        let reset = settings.get(&format!("{PREFIX}rack-locality-full-reset"));
        let reason = "it is about delays in nodes, and the files have none";
        report.extend(reset.map(|setting| settings.not_carried_over(&setting, reason)));
        return Ok(None);
    }
    let rack = match rack {
        // Without a delay for the rack, its nodes count as well as the named ones.
        Some(setting) => nodes(settings, &setting)?.unwrap_or(0),
        None => RACK_NODES_DEFAULT,
    };
    let mut any = None;
    if let Some(setting) = additional {
        match nodes(settings, &setting)? {
            Some(more) => any = Some(rack.saturating_add(more)),
            None => report.push(settings.not_carried_over(
                &setting,
                "a delay by the number of outstanding containers is for the yarn_compatible semantics; \
                 otherwise where a rack-mate will do, any node will",
            )),
        }
    }
    Ok(Some(LocalityDelay::Nodes { rack, any, full_reset }))
}

/// A number of nodes; `None` for `-1`.
fn nodes(settings: &Settings<'_>, setting: &Setting<'_>) -> Result<Option<u32>, ConfigFileError> {
    let text = settings.value(setting)?;
    if value::is_minus_one(text) {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| {
        settings.refused(setting, format!("`{}` is not a whole number from 0, nor -1", excerpt(text)))
    })
}

/// Reports a calculator that compares fewer types than this engine.
fn check_calculator(settings: &Settings<'_>, report: &mut Vec<NotCarriedOver>) {
    let setting = settings.get(&format!("{PREFIX}resource-calculator"));
    if let Some(setting) = setting.filter(|setting| !setting.value.ends_with(".DominantResourceCalculator")) {
        report.push(settings.not_carried_over(&setting, "this engine always compares dominant shares"));
    }
}
