//! `apportion-bench explain`.

mod container;
mod next_round;

use std::cmp::Reverse;
use std::io::Write;
use std::path::PathBuf;

use apportion::explain::{Explanation, Standing};
use apportion::view::View;
use apportion::{AskId, ContainerId, GangId};
use clap::Args;
use serde_json::Value;

use self::next_round::NextRound;
use super::Failure;
use super::log_input::{Jobs, LogInput, Moment, first_ask, time_text};
use super::plan::Gangs;
use crate::pending::{KINDS_MAX, PendingKind, longest_pending};
use crate::report::{count_text, counted};

/// A log, and an ask in it.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "An ask has the name that reports and explanations give it: ask-12, or ask-12.3 if the number was used \
before. The name of its job in the trace stands for it too. A gang, gang-12, stands for the ask of its first role. For a \
container, container-12, the answer says whether preemption will end it. For a pending ask it includes what a round of preemption would do for it now, by the policy of the run. Tasks of equal size are one ask.\nA log holds only accepted requests, \
so it shows no rejections. If locality delays are counted in nodes, it does not show which nodes were offered to an \
ask.\n\nExample:\n  apportion-bench replay ... --log run.log\n  apportion-bench explain run.log\n  apportion-bench explain \
run.log --ask ask-12 --at 5000\n  apportion-bench explain run.log --ask openb-pod-0017 --at 120s"
)]
pub(super) struct ExplainArgs {
    /// The log: a file, or the folder of a file log.
    file: PathBuf,
    /// The ask, gang or container, or the job whose asks to explain. Without it, the asks that have been pending
    /// longest, one of each size and queue.
    #[arg(long, value_name = "ID|NAME")]
    ask: Option<String>,
    /// Explain the state after this change (the first is number 1), or at this virtual time: 120s, 2.5min, 3h.
    #[arg(long, value_name = "SEQ|TIME")]
    at: Option<Moment>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &ExplainArgs) -> Result<(), Failure> {
    let wrong = |problem: String| Failure::input(format!("{}: {problem}", args.file.display()));
    let mut input = LogInput::open(&args.file, "--at")?;
    let mut replay = input.begin()?;
    let (mut jobs, mut gangs) = (Jobs::new(&replay.view()), Gangs::new(&replay.view()));
    let see = |change: &_| {
        gangs.record(change);
        if args.ask.is_some() {
            jobs.record(change);
        }
    };
    input.replay_until(args.at, &mut replay, see)?;
    let view = replay.view();
    let text = match &args.ask {
        Some(name) => explain_named(&view, name, &jobs, gangs, args.json).map_err(wrong)?,
        None => explain_longest(&view, &NextRound::new(view, gangs), args.json).map_err(Failure::run)?,
    };
    writeln!(std::io::stdout(), "{text}").map_err(Failure::output)
}

/// Explains one ask, gang or container by its identifier, or all asks of a job.
fn explain_named(
    view: &View<'_>,
    name: &str,
    jobs: &Jobs,
    gangs: Gangs,
    is_json: bool,
) -> Result<String, String> {
    if let Some(asks) = jobs.asks_of(name) {
        return explain_job(name, &asks, &NextRound::new(*view, gangs), view, is_json);
    }
    if let Ok(id) = name.parse::<ContainerId>() {
        return container::explain(view, id, is_json);
    }
    let of_gang = || name.parse::<GangId>().ok().and_then(first_ask).filter(|ask| jobs.is_gang(*ask));
    match name.parse::<AskId>().ok().or_else(of_gang) {
        Some(ask) => explain_one(view, ask, gangs, is_json),
        None => Err(format!("up to change {}, at {} {}", view.seq(), now_text(view), jobs.unknown(name))),
    }
}

fn explain_one(view: &View<'_>, ask: AskId, gangs: Gangs, is_json: bool) -> Result<String, String> {
    let explanation = view.explain(ask);
    if explanation.standing == Standing::Unknown {
        let known: Vec<String> = view.asks().take(5).map(|ask| ask.id().to_string()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        return Err(format!("there is no {ask} up to change {}; pending then: {known}", explanation.seq));
    }
    let next = NextRound::new(*view, gangs);
    if is_json {
        let value = next.json(&explanation).map_err(|error| error.to_string())?;
        return serde_json::to_string_pretty(&value).map_err(|error| error.to_string());
    }
    Ok(with_next_round(&explanation, &next))
}

/// The explanation, and if the ask is pending, whether preemption would help it now.
fn with_next_round(explanation: &Explanation, next: &NextRound<'_>) -> String {
    let line = next.text(explanation).map(|line| format!("\n{line}"));
    format!("{explanation}{}", line.unwrap_or_default())
}

/// Explains the asks of a job, pending asks first.
fn explain_job(
    name: &str,
    asks: &[AskId],
    next: &NextRound<'_>,
    view: &View<'_>,
    is_json: bool,
) -> Result<String, String> {
    let mut explained: Vec<Explanation> = asks.iter().map(|ask| view.explain(*ask)).collect();
    explained.sort_by_key(|one| Reverse(one.pending().is_some()));
    if is_json {
        let explained: Result<Vec<_>, _> = explained.iter().map(|one| next.json(one)).collect();
        let explained = explained.map_err(|error| error.to_string())?;
        let figures = serde_json::json!({
            "seq": view.seq(), "now_ms": view.now_ms(), "job": name, "asks": explained,
        });
        return serde_json::to_string_pretty(&figures).map_err(|error| error.to_string());
    }
    if explained.is_empty() {
        return Ok(format!("{name} has asked for nothing that the log knows up to change {}.", view.seq()));
    }
    let left_out = explained.len().saturating_sub(KINDS_MAX);
    let shown: Vec<String> = explained.iter().take(KINDS_MAX).map(|one| with_next_round(one, next)).collect();
    let more = if left_out > 0 { format!("\n\n{left_out} more with --json") } else { String::new() };
    Ok(shown.join("\n\n") + &more)
}

fn explain_longest(
    view: &View<'_>,
    next: &NextRound<'_>,
    is_json: bool,
) -> Result<String, serde_json::Error> {
    let (pending, kinds) = (view.asks().count() as u64, longest_pending(view));
    if is_json {
        let figures = serde_json::json!({
            "seq": view.seq(),
            "now_ms": view.now_ms(),
            "pending_asks": pending,
            "pending_longest": kinds.iter().map(|kind| kind_json(kind, next)).collect::<Result<Vec<_>, _>>()?,
        });
        return serde_json::to_string_pretty(&figures);
    }
    let moment = format!("after change {}, at {}", view.seq(), now_text(view));
    let head = match pending {
        0 => format!("Nothing is pending {moment}."),
        1 => format!("1 ask is pending {moment}."),
        _ => {
            format!("{} asks are pending {moment}; the longest of each size and queue:", count_text(pending))
        }
    };
    let each = kinds.iter().map(|kind| format!("\n\n{}", kind_text(kind, next)));
    Ok(head + &each.collect::<String>())
}

fn now_text(view: &View<'_>) -> String {
    time_text(view.now_ms())
}

fn kind_json(kind: &PendingKind, next: &NextRound<'_>) -> Result<Value, serde_json::Error> {
    let mut value = next.json(&kind.longest)?;
    (value["asks"], value["containers"]) = (kind.asks.into(), kind.containers.into());
    Ok(value)
}

/// Without rounds, the list does not say at each ask that preemption will not help.
fn kind_text(kind: &PendingKind, next: &NextRound<'_>) -> String {
    let longest = match next.is_configured() {
        true => with_next_round(&kind.longest, next),
        false => kind.longest.to_string(),
    };
    match kind.asks {
        1 => longest,
        asks => {
            let (asks, containers) = (counted(asks, "ask"), counted(kind.containers, "container"));
            format!("{longest}\nOf this size and queue: {asks} for {containers}.")
        }
    }
}
