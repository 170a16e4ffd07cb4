//! The events received by applications: running containers, and every event as a line of text.

use std::collections::BTreeMap;

use apportion::event::{Event, EventKind, Refusal};
use apportion::{
    ApplicationEnd, ApplicationId, AskId, ContainerId, EndCause, ExecutionType, GangId, Locality, NodeId,
};

use super::form::GangState;
use super::names::Names;

/// A running container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Running {
    pub(super) container: ContainerId,
    pub(super) application: ApplicationId,
    pub(super) ask: AskId,
    pub(super) node: NodeId,
}

/// The events received so far.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// Oldest first.
    pub(super) running: Vec<Running>,
    /// The containers in the queues of nodes, oldest first.
    pub(super) waiting: Vec<Running>,
    /// By application: events since the last check.
    pub(super) lines: BTreeMap<ApplicationId, Vec<String>>,
    /// The ends and starts of gangs that wait no longer.
    pub(super) gangs: BTreeMap<GangId, GangState>,
    /// Refusals that no step has checked yet.
    pub(super) refused: Vec<(Refused, Refusal)>,
}

/// A submission that the engine refused after its handle had accepted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    Application(ApplicationId),
    Ask(AskId),
}

impl Told {
    /// Records an event.
    pub(super) fn record(&mut self, event: &Event, names: &Names) {
        let line = match event.kind {
            EventKind::Allocated { ask, container, node, locality, .. } => {
                self.running.push(Running { container, application: event.application, ask, node });
                let has_locality = names.asks.values().any(|known| known.id == ask && known.has_locality);
                let locality = if has_locality { locality_text(locality) } else { "" };
                format!("allocated {}{locality}", place(names, ask, node))
            }
            EventKind::OpportunisticAllocated { ask, container, node, .. } => {
                self.waiting.push(Running { container, application: event.application, ask, node });
                format!("queued {}", place(names, ask, node))
            }
            EventKind::OpportunisticStarted { ask, container, node } => {
                self.waiting.retain(|known| known.container != container);
                self.running.push(Running { container, application: event.application, ask, node });
                format!("started {}", place(names, ask, node))
            }
            EventKind::ContainerRecovered { ask, container, node, .. } => {
                self.running.push(Running { container, application: event.application, ask, node });
                format!("recovered {}", place(names, ask, node))
            }
            EventKind::ContainerResized { container } => {
                let Some(called) = self.called(container, names) else { return };
                format!("resized {called}")
            }
            EventKind::ExecutionTypeChanged { container, execution_type } => {
                let Some(called) = self.called(container, names) else { return };
                let word = match execution_type {
                    ExecutionType::Guaranteed => "promoted",
                    ExecutionType::Opportunistic => "demoted",
                };
                format!("{word} {called}")
            }
            EventKind::ContainerStopping { container, .. } => {
                let Some(called) = self.called(container, names) else { return };
                format!("stopping {called}")
            }
            EventKind::PreemptionAnnounced { container, .. } => {
                let Some(called) = self.called(container, names) else { return };
                format!("announced {called}")
            }
            EventKind::PreemptionWithdrawn { container } => {
                let Some(called) = self.called(container, names) else { return };
                format!("spared {called}")
            }
            EventKind::ContainerEnded { container, cause, .. } => {
                let Some(known) = self.take(container) else { return };
                format!("{} {}", cause_text(cause), place(names, known.ask, known.node))
            }
            EventKind::AskCancelled { ask, units } => format!("cancelled {}: {units}", names.ask_called(ask)),
            EventKind::Reserved { ask, node } => format!("reserved {}", place(names, ask, node)),
            EventKind::Unreserved { ask, node } => format!("unreserved {}", place(names, ask, node)),
            EventKind::ApplicationActivated => "activated".into(),
            EventKind::ApplicationEnding { end: ApplicationEnd::Finished } => "finishing".into(),
            EventKind::ApplicationEnding { end: ApplicationEnd::Killed } => "being killed".into(),
            EventKind::ApplicationEnding { end: ApplicationEnd::Expired } => "expiring".into(),
            EventKind::ApplicationEnded { end: ApplicationEnd::Finished } => "finished".into(),
            EventKind::ApplicationEnded { end: ApplicationEnd::Killed } => "killed".into(),
            EventKind::ApplicationEnded { end: ApplicationEnd::Expired } => "expired".into(),
            EventKind::AskRefused { ask, refusal } => {
                self.refused.push((Refused::Ask(ask), refusal));
                format!("refused {}: {refusal}", names.ask_called(ask))
            }
            EventKind::ApplicationRefused { refusal } => {
                self.refused.push((Refused::Application(event.application), refusal));
                format!("refused: {refusal}")
            }
            ref kind => self.record_gang(kind, names),
        };
        self.lines.entry(event.application).or_default().push(line);
    }

    /// A container that has ended neither runs nor waits.
    fn take(&mut self, container: ContainerId) -> Option<Running> {
        let lists = [&mut self.running, &mut self.waiting];
        lists.into_iter().find_map(|list| {
            let at = list.iter().position(|known| known.container == container)?;
            Some(list.remove(at))
        })
    }

    /// The running container of this identifier, as events call it.
    fn called(&self, container: ContainerId, names: &Names) -> Option<String> {
        let known = self.running.iter().find(|known| known.container == container)?;
        Some(place(names, known.ask, known.node))
    }
}

fn place(names: &Names, ask: AskId, node: NodeId) -> String {
    format!("{} on {}", names.ask_called(ask), names.node_called(node))
}

fn locality_text(locality: Locality) -> &'static str {
    match locality {
        Locality::NodeLocal => " (node-local)",
        Locality::RackLocal => " (rack-local)",
        Locality::OffSwitch => " (off-switch)",
    }
}

fn cause_text(cause: EndCause) -> &'static str {
    match cause {
        EndCause::Completed => "completed",
        EndCause::Released => "released",
        EndCause::NodeLost => "lost",
        EndCause::ApplicationEnded => "ended",
        EndCause::Preempted => "preempted",
        EndCause::StopTimedOut => "stop timed out",
        EndCause::Replaced => "replaced",
        EndCause::PlaceholderReleased => "placeholder released",
        EndCause::OpportunisticPreempted => "opportunistic preempted",
    }
}
