//! Whether an engine gets on with its work.

use std::collections::BTreeMap;

use super::Engine;

/// What a watchdog wants to know. Read without the state's lock, so it can be had while the committing thread hangs in
/// the embedder's clock or log sink.
///
/// An engine that runs, [has work](Self::has_work) and whose [`last_group_ms`](Self::last_group_ms) stands still
/// while time goes on is stuck: its threads are gone, or somebody's code holds them up. One whose
/// [`proposers_given_up`](Self::proposers_given_up) are as many as there were proposes nothing any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// As [`Engine::is_running`].
    pub is_running: bool,
    /// The engine's time as of the last group that the committer finished.
    pub last_group_ms: u64,
    /// The engine's time when a request was last accepted.
    pub last_commit_ms: u64,
    /// How many messages were sent and are not dealt with.
    pub messages_waiting: u64,
    /// How many placement sets are worth a pass.
    pub sets_wanted: u32,
    /// How many placement sets a proposer has, or a batch on its way to the committer.
    pub sets_out: u64,
    /// How often a proposer panicked.
    pub proposer_panics: u64,
    /// How many proposers panicked so often that they were not started again.
    pub proposers_given_up: u64,
    /// Refused calls, by reason: the [label](crate::event::Refusal::label) of the refusal.
    pub refused: BTreeMap<&'static str, u64>,
}

impl Health {
    /// Whether anything is left to do.
    #[must_use]
    pub fn has_work(&self) -> bool {
        self.messages_waiting > 0 || self.sets_wanted > 0 || self.sets_out > 0
    }
}

impl Engine {
    /// Whether the engine gets on with its work.
    #[must_use]
    pub fn health(&self) -> Health {
        let shared = &*self.shared;
        // In this order: a message is sent before it is dealt with.
        let progress = shared.progress();
        let sent = shared.sent();
        let (sets_wanted, sets_out) = shared.leases.count();
        Health {
            is_running: self.is_running(),
            last_group_ms: progress.last_group_ms,
            last_commit_ms: progress.last_commit_ms,
            messages_waiting: sent.saturating_sub(progress.processed),
            sets_wanted,
            sets_out,
            proposer_panics: shared.proposer_panics.get(),
            proposers_given_up: shared.proposers_given_up.get(),
            refused: progress.stats.refused,
        }
    }
}
