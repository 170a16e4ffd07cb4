//! Fairness in the wide tree: what each leaf uses, beside what the weighted max-min division gives it.

use std::ops::ControlFlow;

use apportion::{PartitionId, Resources};
use apportion_load::Setup;

use super::demands::{Demands, Partition};
use super::driver::{Steady, Unwatched};
use crate::interrupt::Interruption;

/// Mean life of a container, as in W3 of `docs/workloads.md`.
const MEAN_LIFE_MS: u64 = 60_000;

/// How fair it was.
#[derive(Clone, Debug)]
pub struct Fairness {
    /// When it was read, in virtual time.
    pub at_ms: u64,
    /// Where `progress` ended it before.
    pub interrupted: Option<Interruption>,
    /// Which resource runs out first, by name.
    pub resource: String,
    /// Containers placed up to then.
    pub placed: u64,
    /// What part of that was in use: what is divided fairly or not.
    pub used_part: f64,
    /// Leaves with pending demand, in each partition.
    pub any_size: Shares,
    /// Those that wait for containers of the smallest size, which fit wherever something has ended; where larger ones
    /// are not counted as wanted until they are placed. In a full cluster these wait for room on one node, whoever
    /// deserves it.
    pub smallest: Shares,
}

/// Leaves and what they should have.
#[derive(Clone, Debug)]
pub struct Shares(pub Vec<LeafShare>);

/// What a leaf with pending demand uses in a partition.
#[derive(Clone, Debug)]
pub struct LeafShare {
    /// Its path.
    pub path: String,
    /// The partition.
    pub partition: PartitionId,
    /// What part of the partition it uses, of the resource type of which it uses the largest part.
    pub used: f64,
    /// What part of that it should use.
    pub fair: f64,
    /// How far from that it may be: a fiftieth of it, or one of the largest containers.
    pub tolerance: f64,
}

impl LeafShare {
    /// How far from its share it is, as part of how far it may be.
    #[must_use]
    pub fn distance(&self) -> f64 {
        (self.used - self.fair).abs() / self.tolerance
    }
}

impl Shares {
    /// The leaves that are too far from their share.
    pub fn unfair(&self) -> impl Iterator<Item = &LeafShare> {
        self.0.iter().filter(|leaf| leaf.distance() > 1.0)
    }

    /// The leaf that is furthest.
    #[must_use]
    pub fn furthest(&self) -> Option<&LeafShare> {
        self.0.iter().max_by(|a, b| a.distance().total_cmp(&b.distance()))
    }
}

/// Lets the applications of a tree ask for so many containers, and again for each that ends, and looks at virtual time
/// `at_ms`, or when `progress` says that it is enough.
///
/// # Errors
/// When the engine does not start or ends early, or the audit finds something.
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
    let used: i64 = steady.running.values().map(|task| steady.kinds.of(*task).size[scarce]).sum();
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

    /// A small tree, in which every leaf wants more than there is.
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
            // Containers are whole, and a leaf that has just had some end may be one behind.
            let furthest = shares.furthest().map_or(0.0, LeafShare::distance);
            assert!(shares.unfair().count() <= 1 && furthest < 1.5, "{:?}", shares.furthest());
        }
    }

    /// Who asked first has more, until that has ended.
    #[test]
    fn many_proposers_are_fair_too() {
        let fairness = measure(Mode::Parallel { proposers: 2 }, 290_000);
        let unfair: Vec<&LeafShare> = fairness.smallest.unfair().collect();
        assert!(unfair.len() <= 2, "{unfair:?}");
    }
}
