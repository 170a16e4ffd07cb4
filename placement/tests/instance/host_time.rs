//! Time on a host: its next wake-up, the limit on master failures, and the limit on kept reports.

use apportion_placement::instance::{
    AppId, ApplicationHost, ConfTree, Definition, ExitCode, FakeFactory, HostError, RunState, SizeBounds,
    Submission,
};

use super::hosts::{Bed, Factory, on_both};
use super::support::{AT_ONCE, Outcome, code, web};

const WINDOW_MS: u64 = 300_000;

on_both!(a_host_says_when_it_wants_to_be_called_again);
/// The next timer is the end of the failure window of six hours.
fn a_host_says_when_it_wants_to_be_called_again<F: Factory>() -> Outcome {
    let bed = Bed::<F>::new()?;
    assert_eq!(bed.host.tick(1), None, "nothing runs");
    bed.client.create("web", &web(2), AT_ONCE, 1_000)?;
    assert_eq!(bed.host.tick(1_000), Some(1_000 + 6 * 3_600_000));
    bed.client.create("other", &web(2), AT_ONCE, 2_000)?;
    assert_eq!(bed.host.tick(2_000), Some(1_000 + 6 * 3_600_000), "the first of them");
    Ok(())
}

on_both!(time_does_not_go_back);
fn time_does_not_go_back<F: Factory>() -> Outcome {
    let bed = Bed::<F>::new()?;
    bed.host.tick(5_000);
    bed.host.tick(1);
    bed.client.create("web", &web(2), AT_ONCE, 2)?;
    assert_eq!((bed.status()?.now_ms, bed.report()?.started_ms), (5_000, 5_000));
    bed.client.create("other", &web(2), AT_ONCE, 9_000)?;
    bed.host.tick(1);
    assert_eq!(bed.status()?.now_ms, 9_000, "a command tells the time too");
    Ok(())
}

on_both!(masters_that_died_long_ago_do_not_count);
fn masters_that_died_long_ago_do_not_count<F: Factory>() -> Outcome {
    let bed = Bed::<F>::new()?;
    let web = web(1);
    let internal = web.internal.with_global("slider.yarn.restart.limit", 1);
    bed.client.create("web", &Definition { internal, ..web }, AT_ONCE, 1_000)?;
    for starts_ms in [1_000 + WINDOW_MS, 1_000 + 2 * WINDOW_MS] {
        bed.host.tick(starts_ms);
        assert_eq!(code(&bed.client.kill_master("web")), ExitCode::Success);
        assert_eq!(bed.report()?.state, RunState::Running, "{starts_ms}");
    }
    bed.host.tick(1_000 + 3 * WINDOW_MS - 1);
    bed.client.kill_master("web")?;
    let report = bed.report()?;
    assert_eq!((report.state, report.diagnostics.as_str()), (RunState::Failed, "the master died too often"));
    Ok(())
}

/// A host that runs for years must not keep every report.
#[test]
fn the_last_thousand_applications_are_reported() -> Outcome {
    let bed = Bed::<FakeFactory>::new()?;
    let definition = Definition::of(ConfTree::default());
    let resolved = definition.resolve(&SizeBounds::default())?;
    let (name, history) = ("web".parse()?, bed.folder.path().join("history"));
    for now_ms in 1..=1_002 {
        let (definition, resolved, history) = (&definition, &resolved, history.as_path());
        let (user, name) = ("ann", &name);
        let app = bed.host.submit(Submission { user, name, definition, resolved, history, now_ms })?;
        bed.host.kill(app, "enough")?;
    }
    let told: Vec<AppId> = bed.host.reports("ann").into_iter().map(|report| report.id).collect();
    assert_eq!(told, (3..=1_002).map(AppId).collect::<Vec<_>>());
    assert_eq!(bed.host.containers(AppId(2)), Err(HostError::UnknownApplication(AppId(2))));
    Ok(())
}
