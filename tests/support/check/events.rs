//! The events that applications got, change by change.

use std::collections::BTreeMap;

use apportion::event::{Event, EventKind};
use apportion::{Change, CommitSeq};

use super::sent::Sent;
use crate::support::oracle::{Effect, Hints, Oracle};

/// The events of one step that have not been accounted for.
#[derive(Debug)]
pub(super) struct Told {
    by_change: BTreeMap<CommitSeq, Vec<Event>>,
    refusals: Vec<Event>,
}

impl Told {
    pub(super) fn new(events: Vec<Event>) -> Self {
        let mut told = Self { by_change: BTreeMap::new(), refusals: Vec::new() };
        for event in events {
            let is_refusal =
                matches!(event.kind, EventKind::AskRefused { .. } | EventKind::ApplicationRefused { .. });
            if is_refusal {
                told.refusals.push(event);
            } else {
                told.by_change.entry(event.seq).or_default().push(event);
            }
        }
        told
    }

    /// The identifiers that the engine chose for this change.
    pub(super) fn hints(&self, seq: CommitSeq) -> Hints {
        let mut hints = Hints::default();
        for event in self.by_change.get(&seq).into_iter().flatten() {
            match event.kind {
                EventKind::Allocated { container, .. } | EventKind::ContainerRecovered { container, .. } => {
                    hints.containers.push(container);
                }
                EventKind::Unreserved { ask, node } => hints.dropped.push((ask, node)),
                _ => {}
            }
        }
        hints
    }

    /// False if this is an application for which no refusal event came: the engine reports every refusal.
    pub(super) fn may_be_refused(&self, sent: &Sent) -> bool {
        let Sent::Change(Change::ApplicationSubmitted { application, .. }) = sent else { return true };
        let is_about = |event: &Event| {
            event.application == *application && matches!(event.kind, EventKind::ApplicationRefused { .. })
        };
        self.refusals.iter().any(is_about)
    }

    /// Asserts that the events of a change are exactly these effects.
    pub(super) fn expect(&mut self, seq: CommitSeq, effects: &[Effect], change: &Change) {
        let events = self.by_change.remove(&seq).unwrap_or_default();
        let told = events.iter().map(|event| format!("{}: {:?}", event.application, event.kind));
        let wanted = effects.iter().map(|(application, kind)| format!("{application}: {kind:?}"));
        let (mut told, mut wanted): (Vec<_>, Vec<_>) = (told.collect(), wanted.collect());
        told.sort();
        wanted.sort();
        assert_eq!(
            told, wanted,
            "events of change {seq:?} {change:?}: left is the engine's, right is expected"
        );
    }

    /// Asserts that every other event is a refusal, that the refused ask or application does not exist, and that no
    /// refusal is repeated.
    pub(super) fn expect_nothing_else(&self, oracle: &Oracle) {
        assert!(self.by_change.is_empty(), "events of changes not in the log: {:?}", self.by_change);
        for refusal in &self.refusals {
            let application = refusal.application;
            match refusal.kind {
                EventKind::AskRefused { ask, .. } => {
                    assert!(!oracle.asks.contains_key(&ask), "{ask} was refused, but it exists");
                }
                _ => assert!(!oracle.applications.contains_key(&application), "{application} was refused"),
            }
            let same = |other: &&Event| (other.application, other.kind) == (application, refusal.kind);
            let count = self.refusals.iter().filter(same).count();
            assert_eq!(count, 1, "told twice: {refusal:?}");
        }
    }
}
