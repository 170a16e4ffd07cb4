//! Asks, containers and reservations.

mod record;

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use thin_vec::ThinVec;

use crate::ids::{ApplicationId, AskId, ContainerId, NodeId, RackId, ReservationId, ShapeId};
use crate::resource::DeviceMask;
use record::AskRecord;

/// How near to its named hosts and racks an ask may be or was placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Locality {
    /// On a host that it named.
    NodeLocal,
    /// On a rack that it named.
    RackLocal,
    /// Anywhere. Asks without locality preferences always have this locality.
    OffSwitch,
}

/// The hosts and racks that an ask prefers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LocalityPreference {
    /// Hosts; a container on one of them is node-local.
    pub hosts: ThinVec<NodeId>,
    /// Racks; a container on one of them is rack-local.
    pub racks: ThinVec<RackId>,
    /// Whether, after a delay, any other node is acceptable, too.
    pub relax_locality: bool,
}

impl LocalityPreference {
    /// Whether no host or rack is preferred.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty() && self.racks.is_empty()
    }

    /// Whether it is the preference of [`AskSpec::new`](crate::AskSpec::new).
    pub(crate) fn is_default(&self) -> bool {
        self.is_empty() && self.relax_locality
    }

    pub(crate) fn locality_of(&self, node: NodeId, rack: RackId) -> Locality {
        if self.hosts.contains(&node) {
            Locality::NodeLocal
        } else if self.racks.contains(&rack) {
            Locality::RackLocal
        } else {
            Locality::OffSwitch
        }
    }

    /// Whether the ask may ever be placed on the node, at once or after a delay.
    pub(crate) fn will_do(&self, node: NodeId, rack: RackId) -> bool {
        self.locality_of(node, rack) <= self.loosest()
    }

    /// The loosest locality that this ask may ever get. A strict preference for hosts excludes their racks, unless
    /// racks are named too.
    pub(crate) fn loosest(&self) -> Locality {
        match (self.is_empty() || self.relax_locality, self.racks.is_empty()) {
            (true, _) => Locality::OffSwitch,
            (false, false) => Locality::RackLocal,
            (false, true) => Locality::NodeLocal,
        }
    }
}

/// An ask with outstanding units. In the table of asks it takes one cache line.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "AskRecord", into = "AskRecord")]
pub(crate) struct Ask {
    pub(crate) application: ApplicationId,
    /// Order of submission over the engine's life.
    pub(crate) number: u64,
    /// The lowest number is first, as in YARN.
    pub(crate) priority: u32,
    pub(crate) shape: ShapeId,
    /// Never zero, so that a slot of the table needs no mark that it is taken.
    pub(crate) asked: NonZeroU32,
    pub(crate) allocated: u32,
    pub(crate) pending_since_ms: u64,
    /// The caller's own number.
    pub(crate) allocation_request_id: u64,
    /// `None` for most asks; [`extras`](Self::extras) reads them.
    pub(crate) extras: Option<Box<AskExtras>>,
}

/// Properties of an ask that are the same for most asks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AskExtras {
    pub(crate) preference: LocalityPreference,
    pub(crate) cancelled: u32,
    /// Reservations held for units that are still outstanding.
    pub(crate) reservations: ThinVec<ReservationId>,
    /// Opportunities missed since it last got a container at a preferred place; counted in the compatible mode.
    pub(crate) missed: u32,
    /// Passes without success over its reserved nodes, since one of its reservations was last made or ended; counted
    /// in the compatible mode.
    pub(crate) re_reservations: u32,
}

impl AskExtras {
    /// Those of an ask that was submitted as [`AskSpec::new`](crate::AskSpec::new) describes it.
    const DEFAULT: Self = Self {
        preference: LocalityPreference { hosts: ThinVec::new(), racks: ThinVec::new(), relax_locality: true },
        cancelled: 0,
        reservations: ThinVec::new(),
        missed: 0,
        re_reservations: 0,
    };
}

static DEFAULT_EXTRAS: AskExtras = AskExtras::DEFAULT;

impl Ask {
    /// Units not yet placed or cancelled (I4).
    pub(crate) fn outstanding(&self) -> u32 {
        self.asked.get() - self.allocated - self.extras().cancelled
    }

    /// Whether it is a plain ask: for one container, without reservations. It may name hosts.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.asked.get() == 1 && self.reservations().is_empty()
    }

    /// Its extras, or the default ones.
    #[inline]
    pub(crate) fn extras(&self) -> &AskExtras {
        self.extras.as_deref().unwrap_or(&DEFAULT_EXTRAS)
    }

    /// Its extras to change. Takes memory for them if it has none.
    pub(crate) fn extras_mut(&mut self) -> &mut AskExtras {
        self.extras.get_or_insert_with(|| Box::new(AskExtras::DEFAULT))
    }

    #[inline]
    pub(crate) fn preference(&self) -> &LocalityPreference {
        &self.extras().preference
    }

    #[inline]
    pub(crate) fn reservations(&self) -> &ThinVec<ReservationId> {
        &self.extras().reservations
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Container {
    pub(crate) application: ApplicationId,
    /// The ask that it was placed for, which may be satisfied and gone.
    pub(crate) ask: AskId,
    pub(crate) node: NodeId,
    #[serde(skip, default = "crate::facts::image::unknown_shape")]
    pub(crate) shape: ShapeId,
    pub(crate) devices: DeviceMask,
    /// The priority of its ask.
    pub(crate) priority: u32,
    /// The caller's own number for its ask.
    pub(crate) allocation_request_id: u64,
    /// Whether its node reported it, and no pass placed it.
    pub(crate) is_recovered: bool,
}

/// A container that was told to stop and whose end is not confirmed yet. It stays on its node and charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stopping {
    /// The cause that its end will have once it is confirmed.
    pub cause: EndCause,
    /// When the engine stops waiting and ends it with [`EndCause::StopTimedOut`].
    pub until_ms: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Reservation {
    pub(crate) ask: AskId,
    pub(crate) node: NodeId,
    pub(crate) created_ms: u64,
}

/// Whether a container's resources are guaranteed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionType {
    /// Charged to its node, queues and user. No other container gets its resources.
    #[default]
    Guaranteed,
    /// Runs on the free resources of its node, and is charged only its devices.
    Opportunistic,
}

/// Why a container ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndCause {
    /// It finished by itself.
    Completed,
    /// Its application gave it back.
    Released,
    /// Its node is gone, or [reported](crate::Handle::reconcile_node) that it does not run it.
    NodeLost,
    /// Its application ended.
    ApplicationEnded,
    /// It was taken back for a more deserving ask.
    Preempted,
    /// The timeout passed before its end was confirmed. Its process may still run.
    StopTimedOut,
    /// It was a placeholder, and a real container took its place in the same change.
    Replaced,
    /// It was a placeholder that is not needed: its timeout passed, or the real container does not fit its place.
    PlaceholderReleased,
    /// It was opportunistic, and guaranteed containers needed its room. Or its node shrank and can never hold it, or a
    /// limit became too small for its devices.
    OpportunisticPreempted,
}

/// A container as its application sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ContainerOnNode {
    /// The container.
    pub container: ContainerId,
    /// The ask that it was placed for.
    pub ask: AskId,
    /// The node on which it runs.
    pub node: NodeId,
    /// The priority of that ask, or the priority with which it was recovered.
    pub priority: u32,
    /// Whether it was [recovered](crate::Handle::recover_node) with its node. Then the application did not submit that
    /// ask.
    pub is_recovered: bool,
    /// The [number](crate::AskSpec::allocation_request_id) that the caller gave that ask.
    pub allocation_request_id: u64,
    /// Set while it is being stopped.
    pub stopping: Option<Stopping>,
    /// Whether it is opportunistic and waits in the queue of its node.
    #[serde(default)]
    pub is_waiting: bool,
}
