//! `apportion-bench preempt`.

mod named;

use std::io::Write;
use std::path::PathBuf;

use apportion::config::Percent;
use apportion::nearest::{hint, nearest};
use apportion::preempt::{
    PreemptionPlan, PreemptionPolicy, QueueShares, WithinQueueOrder, WithinQueuePolicy,
};
use apportion::view::View;
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};

use self::named::Gangs;
use super::Failure;
use super::log_input::{LogInput, Moment, time_text};
use super::preemption::{RoundAmounts, part, percent};

/// A log, and a policy. The default policy is YARN's.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Nothing changes: the plan says which containers one round of preemption would end, and which would be \
started in their place. Percentages are written 20% or 20.\nFILE may be the folder of an engine that is running: the plan \
is for the state after its last change. If the last group of changes is being written, try again.\n\nExample:\n  \
apportion-bench preempt run.log --at 120s --per-round 100% --natural-termination 100%\n  apportion-bench preempt \
/var/lib/scheduler/log --within-queue priority-first --exempt root.prod --json"
)]
pub(super) struct PreemptArgs {
    /// The log: a file, or the folder of a file log.
    file: PathBuf,
    /// Plan for the state after this change (the first is number 1), or at this virtual time: 120s, 2.5min, 3h.
    #[arg(long, value_name = "SEQ|TIME")]
    at: Option<Moment>,
    #[command(flatten)]
    amounts: RoundAmounts,
    /// Queues that lose nothing to other queues, by full path, with the queues below them.
    #[arg(long, value_name = "PATH,..", value_delimiter = ',')]
    exempt: Vec<String>,
    /// Applications that lose nothing, by name.
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    exempt_application: Vec<String>,
    /// Containers with one of these tags lose nothing.
    #[arg(long, value_name = "TAG,..", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new())]
    exempt_tag: Vec<String>,
    /// Let the applications of a queue take from each other.
    #[arg(long, value_name = "ORDER", value_enum)]
    within_queue: Option<Order>,
    /// Leave queues alone that use less than this part of their guarantee.
    #[arg(long, value_name = "PERCENT", default_value = "50%", value_parser = percent, requires = "within_queue")]
    minimum_use: Percent,
    /// The most that one round takes from a queue with `--within-queue`, as a part of its guarantee.
    #[arg(long, value_name = "PERCENT", default_value = "20%", value_parser = part, requires = "within_queue")]
    max_part: Percent,
    /// Queues within which nothing is taken, by full path.
    #[arg(long, value_name = "PATH,..", value_delimiter = ',', requires = "within_queue")]
    exempt_within: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// From whom an application may take within its queue.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Order {
    /// From applications with lower priority, of any user.
    PriorityFirst,
    /// From users above their user limits, and from own applications with lower priority.
    UserLimitFirst,
}

pub(super) fn run(args: &PreemptArgs) -> Result<(), Failure> {
    let mut gangs = Gangs::default();
    let mut replay =
        LogInput::open(&args.file, "--at")?.replay_until(args.at, |change| gangs.record(change))?;
    let view = replay.view();
    let wrong = |problem: String| Failure::input(format!("{}: {problem}", args.file.display()));
    check_applications(&view, &args.exempt_application).map_err(wrong)?;
    let plan = view.preemption_plan(&policy(args));
    if let Some(unknown) = plan.unknown_exempt.first() {
        let hint = hint(unknown.nearest.as_deref());
        let now = format!("up to change {}, at {}", plan.seq, time_text(plan.now_ms));
        return Err(wrong(format!("{now}: there is no queue `{}`{hint}", unknown.path)));
    }
    let text = if args.json {
        let named = named::json(&plan, &view, &gangs).map_err(Failure::run)?;
        serde_json::to_string_pretty(&named).map_err(Failure::run)?
    } else {
        format!("{}\n\n{}", shares_text(&plan), named::text(&plan, &view, &gangs))
    };
    writeln!(std::io::stdout(), "{text}").map_err(Failure::output)
}

fn policy(args: &PreemptArgs) -> PreemptionPolicy {
    let set = |names: &[String]| names.iter().cloned().collect();
    let within = |order: Order| WithinQueuePolicy {
        order: match order {
            Order::PriorityFirst => WithinQueueOrder::PriorityFirst,
            Order::UserLimitFirst => WithinQueueOrder::UserLimitFirst,
        },
        minimum_use: args.minimum_use,
        max_part: args.max_part,
        exempt: set(&args.exempt_within),
    };
    PreemptionPolicy {
        exempt: set(&args.exempt),
        exempt_applications: set(&args.exempt_application),
        exempt_tags: set(&args.exempt_tag),
        within_queue: args.within_queue.map(within),
        ..args.amounts.policy()
    }
}

/// An exempt application that is not there would go unnoticed.
fn check_applications(view: &View<'_>, names: &[String]) -> Result<(), String> {
    for name in names {
        let known = || view.applications().map(|(_, application)| application.name());
        if known().all(|known| known != name) {
            let now = format!("up to change {}, at {}", view.seq(), time_text(view.now_ms()));
            return Err(format!("{now}: no application `{name}`{}", hint(nearest(name, known()).as_deref())));
        }
    }
    Ok(())
}

/// The moment, and the queues with use or demand.
fn shares_text(plan: &PreemptionPlan) -> String {
    let mut text = format!("{}:", moment_text(plan));
    for partition in &plan.partitions {
        let is_shown = |queue: &&QueueShares| !queue.used.is_empty() || !queue.pending.is_empty();
        let mut queues = partition.queues.iter().filter(is_shown).peekable();
        if !partition.partition.is_empty() && queues.peek().is_some() {
            text += &format!("\nIn the partition {}:", partition.partition);
        }
        queues.for_each(|queue| text += &format!("\n{queue}"));
    }
    text
}

fn moment_text(plan: &PreemptionPlan) -> String {
    format!("After change {}, at {}", plan.seq, time_text(plan.now_ms))
}
