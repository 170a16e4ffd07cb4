//! `apportion-bench verify`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::Failure;
use super::log_input::{LogInput, Moment};
use crate::report::counted;

/// A log to replay.
#[derive(Clone, Debug, Args)]
pub(super) struct VerifyArgs {
    /// The log: a file, or the folder of a file log.
    file: PathBuf,
    /// Stop after this change (the first is number 1), or at this virtual time: 120s, 2.5min, 3h.
    #[arg(long, value_name = "SEQ|TIME")]
    at: Option<Moment>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &VerifyArgs) -> Result<(), Failure> {
    let mut input = LogInput::open(&args.file, "--at")?;
    let mut replay = input.begin()?;
    input.replay_until(args.at, &mut replay, |_| {})?;
    let (changes, digest) = (replay.seq().0, replay.digest());
    let audit = replay.audit();
    let view = replay.view();
    let (nodes, containers) = (view.node_count(), view.container_count());
    let text = if args.json {
        let figures = serde_json::json!({
            "changes": changes,
            "now_ms": view.now_ms(),
            "state_digest": digest.to_string(),
            "nodes": nodes,
            "containers": containers,
            "audit_violations": audit.violations.len(),
        });
        serde_json::to_string_pretty(&figures).map_err(Failure::run)?
    } else {
        {
            let after = counted(changes, "change");
            let (nodes, containers) =
                (counted(nodes as u64, "node"), counted(containers as u64, "container"));
            format!("{digest}  after {after}: {nodes}, {containers}")
        }
    };
    writeln!(std::io::stdout(), "{text}").map_err(Failure::output)?;
    if audit.is_clean() { Ok(()) } else { Err(Failure::run(format!("the audit found:\n{audit}"))) }
}
