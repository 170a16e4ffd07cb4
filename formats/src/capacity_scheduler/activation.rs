//! Limits on active applications and on their masters (`capacity-scheduler.md` 1.2 and 2.9).

use apportion::config::{Percent, QueueConfig};

use super::applications::limit;
use super::known::PREFIX;
use super::property::{Setting, Settings};
use super::tree::Listed;
use super::value;
use crate::{ConfigFileError, NotCarriedOver};

const PARALLEL: &str = "max-parallel-apps";
const MASTERS: &str = "maximum-am-resource-percent";

/// The part of a leaf for masters if the file does not set it.
const MASTER_SHARE_DEFAULT: Percent = Percent::whole(10);

/// Reads the limits of the tree at `root`.
pub(super) fn read(
    settings: &Settings<'_>,
    listed: &Listed<'_>,
    root: &mut QueueConfig,
    report: &mut Vec<NotCarriedOver>,
) -> Result<(), ConfigFileError> {
    queue(settings, listed, root, report)?;
    // YARN counts a user's applications in the whole cluster.
    let of_users = format!("{PREFIX}user.");
    for setting in settings.in_order() {
        let Some(rest) = setting.key.strip_prefix(&of_users) else { continue };
        if rest == PARALLEL {
            root.parallel.per_user = Some(limit(settings, &setting)?);
        } else if let Some(user) = rest.strip_suffix(PARALLEL).and_then(|user| user.strip_suffix('.')) {
            root.parallel.by_user.insert(user.to_owned(), limit(settings, &setting)?);
        }
    }
    Ok(())
}

fn queue(
    settings: &Settings<'_>,
    listed: &Listed<'_>,
    queue: &mut QueueConfig,
    report: &mut Vec<NotCarriedOver>,
) -> Result<(), ConfigFileError> {
    // A queue without its own value has the scheduler's.
    let of_queue =
        |name: &str| settings.get(&listed.key(name)).or_else(|| settings.get(&format!("{PREFIX}{name}")));
    queue.parallel.total = of_queue(PARALLEL).map(|setting| limit(settings, &setting)).transpose()?;
    if listed.children.is_empty() {
        let share = of_queue(MASTERS).map(|setting| master_share(settings, &setting, report)).transpose()?;
        queue.master_share = Some(share.unwrap_or(MASTER_SHARE_DEFAULT));
    } else if let Some(setting) = settings.get(&listed.key(MASTERS)) {
        report.push(settings.not_carried_over(&setting, "a limit for masters applies to leaves only"));
    }
    let mut children = listed.children.iter().zip(&mut queue.children);
    children.try_for_each(|(listed, child)| self::queue(settings, listed, child, report))
}

/// YARN writes 10 percent as 0.1.
fn master_share(
    settings: &Settings<'_>,
    setting: &Setting<'_>,
    report: &mut Vec<NotCarriedOver>,
) -> Result<Percent, ConfigFileError> {
    let text = settings.value(setting)?;
    let part = value::decimal(text, 1_000_000).map_err(|problem| settings.refused(setting, problem))?;
    let part = part.part();
    if part.is_none() {
        report.push(
            settings.not_carried_over(setting, "masters may use at most the whole leaf; 100 % is used"),
        );
    }
    Ok(part.unwrap_or(Percent::ALL))
}
