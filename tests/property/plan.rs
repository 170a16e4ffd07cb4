//! Plans: a random cluster and what happens to it, in small numbers that shrink well.
//!
//! Everything is named by a pick, taken modulo what there is when its turn comes, so that any part of a plan
//! can be left out and the rest still means something.

use std::fmt;

use apportion::config::{
    ApplicationLimits, ApplicationOrdering, Capacity, EngineConfig, EngineLimits, Factor, HeartbeatPolicy,
    LocalityDelay, Maximum, Percent, QueueConfig, QueueOrdering, QueueState, QueueUpdate, ReservationPolicy,
    Semantics,
};
use apportion::{NodeOrderKind, RESOURCE_TYPES_MAX, ResourceTypes, Resources};

/// Names one of several things: the one at this place, counted round.
pub(crate) type Pick = u8;

/// Small amounts of up to three types.
pub(crate) type Small = [u8; 3];

/// What an engine is started with.
#[derive(Clone, Debug)]
pub(crate) struct ClusterPlan {
    pub(crate) types: usize,
    /// Whether the last type counts devices.
    pub(crate) has_devices: bool,
    /// What one small unit is worth.
    pub(crate) unit: i64,
    pub(crate) partitions: usize,
    pub(crate) node_order: NodeOrderKind,
    /// Whether limits are YARN's, and the steps of sizes.
    pub(crate) yarn: Option<Small>,
    /// Whether the root orders by priority.
    pub(crate) by_priority: bool,
    pub(crate) queues: Vec<QueuePlan>,
    pub(crate) reservations: ReservationPolicy,
    pub(crate) locality_delay: LocalityDelay,
    pub(crate) heartbeat: Option<HeartbeatPolicy>,
    pub(crate) limits: EngineLimits,
}

/// One queue.
#[derive(Clone, Debug)]
pub(crate) struct QueuePlan {
    pub(crate) limits: LimitsPlan,
    pub(crate) is_fair: bool,
    pub(crate) by_priority: bool,
    pub(crate) children: Vec<QueuePlan>,
}

/// Limits of one queue, or new ones.
#[derive(Clone, Debug)]
pub(crate) struct LimitsPlan {
    pub(crate) capacity: CapacityPlan,
    pub(crate) maximum: MaximumPlan,
    /// In thousandths.
    pub(crate) factor: Option<u32>,
    /// In percent: what each of several users may have.
    pub(crate) user_minimum: u32,
    /// Of user 0 and 1, in thousandths.
    pub(crate) user_weights: [u32; 2],
    pub(crate) priority: i32,
    pub(crate) admission: AdmissionPlan,
}

/// Which applications a queue takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AdmissionPlan {
    pub(crate) is_stopped: bool,
    pub(crate) total: Option<u32>,
    pub(crate) per_user: Option<u32>,
}

impl AdmissionPlan {
    fn state(self) -> QueueState {
        if self.is_stopped { QueueState::Stopped } else { QueueState::Running }
    }

    fn limits(self) -> ApplicationLimits {
        ApplicationLimits { total: self.total, per_user: self.per_user }
    }
}

#[derive(Clone, Debug)]
pub(crate) enum CapacityPlan {
    /// In millionths; siblings that want more than all are cut back together when the engine starts.
    Percent(u32),
    Absolute(Small),
    /// In thousandths.
    Weight(u32),
}

#[derive(Clone, Debug)]
pub(crate) enum MaximumPlan {
    /// In millionths.
    Percent(u32),
    /// Beyond an absolute capacity.
    Absolute([Option<u8>; 3]),
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
    pub(crate) partition: Pick,
    pub(crate) rule: Option<(Pick, Vec<Pick>)>,
    pub(crate) hosts: Vec<Pick>,
    pub(crate) racks: Vec<Pick>,
    pub(crate) is_strict: bool,
}

/// Something that happens.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    AddNode(NodePlan),
    UpdateNode {
        node: Pick,
        capacity: Small,
        attributes: Vec<(Pick, Pick)>,
    },
    Drain(Pick),
    Activate(Pick),
    RemoveNode(Pick),
    Heartbeat(Vec<Pick>),
    Submit {
        leaf: Pick,
        user: Pick,
        priority: u32,
    },
    End {
        application: Pick,
        is_killed: bool,
    },
    Ask {
        application: Pick,
        plan: AskPlan,
    },
    Cancel {
        ask: Pick,
        units: u32,
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
    /// One line for each thing, however it is asked for: a failing plan is to be read.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n  {:?}", self.cluster)?;
        self.nodes.iter().try_for_each(|node| writeln!(f, "  {node:?}"))?;
        self.operations.iter().try_for_each(|operation| writeln!(f, "  {operation:?}"))
    }
}

impl ClusterPlan {
    /// The configuration it stands for.
    pub(crate) fn config(&self) -> EngineConfig {
        let names = ["memory", "cores", "gpu"];
        let mut types = ResourceTypes::new(names[..self.types].iter().copied()).unwrap();
        if self.has_devices {
            types = types.with_devices(names[self.types - 1]).unwrap();
        }
        let mut config = EngineConfig::new(
            types,
            QueueConfig::root(self.children(&self.queues))
                .with_child_ordering(child_ordering(self.by_priority)),
        );
        config.partitions = (1..=self.partitions).map(|number| format!("p{number}")).collect();
        config.node_order = self.node_order;
        config.reservations = self.reservations;
        config.locality_delay = self.locality_delay;
        config.heartbeat = self.heartbeat;
        config.limits = self.limits;
        if let Some(steps) = &self.yarn {
            config.semantics = Semantics::YarnCompatible;
            let mut minimum = *self.amounts(steps).amounts();
            self.device_type().into_iter().for_each(|devices| minimum[devices] = 0);
            config.allocation.minimum = Resources::new(&minimum);
        }
        config
    }

    /// Which type counts devices.
    pub(crate) fn device_type(&self) -> Option<usize> {
        self.has_devices.then(|| self.types - 1)
    }

    /// Small numbers as amounts.
    pub(crate) fn amounts(&self, small: &Small) -> Resources {
        Resources::new(&self.scaled(&small.map(Some)).map(|amount| amount.unwrap_or(0)))
    }

    fn scaled(&self, small: &[Option<u8>; 3]) -> [Option<i64>; RESOURCE_TYPES_MAX] {
        let mut scaled = [None; RESOURCE_TYPES_MAX];
        for i in 0..self.types {
            let unit = if self.device_type() == Some(i) { 250 } else { self.unit };
            scaled[i] = small[i].map(|amount| i64::from(amount) * unit);
        }
        scaled
    }

    fn children(&self, plans: &[QueuePlan]) -> Vec<QueueConfig> {
        let percent = |plan: &QueuePlan| match plan.limits.capacity {
            CapacityPlan::Percent(millionths) => u64::from(millionths),
            _ => 0,
        };
        let wanted: u64 = plans.iter().map(percent).sum();
        let child = |(number, plan): (usize, &QueuePlan)| {
            let mut capacity = self.capacity(&plan.limits.capacity);
            if wanted > 1_000_000 && percent(plan) > 0 {
                let millionths = percent(plan) * 1_000_000 / wanted;
                capacity = self.capacity(&CapacityPlan::Percent(u32::try_from(millionths).unwrap()));
            }
            QueueConfig::leaf(format!("q{number}"), capacity)
                .with_maximum(self.maximum(&plan.limits.maximum, &capacity))
                .with_ordering(if plan.is_fair {
                    ApplicationOrdering::Fair
                } else {
                    ApplicationOrdering::Fifo
                })
                .with_child_ordering(child_ordering(plan.by_priority))
                .with_priority(plan.limits.priority)
                .with_user_limit_minimum(Percent::whole(plan.limits.user_minimum))
                .with_user_weight("user0", factor(plan.limits.user_weights[0]))
                .with_user_weight("user1", factor(plan.limits.user_weights[1]))
                .with_state(plan.limits.admission.state())
                .with_applications(plan.limits.admission.limits())
                .with_user_limit_factor(plan.limits.factor.map(factor))
                .with_children(self.children(&plan.children))
        };
        plans.iter().enumerate().map(child).collect()
    }

    fn capacity(&self, plan: &CapacityPlan) -> Capacity {
        match plan {
            CapacityPlan::Percent(millionths) => Capacity::Percent(percent(*millionths)),
            CapacityPlan::Absolute(small) => Capacity::Absolute(self.amounts(small)),
            CapacityPlan::Weight(milli) => Capacity::Weight(factor(*milli)),
        }
    }

    fn maximum(&self, plan: &MaximumPlan, capacity: &Capacity) -> Maximum {
        let own = match capacity {
            Capacity::Absolute(amounts) => *amounts,
            _ => Resources::ZERO,
        };
        match plan {
            MaximumPlan::Percent(millionths) => Maximum::Percent(percent(*millionths)),
            MaximumPlan::Absolute(beyond) => {
                let beyond = self.scaled(beyond);
                Maximum::Absolute(std::array::from_fn(|i| beyond[i].map(|beyond| beyond + own[i])))
            }
        }
    }

    /// New limits for a queue; they may well be invalid.
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
        }
    }
}

fn child_ordering(by_priority: bool) -> QueueOrdering {
    if by_priority { QueueOrdering::PriorityUtilization } else { QueueOrdering::Utilization }
}

fn percent(millionths: u32) -> Percent {
    format!("{}.{:04}", millionths / 10_000, millionths % 10_000).parse().unwrap()
}

fn factor(milli: u32) -> Factor {
    format!("{}.{:03}", milli / 1000, milli % 1000).parse().unwrap()
}
