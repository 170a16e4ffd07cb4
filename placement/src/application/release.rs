//! Which containers are given back when there are too many (table 1.18, D11).

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::{ApplicationState, Operation};
use crate::client::ContainerRef;
use crate::component::ComponentId;

impl ApplicationState {
    /// Takes back up to `most` requests: those that name no host first, the oldest of each kind first. Says how many.
    pub(super) fn cancel_requests(
        &mut self,
        component: ComponentId,
        most: usize,
        operations: &mut Vec<Operation>,
    ) -> usize {
        let (placed, open): (Vec<_>, Vec<_>) = self
            .outstanding
            .of(component)
            .map(|outstanding| (outstanding.host.is_some(), outstanding.id()))
            .partition(|(is_placed, _)| *is_placed);
        let chosen: Vec<_> = open.into_iter().chain(placed).take(most).map(|(_, id)| id).collect();
        for request in &chosen {
            self.cancel_request(*request, operations);
        }
        chosen.len()
    }

    /// Chooses containers to give back: from the hosts that have most of the component, and of those the newest.
    pub(super) fn choose_released(&self, component: ComponentId, most: usize) -> Vec<ContainerRef> {
        let Some(known) = self.components.get(&component).filter(|_| most > 0) else { return Vec::new() };
        let mut held: Vec<(u64, ContainerRef, &Arc<str>)> = Vec::new();
        for (container, state) in known.census.iter() {
            if let Some(instance) = self.instances.get(&container).filter(|_| state.is_held()) {
                held.push((instance.came_ms, container, &instance.host));
            }
        }
        held.sort_unstable();
        let mut before_on_host: BTreeMap<&Arc<str>, u32> = BTreeMap::new();
        let mut ranked = Vec::with_capacity(held.len());
        for (came_ms, container, host) in held {
            let older = before_on_host.entry(host).or_default();
            ranked.push((Reverse(*older), Reverse(came_ms), Reverse(container)));
            *older += 1;
        }
        ranked.sort_unstable();
        ranked.into_iter().take(most).map(|(_, _, Reverse(container))| container).collect()
    }
}
