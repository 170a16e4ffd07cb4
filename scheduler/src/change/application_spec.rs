//! The description of an application.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::facts::Master;
use crate::ids::PartitionId;
use crate::resource::Resources;

/// The description of an application that is submitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplicationSpec {
    /// A name for people; need not be unique.
    pub name: String,
    /// The requested queue: the full path of a leaf. With mapping rules, they interpret it, and it may be empty.
    pub queue: String,
    /// The user to whom it is charged.
    pub user: String,
    /// The groups of the user, the primary one first, for access lists, group limits and mapping rules.
    pub groups: Vec<String>,
    /// The properties that mapping rules may test, by name.
    pub tags: BTreeMap<String, String>,
    /// The highest is served first within the leaf. `None`: the leaf's default.
    pub priority: Option<u32>,
    /// The container that runs it. `None`: it needs nothing from the leaf's share for masters.
    pub master: Option<Master>,
    /// How long it may live. `None`: the queue's default.
    pub lifetime_ms: Option<u64>,
}

impl ApplicationSpec {
    /// An application of the leaf's default priority.
    #[must_use]
    pub fn new(name: impl Into<String>, queue: impl Into<String>, user: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            queue: queue.into(),
            user: user.into(),
            groups: Vec::new(),
            tags: BTreeMap::new(),
            priority: None,
            master: None,
            lifetime_ms: None,
        }
    }

    /// The same application, for a user in these groups, the primary one first.
    #[must_use]
    pub fn in_groups(mut self, groups: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.groups.extend(groups.into_iter().map(Into::into));
        self
    }

    /// The same application with one more tag.
    #[must_use]
    pub fn with_tag(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.tags.insert(name.into(), value.into());
        self
    }

    /// The same application with this priority.
    #[must_use]
    pub fn with_priority(mut self, priority: u32) -> Self {
        self.priority = Some(priority);
        self
    }

    /// The same application, which the engine ends this long after its submission if it still exists.
    #[must_use]
    pub fn with_lifetime_ms(mut self, lifetime_ms: u64) -> Self {
        self.lifetime_ms = Some(lifetime_ms);
        self
    }

    /// The same application, run by a container of this size in this partition. If the leaf has a
    /// [`master_share`](crate::config::QueueConfig::master_share), the application waits until the share has room for
    /// it. The application asks for the container itself as for any other.
    #[must_use]
    pub fn with_master(mut self, size: Resources, partition: PartitionId) -> Self {
        self.master = Some(Master { size, partition });
        self
    }
}
