//! What users of leaves may have beside each other (`capacity-scheduler.md` 2.8).

use super::known::PREFIX;
use super::property::{Setting, Settings};
use super::tree::Listed;
use super::value;
use crate::config::{ConfigFileError, Percent, QueueConfig};

const MINIMUM: &str = "minimum-user-limit-percent";

/// The leaf's minimum user limit, or the scheduler's; all of the leaf if neither is given.
pub(super) fn minimum(settings: &Settings<'_>, leaf: &Listed<'_>) -> Result<Percent, ConfigFileError> {
    let setting = settings.get(&leaf.key(MINIMUM)).or_else(|| settings.get(&format!("{PREFIX}{MINIMUM}")));
    setting.map_or(Ok(Percent::ALL), |setting| Ok(number(settings, &setting, 100)?.percent()))
}

/// Reads the minimum user limits of leaves, and the weights of users at every queue, of the tree at `queue`.
pub(super) fn read(
    settings: &Settings<'_>,
    listed: &Listed<'_>,
    queue: &mut QueueConfig,
) -> Result<(), ConfigFileError> {
    let before = listed.key("user-settings.");
    for setting in settings.in_order() {
        let user = setting.key.strip_prefix(&before).and_then(|rest| rest.strip_suffix(".weight"));
        let Some(user) = user else { continue };
        let weight = number(settings, &setting, 1_000_000)?.factor();
        if weight.milli() == 0 {
            return Err(settings.refused(&setting, "must be above 0"));
        }
        queue.user_weights.insert(user.to_owned(), weight);
    }
    if listed.children.is_empty() {
        queue.user_limit_minimum = minimum(settings, listed)?;
    }
    listed
        .children
        .iter()
        .zip(&mut queue.children)
        .try_for_each(|(listed, child)| read(settings, listed, child))
}

fn number(
    settings: &Settings<'_>,
    setting: &Setting<'_>,
    most: u64,
) -> Result<crate::config::share::Billionths, ConfigFileError> {
    value::decimal(settings.value(setting)?, most).map_err(|problem| settings.refused(setting, problem))
}
