//! Placement rules: to which queue an application goes.
//!
//! One kind of rule for what YARN's mappings and JSON rules (`capacity-scheduler.md` 1.6, queue mapping) and
//! YuniKorn's placement rules (`peers.md` 1.1) say. Rules are tried in their order. The first that applies to the
//! application and finds a leaf decides; where none does, the application goes to the queue it requests.

mod decide;
mod path;
mod validate;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use self::path::{ParsePathError, PathPart, QueuePath};
pub(crate) use self::validate::check;

/// The queue of an application that requests none, unless a rule says otherwise.
pub(crate) const DEFAULT_QUEUE: &str = "root.default";

/// Where applications go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueMapping {
    /// Whether the rules are asked for an application that requests a queue other than the default one.
    pub override_requested: bool,
    /// The rules, the first one first. None: each application goes to the queue it requests, by full path.
    pub rules: Vec<MappingRule>,
}

impl Default for QueueMapping {
    fn default() -> Self {
        Self { override_requested: true, rules: Vec::new() }
    }
}

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MappingRule {
    /// Whose applications it is about.
    pub whose: Whose,
    /// The effect on them.
    pub action: MappingAction,
}

/// Applications, by submitter and name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Whose {
    /// Of these users,
    pub users: Vec<String>,
    /// or of members of these groups,
    pub groups: Vec<String>,
    /// or with these names. All three empty: all applications.
    pub applications: Vec<String>,
    /// All but those.
    pub except: bool,
}

/// The effect of a rule on a matching application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MappingAction {
    /// It goes to a queue.
    Place(PlaceIn),
    /// From here on this is the default queue; the next rule goes on.
    SetDefault(QueuePath),
    /// It is refused.
    Reject,
}

/// The queue that a rule places in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceIn {
    /// Which queue.
    pub queue: QueuePath,
    /// The queues that may be created if it is not there.
    pub create: Creation,
    /// The fallback if it neither is there nor can be created, or is no leaf.
    pub otherwise: Otherwise,
    /// Whether a queue to which the user may not submit counts as one that is not there, as YuniKorn has it. Else the
    /// application is refused.
    pub if_permitted: bool,
}

impl PlaceIn {
    /// An existing leaf; without it the next rule goes on.
    #[must_use]
    pub fn existing(queue: QueuePath) -> Self {
        Self { queue, create: Creation::Nothing, otherwise: Otherwise::Skip, if_permitted: false }
    }
}

/// The queues that a rule may create.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Creation {
    /// Nothing: the queue is there.
    #[default]
    Nothing,
    /// The leaf; the queue above is there.
    Leaf,
    /// The leaf and missing queues above it.
    Path,
}

/// The fate of an application whose rule leads to no leaf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Otherwise {
    /// The next rule goes on.
    #[default]
    Skip,
    /// It is refused.
    Reject,
    /// It goes to the default queue, and is refused if that is no leaf.
    Default,
}

/// An application as rules see it.
#[derive(Clone, Copy, Debug)]
pub struct Submission<'a> {
    /// Who submits it.
    pub user: &'a str,
    /// The groups the user is in, the primary one first.
    pub groups: &'a [String],
    /// Its name.
    pub application: &'a str,
    /// The queue it requests; empty for none.
    pub queue: &'a str,
    /// Its tags.
    pub tags: &'a std::collections::BTreeMap<String, String>,
}

/// The queues that rules lead to.
pub trait Queues {
    /// The queue of a path. A path that does not start at the root starts at the only queue with its first name.
    fn find(&self, path: &str) -> Option<FoundQueue>;

    /// How many queues would be made for an application that names this full path, the leaf included; `None` if it is
    /// there, or none would be made.
    fn made_for(&self, path: &str) -> Option<usize>;

    /// Whether the application's user may submit to the queue with this full path.
    fn may_submit(&self, path: &str) -> bool;
}

/// A queue that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundQueue {
    /// Its full path.
    pub path: String,
    /// Whether it takes applications.
    pub is_leaf: bool,
}

/// Why an application has no queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NotPlaced {
    /// A rule says that it is refused, or that it goes to a default queue that takes none.
    #[error("a placement rule rejects the application")]
    Rejected,
    /// No rule was about it, and the queue it requests is not there.
    #[error("there is no such queue")]
    UnknownQueue,
    /// No rule was about it, and the queue it requests has queues below it.
    #[error("the queue takes no applications")]
    NotALeaf,
}
