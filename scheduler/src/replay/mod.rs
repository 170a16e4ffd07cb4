//! Replay: the state at any position of a log.

mod follower;
#[cfg(any(test, feature = "fuzz"))]
mod fuzz;
mod identifiers;
mod snapshot;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::io::Read;

pub use follower::{FollowedLog, Follower};
#[cfg(feature = "fuzz")]
pub use fuzz::fuzz_log;
use identifiers::TakenIds;
pub(crate) use identifiers::{FollowedPool, Identifiers};

use crate::audit::AuditReport;
use crate::change::Change;
use crate::commit::{Committer, Effects, check_configuration};
use crate::event::{Event, Refusal};
use crate::facts::{Facts, StateDigest};
use crate::log::{LogBuffer, LogError, LogReader};
use crate::request::{CommitOutcome, CommitSeq};
use crate::state::State;
use crate::stats::EngineStats;
use crate::timers::Timers;
use crate::view::View;

/// A state made from a log. It checks every change again, and commits by the rules under which the change was first
/// accepted.
#[doc = include_str!("../../doc/replay.md")]
#[derive(Debug)]
pub struct Replay {
    state: State,
    identifiers: Identifiers,
    effects: Effects,
    log: LogBuffer,
    stats: EngineStats,
    /// Whether the log names each rack before any ask refers to it.
    names_racks: bool,
}

impl Replay {
    /// Replays `source` up to and including change number `at`, or all of it.
    ///
    /// # Errors
    /// If the log cannot be read, a change does not fit, the log ends before `at`, or its snapshot is newer than `at`.
    pub fn read(source: impl Read, at: Option<u64>) -> Result<Self, LogError> {
        let mut reader = LogReader::new(source)?;
        let mut replay = Self::begin(&mut reader)?;
        while at.is_none_or(|at| replay.seq().0 < at) {
            let Some(change) = reader.next_change()? else { break };
            replay.step(change)?;
        }
        at.map_or(Ok(()), |at| replay.check_position(at))?;
        Ok(replay)
    }

    /// Checks that the state is that after change `wanted`, when all changes up to there were applied.
    ///
    /// # Errors
    /// [`LogError::TooShort`] if the log ended before, [`LogError::BeginsLater`] if it begins later.
    pub fn check_position(&self, wanted: u64) -> Result<(), LogError> {
        let held = self.seq().0;
        match held.cmp(&wanted) {
            Ordering::Less => Err(LogError::TooShort { held, wanted }),
            Ordering::Equal => Ok(()),
            Ordering::Greater => Err(LogError::BeginsLater { begin: held, wanted }),
        }
    }

    /// Begins with the first change of a log, the configuration, or with its snapshot. The caller applies further
    /// changes.
    ///
    /// # Errors
    /// If the log does not begin with a valid configuration or snapshot.
    pub fn begin(reader: &mut LogReader<impl Read>) -> Result<Self, LogError> {
        if let Some(snapshot) = reader.take_snapshot() {
            let last = reader.end().last;
            return snapshot::read(&snapshot)
                .filter(|replay| replay.seq().0 == last)
                .ok_or(LogError::Snapshot);
        }
        let problem = |problem: String| LogError::Inconsistent { seq: 1, problem };
        let Some(Change::Configured { config }) = reader.next_change()? else {
            return Err(problem("a log begins with a configuration".into()));
        };
        config.validate_logged().map_err(|error| problem(error.to_string()))?;
        let mut replay = Self::of(State::new(&config), Identifiers::default());
        replay.names_racks = reader.names_racks();
        replay.committer().apply(Change::Configured { config });
        Ok(replay)
    }

    fn of(mut state: State, identifiers: Identifiers) -> Self {
        // A log holds only accepted requests, so rejections are unknown.
        state.backlog.notes.miss_rejections();
        Self {
            state,
            identifiers,
            effects: Effects::default(),
            log: LogBuffer::off(),
            stats: EngineStats::default(),
            names_racks: true,
        }
    }

    /// Applies one more change.
    ///
    /// # Errors
    /// If the change does not fit the state, which then stays as it was.
    pub fn step(&mut self, change: Change) -> Result<CommitSeq, LogError> {
        self.step_with_events(change, &mut Vec::new())
    }

    /// Applies one more change, and replaces `events` with the events for applications.
    ///
    /// # Errors
    /// As for [`step`](Self::step).
    pub fn step_with_events(
        &mut self,
        change: Change,
        events: &mut Vec<Event>,
    ) -> Result<CommitSeq, LogError> {
        let seq = self.seq().0 + 1;
        let taken = TakenIds::by(&change);
        let racks = self.state.facts.racks.len();
        self.effects.clear();
        let done = self.number_racks(&change).and_then(|()| self.apply(change));
        match done {
            Ok(_) => self.identifiers.follow(taken, &self.effects),
            Err(_) => self.state.facts.racks.truncate(racks),
        }
        std::mem::swap(events, &mut self.effects.events);
        done.map_err(|problem| LogError::Inconsistent { seq, problem })
    }

    /// Keeps the numbers of racks that an ask refers to and an old log does not name, so that no other rack gets them.
    fn number_racks(&mut self, change: &Change) -> Result<(), String> {
        let Change::AskSubmitted { spec, .. } = change else { return Ok(()) };
        if self.names_racks {
            return Ok(());
        }
        let mut committer = self.committer();
        for &rack in &spec.preference.racks {
            if rack.index() >= committer.state.facts.racks.len() {
                let unnamed = Change::RackNamed { rack, name: Box::default() };
                committer.admit(&unnamed).map_err(|refusal| refusal.to_string())?;
                committer.state.facts.name_rack(rack, "");
            }
        }
        Ok(())
    }

    fn apply(&mut self, change: Change) -> Result<CommitSeq, String> {
        let mut committer = self.committer();
        match change {
            Change::Configured { .. } => Err("the configuration comes first, and once".to_owned()),
            Change::Committed { request } => match committer.commit(request) {
                CommitOutcome::Accepted(seq) => Ok(seq),
                CommitOutcome::Rejected(reason) => Err(reason.to_string()),
            },
            change => {
                committer
                    .admit(&change)
                    .map_err(|refusal| reason(&committer.state.facts, &change, refusal))?;
                // The log has the effects of timers, so a replay needs no timers. A long log would set many.
                if matches!(change, Change::TimeAdvanced { .. }) {
                    committer.state.timers = Timers::default();
                }
                Ok(committer.apply(change))
            }
        }
    }

    fn committer(&mut self) -> Committer<'_> {
        let Self { state, effects, log, stats, .. } = self;
        Committer { state, effects, log, stats }
    }

    /// The state with its timers, and the identifiers that are taken.
    pub(crate) fn into_parts(mut self) -> (State, Identifiers) {
        self.state.restore_timers();
        self.state.recompute_limits();
        (self.state, self.identifiers)
    }

    /// The last change applied.
    #[must_use]
    pub fn seq(&self) -> CommitSeq {
        CommitSeq(self.state.facts.changes)
    }

    /// The digest of the state. It equals the digest of the engine that wrote the log, at the same position.
    #[must_use]
    pub fn digest(&mut self) -> StateDigest {
        self.state.recompute_limits();
        self.state.digest()
    }

    /// The canonical bytes of the state, from which the digest is computed.
    #[must_use]
    pub fn canonical_bytes(&mut self) -> Vec<u8> {
        self.state.recompute_limits();
        self.state.canonical_bytes()
    }

    /// Checks the invariants.
    #[must_use]
    pub fn audit(&mut self) -> AuditReport {
        self.state.recompute_limits();
        self.state.restore_timers();
        self.state.audit()
    }

    /// A view of the state.
    #[must_use]
    pub fn view(&mut self) -> View<'_> {
        self.state.recompute_limits();
        View::new(&self.state)
    }
}

/// The refusal in words. An invalid configuration is explained.
fn reason(facts: &Facts, change: &Change, refusal: Refusal) -> String {
    match check_configuration(facts, change) {
        Err(error) if refusal == Refusal::InvalidConfiguration => format!("{refusal}: {error}"),
        _ => refusal.to_string(),
    }
}
