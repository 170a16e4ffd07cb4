//! Limits and weights of users in leaves (`capacity-scheduler.md` 2.8).

use std::collections::BTreeMap;

use apportion::config::{Factor, Percent, QueueConfig};

use super::known::PREFIX;
use super::property::{Setting, Settings};
use super::tree::Listed;
use super::value;
use crate::ConfigFileError;
use crate::file::excerpt;

const MINIMUM: &str = "minimum-user-limit-percent";

/// The leaf's minimum user limit, else the scheduler's, else 100 %.
pub(super) fn minimum(settings: &Settings<'_>, leaf: &Listed<'_>) -> Result<Percent, ConfigFileError> {
    let setting = settings.get(&leaf.key(MINIMUM)).or_else(|| settings.get(&format!("{PREFIX}{MINIMUM}")));
    setting.map_or(Ok(Percent::ALL), |setting| Ok(number(settings, &setting, 100)?.percent()))
}

/// Weights of users, with the properties that set them.
type Weights<'p> = BTreeMap<String, (Factor, Setting<'p>)>;

/// Reads the minimum user limits of leaves, and the weights of users at every queue, of the tree at `queue`.
pub(super) fn read<'p>(
    settings: &Settings<'p>,
    listed: &Listed<'p>,
    queue: &mut QueueConfig,
) -> Result<(), ConfigFileError> {
    read_below(settings, listed, queue, &Weights::new())
}

/// `above` are the weights inherited from the queues above.
fn read_below<'p>(
    settings: &Settings<'p>,
    listed: &Listed<'p>,
    queue: &mut QueueConfig,
    above: &Weights<'p>,
) -> Result<(), ConfigFileError> {
    let mut weights = above.clone();
    let before = listed.key("user-settings.");
    for setting in settings.in_order() {
        let user = setting.key.strip_prefix(&before).and_then(|rest| rest.strip_suffix(".weight"));
        let Some(user) = user else { continue };
        let weight = number(settings, &setting, 1_000_000)?.factor();
        if weight.milli() == 0 {
            return Err(settings.refused(&setting, "must be above 0"));
        }
        queue.user_weights.insert(user.to_owned(), weight);
        weights.insert(user.to_owned(), (weight, setting));
    }
    if listed.children.is_empty() {
        queue.user_limit_minimum = minimum(settings, listed)?;
        check_weights(settings, listed, queue.user_limit_minimum, &weights)?;
    }
    listed
        .children
        .iter()
        .zip(&mut queue.children)
        .try_for_each(|(listed, child)| read_below(settings, listed, child, &weights))
}

/// Refuses weights that YARN's `UserWeights.validateForLeafQueue` refuses: above 100 % / minimum user limit.
fn check_weights(
    settings: &Settings<'_>,
    leaf: &Listed<'_>,
    minimum: Percent,
    weights: &Weights<'_>,
) -> Result<(), ConfigFileError> {
    let all = u64::from(Percent::ALL.millionths()) * Factor::ONE.milli();
    let is_too_much = |weight: Factor| weight.milli() * u64::from(minimum.millionths()) > all;
    let Some((weight, setting)) = weights.values().find(|(weight, _)| is_too_much(*weight)) else {
        return Ok(());
    };
    let most = f64::from(Percent::ALL.millionths()) / f64::from(minimum.millionths());
    let problem = format!(
        "{weight} is above {}, which is 100 % divided by the {MINIMUM} of `{}`; YARN refuses that",
        (most * 1_000.0).floor() / 1_000.0,
        excerpt(&leaf.path),
    );
    Err(settings.refused(setting, problem))
}

fn number(
    settings: &Settings<'_>,
    setting: &Setting<'_>,
    most: u64,
) -> Result<crate::billionths::Billionths, ConfigFileError> {
    value::decimal(settings.value(setting)?, most).map_err(|problem| settings.refused(setting, problem))
}
