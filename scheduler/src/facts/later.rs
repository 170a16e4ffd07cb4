//! Facts of features that the first version of a snapshot does not have.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::PreemptionNotice;
use crate::ids::ContainerId;

/// They stand at the end of a snapshot, so that an older one is read as one in which they are empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct LaterFacts {
    /// Containers that were announced as victims of preemption.
    pub(crate) notices: BTreeMap<ContainerId, PreemptionNotice>,
}
