//! Containers that are being stopped keep their node and their charge until the end is confirmed or the timeout
//! passes.

use apportion::event::EventKind;
use apportion::{ApplicationId, ContainerId, EndCause};

use super::{Application, Effect, Oracle};

impl Oracle {
    /// Whether the container runs and is not being stopped.
    pub(super) fn is_unstopped(&self, id: ContainerId) -> bool {
        self.container(id).is_some_and(|container| container.stopping.is_none())
    }

    pub(super) fn stop(&mut self, id: ContainerId, cause: EndCause) -> Effect {
        let until_ms = self.now_ms.saturating_add(self.config.stop_timeout_ms);
        let container = self.container_mut(id);
        container.stopping = Some((cause, until_ms));
        let node = container.node;
        (container.application, EventKind::ContainerStopping { container: id, node, until_ms, cause })
    }

    /// The application, unless it has ended or is ending.
    pub(super) fn goes_on(&self, id: ApplicationId) -> Option<&Application> {
        self.applications.get(&id).filter(|application| application.ending.is_none())
    }

    /// Whether the application ends with this container.
    #[must_use]
    pub fn is_last_awaited(&self, id: ContainerId) -> bool {
        let Some(container) = self.container(id) else { return false };
        let same = self.containers.values().filter(|other| other.application == container.application);
        self.applications[&container.application].ending.is_some() && same.count() == 1
    }

    /// The cause of an end, either reported or by timeout.
    ///
    /// # Errors
    /// If the engine timed out too early.
    pub(super) fn told_cause(&self, id: ContainerId, cause: EndCause) -> Result<EndCause, String> {
        let stopping = self.container(id).and_then(|container| container.stopping);
        match (cause, stopping) {
            (EndCause::StopTimedOut, Some((_, until_ms))) if until_ms <= self.now_ms => Ok(cause),
            (EndCause::StopTimedOut, _) => {
                Err(format!("{id}: {stopping:?} has not timed out at {}", self.now_ms))
            }
            (EndCause::Completed | EndCause::Released, Some((wanted, _))) => Ok(wanted),
            _ => Ok(cause),
        }
    }

    /// A container that still runs after its stop has timed out.
    #[must_use]
    pub fn overdue_stop(&self) -> Option<ContainerId> {
        let is_overdue = |until_ms: u64| until_ms <= self.now_ms;
        let overdue =
            |container: &&super::Container| container.stopping.is_some_and(|(_, at)| is_overdue(at));
        self.containers.values().find(overdue).and_then(|container| container.id)
    }
}
