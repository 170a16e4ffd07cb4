//! `apportion-bench config`: the effect of a configuration on the engine, and the same configuration in native TOML.

mod check;
mod cluster;
mod convert;
mod read;
mod scaled;
mod schema;
mod show;
mod tree;

#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use self::read::SemanticsWord;
pub(super) use self::read::{Format, read_file, report_line};
pub(super) use self::show::printable;
use super::Failure;

/// Checks and conversions of configurations.
#[derive(Clone, Debug, Args)]
pub(super) struct ConfigArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Clone, Debug, Subcommand)]
enum Command {
    /// Reads a configuration, shows its queues, and lists the keys that were not carried over.
    Check(check::CheckArgs),
    /// Writes a configuration as native TOML. Comments at its head list the keys that were not carried over.
    Convert(convert::ConvertArgs),
    /// Prints the JSON schema of native files, for editors that complete and check TOML.
    Schema,
}

/// The files of a configuration.
#[derive(Clone, Debug, Args)]
struct Files {
    /// Native TOML, YARN's capacity-scheduler.xml, or YuniKorn's queues.yaml.
    file: PathBuf,
    /// The file's format, if neither its name nor its beginning tells.
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// YARN's yarn-site.xml, read before capacity-scheduler.xml.
    #[arg(long, value_name = "FILE")]
    yarn_site: Option<PathBuf>,
    /// YARN's resource-types.xml: the resources in addition to memory and vcores.
    #[arg(long, value_name = "FILE")]
    resource_types: Option<PathBuf>,
    /// The resource types that the engine counts, for instance memory_mib,vcore_milli,gpu. A native file has its own
    /// list.
    #[arg(long, value_name = "TYPE,...", value_delimiter = ',')]
    types: Option<Vec<String>>,
    /// The rules to follow where YARN's differ from the engine's: user limits exceeded by one container, reservations
    /// and missed opportunities. No key of YARN sets this; a native file does.
    #[arg(long, value_enum)]
    semantics: Option<SemanticsWord>,
}

pub(super) fn run(args: &ConfigArgs) -> Result<(), Failure> {
    match &args.command {
        Command::Check(args) => check::run(args),
        Command::Convert(args) => convert::run(args),
        Command::Schema => print(schema::SCHEMA.trim_end()),
    }
}

fn print(text: &str) -> Result<(), Failure> {
    writeln!(std::io::stdout(), "{text}").map_err(Failure::output)
}
