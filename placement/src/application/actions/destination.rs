//! Where an action may bring a container.

use std::sync::Arc;

use super::{ActionKind, ActionStatus, ApplicationState, PlacementAction};
use crate::application::actions::begin::{Refusal, Source};
use crate::client::ContainerRef;
use crate::component::ComponentId;

impl ApplicationState {
    /// The hosts that will do; at least one.
    pub(super) fn destinations(
        &self,
        action: &PlacementAction,
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
            // A host that nobody reported may be gone, and a request that names it is refused as a whole.
            (_, from) => {
                let reported = self.history.nodes().filter(|(_, node)| node.report.is_some());
                let is_another =
                    |host: &&Arc<str>| source.container.is_none() || Some(*host) != from.as_ref();
                reported.map(|(host, _)| host).filter(is_another).cloned().collect()
            }
        };
        let is_avoided =
            |host: &Arc<str>| action.avoid.iter().any(|other| self.is_near(action.component, other, host));
        let occupied = self.occupied(action.component);
        let is_fit = |host: &Arc<str>| {
            !is_avoided(host)
                && self.is_clear(&occupied, host)
                && self.takes_one_more(action.component, host, source.container)
        };
        let fit: Vec<Arc<str>> = wanted.into_iter().filter(is_fit).collect();
        if fit.is_empty() {
            let reason = "no host will do: it is down or kept free, has another label, is asked for already, or runs an \
                          instance that this one keeps apart from";
            return Err((ActionStatus::Failed, reason.to_owned()));
        }
        Ok(fit)
    }

    /// A destination that makes no sense, whatever happens elsewhere.
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

    /// Whether the container may come back to where it is.
    pub(super) fn may_come_back(
        &self,
        component: ComponentId,
        host: &Arc<str>,
        container: ContainerRef,
    ) -> bool {
        self.is_clear_of_peers(component, host) && self.takes_one_more(component, host, Some(container))
    }

    fn takes_one_more(&self, component: ComponentId, host: &Arc<str>, source: Option<ContainerRef>) -> bool {
        let is_free = self.history.entry(host, component).is_none_or(|entry| entry.requested.is_empty());
        self.is_taken_by(component, host) && is_free && !self.would_be_together(component, host, source)
    }

    /// Whether the host takes containers of the component, if there is room.
    pub(crate) fn is_taken_by(&self, component: ComponentId, host: &str) -> bool {
        let label = self.components.get(&component).and_then(|known| known.spec.label.as_deref());
        self.history.node(host).is_some_and(|node| node.takes(label))
    }
}
