//! Queues made on demand: YARN's auto-creation v2 and its templates (`capacity-scheduler.md` 1.6).

use apportion::config::{ApplicationOrdering, AutoCreation, QueueConfig};

use super::known::PREFIX;
use super::number;
use super::property::{Setting, Settings};
use super::sibling;
use super::tree::Listed;
use super::types::Types;
use super::value;
use crate::file::excerpt;
use crate::{ConfigFileError, NotCarriedOver};

pub(super) const KEY: &str = "auto-queue-creation-v2";

/// Templates: for all created queues, for leaves, for parents.
const TEMPLATES: [&str; 3] = ["template", "leaf-template", "parent-template"];

/// Reads the settings of the `listed` queues about unlisted queues below them.
pub(super) fn read(
    settings: &Settings<'_>,
    types: &Types,
    listed: &Listed<'_>,
    queue: &mut QueueConfig,
    report: &mut Vec<NotCarriedOver>,
) -> Result<(), ConfigFileError> {
    read_below(settings, types, listed, queue, report)?;
    record_unused(settings, listed, report)
}

/// Reports templates that apply to no listed queue with auto-creation.
fn record_unused(
    settings: &Settings<'_>,
    root: &Listed<'_>,
    report: &mut Vec<NotCarriedOver>,
) -> Result<(), ConfigFileError> {
    let mut makers = Vec::new();
    for queue in root.walk() {
        if settings.switch(&queue.key(&format!("{KEY}.enabled")), false)? {
            makers.push(queue.path.as_str());
        }
    }
    for setting in settings.in_order() {
        let rest = setting.key.strip_prefix(PREFIX).unwrap_or_default();
        let patterns = TEMPLATES.iter().filter_map(|name| rest.split_once(&format!(".{KEY}.{name}.")));
        let Some((pattern, _)) = patterns.min_by_key(|(pattern, _)| pattern.len()) else { continue };
        let is_reported = |entry: &NotCarriedOver| entry.key == setting.key;
        if makers.iter().any(|path| is_for(pattern, path)) || report.iter().any(is_reported) {
            continue;
        }
        let is_deeper = |path: &&str| {
            let depth = path.split('.').count();
            let above: Vec<_> = pattern.split('.').take(depth).collect();
            pattern.split('.').count() > depth && is_for(&above.join("."), path)
        };
        let reason = if makers.iter().any(is_deeper) {
            "it applies below queues made on demand, which use the template of the listed queue"
        } else {
            "no listed queue that it applies to makes queues on demand"
        };
        report.push(settings.not_carried_over(&setting, reason));
    }
    Ok(())
}

/// Reads the settings of one queue and the queues below it.
fn read_below(
    settings: &Settings<'_>,
    types: &Types,
    listed: &Listed<'_>,
    queue: &mut QueueConfig,
    report: &mut Vec<NotCarriedOver>,
) -> Result<(), ConfigFileError> {
    if settings.switch(&listed.key(&format!("{KEY}.enabled")), false)? {
        let creation = creation(settings, types, listed, report)?;
        queue.auto_creation = Some(Box::new(creation));
    }
    listed
        .children
        .iter()
        .zip(&mut queue.children)
        .try_for_each(|(listed, child)| read_below(settings, types, listed, child, report))
}

fn creation(
    settings: &Settings<'_>,
    types: &Types,
    listed: &Listed<'_>,
    report: &mut Vec<NotCarriedOver>,
) -> Result<AutoCreation, ConfigFileError> {
    let key = |name: &str| listed.key(&format!("{KEY}.{name}"));
    let mut creation = AutoCreation::default();
    if let Some(setting) = settings.get(&key("maximum-queue-depth")) {
        creation.depth_max = whole_number(settings, &setting)?;
    }
    if let Some(setting) = settings.get(&key("max-queues")) {
        creation.queues_max = whole_number(settings, &setting)?;
    }
    if let Some(setting) = settings.get(&format!("{PREFIX}{KEY}.queue-expiration-time")) {
        creation.expiry_ms = Some(u64::from(whole_number(settings, &setting)?) * 1_000);
    }
    if !settings.switch(&key("queue-auto-removal.enable"), true)? {
        creation.expiry_ms = None;
    }
    let said = |template| said_by(settings, &listed.path, template);
    // `template` is read for both, so its settings are reported once only.
    apply(settings, types, said("template"), &mut creation.parent, &mut Vec::new())?;
    apply(settings, types, said("template"), &mut creation.leaf, report)?;
    apply(settings, types, said("leaf-template"), &mut creation.leaf, report)?;
    apply(settings, types, said("parent-template"), &mut creation.parent, report)?;
    Ok(creation)
}

/// The settings of a queue's template: names of properties. Those from paths with stars come first.
fn said_by<'s>(settings: &Settings<'s>, path: &str, template: &str) -> Vec<(&'s str, Setting<'s>)> {
    let mut said = Vec::new();
    for setting in settings.in_order() {
        let Some(rest) = setting.key.strip_prefix(PREFIX) else { continue };
        let Some((pattern, name)) = rest.split_once(&format!(".{KEY}.{template}.")) else { continue };
        if is_for(pattern, path) {
            said.push((pattern.matches('*').count(), name, setting));
        }
    }
    said.sort_by_key(|(stars, ..)| std::cmp::Reverse(*stars));
    said.into_iter().map(|(_, name, setting)| (name, setting)).collect()
}

/// Whether a template with this path applies below `path`. In YARN, stars stand for the last names.
fn is_for(pattern: &str, path: &str) -> bool {
    let mut pairs = path.split('.').zip(pattern.split('.'));
    let is_as_deep = path.split('.').count() == pattern.split('.').count();
    is_as_deep && pairs.all(|(name, pattern)| pattern == "*" || pattern == name)
}

/// Applies the settings of a template to the created queues.
fn apply<'s>(
    settings: &Settings<'s>,
    types: &Types,
    said: Vec<(&str, Setting<'s>)>,
    queue: &mut QueueConfig,
    report: &mut Vec<NotCarriedOver>,
) -> Result<(), ConfigFileError> {
    for (name, setting) in said {
        let text = settings.value(&setting)?;
        let refused = |problem: String| settings.refused(&setting, problem);
        let mut note = |reason: &str| report.push(settings.not_carried_over(&setting, reason));
        match name {
            "capacity" => {
                let size = value::size(text, types).map_err(refused)?;
                match sibling::capacity_alone(&size, |reason| note(&reason)) {
                    Some(capacity) => queue.capacity = capacity,
                    None => note("queues that are made share by weights or have amounts, 1w is used"),
                }
            }
            "maximum-capacity" => {
                let size = value::size(text, types).map_err(refused)?;
                let maximum = sibling::maximum(&size, |reason| note(&reason));
                let not_a_weight =
                    || refused("a maximum is a percentage or amounts, not a weight".to_owned());
                queue.maximum = maximum.ok_or_else(not_a_weight)?;
            }
            "user-limit-factor" => {
                queue.user_limit_factor = number::user_limit_factor(settings, &setting, report)?;
            }
            "minimum-user-limit-percent" => {
                queue.user_limit_minimum = number::percent(settings, &setting, report)?;
            }
            "ordering-policy" if text == "fair" => queue.ordering = ApplicationOrdering::Fair,
            "ordering-policy" if text == "fifo" => queue.ordering = ApplicationOrdering::Fifo,
            "maximum-applications" => queue.applications.total = Some(whole_number(settings, &setting)?),
            _ => note("not taken over into queues that are made on demand yet"),
        }
    }
    Ok(())
}

fn whole_number(settings: &Settings<'_>, setting: &Setting<'_>) -> Result<u32, ConfigFileError> {
    let text = settings.value(setting)?;
    let refused = || settings.refused(setting, format!("`{}` is not a whole number from 0", excerpt(text)));
    text.parse().map_err(|_| refused())
}
