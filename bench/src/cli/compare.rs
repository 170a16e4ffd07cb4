//! `apportion-bench compare`.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::Failure;
use crate::compare::{ResultFile, Verdict, compare};
use crate::output::{OutputFile, check_distinct};
use crate::report::{CompareJson, to_compare_html, to_compare_text, to_json_text};

/// Two results and the options of their comparison.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "A result is a file that replay, demo or sweep wrote with --json. Points of sweeps are matched by the settings that \
vary within either file. With several seeds, each seed of one file is compared with the same seed of the other, and only \
differences beyond noise count.\n\nExit codes: 0 nothing differs beyond noise; 1 a figure does; 2 a file is not \
a result, or no point is in both.\n\nExample:\n  apportion-bench sweep --demo --seeds 1,2,3,4,5 --node-order \
spread --json a.json\n  apportion-bench sweep --demo --seeds 1,2,3,4,5 --node-order pack --json b.json\n  \
apportion-bench compare a.json b.json --report difference.html"
)]
pub(super) struct CompareArgs {
    /// The first result.
    #[arg(value_name = "A.json")]
    first: PathBuf,
    /// The second result.
    #[arg(value_name = "B.json")]
    second: PathBuf,
    /// Differences up to this many percent do not count; default 0 with several runs of a point, 5 with one.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    tolerance: Option<f64>,
    /// Show all figures, not only those that differ.
    #[arg(long)]
    all: bool,
    /// Write all figures as JSON to this file; `-` prints them instead of the table.
    #[arg(long, value_name = "FILE|-")]
    json: Option<PathBuf>,
    /// Write a report, one HTML file that opens without a network.
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
}

pub(super) fn run(args: &CompareArgs) -> Result<(), Failure> {
    let outputs = [("--json", &args.json), ("--report", &args.report)];
    let outputs: Vec<(&str, &Path)> =
        outputs.into_iter().filter_map(|(option, path)| Some((option, path.as_deref()?))).collect();
    let inputs = [("A.json", args.first.as_path()), ("B.json", args.second.as_path())];
    check_distinct(&outputs, &inputs).map_err(Failure::input)?;
    let open = |path: &Option<PathBuf>| path.as_deref().map(OutputFile::create).transpose();
    let (json, report) =
        (open(&args.json).map_err(Failure::input)?, open(&args.report).map_err(Failure::input)?);
    let first = ResultFile::read(&args.first).map_err(Failure::input)?;
    let second = ResultFile::read(&args.second).map_err(Failure::input)?;
    let comparison = compare(&first, &second, args.tolerance).ok_or_else(|| {
        Failure::input(format!(
            "{} and {} have no point in common: no policy, size and load is in both",
            first.name, second.name
        ))
    })?;
    if let Some(file) = json {
        file.write_text(&to_json_text(&CompareJson::new(&comparison)).map_err(Failure::run)?)?;
    }
    if outputs.iter().all(|(_, path)| *path != Path::new("-")) {
        writeln!(std::io::stdout(), "{}", to_compare_text(&comparison, args.all)).map_err(Failure::output)?;
    }
    if let Some(file) = report {
        file.write_text(&to_compare_html(&comparison))?;
    }
    if comparison.count(Verdict::Differs) > 0 { Err(Failure::difference()) } else { Ok(()) }
}

/// Parses a percentage as a part.
fn percent(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("a number from 0 to 100 is needed, 2.5 for instance".into()),
    }
}
