//! `apportion-bench preempt`.

mod policy;

use std::io::Write;
use std::path::PathBuf;

use apportion::preempt::{PreemptionPlan, QueueAmounts};
use clap::Args;

use self::policy::PolicyOptions;
use super::Failure;
use super::log_input::{LogInput, Moment, time_text};
use super::plan::{self, Gangs};

/// A log, and a policy.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Nothing changes: the plan says which containers one round of preemption would end, and which would be \
started in their place. The plan follows the policy of the run, [engine.preemption] of its configuration, or YARN's \
default policy if the run has none. Each option replaces one value; a list replaces the whole list. \
Percentages are written 20% or 20.\nFILE may be the folder of an engine that is running: the plan is for the state after its \
last change. If the last group of changes is being written, try again.\n\nExamples:\n  \
apportion-bench preempt run.log --at 120s --per-round 100% --natural-termination 100%\n  apportion-bench preempt \
/var/lib/scheduler/log --within-queue priority-first --exempt root.prod --json"
)]
pub(super) struct PreemptArgs {
    /// The log: a file, or the folder of a file log.
    file: PathBuf,
    /// Plan for the state after this change (the first is number 1), or at this virtual time: 120s, 2.5min, 3h.
    #[arg(long, value_name = "SEQ|TIME", allow_negative_numbers = true)]
    at: Option<Moment>,
    #[command(flatten)]
    policy: PolicyOptions,
    /// List at most this many queues, losses, asks and containers; 0: all. `--json` is complete.
    #[arg(long, value_name = "N", default_value_t = 20, allow_negative_numbers = true)]
    limit: usize,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl PreemptArgs {
    fn limit(&self) -> usize {
        if self.limit == 0 { usize::MAX } else { self.limit }
    }
}

pub(super) fn run(args: &PreemptArgs) -> Result<(), Failure> {
    let mut input = LogInput::open(&args.file, "--at")?;
    let mut replay = input.begin()?;
    let mut gangs = Gangs::new(&replay.view());
    input.replay_until(args.at, &mut replay, |change| gangs.record(change))?;
    let view = replay.view();
    let wrong = |problem: String| {
        let now = format!("up to change {}, at {}", view.seq(), time_text(view.now_ms()));
        Failure::input(format!("{}: {now}: {problem}", args.file.display()))
    };
    let policy = args.policy.used(&view).map_err(wrong)?;
    let round = view.preemption_plan(&policy.values);
    args.policy.check_queues(&round).map_err(wrong)?;
    let text = if args.json {
        let mut named = plan::json(&round, &view, &gangs).map_err(Failure::run)?;
        named["policy"] = serde_json::to_value(&policy).map_err(Failure::run)?;
        serde_json::to_string_pretty(&named).map_err(Failure::run)?
    } else {
        format!(
            "{policy}\n\n{}\n\n{}",
            shares_text(&round, args.limit()),
            plan::text(&round, &view, &gangs, args.limit())
        )
    };
    writeln!(std::io::stdout(), "{text}").map_err(Failure::output)
}

/// The moment, and the queues with use or demand, by partition. If there are more than `limit`, those that want more or
/// may lose something come first.
fn shares_text(plan: &PreemptionPlan, limit: usize) -> String {
    let mut text = format!("{}:", moment_text(plan));
    for partition in &plan.partitions {
        let is_shown = |queue: &&QueueAmounts| !queue.used.is_empty() || !queue.pending.is_empty();
        let mut queues: Vec<&QueueAmounts> = partition.queues.iter().filter(is_shown).collect();
        if !partition.partition.is_empty() && !queues.is_empty() {
            text += &format!("\nIn the partition {}:", partition.partition);
        }
        if queues.len() > limit {
            queues.sort_by_key(|queue| queue.pending.is_empty() && queue.to_take.is_empty());
        }
        for line in plan::limited(queues.into_iter(), limit, ["queue", "queues"], ToString::to_string) {
            text += &format!("\n{line}");
        }
    }
    text
}

fn moment_text(plan: &PreemptionPlan) -> String {
    format!("After change {}, at {}", plan.seq, time_text(plan.now_ms))
}
