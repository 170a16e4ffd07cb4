//! SYNTH traces of YARN's simulator: distributions from which jobs are drawn. All times are in seconds.

mod form;
mod plan;
mod sample;

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use self::form::TraceRecord;
use self::plan::Plan;
use super::ReadOptions;
use super::budget::Budget;
use super::cluster::Nodes;
use super::error::{Mistake, TraceError};
use super::json_stream::Documents;
use super::source::Source;
use crate::workload::Job;

/// The jobs that one seed draws from the file, and the file's cluster.
///
/// The generator is `Pcg64Mcg`, seeded with the file's `rand_seed` xor that of the options: with 0 in the options, the
/// file alone decides. The numbers differ from those that YARN draws. A task whose `count` is the constant 0 is
/// left out; every other task has at least one container.
pub(super) fn read(
    source: Source<'_>,
    options: &ReadOptions,
    budget: &mut Budget,
) -> Result<(Nodes, Vec<Job>), TraceError> {
    let mut documents = Documents::new(source);
    let Some(document) = documents.next::<TraceRecord>()? else {
        return Err(documents.error("is empty; one object is needed"));
    };
    if let Some(second) = documents.next::<TraceRecord>()? {
        return Err(documents.error("a second object; one is needed").on_line(second.line));
    }
    draw(document.value, options.seed, budget).map_err(|mistake| documents.error_in(document.line, mistake))
}

fn draw(trace: TraceRecord, seed: u64, budget: &mut Budget) -> Result<(Nodes, Vec<Job>), Mistake> {
    let node_count = trace.node_count.ok_or_else(|| Mistake::missing("num_nodes"))?.0;
    let job_count = trace.job_count.ok_or_else(|| Mistake::missing("num_jobs"))?.0;
    let nodes_per_rack = trace.nodes_per_rack.map_or(node_count, |whole| whole.0).max(1);
    let nodes =
        Nodes::generated(node_count, node_count / nodes_per_rack).map_err(Mistake::in_key("num_nodes"))?;
    let mut random = Pcg64Mcg::seed_from_u64(trace.seed.map_or(0, |whole| whole.0) ^ seed);
    let plan = Plan::new(trace)?;
    let mut jobs = Vec::new();
    for index in 0..job_count {
        let job = plan.draw(index as usize, budget, &mut random);
        jobs.push(job.map_err(Mistake::in_key("num_jobs"))?);
    }
    Ok((nodes, jobs))
}
