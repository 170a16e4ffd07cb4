//! The jobs of Microsoft's Philly GPU clusters (Jeon et al., USENIX ATC'19).
//!
//! The table of jobs has a virtual cluster, a time of submission and a number of GPUs for each job. Its durations are
//! estimates, so the reader draws durations from a table of real run times, which names no jobs. It makes up the nodes
//! and the guarantees too: see `docs/workloads.md`.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use apportion::config::{Capacity, Factor, QueueConfig};
use apportion::{NodeSpec, ResourceTypes, Resources};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::ReadOptions;
use super::budget::Budget;
use super::cluster::Nodes;
use super::error::{TraceError, shown};
use super::number::milliseconds;
use super::source::Source;
use super::table::{Columns, Row, Table};
use crate::report::counted;
use crate::workload::{Job, Tasks};

const JOB_COLUMNS: Columns = &["vc", "arrival_s", "gpus", "approx_duration_s"];
const VC: usize = 0;
const ARRIVAL_S: usize = 1;
const GPUS: usize = 2;
const APPROX_DURATION_S: usize = 3;

const RUN_TIME_COLUMNS: Columns = &["runtime"];
const RUN_TIME_S: usize = 0;

/// The names of the two tables in a folder, without `.gz`.
const JOB_FILE: &str = "philly_vc_jobs.csv";
const RUN_TIME_FILE: &str = "philly_runtime.csv";

/// GPUs of a node, and of each member of a gang but the last.
const NODE_GPUS: u64 = 8;
/// Nodes of the default cluster.
const NODES: u32 = 500;
const NODES_PER_RACK: u64 = 25;
/// The most GPUs of a job.
const GPUS_MAX: u64 = 100_000;

/// Run times of jobs that the trace does not name, in seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunTimes(Arc<[u64]>);

/// The two tables of the trace: that of jobs, and that of run times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhillyFiles {
    /// The table of jobs.
    pub jobs: PathBuf,
    /// The table of run times.
    pub run_times: PathBuf,
}

impl PhillyFiles {
    /// The tables in a folder, or a table of jobs and the table of run times beside it. Files may be plain or gzip; if
    /// neither exists, the gzip name is returned, and [`open_jobs`](Self::open_jobs) says what is missing.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        let in_folder = |folder: &Path, name: &str| {
            let (plain, gzip) = (folder.join(name), folder.join(format!("{name}.gz")));
            if plain.exists() && !gzip.exists() { plain } else { gzip }
        };
        let is_folder = fs::metadata(path).is_ok_and(|known| known.is_dir());
        let folder = if is_folder { path } else { path.parent().unwrap_or(Path::new("")) };
        let jobs = if is_folder { in_folder(folder, JOB_FILE) } else { path.to_owned() };
        Self { jobs, run_times: in_folder(folder, RUN_TIME_FILE) }
    }

    /// Opens the table of jobs.
    ///
    /// # Errors
    /// As [`Source::open`]. If there is no such file, the error says what is expected there.
    pub fn open_jobs(&self) -> Result<Source<'static>, TraceError> {
        let or_folder = "no such file or folder; a table of jobs belongs here, or a folder with philly_vc_jobs.csv.gz and \
                         philly_runtime.csv.gz";
        let in_folder =
            "no such file; the table of jobs belongs here, as philly_vc_jobs.csv or philly_vc_jobs.csv.gz";
        open(&self.jobs, if is_named(&self.jobs, JOB_FILE) { in_folder } else { or_folder })
    }

    /// Opens the table of run times.
    ///
    /// # Errors
    /// As [`Source::open`]. If there is no such file, the error says what is expected there.
    pub fn open_run_times(&self) -> Result<Source<'static>, TraceError> {
        let missing = "no such file; the table of run times belongs here, as philly_runtime.csv or philly_runtime.csv.gz: \
                       the durations of the jobs are drawn from it";
        open(&self.run_times, missing)
    }
}

/// Whether the path ends in this name, plain or gzip.
fn is_named(path: &Path, name: &str) -> bool {
    path.file_name().and_then(|end| end.to_str()).is_some_and(|end| end.trim_end_matches(".gz") == name)
}

fn open(path: &Path, missing: &str) -> Result<Source<'static>, TraceError> {
    match fs::metadata(path) {
        Err(cause) if cause.kind() == ErrorKind::NotFound => {
            Err(TraceError::new(path.display().to_string(), missing).caused_by(cause))
        }
        _ => Source::open(path),
    }
}

impl RunTimes {
    /// Reads the table of run times.
    ///
    /// # Errors
    /// When it cannot be read, is no such table, has an impossible value, or has no row.
    pub fn read(source: Source<'_>) -> Result<Self, TraceError> {
        let mut table = Table::with_header(source, &[RUN_TIME_COLUMNS])?;
        let mut run_times = Vec::new();
        while let Some(row) = table.next()? {
            run_times.push(row.whole(RUN_TIME_S)?);
        }
        if run_times.is_empty() {
            return Err(table.error("has no run times; at least one is needed"));
        }
        Ok(Self(run_times.into()))
    }

    /// The run time of one job. Each job has a separate generator, so that leaving a job out changes no other.
    fn draw_ms(&self, seed: u64, job: u64) -> u64 {
        let mut random = Pcg64Mcg::seed_from_u64(seed ^ job.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        milliseconds(self.0[random.random_range(0..self.0.len())])
    }
}

impl From<Vec<u64>> for RunTimes {
    fn from(run_times_s: Vec<u64>) -> Self {
        Self(run_times_s.into())
    }
}

/// GPUs, and nothing else: the trace has neither processors nor memory.
///
/// # Errors
/// No file content causes one.
pub(super) fn resource_types() -> Result<ResourceTypes, apportion::resource::ResourceError> {
    ResourceTypes::new(["gpu"])
}

/// The cluster, the queues and the jobs. Each virtual cluster is a leaf, whose guarantee is in proportion to the GPUs
/// that its jobs ask for.
pub(super) fn read(
    source: Source<'_>,
    options: &ReadOptions,
    budget: &mut Budget,
) -> Result<(Nodes, QueueConfig, Vec<Job>), TraceError> {
    let mut table = Table::with_header(source, &[JOB_COLUMNS])?;
    if options.run_times.0.is_empty() {
        return Err(table.error(format!("durations are drawn from a table of run times: {RUN_TIME_FILE}")));
    }
    let nodes = cluster(options.node_count.unwrap_or(NODES)).map_err(|message| table.error(message))?;
    let mut gpus_of_clusters: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let mut jobs = Vec::new();
    while let Some(row) = table.next()? {
        let (virtual_cluster, gpus) = (virtual_cluster(&row)?, gpus(&row)?);
        row.whole(APPROX_DURATION_S)?;
        budget.take(gpus.div_ceil(NODE_GPUS)).map_err(|message| row.error(GPUS, message))?;
        let known = gpus_of_clusters.entry(virtual_cluster.clone()).or_default();
        *known = (known.0 + 1, known.1 + gpus);
        let duration_ms = options.run_times.draw_ms(options.seed, jobs.len() as u64);
        jobs.push(Job {
            name: format!("{virtual_cluster}-{}", known.0),
            queue: virtual_cluster,
            user: "default".into(),
            priority: 0,
            submit_ms: milliseconds(row.whole(ARRIVAL_S)?),
            master: None,
            stages: vec![members(gpus, duration_ms)],
            starts_together: true,
        });
    }
    let gpus = gpus_of_clusters.into_iter().map(|(name, (_, gpus))| (name, gpus)).collect();
    Ok((nodes, queues(gpus), jobs))
}

/// The report's sentences about the jobs.
pub(super) fn invented_jobs(options: &ReadOptions) -> String {
    format!(
        "The trace has virtual clusters, times of submission and numbers of GPUs. Its durations are estimates and are not \
         used. The duration of each job is drawn, with seed {}, from {} of the same clusters, independent of its \
         size. Times of submission count from the first job of each virtual cluster. A job of up to {NODE_GPUS} GPUs is one \
         container. A larger one has a member of {NODE_GPUS} GPUs on each node, and one more for the rest. Jobs name no \
         user: there is one. Each virtual cluster is a queue, with a guarantee in proportion to the GPUs that its jobs \
         ask for, and no maximum.",
        options.seed,
        counted(options.run_times.0.len() as u64, "run time"),
    )
}

/// The report's sentence about the nodes.
pub(super) fn invented_nodes(options: &ReadOptions) -> String {
    format!(
        "There are {NODE_GPUS} GPUs on each of {}, and up to {NODES_PER_RACK} nodes on a rack. Processors and memory are \
         not counted.",
        counted(options.node_count.unwrap_or(NODES).into(), "node")
    )
}

fn virtual_cluster(row: &Row<'_>) -> Result<String, TraceError> {
    let name = row.text(VC);
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if name.is_empty() || !name.bytes().all(is_name) {
        let message =
            format!("`{}` is not a virtual cluster; letters, digits, `-` and `_` are needed", shown(name));
        return Err(row.error(VC, message));
    }
    Ok(name.to_owned())
}

fn gpus(row: &Row<'_>) -> Result<u64, TraceError> {
    match row.at_most(GPUS, GPUS_MAX)? {
        0 => Err(row.error(GPUS, "0 GPUs; a job has at least 1")),
        gpus => Ok(gpus),
    }
}

/// One stage: whole nodes, and the rest.
fn members(gpus: u64, duration_ms: u64) -> Vec<Tasks> {
    let tasks = |gpus: u64, count: u64| {
        Tasks::new(Resources::new(&[gpus as i64]), vec![Some(duration_ms); count as usize])
    };
    let parts = [(NODE_GPUS, gpus / NODE_GPUS), (gpus % NODE_GPUS, 1)];
    parts
        .into_iter()
        .filter(|(gpus, count)| *gpus > 0 && *count > 0)
        .map(|(gpus, count)| tasks(gpus, count))
        .collect()
}

fn cluster(count: u32) -> Result<Nodes, String> {
    let capacity = Resources::new(&[NODE_GPUS as i64]);
    let mut nodes = Nodes::default();
    for node in 0..u64::from(count) {
        let rack = format!("rack{}", node / NODES_PER_RACK);
        nodes.add(NodeSpec::new(format!("node{node}"), capacity).on_rack(rack))?;
    }
    Ok(nodes)
}

/// A leaf for each virtual cluster, by name, with its GPUs as the weight. Weights keep three decimals, and shrink if
/// the largest is too large to be one.
fn queues(gpus: BTreeMap<String, u64>) -> QueueConfig {
    let largest = gpus.values().copied().max().unwrap_or(1);
    let divisor = largest.div_ceil(Factor::MAX).max(1);
    let leaf = |(name, gpus): (String, u64)| {
        let weight = Factor::from_milli((gpus * 1_000).div_ceil(divisor)).unwrap_or(Factor::ONE);
        QueueConfig::leaf(name, Capacity::Weight(weight)).with_user_limit_factor(None)
    };
    QueueConfig::root(gpus.into_iter().map(leaf))
}
