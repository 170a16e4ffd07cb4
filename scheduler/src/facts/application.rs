//! Applications and the users they belong to.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::container_list::ContainerList;
use crate::config::Factor;
use crate::ids::{LeafUserId, QueueId};
use crate::resource::Resources;

/// How an application ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ApplicationEnd {
    /// It said it is done.
    Finished,
    /// Somebody ended it.
    Killed,
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
    /// What its containers and reservations hold, all partitions together.
    pub(crate) used: Resources,
    #[serde(skip)]
    pub(crate) containers: ContainerList,
    /// Asks with something outstanding, plus those whose reservations are being settled.
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
    /// Units of its asks that are neither placed nor cancelled; with any it is active.
    pub(crate) outstanding: u64,
    pub(crate) weight: Factor,
}
