//! Checks each model in a process of its own: a failing model may abort its process.

use std::env;
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::Duration;

use super::check::REPLAY;
use super::options::Options;
use super::order::Place;
use super::run::{Model, RunError};
use super::{Checker, cargo};
use crate::clock::{Clock, SystemClock};

/// The environment variable with the name of the model that a process checks.
pub(super) const WORKER: &str = "APPORTION_MODEL_WORKER";

/// How long the replay of an order may take that another build of the program recorded.
const CHANGED_MS: u64 = 10_000;

/// Checks all models and reports those that fail.
pub(super) fn check_all(models: &[Model], options: &Options) -> Result<ExitCode, RunError> {
    let clock = SystemClock::new();
    let begin = clock.now_ms();
    let mut failed = Vec::new();
    for model in models {
        if !holds(model, options)? {
            failed.push(model.name());
        }
    }
    let tenths = clock.now_ms().saturating_sub(begin).div_ceil(100);
    let time = format!("{}.{} s", tenths / 10, tenths % 10);
    if failed.is_empty() {
        println!("{} of {} models hold, in {time}", models.len(), models.len());
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("{} of {} models fail, in {time}: {}", failed.len(), models.len(), failed.join(", "));
    Ok(ExitCode::FAILURE)
}

/// Checks a model, or replays its failing order, and explains a failure.
fn holds(model: &Model, options: &Options) -> Result<bool, RunError> {
    let worker = |command: &mut Command| {
        command.status().map_err(|cause| RunError::Worker { model: model.name().to_owned(), cause })
    };
    if options.replay.is_some() {
        let place = Place::of(model.name());
        place.recorded()?;
        if place.is_older_than_the_program() {
            return replay_of_another_program(model, options);
        }
        return Ok(worker(&mut command(model, options, true))?.success());
    }
    let status = worker(&mut command(model, options, false))?;
    if Checker::BUILT == Checker::Once {
        // An order on real threads is not recorded, so it cannot be replayed.
        return Ok(status.success());
    }
    if !status.success() {
        // The first replay saves the failing order itself, so that the next one runs no other.
        let again = worker(command(model, options, true).stdout(Stdio::null()).stderr(Stdio::null()))?;
        explain(model, status, again);
    }
    Ok(status.success())
}

/// Loom may never end if the recorded order has steps that the model no longer takes.
fn replay_of_another_program(model: &Model, options: &Options) -> Result<bool, RunError> {
    let failed = |cause| RunError::Worker { model: model.name().to_owned(), cause };
    let name = model.name();
    eprintln!(
        "{name}: the program is newer than the recorded order; if its steps are others, check the model anew"
    );
    let (clock, mut worker) = (SystemClock::new(), command(model, options, true).spawn().map_err(failed)?);
    let begin = clock.now_ms();
    while clock.now_ms().saturating_sub(begin) < CHANGED_MS {
        if let Some(status) = worker.try_wait().map_err(failed)? {
            return Ok(status.success());
        }
        std::thread::park_timeout(Duration::from_millis(20));
    }
    worker.kill().and_then(|()| worker.wait()).map_err(failed)?;
    eprintln!("{name}: the replay does not end, so the steps are others now; check the model anew");
    Ok(false)
}

fn command(model: &Model, options: &Options, is_replay: bool) -> Command {
    let mut command = Command::new(env::current_exe().unwrap_or_default());
    command.env(WORKER, model.name()).env_remove(REPLAY);
    // Shuttle would take it instead of the order's number.
    command.env_remove("SHUTTLE_RANDOM_SEED");
    // The module's documentation says what the warning says.
    command.env("SHUTTLE_SILENCE_WARNINGS", "1");
    if is_replay {
        command.env(REPLAY, model.name());
    }
    for (name, value) in
        [("LOOM_MAX_PREEMPTIONS", &options.preemptions), ("APPORTION_SCHEDULES", &options.schedules)]
    {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    command
}

/// Says which order failed, and how to run it alone.
fn explain(model: &Model, status: ExitStatus, again: ExitStatus) {
    let (name, checker) = (model.name(), Checker::BUILT);
    let place = Place::of(name);
    match place.recorded() {
        Err(_) => eprintln!(
            "{name}: the process ended ({status}) before an order could be recorded; if the stack overflowed, set \
             RUST_MIN_STACK to more than 1048576"
        ),
        Ok(order) if again.success() => eprintln!(
            "{name}: order {} failed and then held; the model does not do the same each time",
            order.number
        ),
        Ok(order) => {
            let command = cargo::command_line(&format!("--{checker} --replay {name}"));
            eprintln!("{name}: order {} fails under {checker}; replay it: {command}", order.number);
        }
    }
}
