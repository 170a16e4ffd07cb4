//! Mapping rules: which queue an application goes to.
//!
//! One kind of rule covers YARN's mappings and JSON rules and YuniKorn's placement rules. Rules are tried in order.
//! The first rule that applies to the application and finds a leaf decides. If no rule does, the application goes to
//! the queue it requests.

mod decide;
mod path;
mod validate;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use self::path::{ParsePathError, PathPart, QueuePath};
pub(crate) use self::validate::{check, list_paths};

/// The queue of an application that requests none, unless a rule decides otherwise.
pub(crate) const DEFAULT_QUEUE: &str = "root.default";

/// The mapping rules of an engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueMapping {
    /// Whether rules also apply to an application that requests a queue other than the default one.
    pub override_requested: bool,
    /// The rules in order. Without rules, each application goes to the queue it requests, by full path.
    pub rules: Vec<MappingRule>,
}

impl QueueMapping {
    /// Whether it may send an application elsewhere than requested.
    pub(crate) fn has_rules(&self) -> bool {
        !self.rules.is_empty()
    }
}

impl Default for QueueMapping {
    fn default() -> Self {
        Self { override_requested: true, rules: Vec::new() }
    }
}

/// One mapping rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MappingRule {
    /// The applications that the rule applies to.
    #[serde(alias = "whose")]
    pub filter: RuleFilter,
    /// The effect on those applications.
    pub action: MappingAction,
}

/// A set of applications, by submitter and name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleFilter {
    /// Applications of these users,
    pub users: Vec<String>,
    /// or of members of these groups,
    pub groups: Vec<String>,
    /// or with these names. All three empty: every application.
    pub applications: Vec<String>,
    /// Inverts the set: every application except those.
    pub except: bool,
}

/// The effect of a rule on an application that it applies to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MappingAction {
    /// Place the application in a queue.
    Place(PlaceIn),
    /// Make this the default queue for the rules that follow, and go on with the next rule.
    SetDefault(QueuePath),
    /// Refuse the application.
    Reject,
}

/// The queue in which a rule places applications.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceIn {
    /// The path of the queue.
    pub queue: QueuePath,
    /// The queues that may be created if the queue does not exist.
    pub create: Creation,
    /// The fallback if the path leads to no leaf and no leaf can be created.
    #[serde(alias = "otherwise")]
    pub fallback: Fallback,
    /// Whether a queue to which the user may not submit counts as missing, as in YuniKorn. If false, the
    /// application is refused there.
    pub if_permitted: bool,
}

impl PlaceIn {
    /// Places in an existing leaf; without it the next rule is tried.
    #[must_use]
    pub fn existing(queue: QueuePath) -> Self {
        Self { queue, create: Creation::Nothing, fallback: Fallback::Skip, if_permitted: false }
    }
}

/// The queues that a rule may create.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Creation {
    /// No queue: the leaf must exist.
    #[default]
    Nothing,
    /// The leaf; the queue above must exist.
    Leaf,
    /// The leaf and missing queues above it.
    Path,
}

/// The fallback for an application whose rule leads to no leaf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Fallback {
    /// Try the next rule.
    #[default]
    Skip,
    /// Refuse the application.
    Reject,
    /// Use the default queue; refuse the application if that is not a leaf.
    Default,
}

/// An application as the rules see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Submission<'a> {
    /// The submitting user.
    pub(crate) user: &'a str,
    /// The user's groups, the primary one first.
    pub(crate) groups: &'a [String],
    /// The name of the application.
    pub(crate) application: &'a str,
    /// The requested queue; empty for none.
    pub(crate) queue: &'a str,
    /// The tags of the application.
    pub(crate) tags: &'a std::collections::BTreeMap<String, String>,
}

/// The queues as the rules see them.
pub(crate) trait Queues {
    /// The queue of a path. A path that does not start at the root starts at the only queue with its first name.
    fn find(&self, path: &str) -> Option<FoundQueue>;

    /// The number of queues that would be made for an application that names this full path, the leaf included.
    /// `None` if the queue exists or cannot be made.
    fn made_for(&self, path: &str) -> Option<usize>;

    /// Whether the application's user may submit to the queue with this full path.
    fn may_submit(&self, path: &str) -> bool;
}

/// An existing queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundQueue {
    /// The full path of the queue.
    pub(crate) path: String,
    /// Whether the queue takes applications.
    pub(crate) is_leaf: bool,
}

/// Why an application got no queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotPlaced {
    /// A rule rejects it, or sends it to a default queue that is not a leaf.
    Rejected,
    /// No rule placed it, and the queue it requests does not exist.
    UnknownQueue,
    /// No rule placed it, and the queue it requests is a parent.
    NotALeaf,
}
