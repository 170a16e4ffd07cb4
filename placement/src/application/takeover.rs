//! Failover: an instance that lost its place takes the place of its standby (Samza's failover, `samza.md`
//! 1.9).
//!
//! The standby stops, and its host is requested instead: a swap. If the manager can do both in one step,
//! no other application gets the room in between. The standby is requested elsewhere. Until its old
//! container has ended, the component does not miss the instance; afterwards the request is like any other.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::fleet::{ComponentInstance, Fleet};
use super::outstanding::OutstandingRequest;
use super::{ApplicationState, Operation};
use crate::client::{ContainerRef, RequestId};
use crate::component::ComponentId;
use crate::history::InstanceState;

/// The progress of a component's failover.
#[derive(Clone, Debug, Default)]
pub(super) struct Takeover {
    stage: TakeoverStage,
    /// Hosts taken over since it last ran; none is tried twice.
    tried: BTreeSet<Arc<str>>,
}

#[derive(Clone, Debug, Default)]
enum TakeoverStage {
    /// No failover.
    #[default]
    None,
    /// It has lost its place.
    Due,
    /// This standby container is stopping for it.
    Awaiting(ContainerRef),
    /// The standby on this host has ended.
    Free(Arc<str>),
}

impl Takeover {
    /// Returns the previous stage.
    fn transition_stage(&mut self, stage: TakeoverStage) -> TakeoverStage {
        std::mem::replace(&mut self.stage, stage)
    }

    /// Takes the host that a standby left.
    pub(super) fn take_free_place(&mut self) -> Option<Arc<str>> {
        match self.transition_stage(TakeoverStage::None) {
            TakeoverStage::Free(host) => Some(host),
            _ => None,
        }
    }
}

impl Fleet {
    /// Starts a failover if the component has standbys: its place is lost or unknown.
    pub(super) fn lose_place(&mut self, component: ComponentId) {
        let known = self.component_mut(component).filter(|known| !known.spec.takes_over.is_empty());
        if let Some(known) = known {
            known.takeover.transition_stage(TakeoverStage::Due);
        }
    }

    /// Ends the failover: the component runs again.
    pub(super) fn placed(&mut self, component: ComponentId) {
        if let Some(known) = self.component_mut(component) {
            known.takeover = Takeover::default();
        }
    }

    /// Returns the host of the standby that makes way for the component.
    pub(super) fn awaited_place(&self, component: ComponentId) -> Option<&Arc<str>> {
        match self.component(component)?.takeover.stage {
            TakeoverStage::Awaiting(container) => self.instance(container).map(|there| &there.host),
            _ => None,
        }
    }

    /// Returns the peer of the component whose failover waits for the container to end.
    fn waits_for(&self, container: ContainerRef, of: ComponentId) -> Option<ComponentId> {
        self.components.peers(of).find(|peer| {
            let stage = self.component(*peer).map(|known| &known.takeover.stage);
            matches!(stage, Some(TakeoverStage::Awaiting(awaited)) if *awaited == container)
        })
    }
}

impl ApplicationState {
    /// Returns whether the component waits for a standby to stop. Stops one if a failover is due.
    pub(super) fn waits_for_standby(&mut self, component: ComponentId) -> bool {
        match self.fleet.component(component).map(|known| &known.takeover.stage) {
            Some(TakeoverStage::Awaiting(_)) => true,
            Some(TakeoverStage::Due) => self.make_way_for(component),
            _ => false,
        }
    }

    fn make_way_for(&mut self, component: ComponentId) -> bool {
        let standby = self.standby_to_replace(component);
        let host = standby.and_then(|standby| self.fleet.instance(standby)).map(|there| there.host.clone());
        let Some(known) = self.fleet.component_mut(component) else { return false };
        let (Some(standby), Some(host)) = (standby, host) else {
            known.takeover.transition_stage(TakeoverStage::None);
            return false;
        };
        known.takeover.transition_stage(TakeoverStage::Awaiting(standby));
        known.takeover.tried.insert(host.clone());
        known.counters.took_over += 1;
        let outstanding = self.fleet.request_on(component, &host, self.now_ms);
        self.swap(standby, outstanding);
        true
    }

    /// Picks the standby to replace: preferably a standby that has read all state, then the longest running
    /// one. Skips hosts that were tried before and standbys that are being replaced.
    pub(super) fn standby_to_replace(&self, component: ComponentId) -> Option<ContainerRef> {
        let known = self.fleet.component(component)?;
        let standbys = known.spec.takes_over.iter().flat_map(|standby| self.fleet.instances_of(*standby));
        let live = standbys.filter(|(_, state, _)| *state == InstanceState::Live);
        let eligible = live.filter_map(|(container, _, there)| {
            let is_new = !known.takeover.tried.contains(&there.host);
            let takes_it = self.fleet.takes(component, &there.host) && !self.is_being_replaced(container);
            (is_new && takes_it).then_some((!there.has_caught_up, there.started_ms, container))
        });
        eligible.min().map(|(.., container)| container)
    }

    pub(super) fn caught_up(&mut self, container: ContainerRef) {
        if let Some(instance) = self.fleet.instance_mut(container) {
            instance.has_caught_up = true;
        }
    }

    /// Returns whether the standby in the container has read all state.
    pub(crate) fn has_caught_up(&self, container: ContainerRef) -> bool {
        self.fleet.instance(container).is_some_and(|instance| instance.has_caught_up)
    }

    /// Handles the end of a container that a failover waits for: its host can be used now.
    pub(super) fn place_is_free(&mut self, container: ContainerRef, ended: &ComponentInstance) {
        let Some(component) = self.fleet.waits_for(container, ended.component) else { return };
        let request = self.requests.on(component, &ended.host);
        if let Some(request) = request {
            self.requests.wait_as_any_other(request, &mut self.fleet, self.now_ms, &mut self.operations);
        }
        let is_asked = request.is_some_and(|request| self.requests.get(request).is_some());
        if let Some(known) = self.fleet.component_mut(component) {
            let free = TakeoverStage::Free(ended.host.clone());
            known.takeover.transition_stage(if is_asked { TakeoverStage::None } else { free });
            self.fleet.components.touch(component);
        }
    }

    /// Ends a failover whose standby does not stop in time; the component is requested elsewhere.
    pub(super) fn place_stays_taken(&mut self, container: ContainerRef) {
        let Some(there) = self.fleet.instance(container) else { return };
        let (of, host) = (there.component, there.host.clone());
        self.way_stays_taken(container, of);
        let Some(component) = self.fleet.waits_for(container, of) else { return };
        if let Some(request) = self.requests.on(component, &host) {
            self.requests.cancel(request, &mut self.fleet, &mut self.operations);
        }
        if let Some(known) = self.fleet.component_mut(component) {
            known.takeover.transition_stage(TakeoverStage::None);
            self.fleet.components.touch(component);
        }
    }

    /// Releases a container and requests another on its host. `None` if it was being released already.
    pub(super) fn swap(
        &mut self,
        container: ContainerRef,
        outstanding: OutstandingRequest,
    ) -> Option<RequestId> {
        if !self.transition_releasing(container) {
            return None;
        }
        let request = self.requests.number(outstanding, &mut self.fleet);
        let id = request.id;
        self.operations.push(Operation::Swap { container, request });
        self.action_container_released(container);
        Some(id)
    }
}
