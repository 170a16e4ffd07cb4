//! Queues of a workload: the tree that jobs are mapped onto.

use std::collections::{BTreeMap, BTreeSet};

use apportion::config::{Capacity, Factor, QueueConfig};
use apportion::nearest::nearest;
use thiserror::Error;

use crate::workload::Workload;

/// Why a workload does not fit a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// A job names a queue that does not exist.
    #[error("job `{job}` names the queue `{queue}`, which is not a leaf of the queue tree; {}", .nearest.as_ref().map_or_else(|| format!("its leaves are {leaves}"), |nearest| format!("did you mean `{nearest}`?")))]
    UnknownQueue {
        /// The job.
        job: String,
        /// The queue it names.
        queue: String,
        /// The leaf closest to it.
        nearest: Option<String>,
        /// The existing leaves, or the first few of them.
        leaves: String,
    },
    /// The cluster has no nodes.
    #[error("the cluster has no nodes; give a node file")]
    NoNodes,
}

/// One leaf for each queue that jobs name, equal shares, no limit per user.
#[must_use]
pub fn queues_for(workload: &Workload) -> QueueConfig {
    let leaf =
        |name: &str| QueueConfig::leaf(name, Capacity::Weight(Factor::ONE)).with_user_limit_factor(None);
    let mut names: Vec<&str> =
        workload.queues_named().into_iter().map(|path| path.strip_prefix("root.").unwrap_or(path)).collect();
    if names.is_empty() {
        names.push("default");
    }
    QueueConfig::root(names.into_iter().map(leaf))
}

/// The leaves of a tree, found by full path or by unambiguous short name.
pub(super) struct Leaves {
    /// Full path by the name that a job may use; `None` for an ambiguous short name.
    by_name: BTreeMap<String, Option<String>>,
}

impl Leaves {
    pub(super) fn of(root: &QueueConfig) -> Self {
        let mut leaves = Self { by_name: BTreeMap::new() };
        leaves.add(root, &root.name);
        leaves
    }

    fn add(&mut self, queue: &QueueConfig, path: &str) {
        if queue.children.is_empty() {
            self.by_name.insert(path.to_owned(), Some(path.to_owned()));
            self.by_name
                .entry(queue.name.clone())
                .and_modify(|known| *known = None)
                .or_insert_with(|| Some(path.to_owned()));
        }
        for child in &queue.children {
            self.add(child, &format!("{path}.{}", child.name));
        }
    }

    /// The full path of the leaf that a job names.
    pub(super) fn path(&self, job: &str, queue: &str) -> Result<&str, ClusterError> {
        self.by_name.get(queue).and_then(Option::as_deref).ok_or_else(|| ClusterError::UnknownQueue {
            job: job.to_owned(),
            queue: queue.to_owned(),
            nearest: nearest(queue, self.by_name.keys().map(String::as_str)),
            leaves: self.first_few(),
        })
    }

    fn first_few(&self) -> String {
        let paths: BTreeSet<&str> = self.by_name.values().flatten().map(String::as_str).collect();
        let shown: Vec<String> = paths.iter().take(5).map(|path| format!("`{path}`")).collect();
        let rest = if paths.len() > shown.len() { " and others" } else { "" };
        shown.join(", ") + rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_are_found_by_path_and_by_unambiguous_name() {
        let leaf = |name: &str| QueueConfig::leaf(name, Capacity::Weight(Factor::ONE));
        let root = QueueConfig::root([
            leaf("a").with_children([leaf("etl"), leaf("adhoc")]),
            leaf("b").with_children([leaf("etl")]),
        ]);
        let leaves = Leaves::of(&root);
        assert_eq!(leaves.path("j", "root.a.etl"), Ok("root.a.etl"));
        assert_eq!(leaves.path("j", "adhoc"), Ok("root.a.adhoc"));
        let ambiguous = leaves.path("j", "etl").unwrap_err();
        assert!(matches!(ambiguous, ClusterError::UnknownQueue { .. }));
        let misspelt = leaves.path("j1", "adhok").unwrap_err().to_string();
        assert!(misspelt.contains("job `j1` names the queue `adhok`"), "{misspelt}");
        assert!(misspelt.ends_with("did you mean `adhoc`?"), "{misspelt}");
    }
}
