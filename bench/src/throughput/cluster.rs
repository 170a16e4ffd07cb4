//! The cluster that throughput is measured on, with every kind of limit in force.

use apportion::config::{Capacity, EngineConfig, Factor, Maximum, Percent, QueueConfig};
use apportion::{
    ApplicationId, ApplicationSpec, AskSpec, EventStream, Handle, NodeSpec, PartitionId, ResourceTypes,
    Resources, SubmitError,
};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use crate::synthetic::draw_size;

/// A tenth of the nodes and of the asks belong to a partition of its own.
const PARTITION: &str = "other";
const PARTITION_EVERY: usize = 10;
const USERS_PER_LEAF: usize = 10;
const PRIORITIES: u32 = 3;
const ORGANISATIONS: usize = 4;
/// What a leaf may use of its organisation, in percent: in force, and above what any run needs.
const MAXIMUM_PERCENT: u32 = 90;

/// How large a cluster is, and how many share it.
#[derive(Clone, Copy, Debug)]
pub struct ClusterShape {
    /// Nodes; a tenth of them in a partition of their own.
    pub nodes: usize,
    /// Leaf queues, spread over four organisations (or as many as there are leaves).
    pub leaves: usize,
    /// Applications, of ten users in each leaf, spread evenly.
    pub applications: usize,
}

impl ClusterShape {
    /// Queues of equal weight with maxima and user limits.
    pub(super) fn config(&self) -> EngineConfig {
        let organisations = ORGANISATIONS.min(self.leaves);
        let leaves_of = |organisation: usize| {
            (organisation..self.leaves).step_by(organisations).map(|leaf| {
                QueueConfig::leaf(format!("leaf-{leaf}"), Capacity::Weight(Factor::ONE))
                    .with_maximum(Maximum::Percent(Percent::whole(MAXIMUM_PERCENT)))
                    .with_user_limit_factor(Some(Factor::ONE))
            })
        };
        let organisation = |number: usize| {
            QueueConfig::leaf(format!("organisation-{number}"), Capacity::Weight(Factor::ONE))
                .with_children(leaves_of(number))
        };
        let root = QueueConfig::root((0..organisations).map(organisation));
        let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), root);
        config.partitions = vec![PARTITION.to_owned()];
        config
    }

    /// The leaf of an application.
    fn leaf_path(&self, application: usize) -> String {
        let leaf = application % self.leaves;
        format!("root.organisation-{}.leaf-{leaf}", leaf % ORGANISATIONS.min(self.leaves))
    }

    /// Registers the nodes, each with this capacity, forty to a rack.
    pub(super) fn add_nodes(&self, handle: &Handle, capacity: Resources) -> Result<(), SubmitError> {
        let partition = handle.partition(PARTITION)?;
        for number in 0..self.nodes {
            let spec =
                NodeSpec::new(format!("node-{number}"), capacity).on_rack(format!("rack-{}", number / 40));
            let is_other = number % PARTITION_EVERY == PARTITION_EVERY - 1;
            handle.add_node(if is_other { spec.in_partition(partition) } else { spec })?;
        }
        Ok(())
    }

    /// Submits the applications.
    pub(super) fn submit_applications(
        &self,
        handle: &Handle,
        events: &EventStream,
    ) -> Result<Vec<ApplicationId>, SubmitError> {
        let submit = |number: usize| {
            let user = format!("user-{}", number / self.leaves % USERS_PER_LEAF);
            let spec = ApplicationSpec::new(format!("application-{number}"), self.leaf_path(number), user);
            handle.submit_application(spec.with_priority(number as u32 % PRIORITIES), events)
        };
        (0..self.applications).map(submit).collect()
    }
}

/// Draws asks for one container each.
pub(super) struct Asks {
    random: Pcg64Mcg,
    partition: PartitionId,
}

impl Asks {
    pub(super) fn new(handle: &Handle, random: Pcg64Mcg) -> Result<Self, SubmitError> {
        Ok(Self { random, partition: handle.partition(PARTITION)? })
    }

    pub(super) fn next(&mut self) -> AskSpec {
        let spec = AskSpec::new(draw_size(&mut self.random), 1);
        let spec = spec.with_priority(self.random.random_range(0..PRIORITIES));
        if self.random.random_ratio(1, PARTITION_EVERY as u32) {
            spec.in_partition(self.partition)
        } else {
            spec
        }
    }
}
