//! Components: the parts of a service (Slider's roles).

use apportion::Resources;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A component's number, unique in its service. It is the priority of the component's requests too
/// (`yarn.role.priority`), so what comes back from a cluster manager that echoes nothing else can be told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ComponentId(pub u32);

/// Where instances of a component should be (Slider placement, "Placement policies").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlacementPolicy {
    /// Where they were before; elsewhere if that takes too long.
    #[default]
    Normal,
    /// Where they were before and nowhere else, reliable or not. New ones anywhere.
    Strict,
    /// Anywhere; history does not count.
    Anywhere,
    /// Never two on one host.
    AntiAffinity,
}

/// A number that stands for no placement policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("unknown placement policy {0}: 0 is normal, 1 strict, 2 anywhere, 4 anti-affinity")]
pub struct UnknownPolicy(pub i64);

impl PlacementPolicy {
    /// The policy that `yarn.component.placement.policy` names by this number.
    ///
    /// # Errors
    /// For any other number: Slider calls combinations undefined and takes them all the same.
    pub fn from_bits(bits: i64) -> Result<Self, UnknownPolicy> {
        match bits {
            0 => Ok(Self::Normal),
            1 => Ok(Self::Strict),
            2 => Ok(Self::Anywhere),
            4 => Ok(Self::AntiAffinity),
            other => Err(UnknownPolicy(other)),
        }
    }

    /// The number that stands for it in Slider's files.
    #[must_use]
    pub fn bits(self) -> u32 {
        match self {
            Self::Normal => 0,
            Self::Strict => 1,
            Self::Anywhere => 2,
            Self::AntiAffinity => 4,
        }
    }

    /// Whether hosts that were used before are asked for.
    #[must_use]
    pub fn uses_history(self) -> bool {
        matches!(self, Self::Normal | Self::Strict)
    }
}

/// When too few instances that run are too few for too long (`yarn.container.health.threshold.*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthThreshold {
    /// The least share of the desired instances that has to be live, 1 to 100.
    pub percent: u32,
    /// How long it may be less.
    pub window_ms: u64,
    /// How long after the start nobody looks.
    pub initial_delay_ms: u64,
}

/// How far from each other instances have to be that are kept apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultDomain {
    /// Not on one host.
    #[default]
    Host,
    /// Not on one rack either, where racks are known.
    Rack,
}

/// Components whose instances are kept apart from each other, such as an active container and its standbys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApartGroup {
    /// The group's name; components that give the same one are of it.
    pub name: String,
    /// How far apart.
    pub domain: FaultDomain,
}

/// Which failures of a component belong together, and how long its last retry waits (Samza's retries).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// A failure that comes this long after the last retry, or later, begins a new row.
    pub window_ms: u64,
    /// The pause before the last retry, of a component that comes back to its hosts.
    pub last_delay_ms: u64,
}

/// What a component is, and how its instances are placed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComponentSpec {
    /// Its name, unique in its service.
    pub name: String,
    /// The name of the component it is an instance of, where each instance is a component of its own; its own name
    /// otherwise.
    pub group: String,
    /// Its number.
    pub id: ComponentId,
    /// How many instances there should be.
    pub desired: u32,
    /// Where they should be.
    pub policy: PlacementPolicy,
    /// The size of one.
    pub size: Resources,
    /// The label of the nodes it may be on; `None` for those without.
    pub label: Option<String>,
    /// How long a request for a host stays one before it is widened to the host's rack, and how long after that to the
    /// whole cluster. Of normal components only.
    pub escalate_after_ms: u64,
    /// A host where more instances than this have failed within the failure window is unreliable; `None`: never.
    pub node_failure_threshold: Option<u32>,
    /// Whether an unreliable host is avoided by this component alone. Otherwise the whole service avoids it, and this
    /// component avoids hosts that are unreliable for others.
    #[serde(default)]
    pub shuns_hosts_alone: bool,
    /// With more failures than this within the failure window the service ends; `None`: never.
    pub container_failure_threshold: Option<u32>,
    /// `Some`: failures count in a row instead of within the failure window.
    #[serde(default)]
    pub retries: Option<RetryPolicy>,
    /// Used instead of `container_failure_threshold` if given.
    pub health: Option<HealthThreshold>,
    /// The group that its instances are kept apart from; not for anti-affine components.
    #[serde(default)]
    pub apart_from: Option<ApartGroup>,
    /// Components that stand by for it: when it loses its place it takes that of one of them, which goes elsewhere.
    #[serde(default)]
    pub takes_over: Vec<ComponentId>,
    /// The version of what runs in it; empty if nobody cares.
    #[serde(default)]
    pub version: String,
    /// With too many failures it is given up, and the service goes on without it (Samza's degraded mode).
    #[serde(default)]
    pub degrades: bool,
}

impl ComponentSpec {
    /// Slider's default for `yarn.placement.escalate.seconds`.
    pub const ESCALATE_AFTER_MS: u64 = 30_000;
    /// Slider's default for `yarn.node.failure.threshold`.
    pub const NODE_FAILURE_THRESHOLD: u32 = 3;
    /// Slider's default for `yarn.container.failure.threshold`.
    pub const CONTAINER_FAILURE_THRESHOLD: u32 = 5;

    /// A component of `desired` instances of this size with Slider's defaults.
    #[must_use]
    pub fn new(name: impl Into<String>, id: u32, desired: u32, size: Resources) -> Self {
        let name = name.into();
        Self {
            group: name.clone(),
            name,
            id: ComponentId(id),
            desired,
            policy: PlacementPolicy::Normal,
            size,
            label: None,
            escalate_after_ms: Self::ESCALATE_AFTER_MS,
            node_failure_threshold: Some(Self::NODE_FAILURE_THRESHOLD),
            shuns_hosts_alone: false,
            container_failure_threshold: Some(Self::CONTAINER_FAILURE_THRESHOLD),
            retries: None,
            health: None,
            apart_from: None,
            takes_over: Vec::new(),
            version: String::new(),
            degrades: false,
        }
    }

    /// The same component placed by this policy.
    #[must_use]
    pub fn with_policy(mut self, policy: PlacementPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// The same component, kept apart from the others of this group.
    #[must_use]
    pub fn apart_from(mut self, name: impl Into<String>, domain: FaultDomain) -> Self {
        self.apart_from = Some(ApartGroup { name: name.into(), domain });
        self
    }

    /// The same component on nodes with this label.
    #[must_use]
    pub fn with_label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }
}
