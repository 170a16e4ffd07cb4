//! Inputs and outputs of a service's decisions: events and operations.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::actions::{ActionId, ActionStatus, ContainerAction};
use crate::client::{Callback, ClientError, ContainerRef, ContainerRequest, RequestId};
use crate::component::{ComponentId, ComponentSpec};

/// An event for a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServiceEvent {
    /// The cluster manager reported something.
    Callback(Callback),
    /// The manager refused a request.
    NotTaken {
        /// The request.
        request: RequestId,
        /// The reason.
        error: ClientError,
    },
    /// New numbers of instances or new components. Components that are left out shrink to 0 instances.
    Flex(Vec<ComponentSpec>),
    /// Adds or replaces one component; the others stay.
    Change(ComponentSpec),
    /// An operator kills one container; the service replaces it.
    KillContainer(ContainerRef),
    /// A container has been silent for too long; the service releases it like a surplus one.
    ContainerLost(ContainerRef),
    /// Moves or restarts one container.
    Action(ContainerAction),
    /// Cancels an action, if that is still possible.
    CancelAction(ActionId),
    /// The standby in this container has read all state; failover prefers it.
    CaughtUp(ContainerRef),
    /// Excludes these hosts, and only these, from the service.
    Exclude(BTreeSet<Arc<str>>),
    /// Time has passed.
    TimePassed,
    /// Ends the service; it releases all containers.
    Stop,
}

/// An operation that the service has decided on. Carry operations out in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Changes the list of blacklisted hosts.
    UpdateBlacklist {
        /// Hosts to add.
        add: Vec<Arc<str>>,
        /// Hosts to remove.
        remove: Vec<Arc<str>>,
    },
    /// Cancels a request.
    Cancel(RequestId),
    /// Requests a container.
    Request(ContainerRequest),
    /// Releases a container.
    Release(ContainerRef),
    /// Releases a container and requests another on its host; atomically if the manager can.
    Swap {
        /// The container to release.
        container: ContainerRef,
        /// The request for its replacement.
        request: ContainerRequest,
    },
    /// Reports the status of a placement action. Exactly one answer is terminal, and it is the last.
    Answer {
        /// The action.
        action: ActionId,
        /// Its status.
        status: ActionStatus,
        /// The status in words.
        message: String,
    },
    /// Starts a component in an allocated container.
    Start {
        /// The container.
        container: ContainerRef,
        /// The component.
        component: ComponentId,
    },
}

/// How a container matched a request (spec 1.17).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AllocationOutcome {
    /// On the requested host.
    Placed,
    /// After the request was widened.
    Escalated,
    /// The request named no host of the history.
    Open,
    /// Without a request, while the component was short of a container.
    Unallocated,
}

/// How a service keeps instances of an anti-affine component apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AntiAffinity {
    /// Requests all instances at once; the cluster manager keeps them apart.
    #[default]
    AllAtOnce,
    /// Requests one instance at a time on hosts without one, for managers without anti-affinity (Slider's
    /// way).
    OneByOne,
}

/// Settings of a service as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceSettings {
    /// The failure window; recent failures are forgotten when the next window begins. `None`: never.
    pub failure_window_ms: Option<u64>,
    /// An instance that fails sooner than this after its start counts as a failed start.
    pub short_life_ms: u64,
    /// The pause before the restart of an instance whose last two generations ended within `short_life_ms`
    /// of their start. It doubles with each further generation.
    pub back_off_ms: u64,
    /// The longest such pause.
    pub back_off_max_ms: u64,
    /// How anti-affine instances are kept apart.
    pub anti_affinity: AntiAffinity,
    /// A request that the manager refused is reissued after this time.
    pub retry_after_ms: u64,
    /// Time limit for a released container to end. Afterwards the service releases it again, and an action
    /// that waits for it fails.
    pub stop_timeout_ms: u64,
    /// Time limit for a container of an action to run.
    pub start_timeout_ms: u64,
    /// The history forgets hosts last used this long ago (at a load: before the save); `None`: none.
    pub history_age_max_ms: Option<u64>,
}

impl Default for ServiceSettings {
    /// Slider's failure window of six hours and short life of one minute. The seed's history age of seven
    /// days, and pauses from 1 to 64 s.
    fn default() -> Self {
        const MINUTE_MS: u64 = 60_000;
        Self {
            failure_window_ms: Some(6 * 60 * MINUTE_MS),
            short_life_ms: MINUTE_MS,
            back_off_ms: 1_000,
            back_off_max_ms: 64_000,
            anti_affinity: AntiAffinity::AllAtOnce,
            retry_after_ms: 5_000,
            stop_timeout_ms: MINUTE_MS,
            start_timeout_ms: 10 * MINUTE_MS,
            history_age_max_ms: Some(7 * 24 * 60 * MINUTE_MS),
        }
    }
}

/// Components by name.
pub(crate) type Names = BTreeMap<String, ComponentId>;
