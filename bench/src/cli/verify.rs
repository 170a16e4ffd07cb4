//! `apportion-bench verify`.

use std::fs::File;
use std::io::{BufReader, Write};
use std::path::PathBuf;

use apportion::Replay;
use clap::Args;

use super::Failure;

/// A log to replay.
#[derive(Clone, Debug, Args)]
pub(super) struct VerifyArgs {
    /// The log.
    file: PathBuf,
    /// Stop after this change; the first change is number 1.
    #[arg(long, value_name = "SEQ", value_parser = clap::value_parser!(u64).range(1..))]
    at: Option<u64>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &VerifyArgs) -> Result<(), Failure> {
    let wrong = |error: &dyn std::fmt::Display| Failure::input(format!("{}: {error}", args.file.display()));
    let file = File::open(&args.file).map_err(|error| wrong(&error))?;
    let source = BufReader::with_capacity(1 << 20, file);
    let mut replay = Replay::read(source, args.at).map_err(|error| wrong(&error))?;
    let (changes, digest) = (replay.seq().0, replay.digest());
    let audit = replay.audit();
    let view = replay.view();
    let (nodes, containers) = (view.node_count(), view.container_count());
    let text = if args.json {
        let figures = serde_json::json!({
            "changes": changes,
            "state_digest": digest.to_string(),
            "nodes": nodes,
            "containers": containers,
            "audit_violations": audit.violations.len(),
        });
        serde_json::to_string_pretty(&figures).map_err(Failure::run)?
    } else {
        format!("{digest}  after {changes} changes: {nodes} nodes, {containers} containers")
    };
    writeln!(std::io::stdout(), "{text}").map_err(Failure::output)?;
    if audit.is_clean() { Ok(()) } else { Err(Failure::run(format!("the audit found:\n{audit}"))) }
}
