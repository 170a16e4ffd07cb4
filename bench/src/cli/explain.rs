//! `apportion-bench explain`.

use std::fmt::Display;
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::PathBuf;

use apportion::{AskId, Replay, Standing, View};
use clap::Args;

use super::Failure;
use crate::pending::{PendingKind, longest_pending};
use crate::report::count_text;

/// A log, and an ask in it.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "An ask is named as reports and explanations name it: ask-12, or ask-12.3 where the number was used \
before.\nA log holds what was accepted, so it does not say what was rejected; nor which nodes were offered to an ask, where \
locality delays are counted in nodes.\n\n\
Example:\n  apportion-bench replay ... --log run.log\n  apportion-bench explain run.log\n  apportion-bench explain run.log --ask ask-12 --at 5000"
)]
pub(super) struct ExplainArgs {
    /// The log.
    file: PathBuf,
    /// Which ask; without it, the asks that have been pending longest, one of each size and queue.
    #[arg(long, value_name = "ID")]
    ask: Option<AskId>,
    /// As things stood after this change; the first change is number 1.
    #[arg(long, value_name = "SEQ", value_parser = clap::value_parser!(u64).range(1..))]
    at: Option<u64>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &ExplainArgs) -> Result<(), Failure> {
    let wrong = |error: &dyn Display| Failure::input(format!("{}: {error}", args.file.display()));
    let file = File::open(&args.file).map_err(|error| wrong(&error))?;
    let source = BufReader::with_capacity(1 << 20, file);
    let mut replay = Replay::read(source, args.at).map_err(|error| wrong(&error))?;
    let view = replay.view();
    let text = match args.ask {
        Some(ask) => explain_one(&view, ask, args.json).map_err(|error| wrong(&error))?,
        None => explain_longest(&view, args.json)?,
    };
    writeln!(std::io::stdout(), "{text}").map_err(Failure::output)
}

fn explain_one(view: &View<'_>, ask: AskId, is_json: bool) -> Result<String, String> {
    let explanation = view.explain(ask);
    if explanation.standing == Standing::Unknown {
        let known: Vec<String> = view.asks().take(5).map(|ask| ask.id().to_string()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        return Err(format!("there is no {ask} up to change {}; pending then: {known}", explanation.seq));
    }
    if is_json {
        return serde_json::to_string_pretty(&explanation).map_err(|error| error.to_string());
    }
    Ok(explanation.to_string())
}

fn explain_longest(view: &View<'_>, is_json: bool) -> Result<String, Failure> {
    let (pending, kinds) = (view.asks().count() as u64, longest_pending(view));
    if is_json {
        let figures = serde_json::json!({
            "seq": view.seq(),
            "now_ms": view.now_ms(),
            "pending_asks": pending,
            "pending_longest": kinds,
        });
        return serde_json::to_string_pretty(&figures).map_err(Failure::run);
    }
    let head = match pending {
        0 => format!("Nothing is pending after change {}.", view.seq()),
        1 => format!("1 ask is pending after change {}.", view.seq()),
        _ => {
            let pending = count_text(pending);
            format!(
                "{pending} asks are pending after change {}; the longest of each size and queue:",
                view.seq()
            )
        }
    };
    let each = kinds.iter().map(|kind| format!("\n\n{}", kind_text(kind)));
    Ok(head + &each.collect::<String>())
}

fn kind_text(kind: &PendingKind) -> String {
    match kind.asks {
        1 => kind.longest.to_string(),
        asks => {
            let (asks, containers) = (count_text(asks), count_text(kind.containers));
            format!("{}\nOf this size and queue: {asks} asks for {containers} containers.", kind.longest)
        }
    }
}
