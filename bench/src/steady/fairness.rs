//! Fairness in the wide tree: the use of each leaf against the weighted max-min division.

use std::ops::ControlFlow;

use apportion::{PartitionId, Resources};
use apportion_load::Setup;

use super::demands::{Demands, Partition};
use super::driver::{Steady, Unwatched};
use crate::interrupt::Interruption;

/// Mean life of a container, as in W3 of `docs/workloads.md`.
const MEAN_LIFE_MS: u64 = 60_000;

/// The fairness of one run.
#[derive(Clone, Debug)]
pub struct Fairness {
    /// When the shares were read, in virtual time.
    pub at_ms: u64,
    /// The point at which `progress` ended the run early.
    pub interrupted: Option<Interruption>,
    /// The resource that runs out first, by name.
    pub resource: String,
    /// Containers placed up to that time.
    pub placed: u64,
    /// The part of that resource in use: the amount to be divided.
    pub used_part: f64,
    /// Leaves with pending demand, in each partition.
    pub any_size: Shares,
    /// Leaves that wait for containers of the smallest size, which fit wherever a container has ended. Larger
    /// containers count as demand only once they are placed. In a full cluster they wait for room on one node, whatever
    /// their leaf deserves.
    pub smallest: Shares,
}

/// Leaves with their fair shares.
#[derive(Clone, Debug)]
pub struct Shares(pub Vec<LeafShare>);

/// The use of a leaf with pending demand in a partition.
#[derive(Clone, Debug)]
pub struct LeafShare {
    /// Its path.
    pub path: String,
    /// The partition.
    pub partition: PartitionId,
    /// The part of the partition that it uses, of the resource type of which it uses the largest part.
    pub used: f64,
    /// The part that it should use.
    pub fair: f64,
    /// The part that it is guaranteed.
    pub guaranteed: f64,
    /// The tolerated distance from the fair part: a fiftieth of it, or one of the largest containers.
    pub tolerance: f64,
}

impl LeafShare {
    /// The distance from the fair share, as a multiple of the tolerance.
    #[must_use]
    pub fn distance(&self) -> f64 {
        (self.used - self.fair).abs() / self.tolerance
    }
}

impl Shares {
    /// The leaves that are farther from their share than the tolerance.
    pub fn unfair(&self) -> impl Iterator<Item = &LeafShare> {
        self.0.iter().filter(|leaf| leaf.distance() > 1.0)
    }

    /// The leaf that is farthest from its share.
    #[must_use]
    pub fn furthest(&self) -> Option<&LeafShare> {
        self.0.iter().max_by(|a, b| a.distance().total_cmp(&b.distance()))
    }
}

/// Lets the applications of a tree ask for this many containers, and again for each that ends. Reads the shares at
/// virtual time `at_ms`, or when `progress` ends the run.
///
/// # Errors
/// When the engine does not start or ends early, or the audit finds a violation.
pub fn measure_fairness(
    setup: &Setup,
    containers: usize,
    at_ms: u64,
    progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> anyhow::Result<Fairness> {
    let mut steady = Steady::start(setup, setup.config(), containers, MEAN_LIFE_MS, &mut Unwatched)?;
    let flow = steady.run_until(at_ms, &mut Unwatched, progress)?;
    steady.cluster.expect_sound()?;
    let scarce = setup.profile.scarce_type();
    let applications = setup.applications();
    let sizes = setup.profile.all_sizes();
    let smallest = sizes.iter().copied().reduce(|a, b| a.min(&b)).unwrap_or_default();
    let shares = |counts: &dyn Fn(&Resources) -> bool| {
        let demands = Demands::of(&steady, &applications, counts);
        let root = setup.config().root;
        steady.cluster.engine.read(|view| {
            let partition = |id| {
                let capacity = view.capacity(id);
                Partition { id, capacity, scarce, sizes: &sizes, demands: &demands }.shares(&root)
            };
            view.partition_ids().flat_map(partition).collect()
        })
    };
    let (capacity, resource) = steady.cluster.engine.read(|view| {
        let capacity: Resources = view.partition_ids().map(|id| view.capacity(id)).sum();
        (capacity[scarce], view.resource_types().names()[scarce].clone())
    });
    let used: i64 = steady.running.values().map(|running| steady.kinds.of(running.task).size[scarce]).sum();
    Ok(Fairness {
        at_ms: steady.now_ms,
        interrupted: flow.is_break().then_some(Interruption::Virtual(steady.now_ms)),
        resource,
        placed: steady.cluster.engine.stats().allocated,
        used_part: used as f64 / capacity as f64,
        any_size: Shares(shares(&|_| true)),
        smallest: Shares(shares(&|size| *size == smallest)),
    })
}

#[cfg(test)]
mod tests {
    use apportion::Mode;

    use super::*;
    use apportion_load::{ClusterShape, Profile};

    /// Measures a small tree, in which every leaf wants more than there is.
    fn measure(mode: Mode, at_ms: u64) -> Fairness {
        let shape = ClusterShape { nodes: 40, leaves: 20, applications: 400 };
        let containers = shape.applications * 40;
        let setup = Setup { profile: Profile::wide_tree(containers), ..Setup::new(shape, mode) };
        measure_fairness(&setup, containers, at_ms, &mut |_| ControlFlow::Continue(())).unwrap()
    }

    #[test]
    fn leaves_with_pending_demand_have_their_share() {
        let fairness = measure(Mode::Serial, 40_000);
        assert!(fairness.used_part > 0.99, "{}", fairness.used_part);
        for shares in [fairness.any_size, fairness.smallest] {
            assert_eq!(shares.0.len(), 2 * 20, "in each partition");
            // Containers are whole, so a leaf in which containers have just ended may be one behind.
            let furthest = shares.furthest().map_or(0.0, LeafShare::distance);
            assert!(shares.unfair().count() <= 1 && furthest < 1.5, "{:?}", shares.furthest());
        }
    }

    /// The leaf that asked first has more, until its containers have ended.
    #[test]
    fn many_proposers_are_fair_too() {
        let fairness = measure(Mode::Parallel { proposers: 2 }, 290_000);
        // At the moment of the reading a leaf may lack a container that has just ended, and one in each of two passes.
        let unfair: Vec<&LeafShare> = fairness.smallest.unfair().collect();
        assert!(unfair.len() <= 4 && unfair.iter().all(|leaf| leaf.distance() < 3.0), "{unfair:?}");
    }
}
