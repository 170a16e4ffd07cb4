//! Failover: an instance that lost its place takes the place of its standby (Samza's failover, `samza.md`
//! 1.9).
//!
//! The standby stops, and its host is requested instead (`swap.rs`). The standby is requested elsewhere.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::fleet::ComponentInstance;
use super::{ApplicationState, Operation};
use crate::client::{ContainerRef, RequestId};
use crate::component::ComponentId;
use crate::history::{InstanceState, OutstandingRequest};

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
}

impl ApplicationState {
    /// Starts a failover if the component has standbys: its place is lost or unknown.
    pub(super) fn lose_place(&mut self, component: ComponentId) {
        if let Some(known) =
            self.fleet.component_mut(component).filter(|known| !known.spec.takes_over.is_empty())
        {
            known.takeover.transition_stage(TakeoverStage::Due);
        }
    }

    /// Returns whether the component waits for a standby to stop. Stops one if a failover is due.
    pub(super) fn awaits_place(&mut self, component: ComponentId, operations: &mut Vec<Operation>) -> bool {
        match self.fleet.component(component).map(|known| &known.takeover.stage) {
            Some(TakeoverStage::Awaiting(_)) => true,
            Some(TakeoverStage::Due) => self.make_way_for(component, operations),
            _ => false,
        }
    }

    fn make_way_for(&mut self, component: ComponentId, operations: &mut Vec<Operation>) -> bool {
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
        let outstanding = self.request_on(component, &host);
        self.swap(standby, outstanding, operations);
        true
    }

    /// Picks the standby to replace: one that has read all state if possible, then the one that has run
    /// longest. Skips hosts that were tried before and standbys that are being replaced.
    pub(super) fn standby_to_replace(&self, component: ComponentId) -> Option<ContainerRef> {
        let known = self.fleet.component(component)?;
        let standbys = known.spec.takes_over.iter().filter_map(|standby| self.fleet.component(*standby));
        let containers = standbys.flat_map(|standby| standby.census.iter());
        let live = containers.filter(|(_, state)| *state == InstanceState::Live);
        let eligible = live.filter_map(|(container, _)| {
            let there = self.fleet.instance(container)?;
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
    pub(super) fn place_is_free(
        &mut self,
        container: ContainerRef,
        ended: &ComponentInstance,
        operations: &mut Vec<Operation>,
    ) {
        let Some(component) = self.waits_for(container, ended.component) else { return };
        let is_asked = match self.asked_on(component, &ended.host) {
            Some(request) => self.wait_as_any_other(request, operations),
            None => false,
        };
        if let Some(known) = self.fleet.component_mut(component) {
            let free = TakeoverStage::Free(ended.host.clone());
            known.takeover.transition_stage(if is_asked { TakeoverStage::None } else { free });
            self.fleet.components.touch(component);
        }
    }

    pub(super) fn asked_on(&self, component: ComponentId, host: &Arc<str>) -> Option<RequestId> {
        let mut asked = self.outstanding.of(component);
        asked.find(|waits| waits.host.as_ref() == Some(host)).map(OutstandingRequest::id)
    }

    /// Ends a failover whose standby does not stop in time; the component is requested elsewhere.
    pub(super) fn place_stays_taken(&mut self, container: ContainerRef, operations: &mut Vec<Operation>) {
        let Some(there) = self.fleet.instance(container) else { return };
        let (of, host) = (there.component, there.host.clone());
        self.way_stays_taken(container, of, operations);
        let Some(component) = self.waits_for(container, of) else { return };
        if let Some(request) = self.asked_on(component, &host) {
            self.cancel_request(request, operations);
        }
        if let Some(known) = self.fleet.component_mut(component) {
            known.takeover.transition_stage(TakeoverStage::None);
            self.fleet.components.touch(component);
        }
    }

    fn waits_for(&self, container: ContainerRef, of: ComponentId) -> Option<ComponentId> {
        self.fleet.components.peers(of).find(|peer| {
            let stage = self.fleet.component(*peer).map(|known| &known.takeover.stage);
            matches!(stage, Some(TakeoverStage::Awaiting(awaited)) if *awaited == container)
        })
    }

    /// Takes the host that was made free for the component, if it still accepts it.
    pub(super) fn take_free_place(&mut self, component: ComponentId) -> Option<Arc<str>> {
        let known = self.fleet.component_mut(component)?;
        let before = known.takeover.transition_stage(TakeoverStage::None);
        let TakeoverStage::Free(host) = before else { return None };
        (self.fleet.takes(component, &host) && self.is_clear_of_peers(component, &host)).then_some(host)
    }

    /// Ends the failover: the component runs again.
    pub(super) fn transition_placed(&mut self, component: ComponentId) {
        if let Some(known) = self.fleet.component_mut(component) {
            known.takeover = Takeover::default();
        }
    }

    /// Returns the host of the standby that makes way for the component.
    pub(super) fn awaited_place(&self, component: ComponentId) -> Option<&Arc<str>> {
        match self.fleet.component(component)?.takeover.stage {
            TakeoverStage::Awaiting(container) => self.fleet.instance(container).map(|there| &there.host),
            _ => None,
        }
    }
}
