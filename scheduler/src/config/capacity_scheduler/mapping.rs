//! `queue-mappings`: checked, since a mapping to a queue that is not there is a mistake in the file.

use super::known::PREFIX;
use super::property::{Setting, Settings};
use super::tree::{Listed, queue_key};
use crate::config::ConfigFileError;
use crate::config::file::excerpt;
use crate::nearest::{hint, nearest};

/// Checks the form of the mappings, and that each names a listed queue or one that may be created.
pub(super) fn check(settings: &Settings<'_>, root: &Listed<'_>) -> Result<(), ConfigFileError> {
    let Some(setting) = settings.get(&format!("{PREFIX}queue-mappings")) else { return Ok(()) };
    for mapping in settings.value(&setting)?.split(',').map(str::trim).filter(|text| !text.is_empty()) {
        let parts: Vec<_> = mapping.split(':').map(str::trim).collect();
        let ["u" | "g", name, queue] = parts[..] else {
            return Err(refused(
                settings,
                &setting,
                mapping,
                "has not the form u:USER:QUEUE or g:GROUP:QUEUE",
            ));
        };
        if name.is_empty() || queue.is_empty() {
            return Err(refused(settings, &setting, mapping, "has an empty name"));
        }
        check_queue(settings, &setting, root, queue)?;
    }
    Ok(())
}

fn refused(settings: &Settings<'_>, setting: &Setting<'_>, mapping: &str, why: &str) -> ConfigFileError {
    settings.refused(setting, format!("`{}` {why}", excerpt(mapping)))
}

/// A queue's path or short name. From the first `%` on it is made of the user's or group's name.
fn check_queue(
    settings: &Settings<'_>,
    setting: &Setting<'_>,
    root: &Listed<'_>,
    queue: &str,
) -> Result<(), ConfigFileError> {
    let fixed = queue.split('%').next().unwrap_or("").trim_end_matches('.');
    if fixed.is_empty() {
        return Ok(());
    }
    let known = root.walk();
    let is_known = |queue: &str| known.iter().any(|known| known.path == queue || known.name == queue);
    let creates = |path: &str| -> Result<bool, ConfigFileError> {
        let is_on = |name| settings.switch(&queue_key(path, name), false);
        Ok(is_on("auto-create-child-queue.enabled")? || is_on("auto-queue-creation-v2.enabled")?)
    };
    if is_known(fixed) {
        return Ok(());
    }
    let parent = fixed.rsplit_once('.').map(|(parent, _)| parent);
    let above =
        known.iter().find(|known| parent.is_some_and(|above| known.path == above || known.name == above));
    if let Some(above) = above
        && creates(&above.path)?
    {
        return Ok(());
    }
    let paths = known.iter().flat_map(|known| [known.path.as_str(), known.name]);
    let hint = hint(nearest(fixed, paths).as_deref());
    Err(settings.refused(setting, format!("unknown queue `{}`{hint}", excerpt(queue))))
}
