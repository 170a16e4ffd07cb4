//! Applications and the users they belong to.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::blacklist::Blacklist;
use super::container_list::ContainerList;
use crate::config::Factor;
use crate::ids::{LeafUserId, LimitUsageId, PartitionId, QueueId};
use crate::resource::Resources;

/// How an application ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ApplicationEnd {
    /// It said it is done.
    Finished,
    /// A caller ended it.
    Killed,
    /// The engine ended it after its lifetime.
    Expired,
}

/// The container that runs an application: what has to be left for it before the application may be served. It is
/// asked for like any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Master {
    /// Its size.
    pub size: Resources,
    /// The partition it is to run in.
    pub partition: PartitionId,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Application {
    pub(crate) name: Arc<str>,
    pub(crate) leaf: QueueId,
    pub(crate) user: LeafUserId,
    /// Higher is first.
    pub(crate) priority: u32,
    /// Order of submission over the engine's life.
    pub(crate) submitted: u64,
    pub(crate) submitted_ms: u64,
    /// The number of the last container or reservation that it was given, 0 if there was none.
    pub(crate) last_served: u64,
    pub(crate) master: Option<Master>,
    /// When it is ended if it is still there.
    pub(crate) expires_ms: Option<u64>,
    /// Its asks may be served. Once active it stays so.
    pub(crate) is_active: bool,
    /// It has been ended so, and its last containers are being stopped.
    pub(crate) ending: Option<ApplicationEnd>,
    /// Use by its containers and reservations, all partitions together.
    pub(crate) used: Resources,
    #[serde(skip)]
    pub(crate) containers: ContainerList,
    /// Hosts and racks that its asks shun; none where nobody has said so.
    pub(crate) blacklist: Option<Arc<Blacklist>>,
    /// Its containers and outstanding asks, added up.
    #[serde(skip)]
    pub(crate) demand: Resources,
    /// Units of its asks that are neither placed nor cancelled.
    #[serde(skip)]
    pub(crate) outstanding: u64,
    /// Asks with something outstanding, plus those whose reservations are being given back.
    pub(crate) asks: u32,
}

/// One user in one leaf.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct LeafUser {
    pub(crate) name: Arc<str>,
    pub(crate) leaf: QueueId,
    /// By partition, reservations included.
    pub(crate) used: Vec<Resources>,
    pub(crate) applications: u32,
    /// Of its applications those that wait for activation.
    pub(crate) inactive: u32,
    /// The amount for masters of its active applications, by partition.
    pub(crate) masters: Vec<Resources>,
    /// Units of its asks that are neither placed nor cancelled.
    pub(crate) outstanding: u64,
    pub(crate) weight: Factor,
    /// Those of its latest application here.
    pub(crate) groups: Vec<String>,
    /// Against which all that it has here counts, root first.
    #[serde(skip)]
    pub(crate) limit_usages: Vec<LimitUsageId>,
}

impl LeafUser {
    /// Whether it wants something: units of asks, or to have an application activated (`capacity-scheduler.md` 2.8).
    pub(crate) fn is_active(&self) -> bool {
        self.is_active_without(0)
    }

    /// The same without so many of its units.
    pub(crate) fn is_active_without(&self, units: u64) -> bool {
        self.outstanding > units || self.inactive > 0
    }
}
