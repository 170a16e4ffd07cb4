//! SWIM's samples of Facebook's MapReduce clusters (Chen et al., MASCOTS'11).
//!
//! The files give the time of a job and the bytes that it moved. The reader makes up the rest from these and
//! a seed. Containers follow the `A1` rule of `docs/workloads.md`, each job has one `S1` size, and
//! durations are log-normal.

use apportion::{NodeSpec, Resources};
use rand::distr::weighted::WeightedIndex;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, LogNormal};
use rand_pcg::Pcg64Mcg;

use super::ReadOptions;
use super::budget::Budget;
use super::cluster::{Nodes, size};
use super::error::TraceError;
use super::number::milliseconds;
use super::source::Source;
use super::table::{Columns, Table};
use crate::workload::{Job, Tasks};

/// Required columns. A sample may have more: input paths, which are not used.
const COLUMNS: Columns = &[
    "job_id",
    "submit_time_s",
    "inter_job_gap_s",
    "map_input_bytes",
    "shuffle_bytes",
    "reduce_output_bytes",
];
const JOB_ID: usize = 0;
const SUBMIT_TIME_S: usize = 1;
const MAP_INPUT_BYTES: usize = 3;
const SHUFFLE_BYTES: usize = 4;

/// Input of one map, in bytes.
const MAP_BYTES: u64 = 128 << 20;
const MAPS_MAX: u64 = 500;
/// Shuffled input of one reduce, in bytes.
const REDUCE_BYTES: u64 = 1 << 30;
const REDUCES_MAX: u64 = 125;

/// Virtual cores, memory in GiB, and weight of each container size: those of `S1` that a default node can hold.
const SIZES: [(u64, u64, u32); 6] = [(1, 2, 30), (1, 4, 25), (2, 8, 20), (4, 16, 10), (4, 8, 8), (8, 32, 5)];

const DURATION_MEAN_MS: f64 = 60_000.0;
const DURATION_SIGMA: f64 = 1.0;
const DURATION_MIN_MS: f64 = 500.0;
const DURATION_MAX_MS: f64 = 20.0 * DURATION_MEAN_MS;

const NODE_VCORES: u64 = 8;
const NODE_MEMORY_MIB: u64 = 32 << 10;
const NODES_PER_RACK: u64 = 40;
/// Nodes of the cluster of 2010; also used for files with other names.
const NODES_2010: u32 = 3000;
const NODES_2009: u32 = 600;

/// The jobs of a sample and their cluster, which follows from the file's name.
pub(super) fn read(
    source: Source<'_>,
    options: &ReadOptions,
    budget: &mut Budget,
) -> Result<(Nodes, Vec<Job>), TraceError> {
    let by_name = if source.name().contains("FB-2009") { NODES_2009 } else { NODES_2010 };
    let mut table = Table::without_header(source, COLUMNS);
    let nodes = cluster(options.node_count.unwrap_or(by_name)).map_err(|message| table.error(message))?;
    let maker = Maker::new(options.seed).map_err(|message| table.error(message))?;
    let mut jobs = Vec::new();
    while let Some(row) = table.next()? {
        let maps = row.whole(MAP_INPUT_BYTES)?.div_ceil(MAP_BYTES).clamp(1, MAPS_MAX);
        let reduces = row.whole(SHUFFLE_BYTES)?.div_ceil(REDUCE_BYTES).min(REDUCES_MAX);
        budget.take(maps + reduces).map_err(|message| row.error(JOB_ID, message))?;
        jobs.push(Job {
            name: row.text(JOB_ID).to_owned(),
            queue: "default".into(),
            user: "default".into(),
            priority: 0,
            submit_ms: milliseconds(row.whole(SUBMIT_TIME_S)?),
            master: None,
            stages: maker.stages(jobs.len() as u64, maps, reduces),
            starts_together: false,
        });
    }
    Ok((nodes, jobs))
}

/// The report's sentence about the jobs.
pub(super) fn invented_jobs(seed: u64) -> String {
    format!(
        "The trace has times of submission and bytes only. The rest is made up from these and seed {seed}. There is a map for each {} MiB of \
         input (at most {MAPS_MAX}) and a reduce for each GiB shuffled (at most {REDUCES_MAX}). Each job has one size \
         ({} vcore and {} GiB to {} vcores and {} GiB). Durations are log-normal with a mean of {} s. There is one user and one queue.",
        MAP_BYTES >> 20,
        SIZES[0].0,
        SIZES[0].1,
        SIZES[SIZES.len() - 1].0,
        SIZES[SIZES.len() - 1].1,
        DURATION_MEAN_MS / 1e3,
    )
}

/// The report's sentence about the nodes.
pub(super) fn invented_nodes() -> String {
    format!("The nodes have {NODE_VCORES} vcores and {} GiB each, by default.", NODE_MEMORY_MIB >> 10)
}

fn cluster(count: u32) -> Result<Nodes, String> {
    let capacity = size(NODE_MEMORY_MIB, NODE_VCORES)?;
    let mut nodes = Nodes::default();
    for node in 0..u64::from(count) {
        let rack = format!("rack{}", node / NODES_PER_RACK);
        nodes.add(NodeSpec::new(format!("node{node}"), capacity).on_rack(rack))?;
    }
    Ok(nodes)
}

/// Makes up the values that the files do not give.
struct Maker {
    seed: u64,
    sizes: Vec<Resources>,
    choice: WeightedIndex<u32>,
    duration_ms: LogNormal<f64>,
}

impl Maker {
    fn new(seed: u64) -> Result<Self, String> {
        let sizes: Result<_, String> =
            SIZES.iter().map(|(vcores, gib, _)| size(gib << 10, *vcores)).collect();
        let choice = WeightedIndex::new(SIZES.map(|(_, _, weight)| weight));
        // The mean of a log-normal is e^(mu + sigma^2 / 2).
        let mu = DURATION_MEAN_MS.ln() - DURATION_SIGMA * DURATION_SIGMA / 2.0;
        let duration_ms = LogNormal::new(mu, DURATION_SIGMA);
        Ok(Self {
            seed,
            sizes: sizes?,
            choice: choice.map_err(|error| error.to_string())?,
            duration_ms: duration_ms.map_err(|error| error.to_string())?,
        })
    }

    /// Maps, then reduces. Each job has a separate generator, so that leaving a job out changes no other.
    fn stages(&self, index: u64, maps: u64, reduces: u64) -> Vec<Vec<Tasks>> {
        let mut random = Pcg64Mcg::seed_from_u64(self.seed ^ index.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let size = self.sizes[random.sample(&self.choice)];
        let mut stage = |count: u64| {
            let durations = (0..count).map(|_| Some(self.draw_ms(&mut random))).collect();
            vec![Tasks::new(size, durations)]
        };
        let mut stages = vec![stage(maps)];
        if reduces > 0 {
            stages.push(stage(reduces));
        }
        stages
    }

    fn draw_ms(&self, random: &mut Pcg64Mcg) -> u64 {
        self.duration_ms.sample(random).clamp(DURATION_MIN_MS, DURATION_MAX_MS).round() as u64
    }
}
