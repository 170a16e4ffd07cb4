//! The hosts to which an action may move its container, and why a host is not acceptable.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::begin::Refusal;
use super::{ActionId, ActionKind, ActionStatus, Actions, ContainerAction, Source, Stage};
use crate::application::Operation;
use crate::application::ask::Occupied;
use crate::application::fleet::Fleet;
use crate::application::outstanding::OutstandingRequest;
use crate::application::requests::Requests;
use crate::client::{ContainerRef, RequestId};
use crate::component::ComponentId;

impl ContainerAction {
    /// Returns the acceptable hosts; at least one.
    pub(super) fn destinations(
        &self,
        source: &Source,
        fleet: &Fleet,
        requests: &Requests,
    ) -> Result<Vec<Arc<str>>, Refusal> {
        if let ActionKind::MoveTo(host) = &self.kind {
            fleet.check_destination(self.component, host, source.container)?;
        }
        let wanted = match (&self.kind, &source.host) {
            (ActionKind::MoveTo(host), _)
            | (ActionKind::Restart | ActionKind::StopAndRestart, Some(host)) => {
                vec![host.clone()]
            }
            // An unreported host may be gone, and the manager refuses a request that names it as a whole.
            (_, from) => {
                let reported = fleet.history.nodes().filter(|(_, node)| node.report.is_some());
                let is_another =
                    |host: &&Arc<str>| source.container.is_none() || Some(*host) != from.as_ref();
                reported.map(|(host, _)| host).filter(is_another).cloned().collect()
            }
        };
        let occupied = requests.occupied(self.component, fleet);
        let is_avoided =
            |host: &Arc<str>| self.avoid.iter().any(|other| fleet.is_near(self.component, other, host));
        let mut fit = Vec::with_capacity(wanted.len());
        let mut unfit: BTreeMap<&'static str, usize> = BTreeMap::new();
        for host in wanted {
            let avoided = is_avoided(&host).then_some("it is near to where the container is");
            match avoided.or_else(|| fleet.why_unfit(self.component, source.container, &occupied, &host)) {
                None => fit.push(host),
                Some(why) => *unfit.entry(why).or_default() += 1,
            }
        }
        if fit.is_empty() { Err((ActionStatus::Failed, self.no_host(&unfit))) } else { Ok(fit) }
    }

    /// Describes why no host is acceptable, with the number of hosts per reason.
    fn no_host(&self, unfit: &BTreeMap<&'static str, usize>) -> String {
        let reasons: Vec<String> = match &self.kind {
            ActionKind::MoveTo(host) => unfit.keys().map(|why| format!("{host}: {why}")).collect(),
            _ => unfit.iter().map(|(why, hosts)| format!("{why} ({hosts})")).collect(),
        };
        match reasons.is_empty() {
            true => "no host will do: there is no other".to_owned(),
            false => format!("no host will do: {}", reasons.join("; ")),
        }
    }
}

impl Fleet {
    /// Returns why the host is not acceptable for a container, or for a restart beside its `source`.
    pub(super) fn why_unfit(
        &self,
        component: ComponentId,
        source: Option<ContainerRef>,
        occupied: &Occupied,
        host: &Arc<str>,
    ) -> Option<&'static str> {
        if !occupied.is_clear(self, host) {
            return Some("an instance that it keeps apart from is near, or is requested there");
        }
        if let Some(why) = self.why_closed(component, host) {
            return Some(why);
        }
        let is_asked = self.history.entry(host, component).is_some_and(|entry| !entry.requested.is_empty());
        if is_asked {
            return Some("a request for that host waits already");
        }
        let is_together = self.would_be_together(component, host, source);
        is_together.then_some("an instance that it keeps apart from is there")
    }

    /// Rejects a destination that is invalid regardless of other containers.
    fn check_destination(
        &self,
        component: ComponentId,
        host: &Arc<str>,
        source: Option<ContainerRef>,
    ) -> Result<(), Refusal> {
        let bad = |reason: String| Err((ActionStatus::BadRequest, reason));
        if self.history.node(host).is_none() {
            return bad(format!("there is no host `{host}`"));
        }
        if self.is_grouped(component) && self.would_be_together(component, host, source) {
            return bad(format!("host `{host}` does not meet the standby constraints"));
        }
        Ok(())
    }
}

impl Actions {
    /// Reissues requests of actions that may use any host, if the acceptable hosts have changed. Their
    /// deadlines stay.
    pub(in crate::application) fn relist(
        &mut self,
        fleet: &mut Fleet,
        requests: &mut Requests,
        operations: &mut Vec<Operation>,
    ) {
        for id in self.active_ids() {
            let Some((request, hosts)) = self.other_destinations(id, fleet, requests) else { continue };
            let change = |waits: &mut OutstandingRequest| {
                waits.host = (hosts.len() == 1).then(|| hosts[0].clone());
                waits.request.hosts = hosts;
            };
            if let Some(request) = requests.reissue(request, change, fleet, operations) {
                self.transition_stage(id, Stage::Reserving(request));
            }
        }
    }

    /// Returns the request of an action that may use any host, with its acceptable hosts, if its list
    /// differs from these.
    fn other_destinations(
        &self,
        id: ActionId,
        fleet: &Fleet,
        requests: &Requests,
    ) -> Option<(RequestId, Vec<Arc<str>>)> {
        let active = self.get(id)?;
        let (ActionKind::MoveElsewhere, Stage::Reserving(request)) = (&active.action.kind, active.stage)
        else {
            return None;
        };
        let named: BTreeSet<&Arc<str>> = requests.get(request)?.request.hosts.iter().collect();
        let found = active.action.destinations(&active.source, fleet, requests).unwrap_or_default();
        // A host with a request counts as taken; here the request is this action's own.
        let stay = named.iter().filter(|host| fleet.takes(active.action.component, host));
        let hosts: BTreeSet<Arc<str>> = stay.map(|host| Arc::clone(host)).chain(found).collect();
        let is_same = hosts.len() == named.len() && hosts.iter().all(|host| named.contains(host));
        (!is_same && !hosts.is_empty()).then(|| (request, hosts.into_iter().collect()))
    }
}
