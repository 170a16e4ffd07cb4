//! Inputs and outputs of a service's decisions: events and operations.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::actions::{ActionId, ActionStatus, ContainerAction};
use crate::client::{Callback, ClientError, ContainerRef, ContainerRequest, RequestId};
use crate::component::{ComponentId, ComponentSpec};

/// What a service is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServiceEvent {
    /// By the cluster manager.
    Callback(Callback),
    /// The manager did not take a request.
    NotTaken {
        /// Which.
        request: RequestId,
        /// Why.
        error: ClientError,
    },
    /// There should be other numbers of instances, or other components. Components left out go down to none.
    Flex(Vec<ComponentSpec>),
    /// One component should be like this, new or not; the others stay as they are.
    Change(ComponentSpec),
    /// Somebody ends one container; another one comes in its place.
    KillContainer(ContainerRef),
    /// A container has not been heard of for too long: it is given back like one that is not wanted any more.
    ContainerLost(ContainerRef),
    /// One container goes elsewhere or starts anew.
    Action(ContainerAction),
    /// An action is taken back, if there is still time.
    CancelAction(ActionId),
    /// What stands by in this container has read all state that there is: it is the first to be taken the place of.
    CaughtUp(ContainerRef),
    /// From now on these hosts and no others are kept free: nothing of the service comes there.
    Exclude(BTreeSet<Arc<str>>),
    /// Time went by.
    TimePassed,
    /// The service ends: everything is given back.
    Stop,
}

/// What a service wants done, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Hosts to which nothing may come, from now on and no more.
    UpdateBlacklist {
        /// From now on.
        add: Vec<Arc<str>>,
        /// No more.
        remove: Vec<Arc<str>>,
    },
    /// A request to take back.
    Cancel(RequestId),
    /// A container to ask for.
    Request(ContainerRequest),
    /// A container to give back.
    Release(ContainerRef),
    /// A container to give back, and one to ask for on its host instead of it: in one step if the manager can.
    Swap {
        /// Which goes.
        container: ContainerRef,
        /// What comes.
        request: ContainerRequest,
    },
    /// What is to be told of a placement action. The last of its answers is a terminal one, and there is one such.
    Answer {
        /// Of which.
        action: ActionId,
        /// How it stands.
        status: ActionStatus,
        /// The same in words.
        message: String,
    },
    /// A component to start in a container that came.
    Start {
        /// Where.
        container: ContainerRef,
        /// What.
        component: ComponentId,
    },
}

/// How a container answered a request (spec 1.17).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AllocationOutcome {
    /// On the host that was asked for.
    Placed,
    /// After the request was widened.
    Escalated,
    /// The request named no host of the history.
    Open,
    /// No request was known for it, and the component was short of one.
    Unallocated,
}

/// How a service keeps instances of an anti-affine component apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AntiAffinity {
    /// All are asked for at once, and the cluster manager sees to it.
    #[default]
    AllAtOnce,
    /// One is asked for at a time, on the hosts that have none: for managers that cannot (Slider's way).
    OneByOne,
}

/// What holds for a service as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceSettings {
    /// The failure window; recent failures are forgotten when it ends and the next begins. `None`: never.
    pub failure_window_ms: Option<u64>,
    /// An instance that fails sooner than this after it started failed while starting.
    pub short_life_ms: u64,
    /// The pause before an instance starts again whose last two generations ended sooner than `short_life_ms` after
    /// they started; it doubles with each further one.
    pub back_off_ms: u64,
    /// The longest such pause.
    pub back_off_max_ms: u64,
    /// How anti-affine instances are kept apart.
    pub anti_affinity: AntiAffinity,
    /// After this time a request that the manager did not take is made again.
    pub retry_after_ms: u64,
    /// A container that is given back has this long to end; then it is given back again, and an action that waits for
    /// it has failed.
    pub stop_timeout_ms: u64,
    /// What an action starts has this long to run.
    pub start_timeout_ms: u64,
    /// What was used this long before the history was saved is forgotten; `None`: nothing is.
    pub history_age_max_ms: Option<u64>,
}

impl Default for ServiceSettings {
    /// Slider's defaults: a window of six hours, a minute is a short life; the seed's seven days. Pauses from 1 to 64
    /// s.
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
