//! Readers of texts, and access to the real files.

use std::path::{Path, PathBuf};

use apportion::NodeSpec;
use apportion_bench::trace::{Format, ReadOptions, Source, TraceError, read_nodes, read_workload};
use apportion_bench::workload::{Job, Workload};

/// Reads a workload from text under the name `t`.
pub(crate) fn workload(format: Format, text: &str) -> Result<Workload, TraceError> {
    read_workload(format, Source::new("t", text.as_bytes()), &ReadOptions::default())
}

/// Reads jobs from a valid text.
pub(crate) fn jobs(format: Format, text: &str) -> Vec<Job> {
    workload(format, text).unwrap_or_else(|error| panic!("{error}")).jobs
}

/// The error for a text that must be refused.
pub(crate) fn refusal(format: Format, text: &str) -> String {
    workload(format, text).expect_err("must be refused").to_string()
}

/// The error for a list of nodes that must be refused.
pub(crate) fn node_refusal(format: Format, text: &str) -> String {
    read_nodes(format, Source::new("t", text.as_bytes())).expect_err("must be refused").to_string()
}

/// A file of the real data; `None`, with a message, if the folder does not exist.
pub(crate) fn real_file(path: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let folder = std::env::var_os("APPORTION_DATA").map_or(beside, PathBuf::from);
    if !folder.is_dir() {
        println!("skipped: no data at {} (set APPORTION_DATA)", folder.display());
        return None;
    }
    Some(folder.join(path))
}

/// The workload of a real file, if there is one.
pub(crate) fn real_workload(format: Format, path: &str) -> Option<Workload> {
    let source = Source::open(&real_file(path)?);
    let workload = source.and_then(|source| read_workload(format, source, &ReadOptions::default()));
    Some(workload.unwrap_or_else(|error| panic!("{error}")))
}

/// The nodes of a real file, if there is one.
pub(crate) fn real_nodes(format: Format, path: &str) -> Option<Vec<NodeSpec>> {
    let nodes = Source::open(&real_file(path)?).and_then(|source| read_nodes(format, source));
    Some(nodes.unwrap_or_else(|error| panic!("{error}")))
}

/// Number of containers in each stage of a job.
pub(crate) fn widths(job: &Job) -> Vec<usize> {
    job.stages.iter().map(|stage| stage.iter().map(|tasks| tasks.durations_ms.len()).sum()).collect()
}
