//! Swaps: a container makes way for one that is asked for on its host. A manager that can do both in one step lets
//! nobody else have the room between.
//!
//! What is asked for so is not missed by its component, or waits for the action that asked, until the container that
//! makes way has ended. From then on it is a request like any other.

use std::sync::Arc;

use super::{ApplicationState, Operation};
use crate::client::{ContainerRef, RequestId};
use crate::component::{ComponentId, PlacementPolicy};
use crate::history::{OutstandingRequest, Reach};

impl ApplicationState {
    /// A request for the component on this host and no other. It waits for as long as nobody says otherwise.
    pub(super) fn request_on(&self, component: ComponentId, host: &Arc<str>) -> OutstandingRequest {
        let request = self.request_for(component, true).only_on([host.clone()]);
        OutstandingRequest {
            host: Some(host.clone()),
            reach: Reach::Host,
            ..OutstandingRequest::new(component, request, self.now_ms)
        }
    }

    /// Gives a container back and asks for another one on its host. `None`: it was given back before.
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

    /// The container that made way has ended: the request waits like any other from now on. Says whether it does; where
    /// one is asked for at a time it does not if another one waits.
    pub(super) fn wait_as_any_other(&mut self, request: RequestId, operations: &mut Vec<Operation>) -> bool {
        let Some(component) = self.outstanding.get(request).map(|waits| waits.component) else {
            return false;
        };
        let is_second = |waits: &OutstandingRequest| waits.id() != request;
        if self.is_one_by_one(component) && self.outstanding.of(component).any(is_second) {
            self.cancel_request(request, operations);
            return false;
        }
        let Some(mut outstanding) = self.outstanding.remove(request) else { return false };
        let known = self.components.get(&component);
        let escalates = known.filter(|known| known.spec.policy != PlacementPolicy::Strict);
        let widens_ms = escalates.map(|known| self.now_ms.saturating_add(known.spec.escalate_after_ms));
        outstanding.action = None;
        outstanding.gained = self.history.gained(component);
        outstanding.widens_ms = widens_ms;
        outstanding.deadline_ms = widens_ms;
        self.outstanding.add(outstanding);
        true
    }
}
