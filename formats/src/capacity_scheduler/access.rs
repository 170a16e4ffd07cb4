//! Access lists of queues (`capacity-scheduler.md` 1.6, ACLs).

use apportion::config::{AccessList, QueueConfig};

use super::property::Settings;
use super::tree::Listed;
use crate::{ConfigFileError, NotCarriedOver};

const SWITCH: &str = "yarn.acl.enable";
const UNCHECKED: &str = "YARN checks access lists only with yarn.acl.enable = true";

/// Reads the lists of the tree at `root`. In YARN a root without lists has `*`.
pub(super) fn read(
    settings: &Settings<'_>,
    listed: &Listed<'_>,
    root: &mut QueueConfig,
    report: &mut Vec<NotCarriedOver>,
) -> Result<(), ConfigFileError> {
    let is_checked = settings.switch(SWITCH, false)?;
    if queue(settings, listed, root, is_checked, report)? && is_checked {
        root.submitters.get_or_insert(AccessList::Everybody);
        root.administrators.get_or_insert(AccessList::Everybody);
    }
    Ok(())
}

/// Reads the lists of one queue and the queues below it; returns whether there are any.
fn queue(
    settings: &Settings<'_>,
    listed: &Listed<'_>,
    config: &mut QueueConfig,
    is_checked: bool,
    report: &mut Vec<NotCarriedOver>,
) -> Result<bool, ConfigFileError> {
    let mut is_any = false;
    let lists = [
        ("acl_submit_applications", &mut config.submitters),
        ("acl_administer_queue", &mut config.administrators),
    ];
    for (name, list) in lists {
        let Some(setting) = settings.get(&listed.key(name)) else { continue };
        is_any = true;
        if is_checked {
            // Text after a leading space names groups.
            let indent = if setting.is_indented { " " } else { "" };
            let text = format!("{indent}{}", settings.value(&setting)?);
            let parsed = text.parse::<AccessList>();
            *list = Some(parsed.map_err(|error| settings.refused(&setting, error.to_string()))?);
        } else {
            report.push(settings.not_carried_over(&setting, UNCHECKED));
        }
    }
    for (listed, child) in listed.children.iter().zip(&mut config.children) {
        is_any |= queue(settings, listed, child, is_checked, report)?;
    }
    Ok(is_any)
}
