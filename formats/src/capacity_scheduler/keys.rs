//! Checks of keys: YARN must know every key of the file.

use std::collections::BTreeMap;

use apportion::nearest::{hint, nearest};

use super::auto_creation::KEY;
use super::known::{self, PREFIX, Use};
use super::property::{Setting, Settings};
use super::tree::{Listed, queue_key};
use crate::file::excerpt;
use crate::{ConfigFileError, NotCarriedOver};

/// Checks all keys, by their position in a file, and adds to `report` those without a meaning for the engine.
pub(super) fn check(
    settings: &Settings<'_>,
    root: &Listed<'_>,
    report: &mut Vec<NotCarriedOver>,
) -> Result<(), ConfigFileError> {
    let queues = root.walk().into_iter().map(|queue| (queue.path.as_str(), queue)).collect();
    let keys = Keys { settings, queues };
    for setting in settings.in_order() {
        let path_and_name = setting.key.strip_prefix(PREFIX).filter(|rest| rest.starts_with("root."));
        let becomes = match path_and_name {
            Some(rest) => keys.of_queue(&setting, rest)?,
            None => of_scheduler(settings, &setting)?,
        };
        if let Use::Reported(reason) = becomes {
            report.push(settings.not_carried_over(&setting, reason));
        }
    }
    Ok(())
}

/// The use of a key that belongs to no queue. Unknown keys are errors only in the file with the queues, and keys of
/// the scheduler in any file.
fn of_scheduler(settings: &Settings<'_>, setting: &Setting<'_>) -> Result<Use, ConfigFileError> {
    let is_foreign = !std::ptr::eq(setting.source, settings.source()) && known::is_foreign(setting.key);
    let becomes = known::of_scheduler(setting.key).or(is_foreign.then_some(known::FOREIGN));
    becomes.ok_or_else(|| {
        let nearest = known::nearest_of_scheduler(setting.key);
        setting.source.unknown_key(setting.key_offset, setting.key, nearest)
    })
}

const UNLISTED: Use =
    Use::Reported("its queue is not listed; queues that are made on demand have no keys of their own here");

struct Keys<'p, 't> {
    settings: &'t Settings<'p>,
    queues: BTreeMap<&'t str, &'t Listed<'p>>,
}

impl Keys<'_, '_> {
    /// The use of a queue's key; `rest` is the text after the prefix.
    fn of_queue(&self, setting: &Setting<'_>, rest: &str) -> Result<Use, ConfigFileError> {
        let splits: Vec<_> =
            rest.match_indices('.').map(|(dot, _)| (&rest[..dot], &rest[dot + 1..])).collect();
        // The longest path first, because a queue may have the name of a key.
        let listed = || splits.iter().rev().filter(|(path, _)| self.queues.contains_key(path));
        if let Some(becomes) = listed().find_map(|(_, name)| known::of_queue(name)) {
            return Ok(becomes);
        }
        let (above, name) = listed().next().copied().unwrap_or(("root", rest));
        match splits.iter().find_map(|(path, name)| Some((*path, known::of_queue(name)?))) {
            Some((path, becomes @ Use::Reported(_))) if path.split('.').any(|name| name == "*") => {
                Ok(becomes)
            }
            // Templates for many queues at once.
            Some((path, Use::Read)) if path.ends_with(".*") && rest.contains(&format!("{path}.{KEY}.")) => {
                Ok(Use::Read)
            }
            Some(_) if self.creates_queues(above)? => Ok(UNLISTED),
            Some((path, _)) => Err(self.unlisted(setting, path)),
            None => {
                let nearest = known::nearest_of_queue(name).map(|name| queue_key(above, &name));
                Err(setting.source.unknown_key(setting.key_offset, setting.key, nearest))
            }
        }
    }

    fn creates_queues(&self, path: &str) -> Result<bool, ConfigFileError> {
        let is_on = |name| self.settings.switch(&queue_key(path, name), false);
        Ok(is_on("auto-create-child-queue.enabled")? || is_on("auto-queue-creation-v2.enabled")?)
    }

    fn unlisted(&self, setting: &Setting<'_>, path: &str) -> ConfigFileError {
        let parent = path.rsplit_once('.').map_or("root", |(parent, _)| parent);
        let list = excerpt(&queue_key(parent, "queues"));
        let hint = hint(nearest(path, self.queues.keys().copied()).as_deref());
        let problem = format!("queue `{}` is not listed in `{list}`{hint}", excerpt(path));
        setting.source.value(setting.key_offset, setting.key, problem)
    }
}
