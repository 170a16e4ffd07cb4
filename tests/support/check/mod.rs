//! Checks after each step of an engine.
//!
//! The model follows the engine's log change by change. Every logged change must have been sent, or be a change that
//! the engine may make by itself at that point. Every change sent must be in the log, unless the engine had to refuse
//! it. Then the states must be equal, nothing may be left undone, and the log must replay to the same state.

mod crowd;
mod events;
mod explain;
mod sent;
mod state;

use std::collections::VecDeque;

use apportion::config::Semantics;
use apportion::event::{Event, Subject};
use apportion::log::LogReader;
use apportion::replay::Replay;
use apportion::request::{AllocationProposal, ReservationProposal};
use apportion::{
    ApplicationEnd, AskId, Change, CommitSeq, EndCause, Engine, NodeId, ResourceAllocationCommitRequest,
};

use crate::support::oracle::{Hints, Oracle};
use events::Told;
pub use explain::compare_explanations;
pub use sent::Sent;

/// How far the model can predict the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// Each commit must be legal; its time depends on the threads.
    Legal,
    /// As above, and one thread decides in order.
    Serial,
    /// Each placement is known in advance.
    Exact,
}

/// Whether an engine makes the change by itself when its time has come.
#[must_use]
pub fn is_due(change: &Change) -> bool {
    matches!(
        change,
        Change::NodeSilenceSet { .. }
            | Change::OpportunitiesMissed { .. }
            | Change::ReservedAgain { .. }
            | Change::QueueExpired { .. }
            | Change::ReservationExpired { .. }
            | Change::ApplicationEnded { end: ApplicationEnd::Expired, .. }
            | Change::ContainerEnded { cause: EndCause::StopTimedOut, .. }
    )
}

/// Follows one engine on the model.
#[derive(Debug)]
pub struct Checker {
    /// The model, as of the last step.
    pub oracle: Oracle,
    /// How far the next steps are predictable.
    pub certainty: Certainty,
    /// Whether everything sent is applied before anything is scheduled, as in serial mode.
    applies_first: bool,
    /// The number of the last change that was checked.
    pub seen: u64,
    /// A reservation ended in the present step. The pass that ended it does not look at its node again.
    has_ended_reservations: bool,
    /// In the present step, headroom was blocked for an ask that may borrow nodes. A pass over lent nodes does not
    /// learn that the headroom is free again. The asks that blocked it are on borrowed nodes by then.
    has_blocked_headroom: bool,
    /// The node of the pass that is the present step, if the step is one.
    pass: Option<NodeId>,
    /// The refusals that the caller must be told in the present step.
    refused: Vec<Subject>,
}

/// Everything that happened since the last step.
#[derive(Debug)]
pub struct Step<'a> {
    /// The engine, quiet.
    pub engine: &'a Engine,
    /// Its whole log.
    pub log: &'a [u8],
    /// The events since the last step.
    pub events: Vec<Event>,
    /// Everything sent since the last step, in order.
    pub sent: VecDeque<Sent>,
    /// The refusals reported to the caller since the last step, if one handle sent everything.
    pub refusals: Option<Vec<Subject>>,
}

impl Checker {
    /// A checker for an engine that has just started.
    #[must_use]
    pub fn new(oracle: Oracle, certainty: Certainty, applies_first: bool) -> Self {
        Self {
            oracle,
            certainty,
            applies_first,
            seen: 0,
            has_ended_reservations: false,
            has_blocked_headroom: false,
            pass: None,
            refused: Vec::new(),
        }
    }

    /// The next steps are those of an engine in another mode.
    pub fn expect_mode(&mut self, certainty: Certainty, applies_first: bool) {
        (self.certainty, self.applies_first) = (certainty, applies_first);
    }

    /// Checks everything. Panics if anything is wrong.
    pub fn check(&mut self, step: Step<'_>) {
        let engine = step.engine;
        self.check_step(step);
        self.check_quiet(engine);
        explain::check_quiet(engine, self.oracle.config.reservations.continue_looking);
    }

    /// Checks everything except that nothing is left to do: the engine has just recovered.
    pub fn check_recovered(&mut self, step: Step<'_>) {
        self.check_step(step);
    }

    /// Checks a pass over one node: everything except that nothing is left to do.
    pub fn check_pass(&mut self, node: NodeId, step: Step<'_>) {
        self.pass = Some(node);
        self.check_step(step);
        self.pass = None;
    }

    fn check_step(&mut self, step: Step<'_>) {
        let Step { engine, log, events, mut sent, refusals } = step;
        let mut told = Told::new(events);
        let mut has_scheduled = false;
        (self.has_ended_reservations, self.has_blocked_headroom) = (false, false);
        for change in read_log(log).into_iter().skip(usize::try_from(self.seen).unwrap()) {
            self.seen += 1;
            let is_own = self.follow(&change, &mut sent, &mut told);
            let is_commit = matches!(change, Change::Committed { .. });
            let is_in_turn = is_own || !has_scheduled || !self.applies_first;
            assert!(is_in_turn, "change {} was applied after scheduling had begun", self.seen);
            has_scheduled |= is_own && is_commit;
        }
        for left in &sent {
            left.expect_refused(&self.oracle, self.applies_first && !has_scheduled);
            self.refused.extend(left.subjects());
        }
        let refused = std::mem::take(&mut self.refused);
        if let Some(told) = refusals {
            assert_eq!(told, refused, "the caller learns of each refused call, in order");
        }
        told.expect_nothing_else(&self.oracle);
        state::compare(engine, &self.oracle);
        let report = engine.audit();
        assert!(report.is_clean(), "the audit: {:?}", report.violations);
        check_replay(engine, log, self.seen);
    }

    /// Follows one change; returns whether the engine made it by itself.
    fn follow(&mut self, change: &Change, sent: &mut VecDeque<Sent>, told: &mut Told) -> bool {
        let seq = CommitSeq(self.seen);
        if let Change::RackNamed { rack, name } = change {
            self.oracle.name_rack(*rack, name);
            return false;
        }
        let is_exact = self.applies_first;
        let is_timed = matches!(change, Change::TimeAdvanced { .. }) || is_due(change);
        // A change that is possible only after the end of an application or of a queue was refused before that end,
        // if at all.
        let is_end = match change {
            Change::ApplicationEnded { .. } | Change::QueueExpired { .. } => true,
            Change::ContainerEnded { container, .. } => self.oracle.is_last_awaited(*container),
            _ => false,
        };
        let was_refused = |sent: &Sent| sent.is_refusable(&self.oracle) && told.may_be_refused(sent);
        while is_timed && (is_exact || is_end) && sent.front().is_some_and(was_refused) {
            self.refused.extend(sent.pop_front().iter().flat_map(Sent::subjects));
        }
        let place = sent.iter().position(|sent| sent.is_logged_as(seq, change));
        for _ in 0..place.unwrap_or(0) {
            let front = sent.pop_front().unwrap();
            front.expect_refused(&self.oracle, is_exact);
            self.refused.extend(front.subjects());
        }
        if place.is_some() {
            sent.pop_front();
            assert!(self.oracle.makes_sense(change), "change {} should be refused: {change:?}", self.seen);
        }
        if let Change::Heartbeats { nodes } = change {
            let unknown = nodes.iter().filter(|node| !self.oracle.nodes.contains_key(node));
            self.refused.extend(unknown.map(|node| Subject::Node(*node)));
        }
        let hints = told.hints(seq);
        let effects = match change {
            Change::Configured { .. } if self.seen == 1 => Vec::new(),
            Change::Committed { request } => {
                if place.is_none() {
                    self.has_blocked_headroom |= self.oracle.has_blocked_headroom();
                    self.check_own_request(request);
                    self.has_ended_reservations |= !hints.dropped.is_empty()
                        || request.allocate.iter().any(|one| one.from_reservation.is_some());
                }
                self.validate(request, &hints)
            }
            change => {
                if let (Change::OpportunitiesMissed { ask, count }, Some(node)) = (change, self.pass) {
                    let is_missed = *count == 1 && self.oracle.misses_opportunity(*ask, node);
                    assert!(is_missed, "change {}: {count} by {ask} on {node}", self.seen);
                }
                if let Change::ReservedAgain { node, .. } = change {
                    assert_eq!(self.pass, Some(*node), "change {}: reserved again", self.seen);
                }
                assert!(place.is_some() != is_timed, "change {} was not sent: {change:?}", self.seen);
                self.oracle.apply(change, &hints).unwrap_or_else(|problem| panic!("{problem}: {change:?}"))
            }
        };
        told.expect(seq, &effects, change);
        place.is_none()
    }

    fn validate(
        &mut self,
        request: &ResourceAllocationCommitRequest,
        hints: &Hints,
    ) -> Vec<(apportion::ApplicationId, apportion::event::EventKind)> {
        assert_eq!(hints.containers.len(), request.allocate.len(), "events of change {}", self.seen);
        let verdict = self.oracle.validate(request, hints);
        let reasons = &verdict.reasons;
        assert!(reasons.is_empty(), "change {} is not legal ({reasons:?}): {request:?}", self.seen);
        verdict.effects
    }

    /// A request of the engine itself must also follow the configured policies.
    fn check_own_request(&self, request: &ResourceAllocationCommitRequest) {
        // In several partitions, a container of one user changes its share in all partitions, in the midst of a pass.
        let is_known = self.oracle.partitions.len() == 1 || !self.oracle.users_compete();
        if self.certainty == Certainty::Exact && self.pass.is_none() && is_known {
            let AllocationProposal { ask, node, .. } = request.allocate[0];
            assert_eq!(
                *request,
                ResourceAllocationCommitRequest::allocate(ask, node),
                "change {}",
                self.seen
            );
            // In background mode, passes over the partitions take turns.
            let objection = self.oracle.objection_to(ask, node, !self.applies_first);
            let objection = objection.filter(|_| !self.has_blocked_headroom);
            assert!(objection.is_none(), "change {}: {request:?}, but {}", self.seen, objection.unwrap());
        }
        self.check_own_borrowed(request);
        // A unit with a reservation has waited long enough to run anywhere.
        let is_swap = |proposal: &AllocationProposal| {
            proposal.from_reservation.is_some() || request.unreserve.len() == request.allocate.len()
        };
        for proposal in request.allocate.iter().filter(|proposal| !is_swap(proposal)) {
            let (ask, node) = (proposal.ask, proposal.node);
            let knows_both = self.oracle.asks.contains_key(&ask) && self.oracle.nodes.contains_key(&node);
            let is_due = !knows_both || self.oracle.may_take(ask, node) && self.is_opportune(ask, node);
            assert!(is_due, "change {}: too early, the ask waits for its hosts: {request:?}", self.seen);
        }
        let keeps_reservations = !self.oracle.config.reservations.continue_looking;
        assert!(!keeps_reservations || request.unreserve.is_empty(), "change {}: {request:?}", self.seen);
        let mut nodes =
            request.allocate.iter().map(|one| one.node).chain(request.reserve.iter().map(|one| one.node));
        assert!(nodes.all(|node| self.pass.is_none_or(|only| node == only)), "change {}", self.seen);
        self.check_own_swap(request);
        request.reserve.iter().for_each(|proposal| self.check_own_reservation(proposal));
    }

    /// The engine gives a reservation back for a container elsewhere only if the ask could not have both.
    fn check_own_swap(&self, request: &ResourceAllocationCommitRequest) {
        let [AllocationProposal { ask, .. }] = request.allocate[..] else { return };
        let is_known = self.certainty > Certainty::Legal && self.oracle.asks.contains_key(&ask);
        // A reservation that ended in the same step may have been the obstacle.
        if is_known && !request.unreserve.is_empty() && !self.has_ended_reservations {
            let needs_none = self.oracle.needs_no_swap(ask, self.pass.is_some());
            assert!(
                !needs_none,
                "change {}: a reservation was given back without need: {request:?}",
                self.seen
            );
        }
    }

    /// Whether a pass over the node may place the ask there. A pass over several nodes uses the opportunities missed
    /// before it.
    fn is_opportune(&self, ask: AskId, node: NodeId) -> bool {
        let counts = self.pass.is_some() && self.oracle.counts_opportunities();
        !counts || self.oracle.may_take_opportunity(ask, node)
    }

    /// An ask borrows a node only if its own partition could not serve it. One ask's container changes the limits of
    /// others only where users compete.
    fn check_own_borrowed(&self, request: &ResourceAllocationCommitRequest) {
        if self.certainty < Certainty::Serial {
            return;
        }
        for proposal in &request.allocate {
            let Some(ask) = self.oracle.asks.get(&proposal.ask) else { continue };
            let is_borrowed =
                self.oracle.nodes.contains_key(&proposal.node) && self.oracle.is_borrowed(ask, proposal.node);
            let stays = is_borrowed
                && !self.has_blocked_headroom
                && !self.oracle.compete(ask)
                && self.oracle.could_start_in_own_partition(proposal.ask);
            assert!(
                !stays,
                "change {}: a borrowed container could be served by its own share: {request:?}",
                self.seen
            );
        }
    }

    fn check_own_reservation(&self, proposal: &ReservationProposal) {
        let Some(ask) = self.oracle.asks.get(&proposal.ask) else { return };
        let waited_ms = self.oracle.now_ms - ask.since_ms;
        let delay_ms = self.oracle.config.reservations.delay_ms;
        assert!(
            delay_ms.is_some_and(|delay_ms| waited_ms >= delay_ms),
            "change {}: {proposal:?} after {waited_ms} ms",
            self.seen
        );
        let is_last_in_order = self.oracle.config.semantics == Semantics::YarnCompatible
            && self.certainty > Certainty::Legal
            && !self.has_ended_reservations
            && self.pass.is_none();
        let last = self.oracle.last_reservable(proposal.ask);
        assert!(
            !is_last_in_order || last == Some(proposal.node),
            "change {}: {proposal:?}, {last:?}",
            self.seen
        );
    }

    fn check_quiet(&self, engine: &Engine) {
        if self.certainty == Certainty::Exact {
            assert_eq!(
                self.oracle.next_placement(),
                None,
                "the engine is quiet, but the model could place this"
            );
        }
        if let Some(problem) = self.oracle.overlooked() {
            let reason =
                engine.read(|view| view.asks().map(|a| (a.id(), a.pending_reason())).collect::<Vec<_>>());
            panic!("quiet, but {problem}; pending reasons: {reason:?}");
        }
        for (id, node) in &self.oracle.nodes {
            assert_eq!(node.stale, self.oracle.is_silent(*id), "staleness of {id}");
        }
        for (id, application) in &self.oracle.applications {
            let is_overdue =
                application.expires_ms.is_some_and(|expires_ms| expires_ms <= self.oracle.now_ms);
            assert!(!is_overdue || application.ending.is_some(), "{id} has outlived its lifetime");
        }
        assert_eq!(self.oracle.overdue_stop(), None, "its stop has timed out");
        for (node, reservation) in &self.oracle.reservations {
            let age_ms = self.oracle.now_ms - reservation.since_ms;
            let limit_ms = self.oracle.config.reservations.age_limit_ms;
            assert!(age_ms < limit_ms, "the reservation on {node} is {age_ms} ms old");
        }
    }
}

/// Returns all changes of a log.
#[must_use]
pub fn read_log(log: &[u8]) -> Vec<Change> {
    let mut reader = LogReader::new(log).unwrap();
    std::iter::from_fn(|| reader.next_change().unwrap()).collect()
}

fn check_replay(engine: &Engine, log: &[u8], changes: u64) {
    let mut replay = Replay::read(log, None).unwrap_or_else(|error| panic!("replaying the log: {error}"));
    assert_eq!(replay.seq(), CommitSeq(changes));
    assert_eq!(engine.read(|view| view.seq()), CommitSeq(changes));
    assert_eq!(replay.digest(), engine.digest(), "the log replays to another state");
    let report = replay.audit();
    assert!(report.is_clean(), "the audit of the replay: {:?}", report.violations);
}
