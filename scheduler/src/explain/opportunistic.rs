//! Why an opportunistic ask is pending.

use std::fmt::{self, Display, Formatter};

use serde::{Deserialize, Serialize};

use super::reason::PendingReason;
use crate::facts::OpportunisticAsk;
use crate::ids::ApplicationId;
use crate::label::counted;
use crate::resource::Amounts;
use crate::state::State;

/// Why units of an opportunistic ask wait in no queue of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WhyOpportunistic {
    /// The application that asks.
    pub application: ApplicationId,
    /// The application's name.
    pub application_name: String,
    /// The path of its leaf.
    pub queue: String,
    /// The partition of the ask; empty for the default one.
    pub partition: String,
    /// The size of one container.
    pub size: Amounts,
    /// Containers that the ask wanted in total.
    pub asked: u32,
    /// Containers neither placed nor cancelled.
    pub outstanding: u32,
    /// The time of submission.
    pub since_ms: u64,
    /// The reason as one word.
    pub reason: PendingReason,
    /// The nodes of its partition that meet its conditions and could hold a container of it if they were empty.
    pub possible_nodes: usize,
    /// Those of them that take containers and are at no limit of the ask on tags.
    pub open_nodes: usize,
    /// The longest queue that a node may have. All of the open nodes have as many containers in their queues.
    pub queue_length_max: u32,
}

/// The reason. Looks at the nodes of the ask's partition.
pub(crate) fn why_opportunistic(state: &State, ask: &OpportunisticAsk) -> WhyOpportunistic {
    let facts = &state.facts;
    let application = facts.applications.at(ask.application);
    let nodes = || state.node_shards.nodes_of(ask.shape.partition).map(|id| facts.nodes.at(id));
    let possible = nodes()
        .filter(|node| ask.preference.will_do(node.id, node.rack) && facts.could_hold(&ask.shape, node));
    let (possible_nodes, candidates) = possible
        .fold((0, 0), |(all, candidates), node| (all + 1, candidates + usize::from(node.is_candidate())));
    let open_nodes = nodes().filter(|node| facts.could_queue(ask, node)).count();
    let reason = match (possible_nodes, candidates, open_nodes) {
        (0, ..) => PendingReason::NoNodeLargeEnough,
        _ if !application.is_active => PendingReason::Inactive,
        _ if !facts.maxima_admit_devices(ask.application, &ask.shape) => PendingReason::QueueLimit,
        (_, 1.., 0) => PendingReason::TagLimit,
        (_, 0, _) => PendingReason::NoRoom,
        _ => PendingReason::QueuesFull,
    };
    WhyOpportunistic {
        application: ask.application,
        application_name: application.name.to_string(),
        queue: facts.queue(application.leaf).path.to_string(),
        partition: state.partition_name(ask.shape.partition).to_owned(),
        size: facts.config.resources.amounts(&ask.shape.need.resources),
        asked: ask.asked,
        outstanding: ask.outstanding(),
        since_ms: ask.pending_since_ms,
        reason,
        possible_nodes,
        open_nodes,
        queue_length_max: facts.config.opportunistic.map_or(0, |policy| policy.queue_length_max),
    }
}

impl WhyOpportunistic {
    /// The ask and its application, as text.
    pub(super) fn what(&self) -> String {
        let Self { outstanding, asked, size, application_name, application, queue, .. } = self;
        let number = counted((*outstanding).into(), "opportunistic container");
        format!("wants {number} (of {asked}) of {size} for {application_name} ({application}) in {queue}")
    }
}

/// Writes the reason as one sentence.
impl Display for WhyOpportunistic {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let nodes = |count: usize| counted(count as u64, "node");
        match self.reason {
            PendingReason::NoNodeLargeEnough => {
                f.write_str("No node that meets its conditions could hold it, even empty.")
            }
            PendingReason::QueueLimit => f.write_str(
                "The maximum of a queue, or a limit for its user, admits fewer devices than one container needs.",
            ),
            PendingReason::Inactive => f.write_str("Its application waits for activation."),
            PendingReason::TagLimit => f.write_str(
                "Every node that takes containers is at the ask's limit of containers with a tag.",
            ),
            PendingReason::NoRoom => {
                let possible = nodes(self.possible_nodes);
                write!(f, "None of the {possible} that could hold it takes containers now.")
            }
            _ => {
                let (open, length) = (nodes(self.open_nodes), self.queue_length_max);
                write!(f, "The queues of all nodes that could take it ({open}) are full, with {length} each.")
            }
        }
    }
}
