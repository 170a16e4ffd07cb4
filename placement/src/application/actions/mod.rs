//! Placement actions: a container moves or restarts, and the service never has fewer containers than
//! without the action (Samza container placement, "Reserve-Stop-Move").
//!
//! An action first finds a place. The new container is reserved and counts for nothing. Then the service
//! stops the old container. When that has ended, the service starts the reserved container.
//!
//! Two kinds of action release and request in one step (`takeover.rs`). One stops a container first, and in
//! the other a container takes the place of a standby (`hand_over.rs`). If anything fails, the review
//! requests the missing instance as usual: on its last host, then elsewhere.

mod begin;
mod destination;
mod fail;
mod hand_over;
mod ledger;
mod progress;

use std::sync::Arc;

use apportion::Resources;
use serde::{Deserialize, Serialize};

pub(super) use ledger::Actions;

use super::ApplicationState;
use crate::client::{ContainerRef, RequestId};
use crate::component::ComponentId;

/// The id of an action, chosen by the caller; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ActionId(pub u64);

/// A placement action on one container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerAction {
    /// Its id.
    pub id: ActionId,
    /// The container's component.
    pub component: ComponentId,
    /// The container; `None` for the only one of its component.
    pub container: Option<ContainerRef>,
    /// The kind of action.
    pub kind: ActionKind,
    /// Time limit for finding a place, in milliseconds.
    pub expires_after_ms: u64,
    /// Whether any other host is acceptable if no place is found in half of that time.
    pub or_elsewhere: bool,
    /// Hosts to avoid, together with hosts that the component's group keeps apart from them.
    pub avoid: Vec<Arc<str>>,
    /// The new version or size.
    pub change: ComponentChange,
    /// The container that takes its place; only for an action that leaves its host.
    pub hands_over_to: Option<HandOver>,
}

impl ContainerAction {
    /// Creates an action on the only container of a component, with the limit
    /// [`EXPIRES_AFTER_MS`](Self::EXPIRES_AFTER_MS).
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

    /// Returns the action that looks on any other host instead.
    fn elsewhere(&self) -> Self {
        Self { kind: ActionKind::MoveElsewhere, or_elsewhere: false, ..self.clone() }
    }

    /// Returns the time limit of its first search.
    fn search_ms(&self) -> u64 {
        self.expires_after_ms / if self.or_elsewhere { 2 } else { 1 }
    }

    /// The default time limit for finding a place (Samza's request timeout).
    pub const EXPIRES_AFTER_MS: u64 = 5_000;
}

/// A second action, by which a container takes over its standby's place; atomically with the standby's stop
/// if the cluster manager supports it. The container holds that place, and starts there when the standby
/// runs elsewhere. Answers carry the second action's id. If the standby's action ends before it finds a
/// place, the second action has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandOver {
    /// The id of the second action.
    pub id: ActionId,
    /// The component whose only container takes the place.
    pub component: ComponentId,
    /// Whether any other host is acceptable if it does not get that place.
    pub or_elsewhere: bool,
}

/// Changes of a component with the return of its container. They stay if the action succeeds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ComponentChange {
    /// The new version; `None`: unchanged.
    pub version: Option<String>,
    /// The new size; `None`: unchanged.
    pub size: Option<Resources>,
}

/// The kinds of placement action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActionKind {
    /// Moves to this host, or restarts there if it is there already.
    MoveTo(Arc<str>),
    /// Moves to any host but its own.
    MoveElsewhere,
    /// Restarts on its host. A place there is found before the stop.
    Restart,
    /// Stops, then restarts on its host if there is still room, as if it had ended by itself.
    StopAndRestart,
    /// Moves to the place of this container, its standby, which stops.
    TakePlaceOf(ContainerRef),
}

/// The status of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionStatus {
    /// It is queued; another action may work on the container.
    Accepted,
    /// It is invalid; nothing was done.
    BadRequest,
    /// The service looks for a place, stops the container, or starts it.
    InProgress,
    /// It is done.
    Succeeded,
    /// It was not done. The service has its desired containers, or is about to.
    Failed,
    /// It was cancelled in time; nothing was done.
    Cancelled,
}

impl ActionStatus {
    /// Returns whether the status is final.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        !matches!(self, Self::Accepted | Self::InProgress)
    }
}

/// An active action.
#[derive(Clone, Debug)]
struct Active {
    /// The action in its present form; a search elsewhere changes it.
    action: ContainerAction,
    /// The container to replace; it has ended when its replacement starts.
    source: Source,
    stage: Stage,
    /// When an instance that was stopped first has to run again.
    recover_by_ms: u64,
    /// The change that undoes an early change of the component.
    undo: Option<ComponentChange>,
    /// The action that has to end before its source is stopped.
    after: Option<ActionId>,
}

/// The object of an action: a container and its host, or a component without a container and its last host.
#[derive(Clone, Debug)]
struct Source {
    container: Option<ContainerRef>,
    host: Option<Arc<str>>,
}

/// The stage of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It waits for a place.
    Reserving(RequestId),
    /// It has reserved this container, and waits for another action.
    Holding(ContainerRef),
    /// The source is being stopped.
    Stopping { place: Place, until_ms: u64 },
    /// The replacement is being started.
    Starting { container: ContainerRef, until_ms: u64 },
    /// The source has been stopped, and the review looks for a place.
    Recovering,
}

/// The place of the replacement while the source is being stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// This reserved container.
    Reserved(ContainerRef),
    /// A request for the place of the source.
    Asked(RequestId),
    /// None yet; the review will request it.
    Unasked,
}

impl Active {
    fn new(action: &ContainerAction, source: Source, stage: Stage) -> Self {
        let action = action.clone();
        Self { action, source, stage, recover_by_ms: 0, undo: None, after: None }
    }

    /// Returns the deadline for its source to stop, or to run again.
    fn deadline_ms(&self) -> Option<u64> {
        match self.stage {
            Stage::Stopping { until_ms, .. } | Stage::Starting { until_ms, .. } => Some(until_ms),
            Stage::Recovering => Some(self.recover_by_ms),
            Stage::Reserving(_) | Stage::Holding(_) => None,
        }
    }
}
