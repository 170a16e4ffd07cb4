//! Rounds of preemption in a running engine.
//!
//! The committer decides when a round is due, and a proposer computes it on a copy of the state. The committer carries
//! out its steps, a few in each group. Only the copy is made under the read guard. A round is due an interval after it
//! became worthwhile: asks wait and the state has changed since the last round, or victims are announced. So an engine
//! in which nothing waits makes no rounds.

use std::collections::VecDeque;
use std::sync::Arc;

use super::group::GroupCommitter;
use super::proposer::propose_under_guard;
use super::shared::Shared;
use crate::change::Change;
use crate::commit::would_accept;
use crate::explain::PreemptionOutlook;
use crate::ids::{AskId, GangId};
use crate::preempt::{GangPreemption, PreemptionPlan, Recheck, round};
use crate::propose::{ProposalBatch, RoundStep, Work};
use crate::state::State;
use crate::sync::{AtomicU64, Mutex, Ordering};

/// The steps that the committer carries out in one group. A step costs about as much as the decisions over ten
/// requests.
const STEPS_PER_GROUP: usize = 100;

/// No proposer has taken the wanted round.
const WANTED: u64 = 1;
/// A round is wanted, is being computed, or its batch or steps are on their way.
const BUSY: u64 = 2;
/// A batch was lost, so that another round may do more than the last one.
const NEWS: u64 = 4;
/// No round is due at any time.
const NOT_DUE: u64 = u64::MAX;

/// The round between committer and proposers.
pub(crate) struct Round {
    phase: AtomicU64,
    /// When the next round is due, for virtual clocks; [`NOT_DUE`] if none is. Only the committer sets it.
    due_ms: AtomicU64,
    last_plan: Mutex<Option<PreemptionPlan>>,
}

impl Default for Round {
    fn default() -> Self {
        Self { phase: AtomicU64::new(0), due_ms: AtomicU64::new(NOT_DUE), last_plan: Mutex::default() }
    }
}

impl Round {
    /// When the next round is due.
    pub(super) fn due_ms(&self) -> Option<u64> {
        Some(self.due_ms.load(Ordering::Acquire)).filter(|due_ms| *due_ms != NOT_DUE)
    }

    fn set_due(&self, due_ms: Option<u64>) {
        self.due_ms.store(due_ms.unwrap_or(NOT_DUE), Ordering::Release);
    }

    fn transition_wanted(&self) {
        self.phase.fetch_or(WANTED | BUSY, Ordering::Release);
    }

    /// Takes the round, if it is wanted and no other proposer was quicker.
    fn transition_taken(&self) -> bool {
        self.phase.fetch_and(!WANTED, Ordering::Acquire) & WANTED != 0
    }

    fn transition_idle(&self) {
        self.phase.fetch_and(!(WANTED | BUSY), Ordering::AcqRel);
    }

    /// A batch was dropped undecided.
    pub(super) fn record_lost_batch(&self) {
        self.phase.fetch_or(NEWS, Ordering::Release);
    }

    /// The batch had a round. The round is wanted again, unless it panicked. After a panic, the committer wants one an
    /// interval later, so that a fault of preemption does not stop the proposers.
    pub(super) fn record_lost_round(&self) {
        if std::thread::panicking() { self.transition_idle() } else { self.transition_wanted() }
    }

    fn take_news(&self) -> bool {
        self.phase.load(Ordering::Acquire) & NEWS != 0
            && self.phase.fetch_and(!NEWS, Ordering::AcqRel) & NEWS != 0
    }

    /// Whether a proposer has taken it, and the committer has not carried it out.
    pub(super) fn is_under_way(&self) -> bool {
        self.phase.load(Ordering::Acquire) & (WANTED | BUSY) == BUSY
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.phase.load(Ordering::Acquire) & WANTED != 0
    }

    pub(super) fn is_idle(&self) -> bool {
        self.phase.load(Ordering::Acquire) & (WANTED | BUSY) == 0
    }

    /// The outcome of the last round for the ask or, if the ask is the first of a waiting gang, for the gang. `None`
    /// if its queue was owed nothing.
    pub(super) fn outlook(&self, ask: AskId) -> Option<PreemptionOutlook> {
        let plan = self.last_plan.lock();
        let plan = plan.as_ref()?;
        let single = plan.preemptions.iter().filter(|preemption| preemption.ask == ask).count();
        let is_its = |gang: &&GangPreemption| {
            gang.gang == GangId::with_first(ask) || gang.members.iter().any(|member| member.ask == ask)
        };
        let members: usize = plan.gangs.iter().filter(is_its).map(|gang| gang.members.len()).sum();
        let containers = (single + members) as u32;
        let reason =
            plan.unhelped.iter().find(|unhelped| unhelped.ask == ask).map(|unhelped| unhelped.reason);
        let at_ms = plan.now_ms;
        match (containers, reason) {
            (0, reason) => Some(PreemptionOutlook::Unhelped { at_ms, reason: reason? }),
            (_, rest) => Some(PreemptionOutlook::Planned { at_ms, containers, rest }),
        }
    }

    /// The plan of the last round.
    pub(super) fn last_plan(&self) -> Option<PreemptionPlan> {
        self.last_plan.lock().clone()
    }
}

/// Computes a round of preemption, if one is wanted and not taken. The batch holds the round from here on: dropping it
/// [loses the round](Round::record_lost_round).
pub(super) fn compute_round(shared: &Arc<Shared>) -> Option<Box<ProposalBatch>> {
    let rounds = shared.config.preemption.as_ref().filter(|_| shared.round.transition_taken())?;
    let copied = |state: &State, _: &mut ProposalBatch| state.clone();
    let (mut batch, copy) = propose_under_guard(shared, Work::Round(Vec::new()), copied);
    let (plan, steps) = round(&copy, rounds);
    batch.work = Work::Round(steps);
    *shared.round.last_plan.lock() = Some(plan);
    Some(batch)
}

/// The committer's side of the rounds.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    /// When the next round is due.
    due_ms: Option<u64>,
    /// The steps that are left of the present round.
    left: VecDeque<RoundStep>,
    /// Changes that only moved the clock.
    clock_changes: u64,
    /// The number of other changes that the last round saw.
    changes_seen: u64,
    /// Whether something happened since then that is not a change: units came back, or an ask may look further.
    has_news: bool,
    /// Whether the steps of a round are being carried out.
    is_present: bool,
    /// Whether the next round waits for a search for gangs: turns were overdue when the last round ended.
    waits_for_gang_search: bool,
}

impl Rounds {
    /// Records that the next round may do more than the last one, although no change tells.
    pub(super) fn record_news(&mut self) {
        self.has_news = true;
    }

    /// A search has decided on overdue turns of gangs.
    pub(super) fn record_reviewed_turns(&mut self) {
        self.waits_for_gang_search = false;
    }

    pub(super) fn count_clock_change(&mut self) {
        self.clock_changes += 1;
    }

    /// When the committer has to act for a round. The search that a round waits for brings a group anyway.
    pub(super) fn next_ms(&self, now_ms: u64) -> Option<u64> {
        if self.left.is_empty() { self.due_ms.filter(|_| !self.waits_for_gang_search) } else { Some(now_ms) }
    }

    fn changes(&self, state: &State) -> u64 {
        state.facts.changes - self.clock_changes
    }

    /// Whether a round could do something that the last one could not.
    fn is_worth_a_round(&self, state: &State) -> bool {
        let facts = &state.facts;
        let is_news = self.has_news || self.changes(state) != self.changes_seen;
        !facts.notices.is_empty() || is_news && facts.asks.len() > 0
    }
}

impl GroupCommitter {
    pub(super) fn take_round(&mut self, steps: Vec<RoundStep>) {
        self.rounds.left = steps.into();
        self.rounds.is_present = true;
        self.stats.preemption_rounds += 1;
    }

    /// Carries out some steps of the present round.
    pub(super) fn advance_round(&mut self, state: &mut State) {
        if self.rounds.left.is_empty() {
            return;
        }
        let steps = self.rounds.left.len().min(STEPS_PER_GROUP);
        let mut recheck = Recheck::default();
        for _ in 0..steps {
            if let Some(step) = self.rounds.left.pop_front() {
                self.carry_out_step(state, step, &mut recheck);
            }
        }
    }

    /// Ends the present round after its last step, and sees whether another one is due. The sets that the round left
    /// worth a pass are published before: so a watchdog sees work all the time.
    pub(super) fn end_round(&mut self, state: &State) {
        let Some(config) = &self.shared.config.preemption else { return };
        let interval_ms = config.interval_ms;
        if self.rounds.is_present && self.rounds.left.is_empty() {
            self.rounds.is_present = false;
            self.shared.round.transition_idle();
            // Turns end only between two rounds. At intervals shorter than a search, they would otherwise never end.
            self.rounds.waits_for_gang_search = true;
        }
        self.rounds.waits_for_gang_search &= !state.gang_waits.overdue_turns.is_empty();
        self.rounds.has_news |= self.shared.round.take_news();
        if !self.shared.round.is_idle() {
            return;
        }
        let now_ms = state.facts.now_ms;
        if self.rounds.due_ms.is_some_and(|due_ms| due_ms <= now_ms) {
            if self.rounds.waits_for_gang_search {
                // In this order, so that a watchdog sees work all the time.
                self.shared.leases.want_gangs();
                return self.shared.round.set_due(None);
            }
            self.rounds.due_ms = None;
            (self.rounds.changes_seen, self.rounds.has_news) = (self.rounds.changes(state), false);
            self.shared.round.transition_wanted();
        } else if self.rounds.due_ms.is_none() && self.rounds.is_worth_a_round(state) {
            // None at the end of the clock: no later time comes.
            self.rounds.due_ms = now_ms.checked_add(interval_ms);
        }
        self.shared.round.set_due(self.rounds.due_ms);
    }

    fn carry_out_step(&mut self, state: &mut State, step: RoundStep, recheck: &mut Recheck) {
        match step {
            RoundStep::Preempt(mut request, rule) => {
                state.recompute_limits();
                if !recheck.is_owed(&state.facts, &request, rule) {
                    return;
                }
                // The room may have become free since the plan. Then no victim ends.
                let victims = std::mem::take(&mut request.release);
                if !would_accept(state, &request) {
                    request.release = victims;
                    if !recheck.admits(&state.facts, &request, rule) {
                        return;
                    }
                }
                let victims = request.release.len();
                let is_accepted = self.committer(state).commit(request).is_accepted();
                if is_accepted {
                    self.stats.preempted += victims as u64;
                }
                // Opportunistic containers may have made way, too. Their number does not show it: others may have been
                // queued in the same change.
                if !is_accepted || state.facts.node_loads.is_on() {
                    *recheck = Recheck::default();
                }
            }
            RoundStep::Announce(container, notice) if state.facts.disruption.may_be_victim(container) => {
                self.change_for_round(state, Change::PreemptionAnnounced { container, notice });
            }
            RoundStep::Announce(..) => {}
            RoundStep::Withdraw(container) => {
                self.change_for_round(state, Change::PreemptionWithdrawn { container });
            }
        }
    }

    /// Applies a step that is still valid. The others are dropped without a refusal: no caller sent them.
    fn change_for_round(&mut self, state: &mut State, change: Change) {
        let mut committer = self.committer(state);
        if committer.admit(&change).is_ok() {
            committer.apply(change);
        }
    }
}
