//! Gangs: asks that start together or not at all.

use std::sync::Arc;

use super::answered_call::{AnsweredCall, GangResult};
use super::group::GroupCommitter;
use super::handle::Handle;
use super::message::Message;
use super::proposer::propose_under_guard;
use super::refusals::refuse;
use super::shared::Shared;
use super::submit_error::SubmitError;
use crate::change::{Change, GangSpec};
use crate::commit::{admit_gang, would_accept};
use crate::event::GangRefusal;
use crate::facts::GangEnd;
use crate::ids::{AskId, GangId};
use crate::place::Checkout;
use crate::propose::{GangSearch, ProposalBatch, Work, search_for_gangs};
use crate::request::CommitSeq;
use crate::state::State;
use crate::sync::Ticket;

/// A submitted gang.
#[derive(Debug)]
pub struct SubmittedGang {
    /// The gang.
    pub gang: GangId,
    /// Its asks, in the order of the roles. They are held until the gang starts.
    pub asks: Vec<AskId>,
    /// The change with which it began to wait, or why it was refused.
    pub ticket: Ticket<Result<CommitSeq, GangRefusal>>,
}

/// # Gangs
///
/// These calls refuse a gang that has started or ended as unknown.
impl Handle {
    /// Asks for containers that start together: at least the minimum of each role, in one commit, or none. Until then
    /// the asks are *held*. They are pending, but nothing is placed or reserved for them. Once the gang has started,
    /// the units above the minimum are ordinary asks. [`GangStarted`](crate::event::EventKind::GangStarted) follows the
    /// [`Allocated`](crate::event::EventKind::Allocated) events of the members.
    ///
    /// Waiting gangs are tried by the priority of their applications, then in the order of submission. In each
    /// partition the first gang that does not fit gathers. Free room, now and later, is held for its members, and
    /// charged to queue and user, until all of them can start. A gang begins to gather only if the limits admit its
    /// minimum as a whole and one member now. One that holds room goes on if a limit stops the next member. A later
    /// gang that needs no held room may start before. If the held room has not grown for
    /// [`gather_limit_ms`](crate::config::EngineConfig::gather_limit_ms), and giving it up would help this or another
    /// gang, the gang does so. It then goes behind all gangs that wait.
    /// With [`without_gathering`](GangSpec::without_gathering), a gang waits until enough is free at one time, and
    /// stops no other gang or ask.
    ///
    /// The ticket refuses a gang that could not start if nothing else ran. Its minimum is above the maximum of a
    /// queue, or the registered nodes could not hold it if they were empty. So submit gangs after the nodes have
    /// registered. Limits of users and tags are not checked, nor whether the roles fit beside each other. A gang of
    /// an unknown application is refused, too. [Cancelling](Self::cancel_ask) so many units of a held ask that a
    /// minimum cannot be reached cancels the gang.
    ///
    /// ```
    /// use apportion::gang::{GangSpec, GangStyle};
    /// # use std::sync::Arc;
    /// # use apportion::config::{EngineConfig, QueueConfig};
    /// # use apportion::event::EventKind;
    /// # use apportion::{ApplicationSpec, AskSpec, Engine, ManualClock, Mode, NodeSpec, ResourceTypes};
    /// # let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
    /// # let engine = Engine::start(config, Mode::Serial, Arc::new(ManualClock::new()), None).unwrap();
    /// # let (handle, events) = (engine.handle(), engine.handle().event_stream(100));
    /// # let size = handle.resources(&[("memory_mib", 1_024), ("vcore_milli", 1_000)])?;
    /// # let node = handle.resources(&[("memory_mib", 4_096), ("vcore_milli", 4_000)])?;
    /// # handle.add_node(NodeSpec::new("alpha", node))?;
    /// # let application = handle.submit_application(ApplicationSpec::new("job", "root.default", "ann"), &events)?;
    /// let gang = GangSpec::new(application)
    ///     .with_role("master", AskSpec::new(size, 1))
    ///     .with_role_of_at_least("worker", AskSpec::new(size, 8), 2)
    ///     .with_timeout_ms(60_000, GangStyle::Hard);
    /// let submitted = handle.submit_gang(gang)?;
    /// engine.run_until_quiet();
    /// let events: Vec<_> = std::iter::from_fn(|| events.try_next().ok().flatten()).collect();
    /// let allocated = events.iter().filter(|event| matches!(event.kind, EventKind::Allocated { .. }));
    /// assert_eq!(allocated.count(), 4, "the master and two workers, then one more worker");
    /// assert!(events.iter().any(|event| event.kind == EventKind::GangStarted { gang: submitted.gang }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the description makes no sense, one of its asks is not valid, or a partition is unknown. Nothing is submitted
    /// then.
    pub fn submit_gang(&self, mut spec: GangSpec) -> Result<SubmittedGang, SubmitError> {
        spec.check()?;
        spec.roles.iter_mut().try_for_each(|role| self.check_ask(&mut role.ask))?;
        let asks = self.take_ask_ids(spec.roles.len())?;
        let gang = GangId::with_first(asks[0]);
        let (sent, spec) = (asks.clone(), Box::new(spec));
        let ticket = self.send_for_answer(|answer| AnsweredCall::Gang { asks: sent, spec, answer })?;
        Ok(SubmittedGang { gang, asks, ticket })
    }

    /// Cancels a gang that has not started, with all of its asks. An unknown gang is [refused](Self::take_refusals).
    ///
    /// # Errors
    /// If the engine is shut down.
    pub fn cancel_gang(&self, gang: GangId) -> Result<(), SubmitError> {
        self.send(Change::GangEnded { gang, end: GangEnd::Cancelled })
    }
}

impl GroupCommitter {
    /// Lets a gang wait if it is valid. Its asks get no events if it is refused.
    pub(super) fn gang(&mut self, state: &mut State, asks: Vec<AskId>, spec: Box<GangSpec>) -> GangResult {
        let mut committer = self.committer(state);
        committer.state.recompute_limits();
        let result = admit_gang(committer.state, &asks, &spec);
        let change = Change::GangSubmitted { asks, spec };
        match result {
            Ok(()) => Ok(committer.apply(change)),
            Err(reason) => {
                refuse(&mut committer, &change, reason.refusal());
                Err(reason)
            }
        }
    }

    /// Adds room that the group freed to the held room of gangs, before any pass sees it.
    pub(super) fn gather_room(&mut self, state: &mut State) {
        if !state.facts.held_rooms.is_empty() {
            self.committer(state).gather();
        }
    }

    /// As [`gather_room`](Self::gather_room), before the next batch of the group is decided.
    pub(super) fn gather_room_between_batches(&mut self, state: &mut State) {
        if !state.gang_waits.gained_nodes.is_empty() {
            self.committer(state).gather();
        }
    }

    /// Discards the end of a gang's turn that was found before a round of preemption began. The round's plan counts on
    /// the room that gangs hold. If the turn ended now, another gang would get that room, and the committer would
    /// reject the plan. With turns shorter than the interval of rounds, that could happen in every round. If no round
    /// is under way, the next one need not wait for a search any more.
    pub(super) fn keep_turn_during_round(&mut self, batch: &mut ProposalBatch) {
        if self.shared.round.is_under_way() && batch.discard_turn_end() {
            // Meanwhile other gangs may start or gather.
            self.shared.leases.want_gangs();
        } else if batch.reviews_turns() {
            self.rounds.record_reviewed_turns();
        }
    }

    /// Lets a proposer search for gangs, if the group has changed something or a turn may end.
    pub(super) fn want_gangs(&mut self, state: &State) {
        let has_changed =
            std::mem::replace(&mut self.changes_before, state.facts.changes) < state.facts.changes;
        let may_end_turn = || turns_to_review(&self.shared, state).next().is_some();
        if !state.facts.gangs.is_empty() && (has_changed || may_end_turn()) {
            self.shared.leases.want_gangs();
        }
    }
}

/// The overdue turns that a search may end: none during a round of preemption.
fn turns_to_review(shared: &Shared, state: &State) -> impl Iterator<Item = GangId> {
    let is_round = shared.round.is_under_way();
    state.gang_waits.overdue_turns.iter().copied().filter(move |_| !is_round)
}

/// Searches for gangs, if that is worth a search. One proposer at most does so at a time, and one gang starts.
pub(super) fn search_for_gang(shared: &Arc<Shared>) -> Option<Box<ProposalBatch>> {
    if !shared.leases.wants_gangs() {
        return None;
    }
    let memory = match shared.leases.take_gang_search() {
        Checkout::Taken(memory) => memory,
        Checkout::Nothing => return None,
        Checkout::Undone => {
            shared.outbox.offer(Message::LookAgain);
            return None;
        }
    };
    let (batch, ()) =
        propose_under_guard(shared, Work::GangSearch(GangSearch::new(memory)), |state, batch| {
            if let Work::GangSearch(GangSearch { memory, found }) = &mut batch.work {
                let turns = turns_to_review(shared, state);
                **found = search_for_gangs(state, turns, memory, |request| would_accept(state, request));
                batch.proposals.requests.extend(found.start.take());
            }
        });
    Some(batch)
}
