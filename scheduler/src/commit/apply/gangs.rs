//! Applies changes of gangs: they wait, start or end.

use super::Applier;
use crate::change::GangSpec;
use crate::event::EventKind;
use crate::facts::{GangEnd, GangStyle, HeldRole, RoleKind, Turns, WaitingGang};
use crate::ids::{ApplicationId, AskId, GangId};
use crate::request::ResourceAllocationCommitRequest;
use crate::timers::Timer;

impl Applier<'_> {
    pub(super) fn submit_gang(&mut self, asks: &[AskId], spec: &GangSpec) {
        let Some(first) = asks.first() else { return };
        let (id, facts) = (GangId::with_first(*first), &mut self.state.facts);
        let roles = asks.iter().zip(&spec.roles);
        let until_ms = spec.timeout_ms.map(|timeout_ms| facts.now_ms.saturating_add(timeout_ms));
        let gang = WaitingGang {
            application: spec.application,
            number: facts.asks_submitted + 1,
            roles: roles
                .clone()
                .map(|(ask, role)| HeldRole {
                    name: role.name.as_str().into(),
                    ask: *ask,
                    minimum: role.minimum,
                    kind: if role.is_placeholder { RoleKind::Placeholders } else { RoleKind::Members },
                })
                .collect(),
            style: spec.style,
            topology: spec.topology,
            until_ms,
            gathers: spec.gathers,
            turns: Turns::in_lap(facts.lap_of_new(spec.application)),
        };
        // First, so that the backlog lists the asks as held.
        facts.transition_hold(id, gang);
        self.name_groups(id, asks, spec);
        for (ask, role) in roles {
            let (count, number) = (role.ask.count, role.ask.allocation_request_id);
            self.submit_ask(*ask, spec.application, &role.ask, None, count, number);
        }
        if let Some(until_ms) = until_ms {
            self.state.timers.add(until_ms, Timer::Gang(id));
        }
        self.review_turns();
    }

    /// Sets timers for the turns of gangs that hold room: they have new rivals, or their whole time again.
    pub(super) fn review_turns(&mut self) {
        let facts = &self.state.facts;
        let gathering = facts.held_rooms.values().map(|held| held.gang);
        let turns = gathering.filter_map(|gang| Some((facts.turn_until_ms(gang)?.max(facts.now_ms), gang)));
        for (at_ms, gang) in turns.collect::<Vec<_>>() {
            self.state.timers.add(at_ms, Timer::Turn(gang));
        }
    }

    /// A gang's turn ends: it gives its room back and goes behind all gangs that wait.
    #[cold]
    pub(super) fn end_turn(&mut self, id: GangId) {
        let parts = self.state.facts.nodes_of_parts(id);
        self.give_all_room_back(id);
        self.state.facts.transition_end_turn(id, parts);
        if let Some(gang) = self.state.facts.gangs.get(&id) {
            let (application, turns) = (gang.application, gang.turns.ended);
            self.tell(application, EventKind::GangTurnEnded { gang: id, turns });
        }
    }

    /// The gangs that the request starts. The containers that it allocates next are their members, and the room that
    /// they hold is free for these.
    #[cold]
    pub(super) fn begin_gangs(&mut self, request: &ResourceAllocationCommitRequest) -> Vec<GangId> {
        let facts = &self.state.facts;
        let mut gangs: Vec<_> = request.units().filter_map(|ask| facts.gang_of(ask)).collect();
        gangs.sort_unstable();
        gangs.dedup();
        for gang in &gangs {
            self.give_all_room_back(*gang);
            let facts = &mut self.state.facts;
            if let Some(waiting) = facts.gangs.get(gang) {
                facts.disruption.transition_begin_gang(*gang, waiting);
            }
        }
        gangs
    }

    /// A gang starts: its minimum is placed. The rest become ordinary asks.
    #[cold]
    pub(super) fn start_gang(&mut self, id: GangId) {
        let Some(gang) = self.state.facts.transition_free(id) else { return };
        self.list_freed(&gang);
        self.tell(gang.application, EventKind::GangStarted { gang: id });
        self.start_placeholders(id, &gang);
    }

    /// A gang ends without a start.
    #[cold]
    pub(super) fn end_gang(&mut self, id: GangId, end: GangEnd) {
        let Some(gang) = self.free_gang(id, end) else { return };
        if end == GangEnd::TimedOut && gang.style == GangStyle::Soft {
            self.list_freed(&gang);
        } else {
            gang.roles.iter().for_each(|role| self.cancel(role.ask, u32::MAX));
        }
        self.cancel_placeholders(id, &gang);
    }

    /// Frees the asks of an application's gangs before the application's asks are cancelled.
    pub(super) fn free_gangs_of(&mut self, application: ApplicationId) {
        if self.state.facts.gangs.is_empty() {
            return;
        }
        for gang in self.state.facts.gangs_of(application) {
            self.free_gang(gang, GangEnd::ApplicationEnded);
        }
    }

    fn free_gang(&mut self, id: GangId, end: GangEnd) -> Option<WaitingGang> {
        self.give_all_room_back(id);
        let gang = self.state.facts.transition_free(id)?;
        self.tell(gang.application, EventKind::GangEnded { gang: id, end, style: gang.style });
        Some(gang)
    }

    /// Lists the gang's remaining asks in their lanes.
    fn list_freed(&mut self, gang: &WaitingGang) {
        let version = self.state.version;
        for role in &gang.roles {
            if self.state.facts.asks.get(role.ask).is_some() {
                self.state.backlog.list_freed(&self.state.facts, role.ask, version);
            }
        }
    }

    /// The gang that could not reach a minimum any more without these units of the ask.
    pub(super) fn gang_that_needs(&self, ask: AskId, units: u32) -> Option<GangId> {
        let (gang, role) = self.state.facts.held_role(ask)?;
        let left = self.state.facts.asks.at(ask).outstanding().saturating_sub(units);
        (left < role.minimum).then_some(gang)
    }
}
