//! Synthetic workloads: drawn from distributions, equal for equal seeds.

use apportion::config::{Capacity, Factor, Percent, QueueConfig};
use apportion::{NodeSpec, ResourceTypes, Resources};
use apportion_load::sizes::{CONTAINER_SIZES, draw_size, mean_vcores};
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp, LogNormal};
use rand_pcg::Pcg64Mcg;

use crate::trace::Invented;
use crate::workload::{Job, Tasks, Workload};

/// A steady stream of jobs onto a cluster of equal nodes, in the shape of W1 of `docs/workloads.md`. Four
/// organisations have five teams of ten users each. The load is about 85 % of the cluster's cores.
#[derive(Clone, Copy, Debug)]
pub struct SteadyStream {
    /// Nodes of 32 vcores and 128 GiB, 40 to a rack.
    pub nodes: usize,
    /// How long jobs keep arriving, in virtual time.
    pub span_ms: u64,
    /// Mean run time of a container.
    pub mean_duration_ms: u64,
    /// Seed of all random values.
    pub seed: u64,
}

const MEAN_CONTAINERS_PER_JOB: f64 = 40.0;
const LOAD: f64 = 0.85;
/// Longer draws are cut to this, so that a short stream does not end in a long tail.
const LONGEST_IN_MEANS: f64 = 6.0;
const ORGANISATIONS: [(&str, u32); 4] =
    [("search", 40), ("advertising", 30), ("analytics", 20), ("research", 10)];
const TEAMS: usize = 5;
const USERS: u32 = 10;

impl SteadyStream {
    /// Draws the workload.
    #[must_use]
    pub fn workload(&self) -> Workload {
        let mut random = Pcg64Mcg::seed_from_u64(self.seed);
        let cores = self.nodes as f64 * 32.0;
        let containers_per_ms = LOAD * cores / mean_vcores(&CONTAINER_SIZES) / self.mean_duration_ms as f64;
        let gap = Exp::new(containers_per_ms / MEAN_CONTAINERS_PER_JOB).expect("the rate is positive");
        let durations = log_normal(self.mean_duration_ms as f64, 1.0);
        let mut jobs = Vec::new();
        let mut at_ms = gap.sample(&mut random);
        while at_ms < self.span_ms as f64 {
            jobs.push(self.job(jobs.len(), at_ms as u64, &durations, &mut random));
            at_ms += gap.sample(&mut random);
        }
        Workload {
            resources: ResourceTypes::memory_and_vcores(),
            nodes: (0..self.nodes).map(node).collect(),
            queues: Some(queues()),
            jobs,
            invented: Invented::default(),
        }
    }

    fn job(&self, number: usize, submit_ms: u64, durations: &LogNormal<f64>, random: &mut Pcg64Mcg) -> Job {
        let (organisation, team) = draw_leaf(random);
        let count =
            Exp::new(1.0 / MEAN_CONTAINERS_PER_JOB).expect("positive").sample(random).ceil().min(2_000.0);
        let longest = LONGEST_IN_MEANS * self.mean_duration_ms as f64;
        let duration = |_| Some(durations.sample(random).clamp(500.0, longest) as u64);
        let durations_ms = (0..count as usize).map(duration).collect();
        Job {
            name: format!("job-{number}"),
            queue: format!("root.{organisation}.team-{team}"),
            user: format!("user-{}", random.random_range(0..USERS)),
            priority: random.random_range(0..3),
            submit_ms,
            master: None,
            stages: vec![vec![Tasks::new(draw_size(&CONTAINER_SIZES, random), durations_ms)]],
            starts_together: false,
        }
    }
}

/// A log-normal distribution with this mean and this sigma of the logarithm.
#[must_use]
pub fn log_normal(mean: f64, sigma: f64) -> LogNormal<f64> {
    LogNormal::new(mean.ln() - sigma * sigma / 2.0, sigma).expect("sigma is finite and not negative")
}

fn draw_leaf(random: &mut Pcg64Mcg) -> (&'static str, usize) {
    let mut point = random.random_range(0..100);
    for (name, weight) in ORGANISATIONS {
        if point < weight {
            return (name, random.random_range(0..TEAMS));
        }
        point -= weight;
    }
    unreachable!("the weights sum to 100")
}

fn node(number: usize) -> NodeSpec {
    let capacity = Resources::new(&[128 * 1024, 32_000]);
    NodeSpec::new(format!("node-{number:05}"), capacity).on_rack(format!("rack-{:03}", number / 40))
}

fn queues() -> QueueConfig {
    let team = |number: usize| {
        QueueConfig::leaf(format!("team-{number}"), Capacity::Percent(Percent::whole(20)))
            .with_user_limit_factor(Some(Factor::whole(4)))
    };
    let organisation = |(name, percent): (&str, u32)| {
        QueueConfig::leaf(name, Capacity::Percent(Percent::whole(percent)))
            .with_children((0..TEAMS).map(team))
    };
    QueueConfig::root(ORGANISATIONS.map(organisation))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_workloads_at_the_stated_load() {
        let stream = SteadyStream { nodes: 100, span_ms: 60_000, mean_duration_ms: 5_000, seed: 1 };
        let (one, other) = (stream.workload(), stream.workload());
        assert_eq!(one.jobs, other.jobs);
        assert_ne!(one.jobs, SteadyStream { seed: 2, ..stream }.workload().jobs);
        let core_ms = |tasks: &Tasks| {
            tasks.durations_ms.iter().flatten().sum::<u64>() as f64 * tasks.size[1] as f64 / 1000.0
        };
        let offered: f64 = one.jobs.iter().flat_map(|job| &job.stages[0]).map(core_ms).sum();
        let load = offered / (100.0 * 32.0 * 60_000.0);
        assert!((0.7..1.0).contains(&load), "offered load {load}");
    }
}
