//! Plans: a random cluster and a list of operations, in small numbers that shrink well.
//!
//! A pick names every object. It is taken modulo the number of objects at that moment. So any part of a plan can be
//! left out and the rest stays meaningful.

use std::fmt;

use apportion::config::{
    ApplicationLimits, Capacity, EngineConfig, EngineLimits, HeartbeatPolicy, Lifetimes, LocalityDelay,
    NodeOrderKind, ParallelLimits, Percent, QueueConfig, QueueOrdering, QueueState, QueueUpdate,
    ReservationPolicy, Semantics,
};
use apportion::resource::RESOURCE_TYPES_MAX;
use apportion::{ResourceTypes, Resources};

use crate::edits::TreeEdit;
use crate::queues::factor;

/// Plans advance the clock by less than this, by as much, and by more.
const STOP_TIMEOUT_MS: u64 = 1_000;

/// Names one of several objects: the index modulo their number.
pub(crate) type Pick = u8;

/// Small amounts of up to three types.
pub(crate) type Small = [u8; 3];

/// The configuration with which an engine is started.
#[derive(Clone, Debug)]
pub(crate) struct ClusterPlan {
    pub(crate) types: usize,
    /// Whether the last type counts devices.
    pub(crate) has_devices: bool,
    /// The amount that one small unit stands for.
    pub(crate) unit: i64,
    pub(crate) partitions: usize,
    /// Which of these lend their nodes, one bit for each.
    pub(crate) lending: u8,
    pub(crate) node_order: NodeOrderKind,
    /// The steps of container sizes in YARN mode; `None` means strict mode.
    pub(crate) yarn: Option<Small>,
    /// How the root orders its children: by use alone, by priority, or by the priority of demand.
    pub(crate) child_ordering: QueueOrdering,
    pub(crate) application_priority_max: Option<u32>,
    /// Whether containers of an ended application are stopped first.
    pub(crate) stops_ended: bool,
    pub(crate) queues: Vec<QueuePlan>,
    /// Limits of users and groups at the root.
    pub(crate) limit_holders: Vec<HolderPlan>,
    pub(crate) reservations: ReservationPolicy,
    pub(crate) locality_delay: LocalityDelay,
    pub(crate) heartbeat: Option<HeartbeatPolicy>,
    pub(crate) limits: EngineLimits,
}

/// One queue.
#[derive(Clone, Debug)]
pub(crate) struct QueuePlan {
    pub(crate) limits: LimitsPlan,
    pub(crate) partitions: PartitionsPlan,
    /// Whether applications share the leaf, and if so whether by size.
    pub(crate) is_fair: Option<bool>,
    pub(crate) child_ordering: QueueOrdering,
    pub(crate) children: Vec<QueuePlan>,
}

/// Partition settings of a queue, without the default partition.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartitionsPlan {
    /// The partitions it may use; `None` inherits the parent's.
    pub(crate) access: Option<Vec<Pick>>,
    pub(crate) default: Option<Pick>,
    pub(crate) own: Vec<(Pick, Option<CapacityPlan>, Option<MaximumPlan>)>,
}

/// Limits of a queue, initial or changed.
#[derive(Clone, Debug)]
pub(crate) struct LimitsPlan {
    pub(crate) capacity: CapacityPlan,
    pub(crate) maximum: MaximumPlan,
    /// In thousandths.
    pub(crate) factor: Option<u32>,
    /// The minimum user limit, in percent.
    pub(crate) user_minimum: u32,
    /// Weights of user 0 and user 1, in thousandths.
    pub(crate) user_weights: [u32; 2],
    pub(crate) priority: i32,
    /// The priority offset, and whether the queue is a priority fence.
    pub(crate) offset: (i32, bool),
    pub(crate) application_priority: u32,
    pub(crate) lifetimes: Lifetimes,
    pub(crate) admission: AdmissionPlan,
    pub(crate) access: AccessPlan,
    pub(crate) limit_holders: Vec<HolderPlan>,
}

/// Limits of users and groups.
#[derive(Clone, Debug)]
pub(crate) struct HolderPlan {
    /// The holders, except those that an earlier plan of the queue has named. Bits 0 to 3 are users, 4 and 5 groups,
    /// 6 other users and 7 other groups.
    pub(crate) who: u8,
    pub(crate) maximum: [Option<u8>; 3],
    pub(crate) parallel: Option<u32>,
}

/// Who may submit and who may administer: bits 0 to 3 are users, 4 and 5 groups.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AccessPlan {
    pub(crate) submitters: Option<u8>,
    pub(crate) administrators: Option<u8>,
}

/// The limits on applications in a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AdmissionPlan {
    pub(crate) is_stopped: bool,
    pub(crate) total: Option<u32>,
    pub(crate) per_user: Option<u32>,
    pub(crate) activation: ActivationPlan,
}

/// The limits on active applications.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ActivationPlan {
    pub(crate) total: Option<u32>,
    pub(crate) per_user: Option<u32>,
    pub(crate) of_user_0: Option<u32>,
    /// In percent.
    pub(crate) master_share: Option<u32>,
}

impl ActivationPlan {
    pub(crate) fn parallel(self) -> ParallelLimits {
        let by_user = self.of_user_0.map(|most| ("user0".to_owned(), most));
        ParallelLimits { total: self.total, per_user: self.per_user, by_user: by_user.into_iter().collect() }
    }

    pub(crate) fn master_share(self) -> Option<Percent> {
        self.master_share.map(Percent::whole)
    }
}

impl QueuePlan {
    /// Removes the access lists of this queue and of all queues below.
    pub(crate) fn open(&mut self) {
        self.limits.access = AccessPlan { submitters: None, administrators: None };
        self.children.iter_mut().for_each(Self::open);
    }
}

impl AdmissionPlan {
    pub(crate) fn state(self) -> QueueState {
        if self.is_stopped { QueueState::Stopped } else { QueueState::Running }
    }

    pub(crate) fn limits(self) -> ApplicationLimits {
        ApplicationLimits { total: self.total, per_user: self.per_user }
    }
}

#[derive(Clone, Debug)]
pub(crate) enum CapacityPlan {
    /// In millionths. At the start, siblings that sum to more than everything are cut back together.
    Percent(u32),
    Absolute(Small),
    /// In thousandths.
    Weight(u32),
    /// A share for each type.
    Mixed([SharePlan; 3]),
}

/// A share of one type, counted as in [`CapacityPlan`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum SharePlan {
    Percent(u32),
    Amount(u8),
    Weight(u32),
}

#[derive(Clone, Debug)]
pub(crate) enum MaximumPlan {
    /// In millionths.
    Percent(u32),
    /// Amounts above an absolute capacity.
    Absolute([Option<u8>; 3]),
    /// Amounts above the capacity, and for some types a percentage in millionths.
    Mixed([Option<u8>; 3], [Option<u32>; 3]),
}

#[derive(Clone, Debug)]
pub(crate) struct NodePlan {
    pub(crate) name: Pick,
    pub(crate) rack: Pick,
    pub(crate) partition: Pick,
    pub(crate) capacity: Small,
    pub(crate) devices: u8,
    pub(crate) attributes: Vec<(Pick, Pick)>,
}

#[derive(Clone, Debug)]
pub(crate) struct AskPlan {
    pub(crate) size: Small,
    pub(crate) devices: Option<(u8, u16)>,
    pub(crate) count: u32,
    pub(crate) priority: u32,
    /// `None` means the leaf's default partition.
    pub(crate) partition: Option<Pick>,
    pub(crate) rule: Vec<ConditionPlan>,
    pub(crate) tags: Vec<Pick>,
    pub(crate) tag_limits: Vec<TagLimitPlan>,
    pub(crate) hosts: Vec<Pick>,
    pub(crate) racks: Vec<Pick>,
    pub(crate) is_strict: bool,
    pub(crate) is_master: bool,
}

/// A container that a node reports.
#[derive(Clone, Debug)]
pub(crate) struct RunningPlan {
    pub(crate) application: Pick,
    pub(crate) size: Small,
    pub(crate) devices: Option<(u8, u16)>,
    pub(crate) tags: Vec<Pick>,
}

/// A condition on an attribute.
#[derive(Clone, Debug)]
pub(crate) struct ConditionPlan {
    pub(crate) attribute: Pick,
    /// The values that it must have, or must not have. `None` asks whether the attribute exists.
    pub(crate) values: Option<Vec<Pick>>,
    pub(crate) is_negated: bool,
}

/// A limit on containers with a tag.
#[derive(Clone, Debug)]
pub(crate) struct TagLimitPlan {
    pub(crate) tag: Pick,
    pub(crate) most: u32,
    pub(crate) is_on_rack: bool,
    pub(crate) is_own: bool,
}

/// One step of a plan.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    AddNode(NodePlan),
    RecoverNode(NodePlan, Vec<RunningPlan>),
    UpdateNode {
        node: Pick,
        capacity: Small,
        attributes: Vec<(Pick, Pick)>,
    },
    SetPartition {
        node: Pick,
        partition: Pick,
    },
    Drain(Pick),
    Activate(Pick),
    RemoveNode(Pick),
    Heartbeat(Vec<Pick>),
    /// Passes over one node, `times` of them; in serial mode only.
    Pass {
        node: Pick,
        times: u8,
    },
    Submit {
        leaf: Pick,
        user: Pick,
        /// One bit for each of two groups.
        groups: u8,
        priority: Option<u32>,
        lifetime_ms: Option<u64>,
        /// The size and partition of the application master.
        master: Option<(Small, Pick)>,
    },
    Move {
        application: Pick,
        leaf: Pick,
    },
    SetPriority {
        application: Pick,
        priority: u32,
    },
    End {
        application: Pick,
        is_killed: bool,
    },
    /// Names of hosts and racks, and whether each is added (or removed).
    Blacklist {
        application: Pick,
        hosts: Vec<(Pick, bool)>,
        racks: Vec<(Pick, bool)>,
    },
    Ask {
        application: Pick,
        plan: AskPlan,
    },
    Cancel {
        ask: Pick,
        units: u32,
    },
    ResizeContainer {
        container: Pick,
        size: Small,
    },
    SetExecutionType {
        container: Pick,
        is_promoted: bool,
    },
    StopContainer {
        container: Pick,
        is_preempted: bool,
    },
    EndContainer {
        container: Pick,
        is_released: bool,
    },
    UpdateQueue {
        queue: Pick,
        capacity: Option<CapacityPlan>,
        maximum: Option<MaximumPlan>,
        factor: Option<Option<u32>>,
        user_minimum: Option<u32>,
        priority: Option<i32>,
        admission: Option<AdmissionPlan>,
    },
    Reconfigure(Vec<TreeEdit>),
    Commit {
        allocate: Vec<(Pick, Pick)>,
        reserve: Vec<(Pick, Pick)>,
        release: Vec<Pick>,
    },
    Advance(u64),
    Run,
}

/// A whole run.
#[derive(Clone)]
pub(crate) struct Plan {
    pub(crate) cluster: ClusterPlan,
    pub(crate) nodes: Vec<NodePlan>,
    pub(crate) operations: Vec<Operation>,
}

impl fmt::Debug for Plan {
    /// Writes one line for each object in every format, so that a failing plan is readable.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n  {:?}", self.cluster)?;
        self.nodes.iter().try_for_each(|node| writeln!(f, "  {node:?}"))?;
        self.operations.iter().try_for_each(|operation| writeln!(f, "  {operation:?}"))
    }
}

impl ClusterPlan {
    /// Returns the configuration that this plan describes.
    pub(crate) fn config(&self) -> EngineConfig {
        let names = ["memory", "cores", "gpu"];
        let mut types = ResourceTypes::new(names[..self.types].iter().copied()).unwrap();
        if self.has_devices {
            types = types.with_devices(names[self.types - 1]).unwrap();
        }
        let partitions = self.partition_names();
        let mut config = EngineConfig::new(
            types,
            QueueConfig::root(self.children(&self.queues, &partitions))
                .with_child_ordering(self.child_ordering)
                .with_limits(self.limit_holders(&self.limit_holders)),
        );
        let is_lending = |(number, _): &(usize, &String)| self.lending >> number & 1 == 1;
        let lending = partitions.iter().enumerate().filter(is_lending);
        config.non_exclusive_partitions = lending.map(|(_, name)| name.clone()).collect();
        config.partitions = partitions;
        config.node_order = self.node_order;
        config.reservations = self.reservations;
        config.locality_delay = self.locality_delay;
        config.heartbeat = self.heartbeat;
        config.limits = self.limits;
        config.stop_timeout_ms = STOP_TIMEOUT_MS;
        config.stop_ended_applications = self.stops_ended;
        config.maximum_application_priority = self.application_priority_max;
        // Plans contain asks of size zero.
        config.allocation.allow_empty = true;
        if let Some(steps) = &self.yarn {
            config.semantics = Semantics::YarnCompatible;
            let mut minimum = *self.amounts(steps).amounts();
            self.device_type().into_iter().for_each(|devices| minimum[devices] = 0);
            config.allocation.minimum = Resources::new(&minimum);
        }
        config
    }

    /// The names of the partitions besides the default one.
    pub(crate) fn partition_names(&self) -> Vec<String> {
        (1..=self.partitions).map(|number| format!("p{number}")).collect()
    }

    /// The type that counts devices.
    pub(crate) fn device_type(&self) -> Option<usize> {
        self.has_devices.then(|| self.types - 1)
    }

    /// Converts small numbers to amounts.
    pub(crate) fn amounts(&self, small: &Small) -> Resources {
        Resources::new(&self.scaled(&small.map(Some)).map(|amount| amount.unwrap_or(0)))
    }

    pub(crate) fn scaled(&self, small: &[Option<u8>; 3]) -> [Option<i64>; RESOURCE_TYPES_MAX] {
        let mut scaled = [None; RESOURCE_TYPES_MAX];
        for i in 0..self.types {
            let unit = if self.device_type() == Some(i) { 250 } else { self.unit };
            scaled[i] = small[i].map(|amount| i64::from(amount) * unit);
        }
        scaled
    }

    /// An update of a queue's limits. It may be invalid.
    pub(crate) fn update(
        &self,
        capacity: Option<&CapacityPlan>,
        maximum: Option<&MaximumPlan>,
        user_factor: Option<Option<u32>>,
        user_minimum: Option<u32>,
        priority: Option<i32>,
        admission: Option<AdmissionPlan>,
    ) -> QueueUpdate {
        QueueUpdate {
            capacity: capacity.map(|plan| self.capacity(plan)),
            maximum: maximum.map(|plan| self.maximum(plan, &Capacity::Percent(Percent::ALL))),
            user_limit_factor: user_factor.map(|milli| milli.map(factor)),
            user_limit_minimum: user_minimum.map(Percent::whole),
            priority,
            state: admission.map(AdmissionPlan::state),
            applications: admission.map(AdmissionPlan::limits),
            parallel: admission.map(|admission| admission.activation.parallel()),
            master_share: admission.map(|admission| admission.activation.master_share()),
        }
    }
}
