//! Factors and percentages. Those with more decimal places than the engine keeps are rounded down and reported.

use std::fmt::Display;

use apportion::config::{Factor, Percent};

use super::property::{Setting, Settings};
use super::{sibling, value};
use crate::billionths::Billionths;
use crate::{ConfigFileError, NotCarriedOver};

/// Reads a percentage from 0 to 100.
pub(super) fn percent(
    settings: &Settings<'_>,
    setting: &Setting<'_>,
    report: &mut Vec<NotCarriedOver>,
) -> Result<Percent, ConfigFileError> {
    number(settings, setting, 100, Billionths::percent, report)
}

/// Reads a weight above 0.
pub(super) fn weight(
    settings: &Settings<'_>,
    setting: &Setting<'_>,
    report: &mut Vec<NotCarriedOver>,
) -> Result<Factor, ConfigFileError> {
    let weight = number(settings, setting, Factor::MAX, Billionths::factor, report)?;
    if weight.milli() == 0 {
        return Err(settings.refused(setting, "must be above 0"));
    }
    Ok(weight)
}

/// Reads a user limit factor above 0; `None` for -1, which means no limit.
pub(super) fn user_limit_factor(
    settings: &Settings<'_>,
    setting: &Setting<'_>,
    report: &mut Vec<NotCarriedOver>,
) -> Result<Option<Factor>, ConfigFileError> {
    if value::is_minus_one(settings.value(setting)?) {
        return Ok(None);
    }
    let factor = number(settings, setting, Factor::MAX, Billionths::factor, report)?;
    if factor.milli() == 0 {
        return Err(settings.refused(setting, "must be above 0, or -1 for no limit"));
    }
    Ok(Some(factor))
}

/// Reads a number from 0 to `max`, of which `round` keeps what the engine can store.
fn number<T: Copy + Display + Into<Billionths>>(
    settings: &Settings<'_>,
    setting: &Setting<'_>,
    max: u64,
    round: impl Fn(Billionths) -> T,
    report: &mut Vec<NotCarriedOver>,
) -> Result<T, ConfigFileError> {
    let exact = value::decimal(settings.value(setting)?, max);
    let exact = exact.map_err(|problem| settings.refused(setting, problem))?;
    let kept = round(exact);
    report.extend(sibling::rounding(exact, kept).map(|reason| settings.not_carried_over(setting, reason)));
    Ok(kept)
}
