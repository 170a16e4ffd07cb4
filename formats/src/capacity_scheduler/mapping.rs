//! Mappings of users, groups and applications to queues (`capacity-scheduler.md` 1.6, queue mapping).
//!
//! A mapping to an unknown queue is an error, as in YARN.

use apportion::config::{
    Creation, Fallback, MappingAction, MappingRule, PlaceIn, QueueMapping, QueuePath, RuleFilter,
};
use apportion::nearest::{hint, nearest};

use super::known::PREFIX;
use super::mapping_json;
use super::property::{Setting, Settings};
use super::tree::{Listed, queue_key};
use crate::file::excerpt;
use crate::{ConfigFileError, NotCarriedOver};

const RULES: &str = "yarn.scheduler.queue-placement-rules";
const APPLICATIONS: &str = "yarn.scheduler.queue-placement-rules.app-name";
/// YARN's names for the one class that reads mappings.
const READERS: [&str; 3] = ["user-group", "app-name", "CSMappingPlacementRule"];

/// Reads the mappings as mapping rules.
pub(super) fn read(
    settings: &Settings<'_>,
    root: &Listed<'_>,
    report: &mut Vec<NotCarriedOver>,
) -> Result<QueueMapping, ConfigFileError> {
    let setting = |name: &str| settings.get(&format!("{PREFIX}{name}"));
    let is_json = is_json(settings, report)?;
    let (legacy, json) = (setting("queue-mappings"), setting("mapping-rule-json"));
    let names = settings.get(APPLICATIONS);
    let unused = if is_json { [legacy, names] } else { [json, None] };
    for setting in unused.into_iter().flatten() {
        let format = if is_json { "json" } else { "legacy" };
        let reason = format!("YARN reads mappings in the format `{format}` (mapping-rule-format)");
        report.push(settings.not_carried_over(&setting, reason));
    }
    let mut rules = Vec::new();
    match (is_json, json) {
        (true, Some(setting)) => rules = mapping_json::read(settings, &setting, root)?,
        (true, None) => {}
        (false, _) => {
            rules.extend(list(settings, legacy, root, &legacy_rule)?);
            rules.extend(list(settings, names, root, &name_rule)?);
        }
    }
    let override_requested = settings.switch(&format!("{PREFIX}queue-mappings-override.enable"), false)?;
    let are_read = are_read(settings, report)?;
    if rules.is_empty() || !are_read {
        return Ok(QueueMapping::default());
    }
    Ok(QueueMapping { override_requested, rules })
}

fn is_json(settings: &Settings<'_>, report: &mut Vec<NotCarriedOver>) -> Result<bool, ConfigFileError> {
    let Some(setting) = settings.get(&format!("{PREFIX}mapping-rule-format")) else { return Ok(false) };
    match settings.value(&setting)? {
        "json" => Ok(true),
        "legacy" => Ok(false),
        _ => {
            report.push(settings.not_carried_over(&setting, "neither json nor legacy; YARN uses legacy"));
            Ok(false)
        }
    }
}

/// Whether the class that reads mappings is among YARN's placement rules. Other entries name other classes.
fn are_read(settings: &Settings<'_>, report: &mut Vec<NotCarriedOver>) -> Result<bool, ConfigFileError> {
    let Some(setting) = settings.get(RULES) else { return Ok(true) };
    let rules = settings.value(&setting)?.split(',').map(str::trim).filter(|rule| !rule.is_empty());
    let (readers, others): (Vec<_>, Vec<_>) =
        rules.partition(|rule| READERS.iter().any(|reader| rule.ends_with(reader)));
    if !others.is_empty() {
        let more = if readers.is_empty() { "; without user-group YARN reads no mappings" } else { "" };
        let reason = format!("`{}` cannot be carried over{more}", excerpt(others[0]));
        report.push(settings.not_carried_over(&setting, reason));
    }
    Ok(!readers.is_empty() || others.is_empty())
}

/// The applications and the queue of one mapping.
type Mapping = (RuleFilter, String);

fn list(
    settings: &Settings<'_>,
    setting: Option<Setting<'_>>,
    root: &Listed<'_>,
    mapping_of: &impl Fn(&[&str]) -> Result<Mapping, &'static str>,
) -> Result<Vec<MappingRule>, ConfigFileError> {
    let Some(setting) = setting else { return Ok(Vec::new()) };
    let mut rules = Vec::new();
    for mapping in settings.value(&setting)?.split(',').map(str::trim).filter(|text| !text.is_empty()) {
        let refused = |why: &str| settings.refused(&setting, format!("`{}` {why}", excerpt(mapping)));
        let parts: Vec<_> = mapping.split(':').map(str::trim).collect();
        let (filter, queue) = mapping_of(&parts).map_err(refused)?;
        if parts.iter().any(|part| part.is_empty()) {
            return Err(refused("has an empty name"));
        }
        let target = Target { settings, setting: &setting, root, creates: true };
        let place = PlaceIn { fallback: Fallback::Default, ..target.place(&queue)? };
        rules.push(MappingRule { filter, action: MappingAction::Place(place) });
    }
    Ok(rules)
}

fn legacy_rule(parts: &[&str]) -> Result<Mapping, &'static str> {
    let [kind @ ("u" | "g"), name, queue] = *parts else {
        return Err("does not have the form u:USER:QUEUE or g:GROUP:QUEUE");
    };
    let names = vec![name.to_owned()];
    let filter = match (kind, name) {
        ("u", "%user") => RuleFilter::everybody(),
        ("u", _) => RuleFilter { users: names, ..RuleFilter::default() },
        _ => RuleFilter { groups: names, ..RuleFilter::default() },
    };
    Ok((filter, queue.to_owned()))
}

fn name_rule(parts: &[&str]) -> Result<Mapping, &'static str> {
    let [name, queue] = *parts else { return Err("does not have the form APPLICATION:QUEUE") };
    let filter = match name {
        "%application" => RuleFilter::everybody(),
        _ => RuleFilter { applications: vec![name.to_owned()], ..RuleFilter::default() },
    };
    Ok((filter, queue.to_owned()))
}

/// The queues that a setting's rules may lead to.
pub(super) struct Target<'s, 'p> {
    pub(super) settings: &'s Settings<'p>,
    pub(super) setting: &'s Setting<'p>,
    pub(super) root: &'s Listed<'p>,
    /// Whether the rule may create missing queues, if the queue above has auto-creation.
    pub(super) creates: bool,
}

impl Target<'_, '_> {
    /// The placement with this path.
    pub(super) fn place(&self, path: &str) -> Result<PlaceIn, ConfigFileError> {
        let create = if self.creates { Creation::Path } else { Creation::Nothing };
        Ok(PlaceIn { create, ..PlaceIn::existing(self.path(path)?) })
    }

    /// Parses a path whose fixed names must be listed, unless they may be created.
    pub(super) fn path(&self, written: &str) -> Result<QueuePath, ConfigFileError> {
        let refused = |problem: String| self.settings.refused(self.setting, problem);
        let path: QueuePath =
            written.parse().map_err(|error| refused(format!("queue `{}`: {error}", excerpt(written))))?;
        let (fixed, is_whole) = path.fixed();
        let found = self.root.find(&fixed);
        match found {
            _ if fixed.is_empty() => Ok(path),
            Some(queue) if is_whole && !queue.children.is_empty() => {
                Err(refused(format!("queue `{}` is a parent; a leaf is needed", excerpt(written))))
            }
            Some(_) => Ok(path),
            None if self.is_created(&fixed)? => Ok(path),
            None => {
                let known = self.root.walk();
                let same_name = known.iter().filter(|known| known.name == fixed && known.path != fixed);
                let paths: Vec<_> = same_name.map(|known| known.path.as_str()).collect();
                if paths.len() > 1 {
                    let (name, paths) = (excerpt(written), paths.join(" and "));
                    return Err(refused(format!(
                        "`{name}` is the name of several queues, {paths}; write the whole path"
                    )));
                }
                let below = known.iter().filter(|known| known.path != "root");
                let names = below.flat_map(|known| [known.path.as_str(), known.name]);
                let hint = hint(nearest(&fixed, names).as_deref());
                Err(refused(format!("unknown queue `{}`{hint}", excerpt(written))))
            }
        }
    }

    fn is_created(&self, path: &str) -> Result<bool, ConfigFileError> {
        let above = path.rsplit_once('.').and_then(|(above, _)| self.root.find(above));
        let Some(above) = above.filter(|_| self.creates) else { return Ok(false) };
        let is_on = |name| self.settings.switch(&queue_key(&above.path, name), false);
        Ok(is_on("auto-create-child-queue.enabled")? || is_on("auto-queue-creation-v2.enabled")?)
    }
}
