//! Failed and cancelled actions release their containers and cancel their requests.

use super::{ActionId, ActionStatus, ApplicationState, Place, Stage};
use crate::client::{ContainerRef, RequestId};
use crate::history::InstanceState;

impl ApplicationState {
    /// Cancels an action if its container is not being stopped yet.
    pub(in crate::application) fn cancel_action(&mut self, id: ActionId) {
        let was_queued = self.actions.remove_queued(id);
        let stage = self.actions.get(id).map(|active| active.stage);
        let is_in_time = matches!(stage, Some(Stage::Reserving(_) | Stage::Holding(_)));
        if is_in_time {
            self.drop_place(id);
            self.actions.end(id);
        }
        if was_queued || is_in_time {
            self.answer(id, ActionStatus::Cancelled, "it was taken back");
        }
    }

    /// Handles a failed search for a place: the action looks elsewhere if it may, otherwise it fails.
    pub(in crate::application) fn look_elsewhere_or_fail(
        &mut self,
        id: ActionId,
        request: RequestId,
        why: &str,
    ) {
        if !self.look_elsewhere(id) {
            self.no_place_found(request, why);
        }
    }

    /// Ends the request for a place. A running container keeps running. If the container is being stopped,
    /// the review requests its successor.
    pub(in crate::application) fn no_place_found(&mut self, request: RequestId, why: &str) {
        let Some(id) = self.requests.get(request).and_then(|outstanding| outstanding.action) else {
            return;
        };
        self.requests.cancel(request, &mut self.fleet, &mut self.operations);
        let is_stopping =
            self.actions.get(id).is_some_and(|active| matches!(active.stage, Stage::Stopping { .. }));
        if !is_stopping {
            self.fail_action(id, why);
        }
    }

    /// Handles a failed stop. A container of an action keeps running, and the action fails. Others are
    /// stopped again later.
    pub(in crate::application) fn stop_failed(&mut self, container: ContainerRef) {
        let is_releasing = self.fleet.state(container) == Some(InstanceState::Releasing);
        let Some(id) = self.action_on(container).filter(|_| is_releasing) else {
            self.look_after_end(container, self.settings.retry_after_ms);
            self.place_stays_taken(container);
            return;
        };
        self.fleet.transition(container, InstanceState::Live);
        // The report of its start may have been lost during the stop.
        if let Some(instance) = self.fleet.instance_mut(container) {
            instance.started_ms.get_or_insert(self.now_ms);
        }
        self.drop_place(id);
        self.fail_action(id, "the container could not be stopped; it runs on");
    }

    /// Fails actions whose container took too long to stop or to run again. The review replaces that
    /// container when it does stop.
    pub(in crate::application) fn check_stops(&mut self) {
        for id in self.actions.late(self.now_ms) {
            self.drop_place(id);
            if let Some(Stage::Starting { container, .. }) = self.actions.get(id).map(|active| active.stage) {
                self.fail_action(id, "its replacement did not report in time that it runs");
                self.release(container);
                continue;
            }
            self.fail_action(id, "the container did not stop, or does not run again, in time");
        }
    }

    /// Fails all actions, because the service ends.
    pub(in crate::application) fn end_actions(&mut self) {
        for action in self.actions.take_all_queued() {
            self.answer(action.id, ActionStatus::Failed, "the service ends");
        }
        for id in self.actions.active_ids() {
            self.drop_place(id);
            self.fail_action(id, "the service ends");
        }
    }

    /// Releases or cancels the reserved place of an action.
    pub(super) fn drop_place(&mut self, id: ActionId) {
        match self.actions.get(id).map(|active| active.stage) {
            Some(Stage::Stopping { place: Place::Reserved(reserved), .. } | Stage::Holding(reserved)) => {
                self.fleet.remove(reserved, None);
                self.give_back(reserved, None);
            }
            Some(Stage::Stopping { place: Place::Asked(request), .. } | Stage::Reserving(request)) => {
                self.requests.cancel(request, &mut self.fleet, &mut self.operations);
            }
            Some(
                Stage::Stopping { place: Place::Unasked, .. } | Stage::Starting { .. } | Stage::Recovering,
            )
            | None => {}
        }
    }

    pub(super) fn fail_action(&mut self, id: ActionId, why: &str) {
        if let Some(active) = self.actions.end(id) {
            if let Some(undo) = &active.undo {
                self.change_component(active.action.component, undo);
            }
            self.fleet.components.touch(active.action.component);
            self.answer(id, ActionStatus::Failed, why);
            if let Some(heir) = active.action.hands_over_to {
                self.tell_heir(id, heir, false);
            }
        }
    }
}
