//! The program: see `apportion-bench --help`.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use apportion_bench::cli::Cli;
use clap::Parser;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !failure.is_silent() {
                eprintln!("apportion-bench: {failure}");
            }
            ExitCode::from(failure.code())
        }
    }
}
