//! Completions for shells.

use std::io::{self, Write};

use clap_complete::Shell;

use super::Failure;

const NAME: &str = "apportion-bench";

pub(super) fn run(shell: Shell, mut command: clap::Command) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, NAME, &mut script);
    let script = String::from_utf8_lossy(&script);
    io::stdout().write_all(repaired(&script).as_bytes()).map_err(Failure::output)
}

/// Works around a defect of `clap_complete` 4.6 in scripts for bash. A hyphen in the program's name becomes `__` where
/// the script sets its state, and `__subcmd__` where it looks for options of that state. So bash completes nothing
/// after a subcommand.
fn repaired(script: &str) -> String {
    script.replace(&NAME.replace('-', "__subcmd__"), &NAME.replace('-', "__"))
}
