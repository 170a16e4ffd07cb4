//! The kinds of nodes and asks of each workload.

use apportion::Resources;
use rand::RngExt;

use crate::queues::Tree;
use crate::sizes::{CONTAINER_SIZES, SizeWeight, draw_size, mean_size, mean_vcores, node_vcores};

/// Every tenth node is in the other partition, and so is a tenth of the asks.
pub(crate) const PARTITION_EVERY: usize = 10;
/// Number of nodes that a conflict storm's asks name.
pub const WANTED_NODES: usize = 10;
/// Room on one wanted node, in containers of mean size: few of them are in flight at a time.
const WANTED_CONTAINERS: f64 = 1_000.0;

/// A cluster's nodes, and the asks for it.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    pub(crate) tree: Tree,
    pub(crate) nodes: Nodes,
    /// Sizes of containers, with their frequencies.
    pub(crate) sizes: &'static [SizeWeight],
    pub(crate) hosts: Hosts,
    /// Number of priorities of asks and applications.
    pub(crate) priorities: u32,
    pub(crate) load: Load,
}

/// An ask for one container that names no host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrawnAsk {
    /// The container's size.
    pub size: Resources,
    /// Its priority number.
    pub priority: u32,
    /// Whether it is for the other partition.
    pub is_other: bool,
}

/// Capacities of nodes, with 4 GiB for each vcore.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Nodes {
    /// 32, 64 or 96 vcores (W1).
    Mixed,
    /// This many vcores each.
    Equal(i64),
    /// The wanted nodes have room for this many containers of mean size; the others are mixed.
    Wanted(f64),
}

/// Which hosts asks name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hosts {
    /// This percentage of asks names three hosts: one anywhere and two on another rack.
    Replicas(u32),
    /// Every ask names one of ten nodes, and accepts no other.
    Wanted,
}

/// The amount that is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Load {
    /// This part of the vcores that asks can get, in percent.
    Percent(i64),
    /// This many containers for each node.
    PerNode(usize),
    /// This many containers in total, more than fit.
    Backlog(usize),
}

/// The room that a conflict storm leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// Room for nearly everything: only other proposals cause conflicts.
    Ample,
    /// Room for a twentieth of it: every completion makes room for one more, and all asks want it.
    Tight,
}

impl Profile {
    /// W1 of `docs/workloads.md`: a cluster that is 85 % busy, asks without named hosts.
    pub const CHURN: Self = Self {
        tree: Tree::Organisations,
        nodes: Nodes::Mixed,
        sizes: &CONTAINER_SIZES,
        hosts: Hosts::Replicas(0),
        priorities: 3,
        load: Load::Percent(85),
    };
    /// W4a of `docs/workloads.md`: like W1, but six of ten asks name hosts.
    pub const CONSTRAINED: Self = Self { hosts: Hosts::Replicas(60), ..Self::CHURN };
    /// Small containers, ten on every node.
    pub const SCALE: Self = Self {
        nodes: Nodes::Equal(12),
        sizes: &[(1, 2, 50), (1, 4, 50)],
        load: Load::PerNode(10),
        ..Self::CHURN
    };

    /// W2 of `docs/workloads.md`, small: this many containers in total, far more than fit, 1 % of them large.
    #[must_use]
    pub fn backlog_s(containers: usize) -> Self {
        Self {
            nodes: Nodes::Equal(64),
            sizes: &[(1, 4, 95), (4, 16, 4), (48, 192, 1)],
            priorities: 5,
            load: Load::Backlog(containers),
            ..Self::CHURN
        }
    }

    /// W2 of `docs/workloads.md`, large: smaller nodes. The largest containers do not fit on them,
    /// so this profile has none.
    #[must_use]
    pub fn backlog_l(containers: usize) -> Self {
        Self { nodes: Nodes::Equal(32), sizes: &[(1, 4, 96), (4, 16, 4)], ..Self::backlog_s(containers) }
    }

    /// W3 of `docs/workloads.md`, without application masters, minimum user limits and preemption. A deep tree
    /// of unequal queues, whose users all want more than fits. There are this many containers in total.
    #[must_use]
    pub fn wide_tree(containers: usize) -> Self {
        Self {
            tree: Tree::Wide,
            nodes: Nodes::Equal(64),
            sizes: &[(1, 4, 70), (2, 4, 15), (1, 12, 15)],
            load: Load::Backlog(containers),
            ..Self::CHURN
        }
    }

    /// Every ask names one of ten nodes.
    #[must_use]
    pub fn conflict_storm(room: Room) -> Self {
        let all = WANTED_NODES as f64 * WANTED_CONTAINERS;
        let (nodes, load) = match room {
            Room::Ample => (Nodes::Wanted(WANTED_CONTAINERS), Load::Percent(85)),
            Room::Tight => (Nodes::Wanted(WANTED_CONTAINERS / 20.0), Load::Backlog(all as usize)),
        };
        Self { nodes, hosts: Hosts::Wanted, load, ..Self::CHURN }
    }

    /// Capacity of the node with this number, out of `nodes`.
    #[must_use]
    pub fn capacity(&self, number: usize, nodes: usize) -> Resources {
        // By tens, because every tenth node is in the other partition.
        let mixed = node_vcores(number / PARTITION_EVERY) * 1_000;
        let vcores_milli = match self.nodes {
            Nodes::Equal(vcores) => vcores * 1_000,
            Nodes::Wanted(containers) if is_wanted(number, nodes) => {
                (containers * mean_vcores(self.sizes)) as i64 * 1_000
            }
            Nodes::Mixed | Nodes::Wanted(_) => mixed,
        };
        Resources::new(&[vcores_milli * 4 * 1_024 / 1_000, vcores_milli])
    }

    /// The resource type that runs out first.
    #[must_use]
    pub fn scarce_type(&self) -> usize {
        let [memory, vcores] = mean_size(self.sizes);
        // Nodes have 4 GiB for each vcore.
        usize::from(memory <= vcores * 4.0 * 1_024.0 / 1_000.0)
    }

    /// The sizes of containers.
    #[must_use]
    pub fn all_sizes(&self) -> Vec<Resources> {
        self.sizes.iter().map(|(vcores, gib, _)| Resources::new(&[gib * 1_024, vcores * 1_000])).collect()
    }

    /// The number of priorities of asks and applications.
    #[must_use]
    pub fn priorities(&self) -> u32 {
        self.priorities
    }

    /// The profile that the full-cycle yardstick uses beside this one. The yardstick knows no hosts, no backlog and no
    /// fair leaves: for workloads with those, it runs `churn`.
    #[must_use]
    pub fn for_yardstick(&self) -> Self {
        let is_plain = matches!(self.hosts, Hosts::Replicas(_)) && !matches!(self.load, Load::Backlog(_));
        if is_plain { Self { hosts: Hosts::Replicas(0), ..*self } } else { Self::CHURN }
    }

    /// Draws an ask, except for its hosts.
    pub fn draw(&self, random: &mut impl RngExt) -> DrawnAsk {
        DrawnAsk {
            size: draw_size(self.sizes, random),
            priority: random.random_range(0..self.priorities),
            is_other: random.random_ratio(1, PARTITION_EVERY as u32),
        }
    }

    /// The part of the load that `asks` asks make up. They want `asked` of the `obtainable` amount of the scarce type.
    #[must_use]
    pub fn filled_part(&self, asks: usize, asked: i64, nodes: usize, obtainable: i64) -> f64 {
        match self.load {
            Load::Percent(percent) => asked as f64 / (obtainable * percent / 100) as f64,
            Load::PerNode(each) => asks as f64 / (nodes * each) as f64,
            Load::Backlog(containers) => asks as f64 / containers as f64,
        }
    }

    /// The capacity that asks can get of the node with this number, out of `nodes`.
    #[must_use]
    pub fn obtainable(&self, number: usize, nodes: usize) -> Resources {
        let can_be_had = self.hosts != Hosts::Wanted || is_wanted(number, nodes);
        if can_be_had { self.capacity(number, nodes) } else { Resources::ZERO }
    }
}

/// Whether the node with this number is in the other partition.
#[must_use]
pub fn is_other(number: usize) -> bool {
    number % PARTITION_EVERY == PARTITION_EVERY - 1
}

/// Whether a storm's asks name the node with this number, out of `nodes`. The ten named nodes are spread over the
/// cluster, and one of them is in the other partition.
pub(crate) fn is_wanted(number: usize, nodes: usize) -> bool {
    let distance = (nodes / WANTED_NODES).saturating_sub(1) / PARTITION_EVERY * PARTITION_EVERY + 1;
    number.is_multiple_of(distance) && number / distance < WANTED_NODES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_the_wanted_nodes_is_of_the_other_partition() {
        for nodes in [10, 15, 100, 999, 10_000] {
            let wanted: Vec<usize> = (0..nodes).filter(|number| is_wanted(*number, nodes)).collect();
            assert_eq!(wanted.len(), WANTED_NODES, "of {nodes}");
            let others = wanted.iter().filter(|number| *number % PARTITION_EVERY == PARTITION_EVERY - 1);
            assert_eq!(others.count(), 1, "of {nodes}: {wanted:?}");
        }
    }

    #[test]
    fn a_storm_asks_for_the_room_of_ten_nodes() {
        let storm = Profile::conflict_storm(Room::Ample);
        let all = |nodes: usize| (0..nodes).map(|number| storm.obtainable(number, nodes)[1]).sum::<i64>();
        assert_eq!(all(100), all(1_000));
        assert_eq!(storm.obtainable(0, 100), storm.capacity(0, 100));
        assert_eq!(storm.obtainable(11, 1_000), Resources::ZERO);
    }
}
