//! Error messages for instances in the wrong state: every command gives the same message.

use apportion_placement::instance::{ActionError, DestroyOptions, ExistsOptions, ExitCode, ListOptions};

use super::given::{Accepted, Built, Command, Destroyed, Given, Incomplete, Nothing, Stopped};
use super::support::{AT_ONCE, Outcome};

const QUESTIONS: [(&str, Command); 5] = [
    ("list", |bed| bed.client.list(Some("web"), ListOptions::default())),
    ("exists", |bed| bed.client.exists("web", ExistsOptions::default())),
    ("status", |bed| bed.client.status("web")),
    ("kill-container", |bed| bed.client.kill_container("web", Some("1"))),
    ("am-suicide", |bed| bed.client.kill_master("web")),
];

const CHANGES: [(&str, Command); 3] = [
    ("start", |bed| bed.client.start("web", AT_ONCE, 2)),
    ("flex", |bed| bed.client.flex("web", &[("worker", "3")])),
    ("stop", |bed| bed.client.stop("web", &super::support::forced())),
];

#[track_caller]
fn told(given: Given, command: Command) -> Result<String, Box<dyn std::error::Error>> {
    let bed = given.bed()?;
    let error: ActionError = command(&bed).err().ok_or("it has to be refused")?;
    Ok(error.to_string())
}

#[test]
fn every_command_reports_a_missing_or_incomplete_instance_alike() -> Outcome {
    let incomplete = "`web` is incomplete: its `internal.json` is missing; update it, or destroy it";
    for (given, expected) in [(Nothing, "there is no instance `web`"), (Incomplete, incomplete)] {
        for (row, command) in QUESTIONS.into_iter().chain(CHANGES) {
            assert_eq!(told(given, command)?, expected, "{row}, {given:?}");
            assert_eq!(super::support::code(&command(&given.bed()?)), ExitCode::UnknownInstance, "{row}");
        }
    }
    Ok(())
}

/// The instance exists, so the message must not deny it.
#[test]
fn an_instance_that_never_ran_is_reported_as_built() -> Outcome {
    for (row, command) in &QUESTIONS[2..] {
        assert_eq!(told(Built, *command)?, "`web` is built and never ran; start it first", "{row}");
    }
    Ok(())
}

/// The host still reports its application for a while after the instance is gone.
#[test]
fn a_destroyed_instance_is_not_reported_as_stopped() -> Outcome {
    let stopped = "`web` does not run: application 1 is FINISHED";
    for (row, command) in &QUESTIONS[2..] {
        assert_eq!(told(Stopped, *command)?, stopped, "{row}");
        let destroyed = format!("{stopped}, and the instance has been destroyed");
        assert_eq!(told(Destroyed, *command)?, destroyed, "{row}");
    }
    for (row, command) in QUESTIONS[..2].iter().chain(&CHANGES) {
        assert_eq!(told(Destroyed, *command)?, "there is no instance `web`", "{row}");
    }
    Ok(())
}

/// A running instance can be listed and asked for its status, even with a damaged folder.
#[test]
fn a_running_instance_with_a_damaged_folder_has_a_status() -> Outcome {
    let bed = Given::Running.bed()?;
    std::fs::remove_file(bed.folder.path().join("ann/cluster/web/internal.json"))?;
    for (row, command) in [QUESTIONS[0], QUESTIONS[2], QUESTIONS[4]] {
        assert_eq!(super::support::code(&command(&bed)), ExitCode::Success, "{row}");
    }
    let error = bed.client.exists("web", ExistsOptions::default()).err().ok_or("F2")?;
    assert!(error.to_string().contains("is incomplete"), "{error}");
    Ok(())
}

#[test]
fn refusals_name_the_obstacle() -> Outcome {
    let build: Command = |bed| bed.client.build("web", &super::support::web(1));
    let destroy: Command = |bed| bed.client.destroy("web", DestroyOptions { force: true });
    for given in [Built, Incomplete, Stopped] {
        assert_eq!(told(given, build)?, "`web` is there already; update it, or destroy it first");
    }
    for command in [build, destroy, CHANGES[0].1] {
        let expected = "`web` runs as application 1, which is ACCEPTED; stop it first";
        assert_eq!(told(Accepted, command)?, expected);
    }
    Ok(())
}
