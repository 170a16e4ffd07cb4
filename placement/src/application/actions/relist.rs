//! Updates the host lists of waiting actions that may use any host.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{ActionId, ActionKind, ApplicationState, Stage};
use crate::application::outstanding::OutstandingRequest;
use crate::client::RequestId;

impl ApplicationState {
    /// Reissues requests whose acceptable hosts have changed. Their deadlines stay.
    pub(in crate::application) fn relist_destinations(&mut self) {
        for id in self.actions.active_ids() {
            let Some((request, hosts)) = self.other_destinations(id) else { continue };
            let change = |waits: &mut OutstandingRequest| {
                waits.host = (hosts.len() == 1).then(|| hosts[0].clone());
                waits.request.hosts = hosts;
            };
            if let Some(request) =
                self.requests.reissue(request, change, &mut self.fleet, &mut self.operations)
            {
                self.actions.transition_stage(id, Stage::Reserving(request));
            }
        }
    }

    /// Returns the request of an action that may use any host, with its acceptable hosts, if its list
    /// differs from these.
    fn other_destinations(&self, id: ActionId) -> Option<(RequestId, Vec<Arc<str>>)> {
        let active = self.actions.get(id)?;
        let (ActionKind::MoveElsewhere, Stage::Reserving(request)) = (&active.action.kind, active.stage)
        else {
            return None;
        };
        let named: BTreeSet<&Arc<str>> = self.requests.get(request)?.request.hosts.iter().collect();
        let found = self.destinations(&active.action, &active.source).unwrap_or_default();
        // A host with a request counts as taken; here the request is this action's own.
        let stay = named.iter().filter(|host| self.fleet.takes(active.action.component, host));
        let hosts: BTreeSet<Arc<str>> = stay.map(|host| Arc::clone(host)).chain(found).collect();
        let is_same = hosts.len() == named.len() && hosts.iter().all(|host| named.contains(host));
        (!is_same && !hosts.is_empty()).then(|| (request, hosts.into_iter().collect()))
    }
}
