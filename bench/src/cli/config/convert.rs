//! `apportion-bench config convert`.

use std::path::{Path, PathBuf};

use apportion_formats::Imported;
use apportion_formats::toml::to_toml;
use clap::Args;

use super::Files;
use super::read::{read, report_line};
use crate::cli::Failure;
use crate::output::{OutputFile, check_distinct};

/// A configuration, and the output file.
#[derive(Clone, Debug, Args)]
pub(super) struct ConvertArgs {
    #[command(flatten)]
    files: Files,
    /// Write to this file; standard output by default.
    #[arg(long, value_name = "FILE.toml", default_value = "-", hide_default_value = true)]
    out: PathBuf,
}

pub(super) fn run(args: &ConvertArgs) -> Result<(), Failure> {
    let files = &args.files;
    let others = [("--yarn-site", &files.yarn_site), ("--resource-types", &files.resource_types)];
    let others = others.iter().filter_map(|(option, path)| Some((*option, path.as_deref()?)));
    let inputs: Vec<(&str, &Path)> = others.chain([("FILE", files.file.as_path())]).collect();
    check_distinct(&[("--out", &args.out)], &inputs).map_err(Failure::input)?;
    let (_, imported) = read(files)?;
    let out = OutputFile::create(&args.out).map_err(Failure::input)?;
    Ok(out.write_text(&native(&imported))?)
}

/// A native file; keys that were not carried over are listed at its head.
pub(super) fn native(imported: &Imported) -> String {
    let mut text = String::new();
    for entry in &imported.not_carried_over {
        text.push_str(&format!("# {}\n", report_line(entry)));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(&to_toml(&imported.config));
    text
}
