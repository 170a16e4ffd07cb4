//! Placement rules, checked as in YuniKorn: above all, fixed queues must exist (`peers.md` 1.1).

use apportion::config::{
    Creation, MappingAction, MappingRule, PathPart, PlaceIn, QueueMapping, QueuePath, RuleFilter,
};
use apportion::nearest::{hint, nearest};

use super::entry::Entry;
use super::tree::Queue;
use crate::file::excerpt;
use crate::{ConfigFileError, NotCarriedOver};

const KEYS: [&str; 5] = ["name", "create", "filter", "parent", "value"];
const RULES: [&str; 4] = ["provided", "user", "fixed", "tag"];
/// The longest chain of rules and their parents; more than the depth of a tree of queues is a mistake.
const CHAIN_MAX: usize = 32;
/// YuniKorn treats a single name with one of these characters as a regular expression.
const EXPRESSION: [char; 11] = ['^', '$', '*', '+', '?', '(', ')', '[', '{', '}', '|'];

const NO_EXPRESSIONS: &str = "this engine has no regular expressions: the rule is left out";
const NO_PARENT_FILTERS: &str =
    "only the rule itself can have a filter, not that for its parent: it is left out";

const NOTHING_BELOW: &str = "no queues are below that queue, and it creates none: the rule is left out";

/// The rules, followed by one that rejects: YuniKorn refuses an application that no rule places.
pub(super) fn read(
    rules: &Entry<'_>,
    root: &Queue<'_>,
    report: &mut Vec<NotCarriedOver>,
) -> Result<QueueMapping, ConfigFileError> {
    let mut queue_mapping = QueueMapping::default();
    for entry in rules.items()? {
        let chain = chain(&entry)?;
        check_fixed(&chain, root)?;
        queue_mapping.rules.extend(rule(&entry, &chain, root, report)?);
    }
    if !queue_mapping.rules.is_empty() {
        let rejection = MappingRule { filter: RuleFilter::everybody(), action: MappingAction::Reject };
        queue_mapping.rules.push(rejection);
    }
    Ok(queue_mapping)
}

/// Whether any of the rules, or of their parent rules, creates queues.
pub(super) fn creates(rules: &Entry<'_>) -> Result<bool, ConfigFileError> {
    for entry in rules.items()? {
        for rule in chain(&entry)? {
            if may_create(&rule)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The rule and its parent rules, outermost first.
fn chain<'n>(rule: &Entry<'n>) -> Result<Vec<Entry<'n>>, ConfigFileError> {
    let mut chain = vec![rule.clone()];
    loop {
        let last = &chain[chain.len() - 1];
        check_rule(last)?;
        let Some(parent) = last.get("parent") else { break };
        if chain.len() == CHAIN_MAX {
            return Err(parent.error(format!("more than {CHAIN_MAX} rules, each for the parent of the next")));
        }
        chain.push(parent);
    }
    chain.reverse();
    Ok(chain)
}

fn check_rule(rule: &Entry<'_>) -> Result<(), ConfigFileError> {
    rule.only(&KEYS)?;
    let Some(name) = rule.get("name") else { return Err(rule.error("this rule has no name")) };
    let name = name.word(&RULES)?;
    if ["fixed", "tag"].contains(&name) && rule.get("value").is_none() {
        return Err(rule.error(format!("a rule `{name}` needs a value")));
    }
    may_create(rule)?;
    filter(rule).map(|_| ())
}

fn may_create(rule: &Entry<'_>) -> Result<bool, ConfigFileError> {
    rule.get("create").map_or(Ok(false), |create| create.switch())
}

/// The applications that the rule applies to.
fn filter(rule: &Entry<'_>) -> Result<RuleFilter, ConfigFileError> {
    let Some(filter) = rule.get("filter") else { return Ok(RuleFilter::everybody()) };
    filter.only(&["type", "users", "groups"])?;
    let kind = filter.get("type").map_or(Ok("allow"), |kind| kind.word(&["allow", "deny", ""]))?;
    let names = |key| -> Result<Vec<String>, ConfigFileError> {
        let items = filter.get(key).map(|names| names.items()).transpose()?.unwrap_or_default();
        items.iter().map(|name| name.text().map(str::to_owned)).collect()
    };
    let (users, groups) = (names("users")?, names("groups")?);
    // A filter without names lets every application through, even with the type `deny`.
    let except = kind == "deny" && !(users.is_empty() && groups.is_empty());
    Ok(RuleFilter { users, groups, applications: Vec::new(), except })
}

/// The placement rule for a chain. A rule that cannot be carried over is reported.
fn rule(
    entry: &Entry<'_>,
    chain: &[Entry<'_>],
    root: &Queue<'_>,
    report: &mut Vec<NotCarriedOver>,
) -> Result<Option<MappingRule>, ConfigFileError> {
    let mut left_out = |reason| {
        entry.report(reason, report);
        Ok(None)
    };
    let Some((own, above)) = chain.split_last() else { return left_out(NO_PARENT_FILTERS) };
    let own = filter(own)?;
    let is_expression =
        |names: &Vec<String>| matches!(names.as_slice(), [name] if name.contains(&EXPRESSION[..]));
    if is_expression(&own.users) || is_expression(&own.groups) {
        return left_out(NO_EXPRESSIONS);
    }
    for parent in above {
        if filter(parent)? != RuleFilter::everybody() {
            return left_out(NO_PARENT_FILTERS);
        }
    }
    let (create, queue) = (creation(chain)?, path(chain)?);
    let (fixed, is_whole) = queue.fixed();
    let is_empty = root.find(&fixed).is_some_and(|queue| queue.children.is_empty());
    if create == Creation::Nothing && !is_whole && is_empty {
        return left_out(NOTHING_BELOW);
    }
    let place = PlaceIn { create, if_permitted: true, ..PlaceIn::existing(queue) };
    Ok(Some(MappingRule { filter: own, action: MappingAction::Place(place) }))
}

/// Fixed parents that may not be created must exist, so only the others count.
fn creation(chain: &[Entry<'_>]) -> Result<Creation, ConfigFileError> {
    let Some((own, above)) = chain.split_last() else { return Ok(Creation::Nothing) };
    if !may_create(own)? {
        return Ok(Creation::Nothing);
    }
    for parent in above.iter().skip_while(|rule| is_fixed(rule)) {
        if !may_create(parent)? {
            return Ok(Creation::Leaf);
        }
    }
    Ok(Creation::Path)
}

fn path(chain: &[Entry<'_>]) -> Result<QueuePath, ConfigFileError> {
    let mut parts = vec![PathPart::Name("root".to_owned())];
    for rule in chain {
        let value = rule.get("value").map_or(Ok(""), |value| value.text())?.to_ascii_lowercase();
        match rule.get("name").map_or(Ok(""), |name| name.word(&RULES))? {
            "provided" => parts.push(PathPart::Provided),
            "user" => parts.push(PathPart::User),
            "tag" => parts.push(PathPart::Tag(value)),
            _ => {
                let below = value.strip_prefix("root.").unwrap_or(&value);
                let names = below.split('.').filter(|name| *name != "root");
                parts.extend(names.map(|name| PathPart::Name(name.to_owned())));
            }
        }
    }
    Ok(QueuePath::new(parts))
}

fn is_fixed(rule: &Entry<'_>) -> bool {
    rule.get("name").is_some_and(|name| name.word(&["fixed"]).is_ok())
}

/// Checks the queue that the leading fixed rules name. It must exist unless it may be created. It must be a leaf,
/// or a parent if further rules go on below it.
fn check_fixed(chain: &[Entry<'_>], root: &Queue<'_>) -> Result<(), ConfigFileError> {
    let fixed: Vec<_> = chain.iter().take_while(|rule| is_fixed(rule)).collect();
    let (Some(last), Some(rule)) = (fixed.last(), chain.last()) else { return Ok(()) };
    let mut path = String::new();
    for value in fixed.iter().filter_map(|rule| rule.get("value")) {
        let queue = value.text()?.to_ascii_lowercase();
        let is_whole = queue == "root" || queue.starts_with("root.");
        if is_whole && !path.is_empty() {
            return Err(value.error("only the outermost rule may name a queue from the root on"));
        }
        path = match (path.as_str(), is_whole) {
            ("", true) => queue,
            ("", false) => format!("root.{queue}"),
            (above, _) => format!("{above}.{queue}"),
        };
    }
    let at = last.get("value").unwrap_or_else(|| (*last).clone());
    let may_create = may_create(rule)?;
    match root.find(&path) {
        Some(queue) => {
            let is_parent = !queue.children.is_empty()
                || queue.entry.get("parent").is_some_and(|parent| parent.switch().unwrap_or(false));
            if is_parent == (fixed.len() == chain.len()) {
                let (is, wanted) = if is_parent { ("parent", "leaf") } else { ("leaf", "parent") };
                return Err(at.error(format!("queue `{}` is a {is}; a {wanted} is needed", excerpt(&path))));
            }
            Ok(())
        }
        None if may_create => Ok(()),
        None => {
            let hint = hint(nearest(&path, paths(root).iter().map(String::as_str)).as_deref());
            Err(at.error(format!("unknown queue `{}`, and create is false{hint}", excerpt(&path))))
        }
    }
}

fn paths(queue: &Queue<'_>) -> Vec<String> {
    let own = std::iter::once(queue.path().to_owned());
    own.chain(queue.children.iter().flat_map(paths)).collect()
}
