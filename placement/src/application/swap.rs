//! Swaps: a container makes way for a requested one on its host. If the manager can do both in one step, no
//! other application gets the room in between.
//!
//! Until the old container has ended, the component does not miss the instance, or the action waits for it.
//! Afterwards the request is like any other.

use std::sync::Arc;

use super::{ApplicationState, Operation};
use crate::client::{ContainerRef, RequestId};
use crate::component::ComponentId;
use crate::history::{OutstandingRequest, Reach};

impl ApplicationState {
    /// Creates a request for the component on only this host. It has no deadline.
    pub(super) fn request_on(&self, component: ComponentId, host: &Arc<str>) -> OutstandingRequest {
        let request = self.request_for(component, true).only_on([host.clone()]);
        OutstandingRequest {
            host: Some(host.clone()),
            reach: Reach::Host,
            ..OutstandingRequest::new(component, request, self.now_ms)
        }
    }

    /// Releases a container and requests another on its host. `None` if it was being released already.
    pub(super) fn swap(
        &mut self,
        container: ContainerRef,
        outstanding: OutstandingRequest,
        operations: &mut Vec<Operation>,
    ) -> Option<RequestId> {
        if !self.transition_releasing(container) {
            return None;
        }
        let request = self.number(outstanding);
        let id = request.id;
        operations.push(Operation::Swap { container, request });
        self.action_container_released(container, operations);
        Some(id)
    }

    /// Turns the request of a swap into an ordinary one once the old container has ended. Returns whether
    /// it still waits: a one-by-one component cancels it if another request waits.
    pub(super) fn wait_as_any_other(&mut self, request: RequestId, operations: &mut Vec<Operation>) -> bool {
        let Some(component) = self.outstanding.get(request).map(|waits| waits.component) else {
            return false;
        };
        let is_second = |waits: &OutstandingRequest| waits.id() != request;
        if self.fleet.is_one_by_one(component) && self.outstanding.of(component).any(is_second) {
            self.cancel_request(request, operations);
            return false;
        }
        let Some(mut outstanding) = self.outstanding.remove(request) else { return false };
        let known = self.fleet.component(component);
        let escalates = known.filter(|known| !known.is_strict());
        let widens_ms = escalates.map(|known| self.now_ms.saturating_add(known.spec.escalate_after_ms));
        outstanding.action = None;
        outstanding.gained = self.fleet.history.gained(component);
        outstanding.widens_ms = widens_ms;
        outstanding.deadline_ms = widens_ms;
        self.outstanding.add(outstanding);
        true
    }
}
