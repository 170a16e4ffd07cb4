//! Destinations of an action.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{ActionKind, ActionStatus, ApplicationState, ContainerAction, Source};
use crate::application::actions::begin::Refusal;
use crate::application::ask::Occupied;
use crate::client::ContainerRef;
use crate::component::ComponentId;

impl ApplicationState {
    /// Returns the acceptable hosts; at least one.
    pub(super) fn destinations(
        &self,
        action: &ContainerAction,
        source: &Source,
    ) -> Result<Vec<Arc<str>>, Refusal> {
        if let ActionKind::MoveTo(host) = &action.kind {
            self.check_destination(action.component, host, source.container)?;
        }
        let wanted = match (&action.kind, &source.host) {
            (ActionKind::MoveTo(host), _)
            | (ActionKind::Restart | ActionKind::StopAndRestart, Some(host)) => {
                vec![host.clone()]
            }
            // An unreported host may be gone, and the manager refuses a request that names it as a whole.
            (_, from) => {
                let reported = self.fleet.history.nodes().filter(|(_, node)| node.report.is_some());
                let is_another =
                    |host: &&Arc<str>| source.container.is_none() || Some(*host) != from.as_ref();
                reported.map(|(host, _)| host).filter(is_another).cloned().collect()
            }
        };
        let occupied = self.requests.occupied(action.component, &self.fleet);
        let is_avoided = |host: &Arc<str>| {
            action.avoid.iter().any(|other| self.fleet.is_near(action.component, other, host))
        };
        let mut fit = Vec::with_capacity(wanted.len());
        let mut unfit: BTreeMap<&'static str, usize> = BTreeMap::new();
        for host in wanted {
            let avoided = is_avoided(&host).then_some("it is near to where the container is");
            match avoided.or_else(|| self.why_unfit(action.component, source.container, &occupied, &host)) {
                None => fit.push(host),
                Some(why) => *unfit.entry(why).or_default() += 1,
            }
        }
        if fit.is_empty() { Err((ActionStatus::Failed, no_host(action, &unfit))) } else { Ok(fit) }
    }

    /// Returns why the host is not acceptable for a container, or for a restart beside its `source`.
    fn why_unfit(
        &self,
        component: ComponentId,
        source: Option<ContainerRef>,
        occupied: &Occupied,
        host: &Arc<str>,
    ) -> Option<&'static str> {
        if !occupied.is_clear(&self.fleet, host) {
            return Some("an instance that it keeps apart from is near, or is requested there");
        }
        if let Some(why) = self.fleet.why_closed(component, host) {
            return Some(why);
        }
        let is_asked =
            self.fleet.history.entry(host, component).is_some_and(|entry| !entry.requested.is_empty());
        if is_asked {
            return Some("a request for that host waits already");
        }
        let is_together = self.fleet.would_be_together(component, host, source);
        is_together.then_some("an instance that it keeps apart from is there")
    }

    /// Rejects a destination that is invalid whatever happens elsewhere.
    fn check_destination(
        &self,
        component: ComponentId,
        host: &Arc<str>,
        source: Option<ContainerRef>,
    ) -> Result<(), Refusal> {
        let bad = |reason: String| Err((ActionStatus::BadRequest, reason));
        if self.fleet.history.node(host).is_none() {
            return bad(format!("there is no host `{host}`"));
        }
        if self.fleet.is_grouped(component) && self.fleet.would_be_together(component, host, source) {
            return bad(format!("host `{host}` does not meet the standby constraints"));
        }
        Ok(())
    }

    /// Returns whether the container may restart on its host.
    pub(super) fn may_come_back(
        &self,
        component: ComponentId,
        host: &Arc<str>,
        container: ContainerRef,
    ) -> bool {
        self.why_unfit(component, Some(container), &self.requests.occupied(component, &self.fleet), host)
            .is_none()
    }
}

/// Describes why no host is acceptable, with the number of hosts per reason.
fn no_host(action: &ContainerAction, unfit: &BTreeMap<&'static str, usize>) -> String {
    let reasons: Vec<String> = match &action.kind {
        ActionKind::MoveTo(host) => unfit.keys().map(|why| format!("{host}: {why}")).collect(),
        _ => unfit.iter().map(|(why, hosts)| format!("{why} ({hosts})")).collect(),
    };
    match reasons.is_empty() {
        true => "no host will do: there is no other".to_owned(),
        false => format!("no host will do: {}", reasons.join("; ")),
    }
}
