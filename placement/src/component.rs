//! Components: the parts of a service (Slider's roles).

use apportion::Resources;
use apportion::preempt::DisruptionLimit;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The id of a component, unique in its service. It is also the priority of the component's requests
/// (`yarn.role.priority`), so that containers can be matched if a manager echoes nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ComponentId(pub u32);

/// Where instances of a component are placed (Slider placement, "Placement policies").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlacementPolicy {
    /// On their previous hosts; elsewhere if that takes too long.
    #[default]
    Normal,
    /// Only on their previous hosts, reliable or not. New instances go to any host.
    Strict,
    /// On any host; the role history is not used.
    Anywhere,
    /// Never two on one host.
    AntiAffinity,
}

/// A number of no placement policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("unknown placement policy {0}: 0 is normal, 1 strict, 2 anywhere, 4 anti-affinity")]
pub struct UnknownPolicy(pub i64);

impl PlacementPolicy {
    /// Returns the policy of this number in `yarn.component.placement.policy`.
    ///
    /// # Errors
    /// If the number is any other. Slider calls combinations undefined but accepts them.
    pub fn from_bits(bits: i64) -> Result<Self, UnknownPolicy> {
        match bits {
            0 => Ok(Self::Normal),
            1 => Ok(Self::Strict),
            2 => Ok(Self::Anywhere),
            4 => Ok(Self::AntiAffinity),
            other => Err(UnknownPolicy(other)),
        }
    }

    /// Returns its number in Slider's files.
    #[must_use]
    pub fn bits(self) -> u32 {
        match self {
            Self::Normal => 0,
            Self::Strict => 1,
            Self::Anywhere => 2,
            Self::AntiAffinity => 4,
        }
    }

    /// Returns whether previous hosts are requested.
    #[must_use]
    pub fn uses_history(self) -> bool {
        matches!(self, Self::Normal | Self::Strict)
    }
}

/// When a component with too few live instances counts as failed (`yarn.container.health.threshold.*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthThreshold {
    /// The least share of desired instances that has to be live, 1 to 100.
    pub percent: u32,
    /// How long fewer may be live.
    pub window_ms: u64,
    /// How long after the start of the service health is not checked.
    pub initial_delay_ms: u64,
}

/// The distance between instances that are kept apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultDomain {
    /// Different hosts.
    #[default]
    Host,
    /// Different racks as well, where racks are known.
    Rack,
}

/// A group of components whose instances are kept apart, such as a processor and its standbys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApartGroup {
    /// The group's name, shared by its components.
    pub name: String,
    /// The distance.
    pub domain: FaultDomain,
}

/// Which failures of a component count in a row, and how long its last retry waits (Samza's retries).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// A failure this long or longer after the last retry begins a new row.
    pub window_ms: u64,
    /// The pause before the last retry of a component with host affinity.
    pub last_delay_ms: u64,
}

/// The specification of a component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComponentSpec {
    /// Its name, unique in its service.
    pub name: String,
    /// The component's group if each instance of the group is a component of its own; otherwise its own
    /// name.
    pub group: String,
    /// Its id.
    pub id: ComponentId,
    /// The desired number of instances.
    pub desired: u32,
    /// Its placement policy.
    pub policy: PlacementPolicy,
    /// The size of a container.
    pub size: Resources,
    /// The node label required; `None` for nodes without a label.
    pub label: Option<String>,
    /// How long a request waits for its host before it is widened to the rack, and then again before it is
    /// widened to the cluster. Only for normal components.
    pub escalate_after_ms: u64,
    /// A host with more failed instances than this in the failure window is unreliable; `None`: never.
    pub node_failure_threshold: Option<u32>,
    /// Whether only this component avoids its unreliable hosts. Otherwise the whole service avoids them,
    /// and this component avoids hosts that are unreliable for others.
    #[serde(default)]
    pub shuns_hosts_alone: bool,
    /// The service ends after more failures than this in the failure window; `None`: never.
    pub container_failure_threshold: Option<u32>,
    /// If `Some`, failures count in a row instead of in the failure window.
    #[serde(default)]
    pub retries: Option<RetryPolicy>,
    /// Replaces `container_failure_threshold` if set.
    pub health: Option<HealthThreshold>,
    /// The group whose instances are kept apart from its own; not for anti-affine components.
    #[serde(default)]
    pub apart_from: Option<ApartGroup>,
    /// Its standbys: if the component loses its place, it takes the place of one of them, which goes
    /// elsewhere.
    #[serde(default)]
    pub takes_over: Vec<ComponentId>,
    /// The version of its process; empty if versions do not matter.
    #[serde(default)]
    pub version: String,
    /// Whether the service runs on without it after too many failures (Samza's degraded mode).
    #[serde(default)]
    pub degrades: bool,
    /// How many of the desired instances preemption leaves available; `None`: any number. Components of one
    /// group have one budget together. It covers containers that were requested with the budget. With fewer
    /// desired instances than the minimum, all of them have to be available. At most 100 groups have budgets.
    #[serde(default)]
    pub disruption: Option<DisruptionLimit>,
}

impl ComponentSpec {
    /// Slider's default for `yarn.placement.escalate.seconds`.
    pub const ESCALATE_AFTER_MS: u64 = 30_000;
    /// Slider's default for `yarn.node.failure.threshold`.
    pub const NODE_FAILURE_THRESHOLD: u32 = 3;
    /// Slider's default for `yarn.container.failure.threshold`.
    pub const CONTAINER_FAILURE_THRESHOLD: u32 = 5;

    /// Creates a component of `desired` instances of this size with Slider's defaults.
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
            disruption: None,
        }
    }

    /// Sets the placement policy.
    #[must_use]
    pub fn with_policy(mut self, policy: PlacementPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Keeps the component apart from the others of this group.
    #[must_use]
    pub fn apart_from(mut self, name: impl Into<String>, domain: FaultDomain) -> Self {
        self.apart_from = Some(ApartGroup { name: name.into(), domain });
        self
    }

    /// Sets how many instances preemption leaves available.
    #[must_use]
    pub fn with_disruption_limit(mut self, limit: DisruptionLimit) -> Self {
        self.disruption = Some(limit);
        self
    }

    /// Restricts the component to nodes with this label.
    #[must_use]
    pub fn with_label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }
}
