//! The state of queues and their limits on applications (`capacity-scheduler.md` 1.1 and 1.2).

use apportion::config::{ApplicationLimits, Capacity, QueueConfig, QueueState};

use super::known::PREFIX;
use super::property::{Setting, Settings};
use super::tree::Listed;
use crate::file::excerpt;
use crate::{ConfigFileError, NotCarriedOver};

/// Absorbs rounding errors of decimal percentages in binary, before numbers are rounded down.
const ROUNDING: f64 = 1e-6;

/// Limits of the whole scheduler, from which leaves without their own limit get a part.
#[derive(Clone, Copy, Debug)]
struct Defaults {
    /// The system's limit. A leaf's part of it is its largest guaranteed fraction over all partitions.
    system: Option<u32>,
    /// The limit of every leaf, in place of its part of the system's.
    each_leaf: Option<u32>,
}

/// The guaranteed fraction of the cluster, for nodes without a label and for each label. `None` if the file alone
/// does not determine it.
#[derive(Clone, Debug)]
struct Part<'l> {
    default: Option<f64>,
    labels: Vec<(&'l str, Option<f64>)>,
}

impl<'l> Part<'l> {
    fn below(&self, child: &QueueConfig) -> Self {
        let part_in = |above: Option<f64>, name: &str| match child.capacity_in(name) {
            _ if child.is_kept_from(name) => Some(0.0),
            Capacity::Percent(percent) => above.map(|part| part * f64::from(percent.millionths()) / 1e6),
            Capacity::Weight(_) | Capacity::Absolute(_) | Capacity::Mixed(_) => None,
        };
        let of_label = |(label, part): &(&'l str, Option<f64>)| (*label, part_in(*part, label));
        Self { default: part_in(self.default, ""), labels: self.labels.iter().map(of_label).collect() }
    }

    /// The largest fraction.
    fn largest(&self) -> Option<f64> {
        let parts = self.labels.iter().map(|(_, part)| *part);
        parts.chain([self.default]).try_fold(0.0f64, |largest, part| Some(largest.max(part?)))
    }
}

/// Reads the states and limits of the tree at `root` from the properties of the `listed` queues.
pub(super) fn read(
    settings: &Settings<'_>,
    listed: &Listed<'_>,
    root: &mut QueueConfig,
    labels: &[String],
    report: &mut Vec<NotCarriedOver>,
) -> Result<(), ConfigFileError> {
    let system = settings.get(&format!("{PREFIX}maximum-applications"));
    let each_leaf = settings.get(&format!("{PREFIX}global-queue-max-application"));
    let number = |setting: Option<Setting<'_>>| setting.map(|setting| limit(settings, &setting)).transpose();
    let defaults =
        Defaults { system: number(system)?, each_leaf: number(each_leaf)?.filter(|most| *most > 0) };
    let all =
        Part { default: Some(1.0), labels: labels.iter().map(|label| (label.as_str(), Some(1.0))).collect() };
    let is_exact = queue(settings, listed, root, defaults, &all)?;
    root.applications.total = [root.applications.total, defaults.system].into_iter().flatten().min();
    if let (false, Some(setting)) = (is_exact, system) {
        let reason =
            "leaves have no part of it of their own where weights or amounts decide what they are guaranteed";
        report.push(settings.not_carried_over(&setting, reason));
    }
    Ok(())
}

/// Reads one queue and the queues below it. `part` is its guaranteed fraction of the cluster. Returns whether all
/// leaves have limits.
fn queue(
    settings: &Settings<'_>,
    listed: &Listed<'_>,
    queue: &mut QueueConfig,
    defaults: Defaults,
    part: &Part<'_>,
) -> Result<bool, ConfigFileError> {
    queue.state = state(settings, listed)?;
    let own = settings.get(&listed.key("maximum-applications"));
    let own = own.map(|setting| limit(settings, &setting)).transpose()?;
    queue.applications.total = own;
    if listed.children.is_empty() {
        let part = defaults.system.zip(part.largest()).map(|(most, part)| whole(f64::from(most) * part));
        let total = own.or(defaults.each_leaf).or(part);
        queue.applications = ApplicationLimits { total, per_user: per_user(queue, total) };
        return Ok(total.is_some() || defaults.system.is_none());
    }
    let mut is_exact = true;
    for (listed, child) in listed.children.iter().zip(&mut queue.children) {
        is_exact &= self::queue(settings, listed, child, defaults, &part.below(child))?;
    }
    Ok(is_exact)
}

/// One user's part of the leaf's limit: the minimum user limit times the user limit factor. `None` if that is the
/// whole limit or more.
fn per_user(queue: &QueueConfig, total: Option<u32>) -> Option<u32> {
    let (total, factor) = (total?, queue.user_limit_factor?);
    let percent = f64::from(queue.user_limit_minimum.millionths());
    let most = f64::from(total) * percent / 1e6 * factor.milli() as f64 / 1e3;
    Some(whole(most)).filter(|most| *most < total)
}

/// Rounds down; saturates at the largest number.
fn whole(number: f64) -> u32 {
    (number + ROUNDING) as u32
}

pub(super) fn limit(settings: &Settings<'_>, setting: &Setting<'_>) -> Result<u32, ConfigFileError> {
    let text = settings.value(setting)?;
    let refused = || settings.refused(setting, format!("`{}` is not a whole number from 0", excerpt(text)));
    text.parse().map_err(|_| refused())
}

fn state(settings: &Settings<'_>, listed: &Listed<'_>) -> Result<QueueState, ConfigFileError> {
    let Some(setting) = settings.get(&listed.key("state")) else { return Ok(QueueState::Running) };
    let text = settings.value(&setting)?;
    match text.to_ascii_uppercase().as_str() {
        "RUNNING" => Ok(QueueState::Running),
        // A stopped queue drains on its own.
        "STOPPED" | "DRAINING" => Ok(QueueState::Stopped),
        _ => Err(settings.refused(&setting, format!("`{}` is neither RUNNING nor STOPPED", excerpt(text)))),
    }
}
