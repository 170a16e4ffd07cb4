//! The table `placement`.

use apportion::config::{
    Creation, Fallback, MappingAction, MappingRule, PlaceIn, QueueMapping, QueuePath, RuleFilter, quoted_text,
};

use super::table::{Entry, Section};
use super::write::{Writer, list};
use crate::ConfigFileError;

/// The keys of a rule.
const KEYS: &[&str] = &[
    "users",
    "groups",
    "applications",
    "except",
    "queue",
    "default_queue",
    "reject",
    "create",
    "otherwise",
    "if_permitted",
];

fn creation_word(create: Creation) -> &'static str {
    match create {
        Creation::Nothing => "nothing",
        Creation::Leaf => "leaf",
        Creation::Path => "path",
    }
}

fn fallback_word(fallback: Fallback) -> &'static str {
    match fallback {
        Fallback::Skip => "skip",
        Fallback::Reject => "reject",
        Fallback::Default => "default",
    }
}

pub(super) fn read(document: &Section<'_>) -> Result<QueueMapping, ConfigFileError> {
    let section = document.section("placement", &["override_requested", "rules"])?;
    let mut queue_mapping = QueueMapping::default();
    if let Some(is_overridden) = section.read("override_requested", |entry| entry.switch())? {
        queue_mapping.override_requested = is_overridden;
    }
    if let Some(rules) = section.get("rules") {
        queue_mapping.rules = rules.tables()?.iter().map(rule).collect::<Result<_, _>>()?;
    }
    Ok(queue_mapping)
}

fn rule(section: &Section<'_>) -> Result<MappingRule, ConfigFileError> {
    section.only(KEYS)?;
    let names = |key| Ok(section.read(key, |entry| entry.texts())?.unwrap_or_default());
    let filter = RuleFilter {
        users: names("users")?,
        groups: names("groups")?,
        applications: names("applications")?,
        except: section.read("except", |entry| entry.switch())?.unwrap_or(false),
    };
    Ok(MappingRule { filter, action: action(section)? })
}

fn action(section: &Section<'_>) -> Result<MappingAction, ConfigFileError> {
    let is_rejected = section.read("reject", |entry| entry.switch())?.unwrap_or(false);
    let default_queue = section.read("default_queue", path)?;
    let queue = section.read("queue", path)?;
    let how = ["create", "otherwise", "if_permitted"].iter().find_map(|key| section.get(key));
    let action = match (queue, default_queue, is_rejected) {
        (Some(queue), None, false) => return Ok(MappingAction::Place(place_in(section, queue)?)),
        (None, Some(queue), false) => MappingAction::SetDefault(queue),
        (None, None, true) => MappingAction::Reject,
        _ => {
            let problem = "a rule needs one of `queue`, `default_queue` and `reject = true`";
            return Err(section.error(problem));
        }
    };
    how.map_or(Ok(action), |entry| Err(entry.error("is valid only with `queue`")))
}

fn place_in(section: &Section<'_>, queue: QueuePath) -> Result<PlaceIn, ConfigFileError> {
    let mut place = PlaceIn::existing(queue);
    let creations = [Creation::Nothing, Creation::Leaf, Creation::Path];
    if let Some(create) = section.read("create", |entry| entry.word(&creations, creation_word))? {
        place.create = create;
    }
    let others = [Fallback::Skip, Fallback::Reject, Fallback::Default];
    if let Some(fallback) = section.read("otherwise", |entry| entry.word(&others, fallback_word))? {
        place.fallback = fallback;
    }
    if let Some(if_permitted) = section.read("if_permitted", |entry| entry.switch())? {
        place.if_permitted = if_permitted;
    }
    Ok(place)
}

fn path(entry: &Entry<'_>) -> Result<QueuePath, ConfigFileError> {
    entry.text()?.parse().map_err(|error: apportion::config::ParsePathError| entry.error(error.to_string()))
}

pub(super) fn write(file: &mut Writer, queue_mapping: &QueueMapping) {
    let QueueMapping { override_requested, rules } = queue_mapping;
    if !override_requested {
        file.table("placement");
        file.line("override_requested", false);
    }
    for MappingRule { filter, action } in rules {
        file.table("[placement.rules]");
        let RuleFilter { users, groups, applications, except } = filter;
        for (key, names) in [("users", users), ("groups", groups), ("applications", applications)] {
            file.line_if(key, (!names.is_empty()).then(|| list(names)));
        }
        file.line_if("except", except.then_some(true));
        match action {
            MappingAction::Reject => file.line("reject", true),
            MappingAction::SetDefault(queue) => file.line("default_queue", quoted_text(&queue.to_string())),
            MappingAction::Place(PlaceIn { queue, create, fallback, if_permitted }) => {
                file.line("queue", quoted_text(&queue.to_string()));
                let create = (*create != Creation::default()).then(|| quoted_text(creation_word(*create)));
                file.line_if("create", create);
                let other = (*fallback != Fallback::default()).then(|| quoted_text(fallback_word(*fallback)));
                file.line_if("otherwise", other);
                file.line_if("if_permitted", if_permitted.then_some(true));
            }
        }
    }
}
