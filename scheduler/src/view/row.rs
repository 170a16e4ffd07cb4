//! Views as rows for serde. Amounts are objects by resource type, as in explanations.

use serde::{Serialize, Serializer};

use super::{ApplicationView, AskView, NodeView, QueueStatus, QueueView, TaskGroupView};
use crate::facts::{ApplicationEnd, ContainerOnNode, ExecutionType, NodeAttributes, NodeState};
use crate::ids::{ApplicationId, AskId, ContainerId, NodeId, PartitionId, QueueId, ReservationId};
use crate::resource::{Amounts, Resources};
use crate::state::State;

impl State {
    pub(super) fn amounts(&self, resources: &Resources) -> Amounts {
        self.facts.config.resources.amounts(resources)
    }
}

#[derive(Serialize)]
struct NodeRow<'a> {
    id: NodeId,
    name: &'a str,
    rack: &'a str,
    partition: &'a str,
    state: NodeState,
    is_stale: bool,
    reservation: Option<ReservationId>,
    capacity: Amounts,
    allocated: Amounts,
    /// For members of gangs that have not started.
    held: Amounts,
    free: Amounts,
    opportunistic: Amounts,
    /// The opportunistic containers that wait, the next to start first.
    queue: Vec<ContainerId>,
    /// Free thousandths of each device.
    devices: &'a [u16],
    attributes: &'a NodeAttributes,
    containers: &'a [ContainerId],
}

/// Writes the node, except `leftover` and `running_opportunistic`. `devices` lists the free thousandths of each.
impl Serialize for NodeView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let amounts = |resources| self.state.amounts(&resources);
        let row = NodeRow {
            id: self.id,
            name: self.name(),
            rack: self.rack(),
            partition: self.state.partition_name(self.partition()),
            state: self.state(),
            is_stale: self.is_stale(),
            reservation: self.reservation(),
            capacity: amounts(self.capacity()),
            allocated: amounts(self.allocated()),
            held: amounts(self.held()),
            free: amounts(self.free()),
            opportunistic: amounts(self.opportunistic()),
            queue: self.queue().collect(),
            devices: self.devices().free_milli(),
            attributes: self.attributes(),
            containers: self.containers(),
        };
        row.serialize(serializer)
    }
}

#[derive(Serialize)]
struct AskRow {
    id: AskId,
    application: ApplicationId,
    size: Amounts,
    execution_type: ExecutionType,
    outstanding: u32,
    reserved: u32,
    pending_since_ms: u64,
    missed_opportunities: u32,
    re_reservations: u32,
}

/// Writes all that the view shows of the ask, except why it is pending: that would look at every node.
impl Serialize for AskView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let row = AskRow {
            id: self.id,
            application: self.application(),
            size: self.state.amounts(&self.size()),
            execution_type: self.execution_type(),
            outstanding: self.outstanding(),
            reserved: self.reserved(),
            pending_since_ms: self.pending_since_ms(),
            missed_opportunities: self.missed_opportunities(),
            re_reservations: self.re_reservations(),
        };
        row.serialize(serializer)
    }
}

#[derive(Serialize)]
struct ApplicationRow<'a> {
    name: &'a str,
    queue: &'a str,
    user: &'a str,
    priority: u32,
    is_active: bool,
    ending: Option<ApplicationEnd>,
    submitted_ms: u64,
    expires_ms: Option<u64>,
    used: Amounts,
    pending_asks: u32,
    containers: Vec<ContainerOnNode>,
    task_groups: Vec<TaskGroupView>,
}

/// Writes all that the view shows of the application, except its headroom, which each partition has.
impl Serialize for ApplicationView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let row = ApplicationRow {
            name: self.name(),
            queue: self.queue(),
            user: self.user(),
            priority: self.priority(),
            is_active: self.is_active(),
            ending: self.ending(),
            submitted_ms: self.submitted_ms(),
            expires_ms: self.expires_ms(),
            used: self.state.amounts(&self.used()),
            pending_asks: self.pending_asks(),
            containers: self.containers().collect(),
            task_groups: self.task_groups(),
        };
        row.serialize(serializer)
    }
}

#[derive(Serialize)]
struct QueueRow<'a> {
    id: QueueId,
    path: &'a str,
    is_leaf: bool,
    is_auto_created: bool,
    status: QueueStatus,
    applications: u32,
    inactive_applications: u32,
    active_users: u32,
    partitions: Vec<QuotaRow<'a>>,
}

/// The limits and the use of a queue in one partition.
#[derive(Serialize)]
struct QuotaRow<'a> {
    partition: &'a str,
    guaranteed: Amounts,
    maximum: Amounts,
    user_limit: Amounts,
    used: Amounts,
    reserved: Amounts,
    pending: Amounts,
    containers: u64,
}

impl<'a> QuotaRow<'a> {
    fn new(view: &QueueView<'a>, partition: PartitionId) -> Self {
        let (quota, state) = (view.quota(partition), view.state);
        Self {
            partition: state.partition_name(partition),
            guaranteed: state.amounts(&quota.guaranteed),
            maximum: state.amounts(&quota.maximum),
            user_limit: state.amounts(&quota.user_limit),
            used: state.amounts(&quota.used),
            reserved: state.amounts(&quota.reserved),
            pending: state.amounts(&quota.pending),
            containers: quota.containers,
        }
    }
}

/// Writes the counts of the queue, and its limits and use in each partition.
impl Serialize for QueueView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let row = QueueRow {
            id: self.id(),
            path: self.path(),
            is_leaf: self.is_leaf(),
            is_auto_created: self.is_auto_created(),
            status: self.status(),
            applications: self.application_count(),
            inactive_applications: self.inactive_application_count(),
            active_users: self.active_user_count(),
            partitions: self.state.partitions().map(|id| QuotaRow::new(self, id)).collect(),
        };
        row.serialize(serializer)
    }
}
