//! Table 4.2 of `slider.md`: queries, and commands on parts of an instance.

use apportion_placement::instance::{
    AnswerDetail, ApplicationHost, ConfTree, ExistsOptions, ExitCode, HostFault, LifeState, ListOptions,
    Presence, RunState, Verb,
};

use super::given::{Accepted, Built, Destroyed, Incomplete, Nothing, Running, Stopped, check};
use super::support::{AT_ONCE, Bed, Outcome, code, detail, web};

#[test]
fn list() -> Outcome {
    let any = ListOptions::default;
    check(
        "list",
        |bed| bed.client.list(None, ListOptions::default()),
        &[(Nothing, ExitCode::Success), (Running, ExitCode::Success)],
    )?;
    check(
        "list web",
        |bed| bed.client.list(Some("web"), ListOptions::default()),
        &[
            (Nothing, ExitCode::UnknownInstance),
            (Destroyed, ExitCode::UnknownInstance),
            (Built, ExitCode::Success),
            (Running, ExitCode::Success),
        ],
    )?;
    check(
        "list web --live",
        |bed| bed.client.list(Some("web"), ListOptions { live: true, ..ListOptions::default() }),
        &[
            (Built, ExitCode::False),
            (Stopped, ExitCode::False),
            (Accepted, ExitCode::Success),
            (Running, ExitCode::Success),
        ],
    )?;
    check(
        "list --live",
        |bed| bed.client.list(None, ListOptions { live: true, ..ListOptions::default() }),
        &[(Nothing, ExitCode::Success), (Stopped, ExitCode::Success)],
    )?;
    let bed = Running.bed()?;
    for (name, options) in [
        (None, ListOptions { live: true, state: Some("RUNNING"), ..any() }),
        (None, ListOptions { state: Some("RUNING"), ..any() }),
        (None, ListOptions { containers: true, ..any() }),
        (Some("Title"), any()),
    ] {
        assert_eq!(code(&bed.client.list(name, options)), ExitCode::BadArgument, "{name:?} {options:?}");
    }
    Ok(())
}

#[test]
fn list_shows_states_and_containers() -> Outcome {
    let bed = Running.bed()?;
    bed.client.build("db", &web(0))?;
    let AnswerDetail::Instances(all) = detail(bed.client.list(None, ListOptions::default()))? else {
        return Err("instances are listed".into());
    };
    let states: Vec<_> = all.iter().map(|one| (one.name.as_str(), one.state)).collect();
    assert_eq!(states, [("db", LifeState::Created), ("web", LifeState::Live)]);
    let containers = ListOptions { containers: true, ..ListOptions::default() };
    let AnswerDetail::Instances(web) = detail(bed.client.list(Some("web"), containers))? else {
        return Err("instances are listed".into());
    };
    let components: Vec<&str> = web[0].containers.iter().map(|one| one.component.as_str()).collect();
    assert_eq!(components, ["master", "worker", "worker"]);
    Ok(())
}

#[test]
fn exists() -> Outcome {
    check(
        "exists",
        |bed| bed.client.exists("web", ExistsOptions::default()),
        &[
            (Nothing, ExitCode::UnknownInstance),
            (Destroyed, ExitCode::UnknownInstance),
            (Incomplete, ExitCode::UnknownInstance),
            (Built, ExitCode::Success),
            (Running, ExitCode::Success),
            (Stopped, ExitCode::Success),
        ],
    )?;
    check(
        "exists --live",
        |bed| bed.client.exists("web", ExistsOptions { live: true, state: None }),
        &[
            (Nothing, ExitCode::UnknownInstance),
            (Built, ExitCode::False),
            (Accepted, ExitCode::Success),
            (Running, ExitCode::Success),
            (Stopped, ExitCode::False),
        ],
    )?;
    let finished =
        |bed: &Bed| bed.client.exists("web", ExistsOptions { live: false, state: Some("finished") });
    check(
        "exists --state",
        finished,
        &[(Built, ExitCode::False), (Running, ExitCode::False), (Stopped, ExitCode::Success)],
    )?;
    let bed = Running.bed()?;
    let both = ExistsOptions { live: true, state: Some("RUNNING") };
    assert_eq!(code(&bed.client.exists("web", both)), ExitCode::BadArgument);
    Ok(())
}

#[test]
fn status() -> Outcome {
    check(
        "status",
        |bed| bed.client.status("web"),
        &[
            (Nothing, ExitCode::UnknownInstance),
            (Built, ExitCode::UnknownInstance),
            (Accepted, ExitCode::Connectivity),
            (Running, ExitCode::Success),
            (Stopped, ExitCode::BadState),
        ],
    )?;
    let bed = Running.bed()?;
    let AnswerDetail::Status(status) = detail(bed.client.status("web"))? else {
        return Err("a status".into());
    };
    assert_eq!(status.components.iter().map(|one| one.live).collect::<Vec<_>>(), [1, 2]);
    bed.host.misbehave(HostFault::MastersUnreachable);
    assert_eq!(code(&bed.client.status("web")), ExitCode::Connectivity);
    Ok(())
}

#[test]
fn kill_container() -> Outcome {
    check(
        "kill-container",
        |bed| bed.client.kill_container("web", Some("99")),
        &[
            (Nothing, ExitCode::UnknownInstance),
            (Built, ExitCode::UnknownInstance),
            (Accepted, ExitCode::BadState),
            (Stopped, ExitCode::BadState),
            (Running, ExitCode::BadState),
        ],
    )?;
    check(
        "kill-container",
        |bed| bed.client.kill_container("web", None),
        &[(Nothing, ExitCode::BadArgument), (Running, ExitCode::BadArgument)],
    )?;
    let bed = Running.bed()?;
    let before = bed.host.containers(bed.app()?)?;
    let victim = before[1].container.0.to_string();
    assert_eq!(code(&bed.client.kill_container("web", Some(&victim))), ExitCode::Success);
    let after = bed.host.containers(bed.app()?)?;
    assert_eq!(after.len(), before.len(), "a new container replaces it");
    assert!(after.iter().all(|one| one.container != before[1].container));
    assert_eq!(code(&bed.client.kill_container("web", Some(&victim))), ExitCode::BadState, "once");
    Ok(())
}

/// The master dies and is restarted as often as its limit allows; containers run on.
#[test]
fn am_suicide() -> Outcome {
    check(
        "am-suicide",
        |bed| bed.client.kill_master("web"),
        &[(Nothing, ExitCode::UnknownInstance), (Running, ExitCode::Success), (Stopped, ExitCode::BadState)],
    )?;
    let bed = Bed::new()?;
    let mut twice = web(2);
    twice.internal = ConfTree::default().with_global("slider.yarn.restart.limit", 2);
    bed.client.create("web", &twice, AT_ONCE, 1)?;
    let containers = bed.host.containers(bed.app()?)?;
    bed.client.kill_master("web")?;
    assert_eq!(bed.host.containers(bed.app()?)?, containers);
    let AnswerDetail::Status(status) = detail(bed.client.status("web"))? else {
        return Err("a status".into());
    };
    assert_eq!(status.containers_at_restart, Some(3));
    bed.client.kill_master("web")?;
    assert_eq!(bed.report()?.state, RunState::Failed);
    Ok(())
}

#[test]
fn nodes_diagnostics_and_verbs() -> Outcome {
    let bed = Running.bed()?;
    for (answer, count) in [(bed.client.nodes(), 2), (bed.client.usable_nodes(), 1)] {
        let AnswerDetail::Nodes(nodes) = detail(answer)? else {
            return Err("nodes".into());
        };
        assert_eq!(nodes.len(), count);
    }
    check(
        "diagnostics",
        |bed| bed.client.diagnostics("web"),
        &[
            (Nothing, ExitCode::UnknownInstance),
            (Incomplete, ExitCode::Success),
            (Destroyed, ExitCode::Success),
            (Running, ExitCode::Success),
        ],
    )?;
    let AnswerDetail::Diagnostics(found) = detail(Incomplete.bed()?.client.diagnostics("web"))? else {
        return Err("diagnostics".into());
    };
    assert_eq!(found.presence, Presence::Incomplete { missing: "internal.json".to_owned() });
    assert!(found.definition_problem.is_some() && !found.is_answering);
    assert_eq!(Verb::parse(Some("freeze")), Ok(Verb::Stop));
    assert_eq!(Verb::parse(None).map_err(|error| error.exit_code()), Err(ExitCode::Usage));
    let error = Verb::parse(Some("destory")).err().ok_or("no verb")?;
    assert_eq!(error.exit_code(), ExitCode::Unimplemented);
    assert!(error.to_string().contains("`destroy`"), "{error}");
    Ok(())
}
