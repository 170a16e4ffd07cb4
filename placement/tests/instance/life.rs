//! The life of one instance, as in Slider's own test of its commands (`slider.md` 5, "Extra CLI run").

use apportion_placement::instance::{
    AnswerDetail, ConfTree, Definition, DestroyOptions, ExistsOptions, ExitCode, ListOptions, RunState,
    StopOptions,
};

use super::support::{AT_ONCE, Bed, Outcome, code, detail, forced};

#[test]
fn the_whole_life_of_an_instance() -> Outcome {
    let bed = Bed::new()?;
    let client = &bed.client;
    let sure = DestroyOptions { force: true };
    let live = ExistsOptions { live: true, state: None };
    let list_live = ListOptions { live: true, ..ListOptions::default() };
    let list_finished = ListOptions { state: Some("FINISHED"), ..ListOptions::default() };
    let nothing = Definition::of(ConfTree::default());

    assert_eq!(code(&client.create("web", &nothing, AT_ONCE, 1)), ExitCode::Success);
    assert_eq!(code(&client.exists("web", ExistsOptions::default())), ExitCode::Success);
    assert_eq!(code(&client.exists("web", live)), ExitCode::Success);
    assert_eq!(code(&client.destroy("web", sure)), ExitCode::InUse);
    assert_eq!(code(&client.start("web", AT_ONCE, 2)), ExitCode::InUse);
    assert_eq!(code(&client.list(None, ListOptions::default())), ExitCode::Success);
    assert_eq!(code(&client.list(Some("web"), list_live)), ExitCode::Success);

    assert_eq!(code(&client.stop("web", &StopOptions::default())), ExitCode::Success);
    assert_eq!(bed.report()?.exit_code, Some(0));
    assert_eq!(code(&client.exists("web", ExistsOptions::default())), ExitCode::Success);
    assert_eq!(code(&client.exists("web", live)), ExitCode::False);
    assert_eq!(code(&client.list(Some("web"), list_live)), ExitCode::False);
    assert_eq!(code(&client.list(Some("web"), list_finished)), ExitCode::Success);

    assert_eq!(code(&client.start("web", AT_ONCE, 3)), ExitCode::Success);
    assert_eq!(code(&client.stop("web", &forced())), ExitCode::Success);
    assert_eq!(bed.report()?.state, RunState::Killed);

    assert_eq!(code(&client.start("web", AT_ONCE, 4)), ExitCode::Success);
    assert_eq!(code(&client.kill_master("web")), ExitCode::Success);
    let AnswerDetail::Status(status) = detail(client.status("web"))? else { return Err("a status".into()) };
    assert_eq!(status.containers_at_restart, Some(0));

    assert_eq!(code(&client.stop("web", &StopOptions::default())), ExitCode::Success);
    assert_eq!(code(&client.destroy("web", sure)), ExitCode::Success);
    assert_eq!(code(&client.exists("web", ExistsOptions::default())), ExitCode::UnknownInstance);
    assert_eq!(code(&client.list(Some("web"), ListOptions::default())), ExitCode::UnknownInstance);
    assert_eq!(code(&client.destroy("web", sure)), ExitCode::Success, "once more is not a mistake");
    Ok(())
}

/// After its application has failed, an instance can be started again.
#[test]
fn an_instance_outlives_its_application() -> Outcome {
    let bed = Bed::with_web(true)?;
    bed.host.move_to(bed.app()?, RunState::Failed, "too many failures");
    assert_eq!(code(&bed.client.status("web")), ExitCode::BadState);
    assert_eq!(code(&bed.client.stop("web", &StopOptions::default())), ExitCode::Success);
    assert_eq!(code(&bed.client.start("web", AT_ONCE, 2)), ExitCode::Success);
    assert_eq!(bed.report()?.state, RunState::Running);
    Ok(())
}
