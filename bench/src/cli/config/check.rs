//! `apportion-bench config check`.

use apportion_formats::Imported;
use clap::Args;

use super::cluster::ClusterArgs;
use super::read::{Format, read, report_line};
use super::tree::tree;
use super::{Files, print, show};
use crate::cli::Failure;

/// A configuration, and a cluster to evaluate it for.
#[derive(Clone, Debug, Args)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    cluster: ClusterArgs,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &CheckArgs) -> Result<(), Failure> {
    let (format, imported) = read(&args.files)?;
    print(&text(args, format, &imported)?)
}

fn text(args: &CheckArgs, format: Format, imported: &Imported) -> Result<String, Failure> {
    let config = &imported.config;
    let tree = tree(config, args.cluster.parts(config)?)?;
    if args.json {
        let figures = show::json(format, imported, &tree);
        return serde_json::to_string_pretty(&figures).map_err(Failure::run);
    }
    let mut text = show::table(config, &tree);
    for entry in &imported.not_carried_over {
        text.push('\n');
        text.push_str(&report_line(entry));
    }
    Ok(text)
}
