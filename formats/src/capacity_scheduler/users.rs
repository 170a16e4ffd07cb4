//! Limits and weights of users in leaves (`capacity-scheduler.md` 2.8).

use std::collections::BTreeMap;

use apportion::config::{Factor, Percent, QueueConfig};

use super::known::PREFIX;
use super::number;
use super::property::{Setting, Settings};
use super::tree::Listed;
use crate::file::excerpt;
use crate::{ConfigFileError, NotCarriedOver};

const MINIMUM: &str = "minimum-user-limit-percent";

/// Weights of users, with the properties that set them.
type Weights<'p> = BTreeMap<String, (Factor, Setting<'p>)>;

/// Reads the minimum user limits of leaves, and the weights of users at every queue, of the tree at `queue`.
pub(super) fn read<'p>(
    settings: &Settings<'p>,
    listed: &Listed<'p>,
    queue: &mut QueueConfig,
    report: &mut Vec<NotCarriedOver>,
) -> Result<(), ConfigFileError> {
    let of_all = settings.get(&format!("{PREFIX}{MINIMUM}"));
    let minimum = of_all.map_or(Ok(Percent::ALL), |setting| number::percent(settings, &setting, report))?;
    read_below(settings, listed, queue, minimum, &Weights::new(), report)
}

/// The minimum user limit is that of leaves without their own, and `above` are the weights from the queues above.
fn read_below<'p>(
    settings: &Settings<'p>,
    listed: &Listed<'p>,
    queue: &mut QueueConfig,
    minimum: Percent,
    above: &Weights<'p>,
    report: &mut Vec<NotCarriedOver>,
) -> Result<(), ConfigFileError> {
    let mut weights = above.clone();
    let before = listed.key("user-settings.");
    for setting in settings.in_order() {
        let user = setting.key.strip_prefix(&before).and_then(|rest| rest.strip_suffix(".weight"));
        let Some(user) = user else { continue };
        let weight = number::weight(settings, &setting, report)?;
        queue.user_weights.insert(user.to_owned(), weight);
        weights.insert(user.to_owned(), (weight, setting));
    }
    if listed.children.is_empty() {
        let own = settings.get(&listed.key(MINIMUM));
        queue.user_limit_minimum =
            own.map_or(Ok(minimum), |setting| number::percent(settings, &setting, report))?;
        check_weights(settings, listed, queue.user_limit_minimum, &weights)?;
    }
    listed
        .children
        .iter()
        .zip(&mut queue.children)
        .try_for_each(|(listed, child)| read_below(settings, listed, child, minimum, &weights, report))
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
