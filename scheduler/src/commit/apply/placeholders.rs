//! Applies changes of task groups: placeholders are placed, replaced, released or given up.
//!
//! Each unit of an ask of a task group takes the place of one placeholder of the group, if there is one. A unit that
//! fits the placeholder's place replaces it: the placeholder ends and the real container starts in the same change. So
//! the place is charged once, and no pass sees it free. Any other unit ends a placeholder, or cancels a pending one,
//! and becomes an ordinary unit.

use super::Applier;
use crate::change::{AskSpec, GangSpec};
use crate::commit::placeholders::may_replace;
use crate::event::EventKind;
use crate::facts::{EndCause, GangStyle, HeldRole, PlaceholderGang, RoleKind, TaskGroup, WaitingGang};
use crate::ids::{ApplicationId, AskId, ContainerId, GangId};
use crate::request::{AllocationProposal, ResourceAllocationCommitRequest};
use crate::timers::Timer;

impl Applier<'_> {
    /// A gang that begins to wait names its task groups, if it has some.
    pub(super) fn name_groups(&mut self, id: GangId, asks: &[AskId], spec: &GangSpec) {
        let roles = || (0..).zip(asks).zip(&spec.roles);
        let placeholders = roles().filter(|(_, role)| role.is_placeholder);
        let groups: Vec<TaskGroup> = placeholders
            .map(|((place, ask), role)| TaskGroup {
                name: role.name.as_str().into(),
                role: place,
                ask: *ask,
                running: Vec::new(),
            })
            .collect();
        if groups.is_empty() {
            return;
        }
        let others = roles().filter(|(_, role)| !role.is_placeholder).map(|((_, ask), _)| *ask).collect();
        let gang = PlaceholderGang {
            application: spec.application,
            style: spec.style,
            timeout_ms: spec.placeholder_timeout_ms,
            until_ms: None,
            groups,
            others,
        };
        self.state.facts.transition_name_groups(id, gang);
    }

    /// An ask of a task group. While the gang waits, the ask waits with it.
    pub(super) fn submit_ask_of_group(
        &mut self,
        ask: AskId,
        application: ApplicationId,
        group: &str,
        spec: &AskSpec,
    ) {
        let facts = &mut self.state.facts;
        let known = facts.placeholders.group(application, group);
        let waiting = known.map(|(gang, _)| gang).filter(|gang| facts.gangs.contains_key(gang));
        if let Some(gang) = waiting {
            let role = HeldRole { name: group.into(), ask, minimum: 0, kind: RoleKind::Real };
            // First, so that the backlog lists the ask as held.
            facts.transition_hold_more(gang, role);
        }
        self.submit_ask(ask, application, spec, None, spec.count, spec.allocation_request_id);
        if waiting.is_none() {
            self.take_placeholders(ask, group);
        }
    }

    /// A gang with task groups has started: their timeout begins, and real asks that waited take the placeholders.
    pub(super) fn start_placeholders(&mut self, id: GangId, gang: &WaitingGang) {
        if self.state.facts.placeholders.gang(id).is_none() {
            return;
        }
        if let Some(until_ms) = self.state.facts.transition_start_placeholders(id) {
            self.state.timers.add(until_ms, Timer::Placeholders(id));
        }
        for role in gang.roles.iter().filter(|role| role.kind == RoleKind::Real) {
            self.take_placeholders(role.ask, &role.name);
        }
        self.state.facts.transition_forget_spent(id);
    }

    /// A gang with task groups has ended without a start. Single placeholders are of no use.
    pub(super) fn cancel_placeholders(&mut self, id: GangId, gang: &WaitingGang) {
        for role in gang.roles.iter().filter(|role| role.kind == RoleKind::Placeholders) {
            if self.state.facts.asks.get(role.ask).is_some() {
                self.cancel(role.ask, u32::MAX);
            }
        }
        self.state.facts.transition_forget_groups(id);
    }

    /// Each unit of the ask takes the place of a placeholder: one that it can replace, otherwise another that runs,
    /// otherwise a pending one.
    fn take_placeholders(&mut self, ask: AskId, group: &str) {
        let facts = &self.state.facts;
        let Some(application) = facts.asks.get(ask).map(|ask| ask.application) else { return };
        let Some((gang, TaskGroup { ask: placeholders, running, .. })) =
            facts.placeholders.group(application, group)
        else {
            return;
        };
        let (placeholders, running) = (*placeholders, running.clone());
        let mut misfits = Vec::new();
        for container in running {
            if self.outstanding(ask) == 0 {
                break;
            } else if self.state.facts.stopping.contains_key(&container) {
                // Its application or node is about to end it.
            } else if may_replace(&self.state.facts, container, ask) {
                self.replace(container, ask);
            } else {
                misfits.push(container);
            }
        }
        let mut units = self.outstanding(ask);
        for container in misfits.into_iter().take(units as usize) {
            self.end_container(container, EndCause::PlaceholderReleased);
            units -= 1;
        }
        let pending = units.min(self.outstanding(placeholders));
        if pending > 0 {
            self.cancel(placeholders, pending);
        }
        if self.outstanding(ask) > 0 {
            self.state.facts.transition_join(gang, ask);
        }
        self.drop_surplus(ask);
        self.state.facts.transition_forget_spent(gang);
    }

    fn outstanding(&self, ask: AskId) -> u32 {
        self.state.facts.asks.get(ask).map_or(0, |ask| ask.outstanding())
    }

    /// A real container takes the place of a placeholder.
    fn replace(&mut self, placeholder: ContainerId, ask: AskId) {
        let node = self.state.facts.containers.at(placeholder).node;
        self.end_container(placeholder, EndCause::Replaced);
        let proposal = AllocationProposal { ask, node, from_reservation: None };
        let allocate = [proposal].into_iter().collect();
        self.carry_out(&ResourceAllocationCommitRequest { allocate, ..Default::default() }, None);
        self.state.facts.transition_update_overcommitted(node);
        // The end of the placeholder may have made the node's reservation ready.
        self.state.review_reservation(node);
    }

    /// The placeholders of a gang were not replaced in time.
    pub(super) fn give_up_placeholders(&mut self, id: GangId) {
        let Some(gang) = self.state.facts.placeholders.gang(id).cloned() else { return };
        self.state.facts.transition_stop_waiting(id);
        self.tell(gang.application, EventKind::PlaceholdersTimedOut { gang: id, style: gang.style });
        let pending = gang.groups.iter().map(|group| group.ask);
        let failed = gang.others.iter().copied().filter(|_| gang.style == GangStyle::Hard);
        for ask in pending.chain(failed) {
            if self.state.facts.asks.get(ask).is_some() {
                self.cancel(ask, u32::MAX);
            }
        }
        for container in gang.groups.into_iter().flat_map(|group| group.running) {
            if !self.state.facts.stopping.contains_key(&container) {
                self.stop_container(container, EndCause::PlaceholderReleased);
            }
        }
        self.state.facts.transition_forget_spent(id);
    }

    /// Placeholders of an ending application wait for no timeout.
    pub(super) fn end_placeholders_of(&mut self, application: ApplicationId) {
        for gang in self.state.facts.placeholders.gangs_of(application) {
            self.state.facts.transition_stop_waiting(gang);
        }
    }
}
