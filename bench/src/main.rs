//! The program: see `apportion-bench --help`.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use apportion_bench::cli::{self, Cli};
use apportion_bench::interrupt;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    if let Err(error) = interrupt::watch() {
        cli::note(&format!("apportion-bench: signals are not watched: {error}"));
    }
    let done = Cli::from_arguments().and_then(Cli::run);
    if let Some(failure) = done.as_ref().err().filter(|failure| !failure.is_silent()) {
        cli::note(&format!("apportion-bench: {failure}"));
    }
    // A signal that came too late to stop the run still determines the exit code.
    let failed = done.map_or_else(|failure| failure.code(), |()| 0);
    ExitCode::from(interrupt::signal().map_or(failed, interrupt::exit_code))
}
