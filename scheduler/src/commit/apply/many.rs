//! Changes that came in a list of their kind.

use super::Applier;
use crate::change::{AskSpec, SubmittedAsk};
use crate::facts::EndCause;
use crate::ids::ContainerId;

impl Applier<'_> {
    /// Submits an admitted ask of this kind and counts the change.
    pub(crate) fn apply_ask(&mut self, SubmittedAsk { ask, of }: &SubmittedAsk, kind: &AskSpec) {
        self.state.facts.changes += 1;
        self.submit_ask(*ask, of.application, kind, Some(of.kind), of.count, of.allocation_request_id);
        self.activate_if_due();
    }

    /// Ends a container that has finished and counts the change.
    pub(crate) fn apply_completion(&mut self, container: ContainerId) {
        self.state.facts.changes += 1;
        let cause = self.confirmed_cause(container, EndCause::Completed);
        self.end_container(container, cause);
        self.activate_if_due();
    }
}
