//! Refused calls: tell a caller that a call came too late or named an unknown object.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::handle::Handle;
use crate::change::Change;
use crate::commit::Committer;
use crate::event::{Event, EventKind, Refusal, Refused, Subject};
use crate::ids::GangId;
use crate::request::CommitSeq;
use crate::sync::Mutex;

/// The most refusals in a list; the oldest are dropped.
const KEPT_MAX: usize = 4_096;

/// The refusals of one handle and its clones. The committer adds to them, the caller takes them.
#[derive(Debug, Default)]
pub(crate) struct RefusalList(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    newest: VecDeque<Refused>,
    missed: u64,
}

/// Refused calls, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusals {
    /// The newest refusals.
    pub list: Vec<Refused>,
    /// The number of older refusals that were dropped because the list was full.
    pub missed: u64,
}

impl RefusalList {
    pub(super) fn add(&self, refused: Refused) {
        let mut kept = self.0.lock();
        if kept.newest.len() == KEPT_MAX {
            kept.newest.pop_front();
            kept.missed += 1;
        }
        kept.newest.push_back(refused);
    }

    fn take(&self) -> Refusals {
        let Kept { newest, missed } = std::mem::take(&mut *self.0.lock());
        Refusals { list: newest.into(), missed }
    }
}

/// # Refusals
///
/// A refusal names the identifier of its call, which may be unknown by the time the caller reads it.
impl Handle {
    /// Takes the refusals of calls without a ticket, made through this handle and its clones. The committer adds a
    /// refusal when it processes the call; a successful call adds nothing.
    ///
    /// Each handle of [`Engine::handle`](crate::Engine::handle) has a list of its own. The list keeps the newest 4,096
    /// refusals and counts older ones as [missed](Refusals::missed).
    #[must_use]
    pub fn take_refusals(&self) -> Refusals {
        self.refusals.take()
    }
}

/// Checks a caller's change. Reports a refusal to the caller and takes back the change's identifiers.
pub(super) fn admit_or_refuse(committer: &mut Committer<'_>, change: &Change) -> Result<(), Refusal> {
    if let Change::Heartbeats { nodes } = change {
        let mut is_any_known = nodes.is_empty();
        for node in nodes {
            let is_known = committer.state.facts.nodes.get(*node).is_some();
            is_any_known |= is_known;
            if !is_known {
                add(committer, Some(Subject::Node(*node)), Refusal::UnknownNode);
            }
        }
        if !is_any_known {
            return Err(Refusal::UnknownNode);
        }
    }
    committer.admit(change).inspect_err(|refusal| refuse(committer, change, *refusal))
}

pub(super) fn refuse(committer: &mut Committer<'_>, change: &Change, refusal: Refusal) {
    add(committer, subject_of(change), refusal);
    // The owner of the identifier keeps it, and gets no event about another caller's mistake.
    if refusal == Refusal::IdentifierTaken {
        return;
    }
    let effects = &mut *committer.effects;
    let (application, kind) = match change {
        Change::AskSubmitted { ask, application, .. }
        | Change::TaskGroupAskSubmitted { ask, application, .. } => {
            effects.vacated_asks.push(*ask);
            (*application, EventKind::AskRefused { ask: *ask, refusal })
        }
        Change::ApplicationSubmitted { application, .. } => {
            effects.vacated_applications.push(*application);
            (*application, EventKind::ApplicationRefused { refusal })
        }
        Change::ContainerRecovered { ask, .. } => {
            effects.vacated_asks.push(*ask);
            return;
        }
        Change::NodeAdded { node, spec, .. } => {
            effects.vacated_nodes.push((*node, spec.name.as_str().into()));
            return;
        }
        Change::GangSubmitted { asks, spec } => {
            effects.vacated_asks.extend(asks);
            let Some(first) = asks.first() else { return };
            (spec.application, EventKind::GangRefused { gang: GangId::with_first(*first), refusal })
        }
        _ => return,
    };
    effects.events.push(Event { seq: CommitSeq(committer.state.facts.changes), application, kind });
}

#[cold]
fn add(committer: &mut Committer<'_>, subject: Option<Subject>, refusal: Refusal) {
    let seq = CommitSeq(committer.state.facts.changes);
    committer.stats.count_refused(refusal);
    committer.effects.refused.extend(subject.map(|subject| Refused { seq, subject, refusal }));
}

/// The object that a call was about; `None` if the call has a ticket, which holds the refusal.
fn subject_of(change: &Change) -> Option<Subject> {
    match change {
        Change::NodeAdded { node, .. }
        | Change::NodeUpdated { node, .. }
        | Change::NodePartitionSet { node, .. }
        | Change::NodeStateSet { node, .. } => Some(Subject::Node(*node)),
        Change::ApplicationSubmitted { application, .. }
        | Change::ApplicationEnded { application, .. }
        | Change::ApplicationPrioritySet { application, .. }
        | Change::DisruptionBudgetsSet { application, .. }
        | Change::BlacklistUpdated { application, .. } => Some(Subject::Application(*application)),
        Change::AskSubmitted { ask, .. } | Change::AskCancelled { ask, .. } => Some(Subject::Ask(*ask)),
        Change::ContainerEnded { container, .. }
        | Change::PreemptionCostSet { container, .. }
        | Change::PreemptionConfirmed { container } => Some(Subject::Container(*container)),
        Change::GangEnded { gang, .. } => Some(Subject::Gang(*gang)),
        _ => None,
    }
}
