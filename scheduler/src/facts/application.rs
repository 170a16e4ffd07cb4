//! Applications and their users.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::blacklist::Blacklist;
use super::container_list::ContainerList;
use crate::config::Factor;
use crate::ids::{LeafUserId, LimitUsageId, PartitionId, QueueId};
use crate::resource::Resources;

/// How an application ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApplicationEnd {
    /// It reported that it is done.
    Finished,
    /// A caller ended it.
    Killed,
    /// The engine ended it after its lifetime.
    Expired,
}

/// The container that runs an application. Its resources must be free before the application may be activated. The
/// application asks for it as for any other container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Master {
    /// Its size.
    pub size: Resources,
    /// The partition in which it is to run.
    pub partition: PartitionId,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Application {
    pub(crate) name: Arc<str>,
    pub(crate) leaf: QueueId,
    pub(crate) user: LeafUserId,
    /// Higher is first.
    pub(crate) priority: u32,
    /// Order of submission over the engine's life.
    pub(crate) submitted: u64,
    pub(crate) submitted_ms: u64,
    /// The number of its last container or reservation, 0 if it got none.
    pub(crate) last_served: u64,
    pub(crate) master: Option<Master>,
    /// When it expires, if ever.
    pub(crate) expires_ms: Option<u64>,
    /// Whether its asks may be served. Once active, it stays active.
    pub(crate) is_active: bool,
    /// How it ended, if its last containers are still being stopped.
    pub(crate) ending: Option<ApplicationEnd>,
    /// Use by its containers and reservations, all partitions together.
    pub(crate) used: Resources,
    #[serde(skip)]
    pub(crate) containers: ContainerList,
    /// Its blacklist, unless that is empty.
    pub(crate) blacklist: Option<Arc<Blacklist>>,
    /// The sum of its containers and outstanding asks.
    #[serde(skip)]
    pub(crate) demand: Resources,
    /// Units of its asks that are neither placed nor cancelled.
    #[serde(skip)]
    pub(crate) outstanding: u64,
    /// Asks with outstanding units, plus asks whose reservations are being given back.
    pub(crate) asks: u32,
}

/// One user in one leaf.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LeafUser {
    pub(crate) name: Arc<str>,
    pub(crate) leaf: QueueId,
    /// By partition, reservations included.
    pub(crate) used: Vec<Resources>,
    pub(crate) applications: u32,
    /// Its applications that wait for activation.
    pub(crate) inactive: u32,
    /// The resources of its active applications' masters, by partition.
    pub(crate) masters: Vec<Resources>,
    /// Units of its asks that are neither placed nor cancelled.
    pub(crate) outstanding: u64,
    pub(crate) weight: Factor,
    /// The groups of its latest application here.
    pub(crate) groups: Vec<String>,
    /// The limit usages against which its use here counts, root first.
    #[serde(skip)]
    pub(crate) limit_usages: Vec<LimitUsageId>,
}

impl LeafUser {
    /// Whether it has outstanding units or applications that wait for activation.
    pub(crate) fn is_active(&self) -> bool {
        self.is_active_without(0)
    }

    /// The same, without `units` of its outstanding units.
    pub(crate) fn is_active_without(&self, units: u64) -> bool {
        self.outstanding > units || self.inactive > 0
    }
}
