//! The leaf of a new application: the requested leaf, or the leaf that mapping rules choose.

use crate::change::ApplicationSpec;
use crate::config::{FoundQueue, NotPlaced, Queues, Submission};
use crate::event::Refusal;
use crate::facts::{Destination, Facts, NoDestination};

/// Returns the leaf for the application. [`admit`](super::admit) decides whether that leaf takes it.
pub(super) fn destination(facts: &Facts, spec: &ApplicationSpec) -> Result<Destination, Refusal> {
    let path = if facts.queue_mapping.has_rules() { placed(facts, spec)? } else { spec.queue.clone() };
    facts.tree.destination(&path).map_err(|reason| match reason {
        NoDestination::NoLeaf => Refusal::NotALeaf,
        NoDestination::NoFurther => Refusal::TooManyQueues,
    })
}

/// The path that mapping rules give the application.
fn placed(facts: &Facts, spec: &ApplicationSpec) -> Result<String, Refusal> {
    let lookup = Lookup { facts, spec };
    let submission = Submission {
        user: &spec.user,
        groups: &spec.groups,
        application: &spec.name,
        queue: &spec.queue,
        tags: &spec.tags,
    };
    facts.queue_mapping.place(&submission, &lookup).map_err(|refused| match refused {
        NotPlaced::Rejected => Refusal::RejectedByRule,
        NotPlaced::UnknownQueue => Refusal::UnknownQueue,
        NotPlaced::NotALeaf => Refusal::NotALeaf,
    })
}

struct Lookup<'a> {
    facts: &'a Facts,
    spec: &'a ApplicationSpec,
}

impl Queues for Lookup<'_> {
    fn find(&self, path: &str) -> Option<FoundQueue> {
        let facts = self.facts;
        let id = facts.tree.queue_named(path).or_else(|| {
            let (first, below) =
                path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
            let only = facts.tree.only_queue_called(first)?;
            let above = &facts.queue(only).path;
            below.map_or(Some(only), |below| facts.tree.queue_named(&format!("{above}.{below}")))
        })?;
        let queue = facts.queue(id);
        Some(FoundQueue { path: queue.path.to_string(), is_leaf: queue.is_leaf })
    }

    fn made_for(&self, path: &str) -> Option<usize> {
        match self.facts.tree.destination(path) {
            Ok(Destination::New { names, .. }) => Some(names.len()),
            _ => None,
        }
    }

    fn may_submit(&self, path: &str) -> bool {
        let queue = self.facts.tree.destination(path).map(|to| to.lowest());
        queue.is_ok_and(|queue| self.facts.tree.may_submit(queue, &self.spec.user, &self.spec.groups))
    }
}
