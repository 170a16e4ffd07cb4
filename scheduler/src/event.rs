//! Events: the engine's messages to applications.

mod gang;
mod label;
mod refusal;
mod text;

use serde::{Deserialize, Serialize};

pub use gang::{GangRefusal, TaskGroupRefusal};
pub use refusal::{Refusal, Refused, Subject};

use crate::facts::{ApplicationEnd, EndCause, ExecutionType, GangEnd, GangStyle, Locality, PreemptionNotice};
use crate::ids::{ApplicationId, AskId, ContainerId, GangId, NodeId};
use crate::request::CommitSeq;

/// Something that happened to an application, with the change that caused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The change's position in the log. After a [`resync`](crate::Handle::resync) events up to the
    /// resynchronisation's own position are already part of its answer.
    pub seq: CommitSeq,
    /// The application that it concerns.
    pub application: ApplicationId,
    /// The kind of the event.
    pub kind: EventKind,
}

impl Event {
    /// Whether the event is new to a reader that knows the state as of `known`. A refusal changes no state, so it is
    /// always new.
    pub(crate) fn is_news(&self, known: CommitSeq) -> bool {
        let is_refusal = matches!(
            self.kind,
            EventKind::AskRefused { .. }
                | EventKind::ApplicationRefused { .. }
                | EventKind::GangRefused { .. }
        );
        self.seq > known || is_refusal
    }
}

/// The kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// A container was placed.
    Allocated {
        /// The ask.
        ask: AskId,
        /// The new container.
        container: ContainerId,
        /// The node on which it runs.
        node: NodeId,
        /// How near the node is to the hosts and racks that the ask named.
        locality: Locality,
        /// The [number](crate::AskSpec::allocation_request_id) that the caller gave the ask.
        allocation_request_id: u64,
    },
    /// The engine took over a running container that its node reported.
    ContainerRecovered {
        /// The ask that the engine made for it when the node reported it.
        ask: AskId,
        /// The container's new identifier.
        container: ContainerId,
        /// The node on which it runs.
        node: NodeId,
        /// The number with which the node reported it.
        allocation_request_id: u64,
    },
    /// A container changed its size. The [view](crate::view::View::container) shows the new size.
    ContainerResized {
        /// The container.
        container: ContainerId,
    },
    /// A container was demoted to opportunistic, or promoted to guaranteed.
    ExecutionTypeChanged {
        /// The container.
        container: ContainerId,
        /// Its new execution type.
        execution_type: ExecutionType,
    },
    /// A container is to be stopped. Its node should end its processes and confirm that with
    /// [`complete_container`](crate::Handle::complete_container).
    ContainerStopping {
        /// The container.
        container: ContainerId,
        /// The node on which it runs.
        node: NodeId,
        /// When the engine stops waiting for the confirmation.
        until_ms: u64,
        /// The cause of the stop, which becomes the cause of the end once that is confirmed.
        cause: EndCause,
    },
    /// A container ended, for any cause.
    ContainerEnded {
        /// The container.
        container: ContainerId,
        /// The cause.
        cause: EndCause,
        /// The [number](crate::AskSpec::allocation_request_id) that the caller gave its ask.
        allocation_request_id: u64,
    },
    /// Units of an ask were cancelled.
    AskCancelled {
        /// The ask.
        ask: AskId,
        /// The number of units.
        units: u32,
    },
    /// A node is reserved for one unit of an ask.
    Reserved {
        /// The ask.
        ask: AskId,
        /// The node.
        node: NodeId,
    },
    /// A reservation was dropped unused.
    Unreserved {
        /// The ask.
        ask: AskId,
        /// The node.
        node: NodeId,
    },
    /// The application waited for activation, and its asks may be served from now on. Applications that never waited
    /// get no such event.
    ApplicationActivated,
    /// The application was ended or its lifetime is over, and its containers are being stopped. Its asks are cancelled,
    /// and new asks are refused. [`ApplicationEnded`](Self::ApplicationEnded) follows when the last container has
    /// ended: its node confirmed that, was removed, or let `stop_timeout_ms` pass. To end the application sooner,
    /// release each container. Only with
    /// [`stop_ended_applications`](crate::config::EngineConfig::stop_ended_applications).
    ApplicationEnding {
        /// How the application ends.
        end: ApplicationEnd,
    },
    /// The application has ended. No further events follow, except refusals of asks that were sent too late. These come
    /// until another application with another stream gets the slot. Later refusals are only in
    /// [`Handle::take_refusals`](crate::Handle::take_refusals).
    ApplicationEnded {
        /// How it ended.
        end: ApplicationEnd,
    },
    /// The engine refused the application. No further events follow, except refusals of its asks, which come as long as
    /// after [`ApplicationEnded`](Self::ApplicationEnded).
    ApplicationRefused {
        /// The reason.
        refusal: Refusal,
    },
    /// The engine refused an ask.
    AskRefused {
        /// The ask.
        ask: AskId,
        /// The reason.
        refusal: Refusal,
    },
    /// A container is to end, because another ask is owed its room. Until then the application may save its work, or
    /// give back other containers. The container ends with the cause [`Preempted`](crate::event::EndCause::Preempted).
    PreemptionAnnounced {
        /// The container.
        container: ContainerId,
        /// When it may end, for whom and why.
        notice: PreemptionNotice,
    },
    /// An announced container is spared: its room is not needed.
    PreemptionWithdrawn {
        /// The container.
        container: ContainerId,
    },
    /// At least the minimum of a gang was placed, by the [`Allocated`](Self::Allocated) events of the same position.
    GangStarted {
        /// The gang.
        gang: GangId,
    },
    /// A gang ended that has not started.
    GangEnded {
        /// The gang.
        gang: GangId,
        /// How it ended.
        end: GangEnd,
        /// What became of its asks. With [`GangStyle::Soft`] after a timeout they stay as ordinary asks, except those
        /// for placeholders; otherwise [`AskCancelled`](Self::AskCancelled) follows for each.
        style: GangStyle,
    },
    /// A gang gave back the room that it held, because it had not grown for
    /// [`gather_limit_ms`](crate::config::EngineConfig::gather_limit_ms). The gang waits on behind the other gangs.
    GangTurnEnded {
        /// The gang.
        gang: GangId,
        /// How many of its turns have ended so.
        turns: u32,
    },
    /// The engine refused a gang, and with it all of its asks.
    GangRefused {
        /// The gang.
        gang: GangId,
        /// The reason. The ticket of the call has the numbers.
        refusal: Refusal,
    },
    /// Placeholders of a gang were not replaced in time. [`AskCancelled`](Self::AskCancelled) follows for those that
    /// are pending, and [`ContainerStopping`](Self::ContainerStopping) for those that run.
    PlaceholdersTimedOut {
        /// The gang.
        gang: GangId,
        /// With [`GangStyle::Hard`] the gang fails: its asks and those of its task groups are cancelled. Its real
        /// containers run on.
        style: GangStyle,
    },
    /// A container of an opportunistic ask waits in the queue of a node. Its node must not start it yet.
    OpportunisticAllocated {
        /// The ask.
        ask: AskId,
        /// The new container.
        container: ContainerId,
        /// The node at which it waits.
        node: NodeId,
        /// How near the node is to the hosts and racks that the ask named.
        locality: Locality,
        /// The [number](crate::AskSpec::allocation_request_id) that the caller gave the ask.
        allocation_request_id: u64,
    },
    /// A container that waited may start: its node has room left for it.
    OpportunisticStarted {
        /// The ask that it was placed for.
        ask: AskId,
        /// The container.
        container: ContainerId,
        /// Its node.
        node: NodeId,
    },
}
