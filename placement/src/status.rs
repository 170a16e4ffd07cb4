//! The status of a service.

use serde::{Deserialize, Serialize};

use crate::application::AllocationOutcome;
use crate::client::{ContainerRef, RequestId};
use crate::component::{ComponentId, PlacementPolicy};
use crate::history::InstanceState;

/// The status of a service at one moment. `placement/README.md` documents the keys of its JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceStatus {
    /// The time of the status.
    pub now_ms: u64,
    /// The components in the order of ids.
    pub components: Vec<ComponentStatus>,
    /// Outstanding requests, oldest first; then instances without an acceptable host, then paused ones.
    pub outstanding: Vec<OutstandingStatus>,
    /// Why the service gives up; `None` if it does not.
    pub failure: Option<Failure>,
    /// Containers that ran on when the master was restarted; `None` if it was not.
    pub containers_at_restart: Option<u32>,
    /// Why the cluster manager refused the disruption budgets; `None` if it has them.
    #[serde(default)]
    pub refused_budgets: Option<String>,
}

/// The status of a component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComponentStatus {
    /// Its name.
    pub name: String,
    /// Its group.
    pub group: String,
    /// Its id.
    pub id: ComponentId,
    /// Its placement policy.
    pub policy: PlacementPolicy,
    /// The desired number of instances.
    pub desired: u32,
    /// The number of its containers, including releasing ones.
    pub actual: u32,
    /// Its starting containers.
    pub starting: u32,
    /// Its running containers.
    pub live: u32,
    /// Its reserved containers, which wait to replace others; `actual` does not include them.
    pub reserved: u32,
    /// Its containers that were released and have not ended.
    pub releasing: u32,
    /// Outstanding requests.
    pub requested: u32,
    /// Missing instances without a request, if requests list acceptable hosts: for instance one by one.
    pub pending_anti_affine: u32,
    /// Whether it failed too often, while the service runs on without it.
    pub is_given_up: bool,
    /// Its event counters.
    pub counters: ComponentCounters,
}

/// Event counters of a component since its service started. Only `failed_recently` ever falls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComponentCounters {
    /// Requests made.
    pub requested: u64,
    /// Times that a request was widened, to a rack or to the cluster.
    pub widened: u64,
    /// Instances that started.
    pub started: u64,
    /// Instances that failed, did not start, exceeded their resources, lost their host's disks, or were
    /// killed by an operator.
    pub failed: u64,
    /// Failures of the present window or row that count towards the failure threshold.
    pub failed_recently: u32,
    /// Instances that failed during or soon after their start.
    pub start_failed: u64,
    /// Instances whose host's disks failed (exit status −101). Instances lost with their node (−100) are
    /// `completed`.
    pub node_failed: u64,
    /// Preempted instances.
    pub preempted: u64,
    /// Instances that exceeded their resources.
    pub limits_exceeded: u64,
    /// Instances that ended without a failure. They were released, ended by themselves with exit status 0, were
    /// lost with their node, or were ended by the manager (−100, −105 to −107).
    pub completed: u64,
    /// Containers released on arrival, because the component did not need them any more.
    pub surplus: u64,
    /// Containers kept although no request matched them.
    pub unrequested: u64,
    /// Failovers to a standby's place.
    pub took_over: u64,
}

/// A container of a component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerStatus {
    /// Its id.
    pub container: ContainerRef,
    /// Its component's name.
    pub component: String,
    /// Its host.
    pub host: String,
    /// Its state.
    pub state: InstanceState,
    /// How it matched its request.
    pub outcome: AllocationOutcome,
    /// The version that it runs; empty if versions do not matter.
    pub version: String,
    /// When it was allocated.
    pub came_ms: u64,
    /// When its process started; `None` if it has not.
    pub started_ms: Option<u64>,
}

/// An outstanding request, or instances that wait for an acceptable host or for the end of a pause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutstandingStatus {
    /// Its id; `None` for instances without a request.
    pub request: Option<RequestId>,
    /// Its component.
    pub component: String,
    /// The hosts that it names.
    pub hosts: Vec<String>,
    /// When it was first made; widening does not reset it. Without a request, the time of the status.
    pub since_ms: u64,
    /// When it is widened next; `None` if never.
    pub widens_at_ms: Option<u64>,
    /// The cause of the wait.
    pub cause: OutstandingCause,
    /// The explanation in a sentence, with figures.
    pub explanation: String,
    /// A remedy.
    pub remedy: String,
}

/// Why a request waits (Slider placement, "Slider and Outstanding Requests": the first six).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OutstandingCause {
    /// More containers are requested than the acceptable nodes could ever hold.
    ClusterTooSmall,
    /// There is not enough room beside other containers.
    NoRoom,
    /// There is room, but the queue is at a limit or behind other queues.
    Queue,
    /// The only acceptable host is down or accepts no containers.
    StrictHostDown,
    /// Too few hosts are left without an instance of the component, or those have no room.
    AntiAffinity,
    /// No node is large enough.
    TooLarge,
    /// The cluster manager refused or withdrew the request; it is reissued.
    NotTaken,
    /// No node has the label.
    NoSuchLabel,
    /// The requested host has no room, or has not registered yet; other hosts follow when the request is
    /// widened.
    WaitsForHost,
    /// The service avoids every suitable host: too much failed there, or it is excluded.
    Shunned,
    /// The last instances ended soon after their start; the next one starts after a pause.
    BackOff,
    /// Nothing blocks it: it is about to be served.
    AboutToBeServed,
}

/// Why a service gives up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Slider's exit code: [`DeploymentFailed`](crate::instance::ExitCode::DeploymentFailed) after too many
    /// failures, [`ExceptionThrown`](crate::instance::ExitCode::ExceptionThrown) if it was unhealthy for
    /// too long.
    pub exit_code: i32,
    /// The component that caused it.
    pub component: String,
    /// A description with figures.
    pub message: String,
}
