//! Why a configuration is refused.

use serde::Serialize;
use thiserror::Error;

use crate::resource::ResourceError;

/// Why the engine refused a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ConfigError {
    /// A mistake in one queue.
    #[error("queue `{path}`{}: {problem}", in_template(*.template))]
    Queue {
        /// The queue's full path.
        path: String,
        /// The template for queues that are made below it, `leaf` or `parent`, if the mistake is there.
        #[serde(skip_serializing_if = "Option::is_none")]
        template: Option<&'static str>,
        /// The mistake, and a correct form.
        problem: String,
    },
    /// A queue that does not exist.
    #[error("unknown queue `{path}`{}", crate::nearest::hint(.nearest.as_deref()))]
    UnknownQueue {
        /// The path given.
        path: String,
        /// The known path closest to it.
        nearest: Option<String>,
    },
    /// A mistake in one mapping rule.
    #[error("mapping rule {rule}: {problem}")]
    QueueMapping {
        /// The number of the rule, counted from 1.
        rule: usize,
        /// The mistake, and a correct form.
        problem: String,
    },
    /// A value outside its range.
    #[error("{key}: {problem}")]
    Value {
        /// The whole key, with the tables around it, such as `engine.preemption.interval_ms`.
        key: &'static str,
        /// The mistake, and a correct form.
        problem: String,
    },
    /// A mistake in a resource type or amount.
    #[error(transparent)]
    Resource(#[from] ResourceError),
}

impl ConfigError {
    /// A mistake in a queue itself.
    #[must_use]
    pub fn queue(path: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Queue { path: path.into(), template: None, problem: problem.into() }
    }

    /// The mistake, found in a template of the queue.
    pub(super) fn in_template(self, name: &'static str) -> Self {
        match self {
            Self::Queue { path, problem, .. } => Self::Queue { path, template: Some(name), problem },
            other => other,
        }
    }
}

fn in_template(template: Option<&str>) -> String {
    template.map_or_else(String::new, |name| format!(" (auto_creation.{name})"))
}
