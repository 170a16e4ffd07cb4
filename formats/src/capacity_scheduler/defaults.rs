//! Default and maximum priorities and lifetimes of applications (`capacity-scheduler.md` 1.2).

use apportion::config::{Lifetimes, QueueConfig};

use super::property::Settings;
use super::scheduler::whole;
use super::tree::Listed;
use crate::file::excerpt;
use crate::{ConfigFileError, NotCarriedOver};

const PRIORITY: &str = "default-application-priority";
/// In `yarn-site.xml`. YARN's default is 0, but the file may be absent, so only a given value is carried over.
const MAXIMUM_PRIORITY: &str = "yarn.cluster.max-application-priority";

/// The highest priority in the whole cluster, if the files set it.
pub(super) fn maximum_priority(settings: &Settings<'_>) -> Result<Option<u32>, ConfigFileError> {
    settings.get(MAXIMUM_PRIORITY).map(|setting| whole(settings, &setting, 0)).transpose()
}

/// Reads the defaults of the tree at `queue`.
pub(super) fn read(
    settings: &Settings<'_>,
    listed: &Listed<'_>,
    queue: &mut QueueConfig,
    report: &mut Vec<NotCarriedOver>,
) -> Result<(), ConfigFileError> {
    if let Some(setting) = settings.get(&listed.key(PRIORITY)) {
        if listed.children.is_empty() {
            queue.default_application_priority = whole(settings, &setting, 0)?;
        } else {
            report.push(settings.not_carried_over(&setting, "applications are in leaves only"));
        }
    }
    queue.lifetimes = Lifetimes {
        default_ms: lifetime_ms(settings, &listed.key("default-application-lifetime"))?,
        maximum_ms: lifetime_ms(settings, &listed.key("maximum-application-lifetime"))?,
    };
    let mut children = listed.children.iter().zip(&mut queue.children);
    children.try_for_each(|(listed, child)| read(settings, listed, child, report))
}

/// YARN counts seconds, and 0 or less means no lifetime.
fn lifetime_ms(settings: &Settings<'_>, key: &str) -> Result<Option<u64>, ConfigFileError> {
    let Some(setting) = settings.get(key) else { return Ok(None) };
    let text = settings.value(&setting)?;
    let refused =
        |_| settings.refused(&setting, format!("`{}` is not a whole number of seconds", excerpt(text)));
    let seconds: i64 = text.parse().map_err(refused)?;
    Ok(u64::try_from(seconds)
        .ok()
        .filter(|seconds| *seconds > 0)
        .map(|seconds| seconds.saturating_mul(1_000)))
}
