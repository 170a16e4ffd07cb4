//! How a service stands, as its `status` says.

use serde::{Deserialize, Serialize};

use crate::application::AllocationOutcome;
use crate::client::{ContainerRef, RequestId};
use crate::component::{ComponentId, PlacementPolicy};
use crate::history::InstanceState;

/// How a service stands at one moment. The keys of its JSON are documented in `placement/README.md`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceStatus {
    /// The time it is of.
    pub now_ms: u64,
    /// Of each component, in the order of their numbers.
    pub components: Vec<ComponentStatus>,
    /// Requests that wait, oldest first, each with why, and after them instances that nobody can be asked for.
    pub outstanding: Vec<OutstandingStatus>,
    /// Why the service gives up, if it does.
    pub failure: Option<Failure>,
    /// Containers that ran on when the service's master was started again; `None` if it was not.
    pub containers_at_restart: Option<u32>,
}

/// How a component stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComponentStatus {
    /// Its name.
    pub name: String,
    /// Its group.
    pub group: String,
    /// Its number.
    pub id: ComponentId,
    /// Where its instances should be.
    pub policy: PlacementPolicy,
    /// How many there should be.
    pub desired: u32,
    /// How many containers it has, also those that are being released.
    pub actual: u32,
    /// Of these, how many are starting.
    pub starting: u32,
    /// How many run.
    pub live: u32,
    /// Containers besides that wait to replace one of these.
    pub reserved: u32,
    /// How many are being released.
    pub releasing: u32,
    /// Containers that are asked for.
    pub requested: u32,
    /// Instances that will be asked for when those before them are placed (anti-affinity, one by one).
    pub pending_anti_affine: u32,
    /// Whether it failed too often, and the service goes on without it.
    pub is_given_up: bool,
    /// What has happened to it so far.
    pub counters: ComponentCounters,
}

/// What has happened to a component since its service was started. None of these ever falls, except
/// `failed_recently`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComponentCounters {
    /// Requests made.
    pub requested: u64,
    /// Times that a request was made wider, to a rack or to the cluster.
    pub widened: u64,
    /// Instances that started.
    pub started: u64,
    /// Instances that failed, did not start, used more than they asked for, lost their host's disks, or were ended by
    /// hand.
    pub failed: u64,
    /// Of these, those since the failure window began that may end the service.
    pub failed_recently: u32,
    /// Instances that failed while they started or soon after.
    pub start_failed: u64,
    /// Instances whose host's disks failed (exit status −101). Those lost with their node (−100) are `completed`.
    pub node_failed: u64,
    /// Instances taken back for somebody more deserving.
    pub preempted: u64,
    /// Instances that used more than they asked for.
    pub limits_exceeded: u64,
    /// Instances that ended without a failure: given back, ended by themselves with exit status 0, or taken away with
    /// their node or by the manager (−100, −105 to −107).
    pub completed: u64,
    /// Containers given back as they came, because nobody wanted them any more.
    pub surplus: u64,
    /// Containers taken though no request was known for them.
    pub unrequested: u64,
    /// Times that one that stood by made way for it.
    pub took_over: u64,
}

/// A container of a component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerStatus {
    /// Its number.
    pub container: ContainerRef,
    /// Its component's name.
    pub component: String,
    /// Where it is.
    pub host: String,
    /// What it does.
    pub state: InstanceState,
    /// How it answered its request.
    pub outcome: AllocationOutcome,
    /// Which version of the component runs in it; empty if nobody cares.
    pub version: String,
    /// When it came.
    pub came_ms: u64,
    /// When what runs in it was started, if it was.
    pub started_ms: Option<u64>,
}

/// A request that waits, or instances that wait for a host to ask for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutstandingStatus {
    /// Its number; `None` if nothing is asked for, because no host is left that could be (anti-affinity, one by one).
    pub request: Option<RequestId>,
    /// The component it is for.
    pub component: String,
    /// The hosts it names.
    pub hosts: Vec<String>,
    /// When it was first made; widening it does not make it younger.
    pub since_ms: u64,
    /// When it is widened next, if it will be.
    pub widens_at_ms: Option<u64>,
    /// Which of Slider's causes keeps it waiting.
    pub cause: OutstandingCause,
    /// The same in a sentence, with the figures.
    pub explanation: String,
    /// What would help.
    pub remedy: String,
}

/// Why a request waits (Slider placement, "Slider and Outstanding Requests": the first six).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OutstandingCause {
    /// More containers are asked for than the nodes that may take them could ever hold.
    ClusterTooSmall,
    /// There is not enough room beside everything else that runs.
    NoRoom,
    /// There is room, but the queue is at a limit or behind others.
    Queue,
    /// The only host that will do is not there or takes nothing.
    StrictHostDown,
    /// Too few hosts are left that run no instance of the component, or those have no room.
    AntiAffinity,
    /// No node is large enough.
    TooLarge,
    /// The cluster manager did not take the request, or withdrew it; it is made again.
    NotTaken,
    /// No node has the label.
    NoSuchLabel,
    /// The host asked for has no room, or has not registered yet; other hosts are asked when the request is widened.
    WaitsForHost,
    /// The service itself keeps away from the hosts that would do: too much failed there, or they are kept free.
    Shunned,
    /// Its last instances ended soon after they started; the next one starts after a pause.
    BackOff,
    /// Nothing is in its way: it is about to be served.
    AboutToBeServed,
}

/// Why a service gives up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Slider's number: [`DeploymentFailed`](crate::instance::ExitCode::DeploymentFailed) after too many failures,
    /// [`ExceptionThrown`](crate::instance::ExitCode::ExceptionThrown) if it was unhealthy for too long.
    pub exit_code: i32,
    /// Which component brought it about.
    pub component: String,
    /// What happened, with the figures.
    pub message: String,
}
