//! Placement rules: checked as YuniKorn checks them, above all that fixed queues exist.

use super::entry::Entry;
use super::tree::Queue;
use crate::config::file::excerpt;
use crate::config::{ConfigFileError, NotCarriedOver};
use crate::nearest::{hint, nearest};

const KEYS: [&str; 5] = ["name", "create", "filter", "parent", "value"];
const RULES: [&str; 4] = ["provided", "user", "fixed", "tag"];
/// Rules have rules for parents; more than a tree of queues can be deep is a mistake.
const CHAIN_MAX: usize = 32;

/// Checks the rules and reports them: an engine is told each application's queue.
pub(super) fn check(
    rules: &Entry<'_>,
    root: &Queue<'_>,
    report: &mut Vec<NotCarriedOver>,
) -> Result<(), ConfigFileError> {
    for rule in rules.items()? {
        let chain = chain(&rule)?;
        check_fixed(&chain, root)?;
    }
    rules.report(
        "placement rules are not supported by this engine yet; applications name their queue",
        report,
    );
    Ok(())
}

/// The rule behind the rules for its parents, outermost first.
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
    if let Some(create) = rule.get("create") {
        create.switch()?;
    }
    if let Some(filter) = rule.get("filter") {
        filter.only(&["type", "users", "groups"])?;
        if let Some(kind) = filter.get("type") {
            kind.word(&["allow", "deny", ""])?;
        }
        for names in ["users", "groups"].iter().filter_map(|key| filter.get(key)) {
            names.items()?.iter().try_for_each(|name| name.text().map(|_| ()))?;
        }
    }
    Ok(())
}

/// The queue that the leading fixed rules name has to exist unless it may be created, and be a leaf unless
/// other rules go on below it.
fn check_fixed(chain: &[Entry<'_>], root: &Queue<'_>) -> Result<(), ConfigFileError> {
    let is_fixed = |rule: &&Entry<'_>| rule.get("name").is_some_and(|name| name.word(&["fixed"]).is_ok());
    let fixed: Vec<_> = chain.iter().take_while(is_fixed).collect();
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
    let may_create = rule.get("create").map_or(Ok(false), |create| create.switch())?;
    match root.find(&path) {
        Some(queue) => {
            let is_parent = !queue.children.is_empty()
                || queue.entry.get("parent").is_some_and(|parent| parent.switch().unwrap_or(false));
            if is_parent == (fixed.len() == chain.len()) {
                let (is, wanted) = if is_parent { ("parent", "leaf") } else { ("leaf", "parent") };
                return Err(at.error(format!("queue `{}` is a {is}, a {wanted} is needed", excerpt(&path))));
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
