//! Table 4.2 of `slider.md`, row by row: an initial state, a command and its exit code.

use std::fs;

use apportion_placement::instance::{
    AnswerDetail, ApplicationHost, ConfFile, ConfTree, Definition, DestroyOptions, ExistsOptions, ExitCode,
    HostFault, RunState, StartOptions, StopOptions,
};

use super::given::{Accepted, Built, Destroyed, Incomplete, Nothing, Running, Stopped, check};
use super::support::{AT_ONCE, Bed, Outcome, code, forced, web};

fn negative() -> Definition {
    web(-1)
}

fn without_priority() -> Definition {
    Definition::of(ConfTree::default().with("worker", "yarn.component.instances", 1))
}

#[test]
fn build() -> Outcome {
    let row = "build";
    check(
        row,
        |bed| bed.client.build("web", &web(1)),
        &[
            (Nothing, ExitCode::Success),
            (Built, ExitCode::InstanceExists),
            (Incomplete, ExitCode::InstanceExists),
            (Running, ExitCode::InUse),
            (Accepted, ExitCode::InUse),
            (Stopped, ExitCode::InstanceExists),
            (Destroyed, ExitCode::Success),
        ],
    )?;
    check(row, |bed| bed.client.build("Web", &web(1)), &[(Nothing, ExitCode::BadArgument)])?;
    check(row, |bed| bed.client.build("web", &negative()), &[(Nothing, ExitCode::BadState)])?;
    check(row, |bed| bed.client.build("web", &without_priority()), &[(Nothing, ExitCode::BadConfiguration)])?;
    let bed = Bed::with_web(false)?;
    assert!(bed.host.reports("ann").is_empty(), "what is built does not run");
    Ok(())
}

#[test]
fn create() -> Outcome {
    check(
        "create",
        |bed| bed.client.create("web", &web(1), AT_ONCE, 1),
        &[(Nothing, ExitCode::Success), (Built, ExitCode::InstanceExists), (Running, ExitCode::InUse)],
    )?;
    let bed = Bed::new()?;
    bed.host.misbehave(HostFault::RefusesSubmissions);
    assert_eq!(code(&bed.client.create("web", &web(1), AT_ONCE, 1)), ExitCode::ApplicationFailed);
    assert_eq!(code(&bed.client.exists("web", ExistsOptions::default())), ExitCode::Success);
    Ok(())
}

#[test]
fn update() -> Outcome {
    check(
        "update",
        |bed| bed.client.update("web", &web(5)),
        &[
            (Nothing, ExitCode::Success),
            (Built, ExitCode::Success),
            (Running, ExitCode::Success),
            (Stopped, ExitCode::Success),
            (Incomplete, ExitCode::Success),
        ],
    )?;
    check("update", |bed| bed.client.update("", &web(5)), &[(Built, ExitCode::BadArgument)])?;
    let bed = Incomplete.bed()?;
    bed.client.update("web", &web(5))?;
    assert_eq!(code(&bed.client.start("web", AT_ONCE, 2)), ExitCode::Success);
    Ok(())
}

#[test]
fn start() -> Outcome {
    check(
        "start",
        |bed| bed.client.start("web", AT_ONCE, 2),
        &[
            (Nothing, ExitCode::UnknownInstance),
            (Incomplete, ExitCode::UnknownInstance),
            (Destroyed, ExitCode::UnknownInstance),
            (Built, ExitCode::Success),
            (Accepted, ExitCode::InUse),
            (Running, ExitCode::InUse),
            (Stopped, ExitCode::Success),
        ],
    )?;
    check("start", |bed| bed.client.start("-x", AT_ONCE, 2), &[(Built, ExitCode::BadArgument)])
}

/// `--wait` blocks until the application runs, and reports the end if it does not.
#[test]
fn start_and_wait() -> Outcome {
    let waits = StartOptions { wait_ms: Some(1_000) };
    for (fault, expected) in [
        (None, ExitCode::Success),
        (Some(HostFault::StaysAccepted), ExitCode::TimedOut),
        (Some(HostFault::FailsAtStart), ExitCode::ApplicationFailed),
    ] {
        let bed = Bed::with_web(false)?;
        fault.into_iter().for_each(|fault| bed.host.misbehave(fault));
        assert_eq!(code(&bed.client.start("web", waits, 1)), expected, "{fault:?}");
    }
    Ok(())
}

#[test]
fn stop() -> Outcome {
    let cases = [
        (Nothing, ExitCode::UnknownInstance),
        (Incomplete, ExitCode::UnknownInstance),
        (Built, ExitCode::Success),
        (Accepted, ExitCode::Success),
        (Running, ExitCode::Success),
        (Stopped, ExitCode::Success),
    ];
    check("stop", |bed| bed.client.stop("web", &StopOptions::default()), &cases)?;
    check("stop --force", |bed| bed.client.stop("web", &forced()), &cases)?;
    check("stop", |bed| bed.client.stop("", &forced()), &[(Running, ExitCode::BadArgument)])?;
    let ends = [
        (Accepted, StopOptions::default(), RunState::Killed),
        (Running, StopOptions::default(), RunState::Finished),
        (Running, forced(), RunState::Killed),
    ];
    for (given, options, end) in ends {
        let bed = given.bed()?;
        bed.client.stop("web", &options)?;
        assert_eq!(bed.report()?.state, end, "{given:?}");
        assert!(bed.host.containers(bed.app()?)?.is_empty());
    }
    Ok(())
}

/// A master that does not answer, and a master that stops slowly.
#[test]
fn stop_in_vain() -> Outcome {
    let waits = StopOptions { wait_ms: Some(1_000), ..StopOptions::default() };
    for (fault, options, expected) in [
        (HostFault::MastersUnreachable, StopOptions::default(), ExitCode::False),
        (HostFault::MastersUnreachable, forced(), ExitCode::Success),
        (HostFault::IgnoresStop, StopOptions::default(), ExitCode::Success),
        (HostFault::IgnoresStop, waits.clone(), ExitCode::False),
    ] {
        let bed = Running.bed()?;
        bed.host.misbehave(fault);
        assert_eq!(code(&bed.client.stop("web", &options)), expected, "{fault:?} {options:?}");
    }
    assert_eq!(code(&Running.bed()?.client.stop("web", &waits)), ExitCode::Success);
    Ok(())
}

#[test]
fn flex() -> Outcome {
    check(
        "flex",
        |bed| bed.client.flex("web", &[("worker", "3")]),
        &[
            (Nothing, ExitCode::UnknownInstance),
            (Incomplete, ExitCode::UnknownInstance),
            (Built, ExitCode::False),
            (Accepted, ExitCode::Connectivity),
            (Running, ExitCode::Success),
            (Stopped, ExitCode::BadState),
        ],
    )?;
    check(
        "flex to the same",
        |bed| bed.client.flex("web", &[("worker", "2")]),
        &[(Running, ExitCode::Success)],
    )?;
    check("flex nothing", |bed| bed.client.flex("web", &[]), &[(Running, ExitCode::Usage)])?;
    check(
        "flex to a word",
        |bed| bed.client.flex("web", &[("worker", "two")]),
        &[(Running, ExitCode::BadArgument)],
    )?;
    check(
        "flex below none",
        |bed| bed.client.flex("web", &[("worker", "-3")]),
        &[(Running, ExitCode::BadArgument)],
    )?;
    check(
        "flex a stranger",
        |bed| bed.client.flex("web", &[("wrker", "1")]),
        &[(Running, ExitCode::BadConfiguration)],
    )
}

/// D35: the answer distinguishes "nothing changed" from "failed". The definition is saved first in both cases.
#[test]
fn flex_says_whether_anything_changed() -> Outcome {
    for (given, count, changed, saved) in [
        (Running, "3", Some(true), "3"),
        (Running, "+2", Some(true), "4"),
        (Running, "-2", Some(true), "0"),
        (Running, "2", Some(false), "2"),
        (Running, "+0", Some(false), "2"),
        (Built, "7", Some(true), "7"),
        (Built, "2", Some(false), "2"),
        (Stopped, "7", None, "7"),
        (Accepted, "7", None, "7"),
    ] {
        let bed = given.bed()?;
        let answer = bed.client.flex("web", &[("worker", count)]);
        let found = answer.ok().map(|answer| answer.detail);
        assert_eq!(found, changed.map(AnswerDetail::Changed), "{given:?} {count}");
        let text = fs::read_to_string(bed.folder.path().join("ann/cluster/web/resources.json"))?;
        let tree = ConfTree::parse(ConfFile::Resources, &text)?;
        assert_eq!(tree.components["worker"]["yarn.component.instances"], saved, "{given:?} {count}");
    }
    Ok(())
}

#[test]
fn destroy() -> Outcome {
    check(
        "destroy --force",
        |bed| bed.client.destroy("web", DestroyOptions { force: true }),
        &[
            (Nothing, ExitCode::Success),
            (Destroyed, ExitCode::Success),
            (Built, ExitCode::Success),
            (Incomplete, ExitCode::Success),
            (Stopped, ExitCode::Success),
            (Accepted, ExitCode::InUse),
            (Running, ExitCode::InUse),
        ],
    )?;
    check(
        "destroy",
        |bed| bed.client.destroy("web", DestroyOptions::default()),
        &[(Nothing, ExitCode::Success), (Built, ExitCode::Usage), (Running, ExitCode::InUse)],
    )?;
    check(
        "destroy",
        |bed| bed.client.destroy("b#", DestroyOptions::default()),
        &[(Built, ExitCode::BadArgument)],
    )?;
    let bed = Built.bed()?;
    bed.client.destroy("web", DestroyOptions { force: true })?;
    assert_eq!(fs::read_dir(bed.folder.path().join("ann/cluster"))?.count(), 0);
    Ok(())
}
