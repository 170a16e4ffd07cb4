//! The decision: the rule that applies, and the leaf it leads to.

use super::{
    Creation, DEFAULT_QUEUE, Fallback, FoundQueue, MappingAction, NotPlaced, PlaceIn, QueueMapping, Queues,
    RuleFilter, Submission,
};

impl QueueMapping {
    /// The full path of the leaf that the application goes to. The permission to submit there is checked elsewhere,
    /// except by rules with `if_permitted`.
    pub(crate) fn place(
        &self,
        submission: &Submission<'_>,
        queues: &impl Queues,
    ) -> Result<String, NotPlaced> {
        let rules =
            if self.override_requested || submission.requests_default() { &self.rules[..] } else { &[] };
        let mut default = Some(DEFAULT_QUEUE.to_owned());
        for rule in rules.iter().filter(|rule| rule.filter.includes(submission)) {
            let place = match &rule.action {
                MappingAction::Reject => return Err(NotPlaced::Rejected),
                MappingAction::SetDefault(path) => {
                    default = path.resolve(submission, default.as_deref(), queues);
                    continue;
                }
                MappingAction::Place(place) => place,
            };
            if let Some(path) = place.leaf(submission, default.as_deref(), queues) {
                return Ok(path);
            }
            match place.fallback {
                Fallback::Skip => {}
                Fallback::Reject => return Err(NotPlaced::Rejected),
                Fallback::Default => {
                    let leaf = default.and_then(|path| leaf_called(&path, queues));
                    return leaf.ok_or(NotPlaced::Rejected);
                }
            }
        }
        requested(submission, queues)
    }
}

fn leaf_called(path: &str, queues: &impl Queues) -> Option<String> {
    queues.find(path).filter(|queue| queue.is_leaf).map(|queue| queue.path)
}

fn requested(submission: &Submission<'_>, queues: &impl Queues) -> Result<String, NotPlaced> {
    let name = if submission.queue.is_empty() { DEFAULT_QUEUE } else { submission.queue };
    match queues.find(name) {
        None if queues.made_for(name).is_some() => Ok(name.to_owned()),
        None => Err(NotPlaced::UnknownQueue),
        Some(FoundQueue { is_leaf: false, .. }) => Err(NotPlaced::NotALeaf),
        Some(FoundQueue { path, .. }) => Ok(path),
    }
}

impl PlaceIn {
    /// The leaf that the rule leads to; it may have to be made.
    fn leaf(
        &self,
        submission: &Submission<'_>,
        default: Option<&str>,
        queues: &impl Queues,
    ) -> Option<String> {
        let path = self.queue.resolve(submission, default, queues)?;
        let leaf = leaf_called(&path, queues).or_else(|| {
            let missing = queues.made_for(&path)?;
            let may_be_made = match self.create {
                Creation::Nothing => false,
                Creation::Leaf => missing == 1,
                Creation::Path => true,
            };
            may_be_made.then_some(path)
        })?;
        (!self.if_permitted || queues.may_submit(&leaf)).then_some(leaf)
    }
}

impl RuleFilter {
    /// Every application.
    #[must_use]
    pub fn everybody() -> Self {
        Self::default()
    }

    /// Whether the set names no user, group or application, and so includes all.
    pub(super) fn is_everybody(&self) -> bool {
        self.users.is_empty() && self.groups.is_empty() && self.applications.is_empty()
    }

    /// Whether the application is in the set.
    pub(super) fn includes(&self, submission: &Submission<'_>) -> bool {
        if self.is_everybody() {
            return true;
        }
        let Self { users, groups, applications, except } = self;
        let is_named = users.iter().any(|user| user == submission.user)
            || groups.iter().any(|group| submission.groups.contains(group))
            || applications.iter().any(|name| name == submission.application);
        is_named != *except
    }
}

impl<'a> Submission<'a> {
    /// The requested queue; empty for `default`, which YARN clients send if the user names no queue.
    pub(super) fn specified(&self) -> &'a str {
        if self.queue == "default" { "" } else { self.queue }
    }

    fn requests_default(&self) -> bool {
        self.specified().is_empty() || self.queue == DEFAULT_QUEUE
    }
}
