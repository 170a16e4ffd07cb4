//! `apportion-bench log`.

mod entry;
mod filter;
mod found;

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use apportion::replay::Replay;
use clap::Args;

use self::entry::{About, Entry, Names, word};
use self::filter::{Filter, Named, SNAPSHOT};
use self::found::Found;
use super::Failure;
use super::config::printable;
use super::log_input::{LogInput, Moment, time_text};
use crate::report::counted;

/// A log, and the filters of its changes.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "A line has the change's number, the virtual time, the change, and its events. Filters combine: \
a change is listed if it matches all of them.\n\nExamples:\n  How did a job go on?\n    apportion-bench log run.log --job job_17\n  What \
happened on a node in the first ten minutes?\n    apportion-bench log run.log --node n12 --to 10min\n  Which containers \
were placed in a queue?\n    apportion-bench log run.log --kind allocated --queue root.etl --json"
)]
pub(super) struct LogArgs {
    /// The log: a file, or the folder of a file log.
    file: PathBuf,
    /// From this change or virtual time on.
    #[arg(long, value_name = "SEQ|TIME")]
    from: Option<Moment>,
    /// Up to this change or virtual time: 5000, 120s, 2.5min, 3h.
    #[arg(long, value_name = "SEQ|TIME")]
    to: Option<Moment>,
    #[command(flatten)]
    filter: Filter,
    /// List at most this many.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Print JSON, one object on each line.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &LogArgs) -> Result<(), Failure> {
    args.filter.check()?;
    args.check_range()?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let listed = list(args, &mut out);
    // Changes before a damaged place are listed too.
    out.flush().map_err(Failure::output)?;
    listed
}

fn list(args: &LogArgs, out: &mut impl Write) -> Result<(), Failure> {
    let mut input = LogInput::open(&args.file, "--to")?;
    let mut replay = input.begin()?;
    input.check_beginning(args.to, &mut replay)?;
    let mut names = Names::new(&replay.view());
    let (mut events, mut left) = (Vec::new(), args.limit.unwrap_or(u64::MAX));
    let beginning = beginning(&mut replay);
    let named = args.filter.named();
    let mut found = Found::new(&named);
    let mut is_begun = has_begun(args.from, &beginning);
    if is_begun {
        print(args, &named, beginning, &mut left, out)?;
    }
    while left > 0
        && let Some(change) = input.next()?
    {
        if args.to.is_some_and(|to| to.is_before(replay.seq().0 + 1, &change)) {
            break;
        }
        replay.step_with_events(change.clone(), &mut events).map_err(|error| input.wrong(&error))?;
        let entry = entry(&mut replay, &mut names, &change, &events);
        found.record(&entry);
        if has_begun(args.from, &entry) {
            is_begun = true;
            print(args, &named, entry, &mut left, out)?;
        }
    }
    let wrong = |problem: String| Err(Failure::input(format!("{}: {problem}", args.file.display())));
    // A listed entry matched all filters.
    let view = replay.view();
    match found.unknown(&names, &view).filter(|_| left > 0) {
        Some(problem) => wrong(problem),
        None if is_begun => Ok(()),
        None => {
            let (seq, now) = (view.seq(), time_text(view.now_ms()));
            wrong(format!(
                "--from: the readable part of the log ends before that, with change {seq} at {now}"
            ))
        }
    }
}

impl LogArgs {
    fn check_range(&self) -> Result<(), Failure> {
        let is_behind = match (self.from, self.to) {
            (Some(Moment::Change(from)), Some(Moment::Change(to)))
            | (Some(Moment::Time(from)), Some(Moment::Time(to))) => from > to,
            _ => false,
        };
        if is_behind {
            return Err(Failure::input("--from is later than --to, so nothing lies between; swap them"));
        }
        Ok(())
    }
}

/// The configuration, or the snapshot that has the changes up to its number.
fn beginning(replay: &mut Replay) -> Entry {
    let (seq, now_ms) = (replay.seq().0, replay.view().now_ms());
    let kind = if seq > 1 { SNAPSHOT } else { "configured" };
    Entry { seq, now_ms, kind, about: About::default(), events: Vec::new() }
}

fn entry(
    replay: &mut Replay,
    names: &mut Names,
    change: &apportion::Change,
    events: &[apportion::event::Event],
) -> Entry {
    let seq = replay.seq().0;
    let view = replay.view();
    names.learn(change, events, &view);
    let entry = Entry {
        seq,
        now_ms: view.now_ms(),
        kind: change.label(),
        about: names.change(change, &view),
        events: events.iter().map(|event| names.event(event)).collect(),
    };
    names.forget(events);
    entry
}

fn has_begun(from: Option<Moment>, entry: &Entry) -> bool {
    match from {
        Some(Moment::Change(first)) => entry.seq >= first,
        Some(Moment::Time(first_ms)) => entry.now_ms >= first_ms,
        None => true,
    }
}

fn print(
    args: &LogArgs,
    named: &[Named],
    entry: Entry,
    left: &mut u64,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let Some(entry) = args.filter.select(named, entry) else { return Ok(()) };
    *left -= 1;
    let line = match args.json {
        true => serde_json::to_string(&entry).map_err(Failure::run)?,
        false => printable(&line(&entry)),
    };
    writeln!(out, "{line}").map_err(Failure::output)
}

fn line(entry: &Entry) -> String {
    let with = |kind: &str, about: &About| {
        let about = about_text(about);
        format!("{}{}{about}", kind.replace('_', " "), if about.is_empty() { "" } else { ": " })
    };
    // If an event repeats the change itself, the line names it once.
    let is_told = entry.events.iter().any(|event| event.event == entry.kind);
    let change = (!is_told).then(|| with(entry.kind, &entry.about));
    let events = entry.events.iter().map(|event| with(event.event, &event.about));
    let each: Vec<String> = change.into_iter().chain(events).collect();
    format!("{:>8}  {:>14}  {}", entry.seq, time_text(entry.now_ms), each.join("; "))
}

fn about_text(about: &About) -> String {
    let About { job, application, user, queue, ask, gang, container, node, containers, size, .. } = about;
    let job = job.as_ref().or(application.as_ref());
    let amounts = size.as_ref().map(ToString::to_string);
    let wanted = match (containers, amounts) {
        (Some(count), Some(size)) => Some(format!("{} of {size}", counted((*count).into(), "container"))),
        (Some(count), None) => Some(counted((*count).into(), "container")),
        (None, size) => size,
    };
    let named = |word: &str, name: Option<&String>| name.map(|name| format!("{word}{name}"));
    let is_first = container.is_none() && ask.is_none() && gang.is_none();
    let is_node = is_first && job.is_none();
    let who = [
        container.clone(),
        gang.clone(),
        named(if container.is_some() { "for " } else { "" }, ask.as_ref()),
        named(if is_first { "" } else { "of " }, job),
        named("by ", user.as_ref()),
        named("in ", queue.as_ref()),
        named(if is_node { "" } else { "on " }, node.as_ref()),
    ];
    let who = who.into_iter().flatten().collect::<Vec<_>>().join(" ");
    // Without a locality preference every node is off-switch.
    let detail = about.detail.as_ref().filter(|detail| *detail != "off_switch");
    let notice = about.notice.map(|notice| format!("{notice}, rule {}", word(notice.rule).replace('_', " ")));
    // A label has no space. Other details contain names.
    let with_spaces =
        |detail: &String| if detail.contains(' ') { detail.clone() } else { detail.replace('_', " ") };
    let rest = [wanted, notice, detail.map(with_spaces)];
    let parts = std::iter::once(who).chain(rest.into_iter().flatten());
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}
