//! Placement actions: one container goes elsewhere, or starts anew, and the service never has fewer than it would have
//! without (Samza container placement, "Reserve-Stop-Move").
//!
//! A place is found first: the container that comes is reserved, and counts for nothing. Then the one that it replaces
//! is stopped. When that has ended the reserved one starts. What is stopped first makes way for what comes back in one
//! step (`swap.rs`), and so does one that stands by for another one which takes its place (`hand_over.rs`). Whatever
//! goes wrong, the review finds that an instance is missing and asks for it as it always does: on the host where it was
//! last, then elsewhere.

mod begin;
mod change;
mod destination;
mod fail;
mod hand_over;
mod ledger;
mod progress;
mod relist;

use std::sync::Arc;

use apportion::Resources;
use serde::{Deserialize, Serialize};

pub(super) use ledger::Actions;

use super::{ApplicationState, Operation};
use crate::client::{ContainerRef, RequestId};
use crate::component::ComponentId;

/// An action, numbered by whoever asks for it; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ActionId(pub u64);

/// What is to be done with a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerAction {
    /// Its number.
    pub id: ActionId,
    /// The container's component.
    pub component: ComponentId,
    /// Which container; `None` for the only one of its component.
    pub container: Option<ContainerRef>,
    /// What is to be done.
    pub kind: ActionKind,
    /// How long a place may be looked for.
    pub expires_after_ms: u64,
    /// Whether any host but its own will do if no place is found in half of that time.
    pub or_elsewhere: bool,
    /// Hosts that will not do, nor others as near to them as the component's group keeps apart.
    pub avoid: Vec<Arc<str>>,
    /// What it comes back as.
    pub change: ComponentChange,
    /// Who takes the place that it leaves; not of one that stays where it is.
    pub hands_over_to: Option<HandOver>,
}

impl ContainerAction {
    /// This with the only container of a component, within [`EXPIRES_AFTER_MS`](Self::EXPIRES_AFTER_MS).
    #[must_use]
    pub fn new(id: ActionId, component: ComponentId, kind: ActionKind) -> Self {
        Self {
            id,
            component,
            container: None,
            kind,
            expires_after_ms: Self::EXPIRES_AFTER_MS,
            or_elsewhere: false,
            avoid: Vec::new(),
            change: ComponentChange::default(),
            hands_over_to: None,
        }
    }

    /// How long a place may be looked for unless someone says otherwise (Samza's request timeout).
    pub const EXPIRES_AFTER_MS: u64 = 5_000;
}

/// One that another one stands by for takes its place: in one step with the stop of the one that stands by, if the
/// cluster manager can. It holds that place, and goes there when the one that stood by runs elsewhere. What becomes of
/// it is told under its own number; of one whose place could not be taken nothing is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandOver {
    /// Its number, as that of an action of its own.
    pub id: ActionId,
    /// Whose only container comes.
    pub component: ComponentId,
    /// Whether any host but its own will do if it does not get that place.
    pub or_elsewhere: bool,
}

/// What of a component is another one when its container comes back. It stays so if the action succeeds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ComponentChange {
    /// Its version; `None`: as it was.
    pub version: Option<String>,
    /// Its size; `None`: as it was.
    pub size: Option<Resources>,
}

/// What is to be done with a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActionKind {
    /// It goes to this host, or starts anew there if that is where it is.
    MoveTo(Arc<str>),
    /// It goes to any host but its own.
    MoveElsewhere,
    /// It starts anew where it is: a place there is found before it is stopped.
    Restart,
    /// It is stopped, and started again where it was if there is still room, like one that ended by itself.
    StopAndRestart,
    /// It goes to the place of this container, which stands by for it and ends.
    TakePlaceOf(ContainerRef),
}

/// How an action stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionStatus {
    /// It waits for its turn: another action on the container goes on.
    Accepted,
    /// It makes no sense; nothing was done.
    BadRequest,
    /// A place is looked for, or the container is stopped, or started.
    InProgress,
    /// It was done.
    Succeeded,
    /// It was not done. The service has as many containers as it should have, or is about to.
    Failed,
    /// Somebody took it back in time; nothing was done.
    Cancelled,
}

impl ActionStatus {
    /// Whether nothing more will be said of the action.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        !matches!(self, Self::Accepted | Self::InProgress)
    }
}

/// An action that goes on.
#[derive(Clone, Debug)]
struct Active {
    /// As it looks for a place now.
    action: ContainerAction,
    /// What is replaced; its container is gone when its replacement starts.
    source: Source,
    stage: Stage,
    /// When an instance that was stopped first has to run again.
    recover_by_ms: u64,
    /// What takes back the change, where that was made before the container ran.
    undo: Option<ComponentChange>,
    /// Whose place it takes.
    way: Option<Way>,
    /// The action that has to be over before its source is stopped.
    after: Option<ActionId>,
}

/// What an action is about: a container and where it is, or a component of which nothing runs and where it was last.
#[derive(Clone, Debug)]
struct Source {
    container: Option<ContainerRef>,
    host: Option<Arc<str>>,
}

/// A container that makes way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Way {
    of: ContainerRef,
    /// How long its place may be waited for when it has ended.
    within_ms: u64,
}

/// How far an action is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// A place is looked for.
    Reserving(RequestId),
    /// This container waits for the action after which it comes.
    Holding(ContainerRef),
    /// The source is being stopped.
    Stopping { place: Place, until_ms: u64 },
    /// The replacement is being started.
    Starting { container: ContainerRef, until_ms: u64 },
    /// The source has been stopped, and the review looks for a place.
    Recovering,
}

/// Where what replaces a source will be, while that is being stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// It is there: this container waits.
    Reserved(ContainerRef),
    /// It was asked for where the source is, instead of that.
    Asked(RequestId),
    /// The review will ask for it.
    Unasked,
}

impl Active {
    fn new(action: &ContainerAction, source: Source, stage: Stage) -> Self {
        let action = action.clone();
        Self { action, source, stage, recover_by_ms: 0, undo: None, way: None, after: None }
    }

    /// When its source has had enough time to stop, or to run again.
    fn deadline_ms(&self) -> Option<u64> {
        match self.stage {
            Stage::Stopping { until_ms, .. } | Stage::Starting { until_ms, .. } => Some(until_ms),
            Stage::Recovering => Some(self.recover_by_ms),
            Stage::Reserving(_) | Stage::Holding(_) => None,
        }
    }
}

impl ApplicationState {
    /// How many placement actions wait or go on.
    #[must_use]
    pub fn action_count(&self) -> usize {
        self.actions.len()
    }

    /// How many of them go on with containers of a component. What takes the place that another action leaves belongs
    /// to that one until it is over.
    #[must_use]
    pub fn actions_on(&self, component: ComponentId) -> usize {
        self.actions.active_on(component).filter(|(_, active)| active.after.is_none()).count()
    }

    fn answer(
        action: ActionId,
        status: ActionStatus,
        message: impl Into<String>,
        operations: &mut Vec<Operation>,
    ) {
        operations.push(Operation::Answer { action, status, message: message.into() });
    }
}
