//! Figures that show whether an engine makes progress.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Engine;
use crate::stats::counts;

/// The figures for a watchdog. Reading them needs no lock of the state, so it works while the committing thread
/// hangs in the embedder's clock or log sink.
///
/// An engine is stuck if it runs, [has work](Self::has_work), and its [`last_group_ms`](Self::last_group_ms) stands
/// still while time goes on. Then its threads are gone, or the embedder's code holds them up. If all proposers have
/// [given up](Self::proposers_given_up), the engine proposes nothing more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// As [`Engine::is_running`].
    pub is_running: bool,
    /// The engine's time as of the last group that the committer finished.
    pub last_group_ms: u64,
    /// The engine's time when a request was last accepted.
    pub last_commit_ms: u64,
    /// Messages sent and not yet processed.
    pub messages_waiting: u64,
    /// Placement sets that are worth a pass.
    pub sets_wanted: u32,
    /// Placement sets that a proposer has, or a batch on its way to the committer.
    #[serde(alias = "sets_out")]
    pub sets_checked_out: u64,
    /// Whether a round of preemption is wanted, is computed, or has steps left.
    #[serde(default)]
    pub round_pending: bool,
    /// Panics of proposers.
    pub proposer_panics: u64,
    /// Proposers that panicked too often to be restarted.
    pub proposers_given_up: u64,
    /// Refused calls by reason, the [label](crate::event::Refusal::label) of the refusal.
    #[serde(deserialize_with = "counts::refused")]
    pub refused: BTreeMap<&'static str, u64>,
}

impl Health {
    /// Whether work is left.
    #[must_use]
    pub fn has_work(&self) -> bool {
        self.messages_waiting > 0 || self.sets_wanted > 0 || self.sets_checked_out > 0 || self.round_pending
    }
}

impl Engine {
    /// Reads the figures.
    #[must_use]
    pub fn health(&self) -> Health {
        let shared = &*self.shared;
        // In this order, because a message is sent before it is processed.
        let progress = shared.progress();
        let sent = shared.sent();
        // Before the sets, because a round that ends leaves sets worth a pass.
        let round_pending = !shared.round.is_idle();
        let (sets_wanted, sets_checked_out) = shared.leases.count();
        Health {
            is_running: self.is_running(),
            last_group_ms: progress.last_group_ms,
            last_commit_ms: progress.last_commit_ms,
            messages_waiting: sent.saturating_sub(progress.processed),
            sets_wanted,
            sets_checked_out,
            round_pending,
            proposer_panics: shared.proposer_panics.get(),
            proposers_given_up: shared.proposers_given_up.get(),
            refused: progress.stats.refused,
        }
    }
}
