//! A handover: a container takes the place of its standby, which makes way in one step (`takeover.rs`). If
//! the standby moves elsewhere, it runs there before the other container is stopped (Samza's compound
//! action, `samza.md` Z3).

use super::begin::Refusal;
use super::{
    ActionId, ActionKind, ActionStatus, Active, ApplicationState, ContainerAction, HandOver, Source, Stage,
};
use crate::application::outstanding::{OutstandingRequest, Way};
use crate::client::ContainerRef;
use crate::component::ComponentId;

impl ApplicationState {
    /// Checks that a container only takes the place of its own standby.
    pub(super) fn check_way(&self, action: &ContainerAction) -> Result<(), String> {
        let stands_by = |standby: ComponentId, of: ComponentId| {
            self.fleet.component(of).is_some_and(|known| known.spec.takes_over.contains(&standby))
        };
        if let ActionKind::TakePlaceOf(standby) = action.kind {
            let standby = self.fleet.instance(standby).map(|there| there.component);
            if !standby.is_some_and(|standby| stands_by(standby, action.component)) {
                return Err("that container is not a standby of the component".to_owned());
            }
        }
        let Some(heir) = action.hands_over_to else { return Ok(()) };
        if heir.id == action.id || self.actions.is_known(heir.id) {
            return Err("the id of its replacement is in use by another action".to_owned());
        }
        if !stands_by(action.component, heir.component) {
            return Err(format!("it does not stand by for component {}", heir.component.0));
        }
        let leaves = matches!(action.kind, ActionKind::MoveTo(_) | ActionKind::MoveElsewhere);
        if leaves { Ok(()) } else { Err("it stays where it is: no standby can take its place".to_owned()) }
    }

    /// Begins the heir's action when the standby's action has found a place.
    pub(super) fn hand_over(&mut self, first: ActionId, source: ContainerRef, heir: HandOver) {
        let expires_after_ms = self.actions.get(first).map_or(0, |active| active.action.expires_after_ms);
        let action = ContainerAction {
            expires_after_ms,
            or_elsewhere: heir.or_elsewhere,
            ..ContainerAction::new(heir.id, heir.component, ActionKind::TakePlaceOf(source))
        };
        let container = self.fleet.container_of(heir.component);
        let begun = if self.actions.is_on(heir.component, container) {
            Err((ActionStatus::Failed, "another action works on the container".to_owned()))
        } else {
            let its = self.source(heir.component, container);
            its.and_then(|its| self.begin_in_place_of(source, &action, its, Some(first)))
        };
        if let Err((status, reason)) = begun {
            self.answer(heir.id, status, reason);
        }
    }

    /// Stops the standby's container and requests its place for the action.
    pub(super) fn begin_in_place_of(
        &mut self,
        standby: ContainerRef,
        action: &ContainerAction,
        source: Source,
        after: Option<ActionId>,
    ) -> Result<(), Refusal> {
        let failed = || (ActionStatus::Failed, "the standby has ended, or is being released".to_owned());
        let host = self.fleet.instance(standby).map(|there| there.host.clone()).ok_or_else(failed)?;
        if !self.fleet.takes(action.component, &host) {
            return Err((
                ActionStatus::Failed,
                format!("{host}, the host of its standby, does not accept it"),
            ));
        }
        let mut request = OutstandingRequest {
            action: Some(action.id),
            way: Some(Way { of: standby, within_ms: action.search_ms() }),
            ..self.fleet.request_on(action.component, &host, self.now_ms)
        };
        request.request.size = action.change.size.unwrap_or(request.request.size);
        let request = self.swap(standby, request).ok_or_else(failed)?;
        let message = format!("it takes the place of its standby on {host}");
        self.answer(action.id, ActionStatus::InProgress, message);
        let active = Active { after, ..Active::new(action, source, Stage::Reserving(request)) };
        self.actions.begin(action.id, active);
        Ok(())
    }

    /// Continues or fails the heir's action when the standby's action has ended.
    pub(super) fn tell_heir(&mut self, first: ActionId, heir: HandOver, succeeded: bool) {
        let waits = self.actions.get(heir.id).filter(|active| active.after == Some(first));
        let Some(stage) = waits.map(|active| active.stage) else { return };
        if !succeeded {
            self.drop_place(heir.id);
            self.fail_action(heir.id, "its standby could not move elsewhere");
            return;
        }
        self.actions.transition_after(heir.id, None);
        if let Stage::Holding(reserved) = stage {
            self.replace(heir.id, reserved);
        }
    }

    /// Sets the deadline of the heir's request once the standby has ended; before that it has none.
    pub(in crate::application) fn way_is_free(&mut self, container: ContainerRef, of: ComponentId) {
        let Some((request, _, way)) = self.requests.waits_for_way(container, of, &self.fleet) else { return };
        let deadline_ms = self.now_ms.saturating_add(way.within_ms);
        self.requests.change(request, |waits| waits.deadline_ms = Some(deadline_ms));
    }

    /// Ends the search for the place of a standby that does not stop.
    pub(in crate::application) fn way_stays_taken(&mut self, container: ContainerRef, of: ComponentId) {
        if let Some((request, action, _)) = self.requests.waits_for_way(container, of, &self.fleet) {
            self.look_elsewhere_or_fail(action, request, "its standby did not stop");
        }
    }
}
