//! Many changes in one call: each is admitted by itself, and the admitted ones are logged in their order.

use super::admit_ask::admit_ask;
use super::committer::Committer;
use super::prefetch::{ended_by, prefetch_ended, prefetch_new_asks};
use crate::change::{Change, SubmittedAsk};
use crate::event::Refusal;
use crate::facts::EndCause;
use crate::ids::ContainerId;
use crate::log::{EncodedKind, Logged};
use crate::request::CommitSeq;

impl Committer<'_> {
    /// Applies and logs the changes that `is_admitted` admits. They stay in the vector until the log encodes them.
    pub(crate) fn apply_all(
        &mut self,
        mut changes: Vec<Change>,
        mut is_admitted: impl FnMut(&mut Self, &Change) -> bool,
    ) {
        prefetch_ended(&self.state.facts, ended_by(&changes));
        changes.retain(|change| {
            let is_admitted = is_admitted(self, change);
            if is_admitted {
                self.applier().apply(change);
            }
            is_admitted
        });
        self.log.append(CommitSeq(self.state.facts.changes), Logged::Changes(changes));
    }

    /// Does the same for asks of these kinds.
    pub(crate) fn apply_asks(
        &mut self,
        kinds: &[EncodedKind],
        mut asks: Vec<SubmittedAsk>,
        mut refuse: impl FnMut(&mut Self, &Change, Refusal),
    ) {
        prefetch_new_asks(&self.state.facts, &asks);
        asks.retain(|ask| {
            // The handle checked the kind.
            let spec = &kinds[ask.of.kind.index()].spec;
            let admitted = admit_ask(&self.state.facts, ask.ask, ask.of.application, spec, ask.of.count);
            match admitted {
                Ok(()) => self.applier().apply_ask(ask, spec),
                Err(refusal) => refuse(self, &ask.change(spec), refusal),
            }
            admitted.is_ok()
        });
        self.log.append(CommitSeq(self.state.facts.changes), Logged::Asks(asks));
    }

    /// Does the same for containers that have finished.
    pub(crate) fn apply_completions(
        &mut self,
        mut containers: Vec<ContainerId>,
        mut refuse: impl FnMut(&mut Self, &Change, Refusal),
    ) {
        prefetch_ended(&self.state.facts, containers.iter().copied());
        containers.retain(|container| {
            let is_known = self.state.facts.containers.get(*container).is_some();
            if is_known {
                self.applier().apply_completion(*container);
            } else {
                let change = Change::ContainerEnded { container: *container, cause: EndCause::Completed };
                refuse(self, &change, Refusal::UnknownContainer);
            }
            is_known
        });
        self.log.append(CommitSeq(self.state.facts.changes), Logged::Completions(containers));
    }
}
