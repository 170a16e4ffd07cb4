//! Instances that really run, on an engine and on the fake, with their histories in files.

use std::sync::Arc;

use apportion::config::{EngineConfig, QueueConfig};
use apportion::{ApplicationEnd, Engine, ManualClock, Mode, NodeSpec, ResourceTypes, Resources};
use apportion_placement::instance::{
    AnswerDetail, ApplicationHost, ClientFactory, Definition, DestroyOptions, EngineFactory, ExistsOptions,
    ExitCode, HostError, InstanceName, ListOptions, RunState, ServiceHost, SizeBounds, StopOptions,
    Submission,
};
use apportion_placement::{ClusterClient, ContainerRequest, OutstandingCause, RequestId};

use super::hosts::{Bed, Factory, HOSTS, client, on_both};
use super::support::{AT_ONCE, Outcome, code, detail, forced, web};

on_both!(the_whole_life_of_an_instance_that_runs);
/// Spec 5, the run of Slider's commands. The instance comes back to its former hosts.
fn the_whole_life_of_an_instance_that_runs<F: Factory>() -> Outcome {
    let bed = Bed::<F>::new()?;
    let client = &bed.client;
    let sure = DestroyOptions { force: true };
    let live = ExistsOptions { live: true, state: None };

    assert_eq!(code(&client.create("web", &web(2), AT_ONCE, 1_000)), ExitCode::Success);
    assert_eq!((bed.report()?.state, bed.live()?), (RunState::Running, 3));
    assert_eq!(code(&client.exists("web", live)), ExitCode::Success);
    assert_eq!(code(&client.destroy("web", sure)), ExitCode::InUse);
    assert_eq!(code(&client.start("web", AT_ONCE, 2_000)), ExitCode::InUse);
    assert_eq!(code(&client.list(None, ListOptions::default())), ExitCode::Success);
    let was = bed.workers()?;

    assert_eq!(code(&client.stop("web", &StopOptions::default())), ExitCode::Success);
    assert_eq!((bed.report()?.state, bed.report()?.exit_code), (RunState::Finished, Some(0)));
    assert_eq!(code(&client.exists("web", live)), ExitCode::False);
    assert_eq!(code(&client.start("web", AT_ONCE, 3_000)), ExitCode::Success);
    assert_eq!(bed.workers()?, was, "read from the files of its history");

    assert_eq!(code(&client.stop("web", &forced())), ExitCode::Success);
    assert_eq!(bed.report()?.state, RunState::Killed);
    assert_eq!(code(&client.start("web", AT_ONCE, 4_000)), ExitCode::Success);
    assert_eq!(code(&client.kill_master("web")), ExitCode::Success);
    assert_eq!((bed.status()?.containers_at_restart, bed.live()?), (Some(3), 3));

    assert_eq!(code(&client.flex("web", &[("worker", "+2")])), ExitCode::Success);
    assert_eq!(bed.live()?, 5);
    assert_eq!(code(&client.flex("web", &[("worker", "1")])), ExitCode::Success);
    assert_eq!(bed.live()?, 2);

    assert_eq!(code(&client.stop("web", &StopOptions::default())), ExitCode::Success);
    assert_eq!(code(&client.destroy("web", sure)), ExitCode::Success);
    assert_eq!(code(&client.exists("web", ExistsOptions::default())), ExitCode::UnknownInstance);
    Ok(())
}

on_both!(a_service_that_fails_too_often_ends_with_a_diagnosis);
fn a_service_that_fails_too_often_ends_with_a_diagnosis<F: Factory>() -> Outcome {
    let bed = Bed::<F>::new()?;
    let limited = web(2);
    let resources = limited.resources.with("worker", "yarn.container.failure.threshold", 1);
    bed.client.create("web", &Definition { resources, ..limited }, AT_ONCE, 1)?;
    let app = bed.app()?;
    bed.end("worker", 3)?;
    assert_eq!(bed.report()?.state, RunState::Running);
    bed.end("worker", 3)?;
    let report = bed.report()?;
    assert_eq!((report.state, report.exit_code), (RunState::Failed, Some(ExitCode::DeploymentFailed.code())));
    assert!(
        report.diagnostics.contains("`worker`") && report.diagnostics.contains("exit status 3"),
        "{report:?}"
    );
    assert_eq!(bed.host.containers(app)?, [], "all was given back");
    assert_eq!(code(&bed.client.status("web")), ExitCode::BadState);
    assert_eq!(code(&bed.client.start("web", AT_ONCE, 2)), ExitCode::Success);
    Ok(())
}

on_both!(a_service_that_is_unhealthy_for_too_long_ends_with_a_diagnosis);
fn a_service_that_is_unhealthy_for_too_long_ends_with_a_diagnosis<F: Factory>() -> Outcome {
    let bed = Bed::<F>::new()?;
    let too_many = web(20);
    let health = |key: &str| format!("yarn.container.health.threshold.{key}");
    let resources = too_many
        .resources
        .with("worker", &health("percent"), 100)
        .with("worker", &health("window.secs"), 5)
        .with("worker", &health("init.delay.secs"), 0);
    bed.client.create("web", &Definition { resources, ..too_many }, AT_ONCE, 1_000)?;
    assert_eq!(bed.host.tick(6_000), Some(6_001));
    assert_eq!(bed.report()?.state, RunState::Running);
    bed.host.tick(6_001);
    let report = bed.report()?;
    let unhealthy = Some(ExitCode::ExceptionThrown.code());
    assert_eq!((report.state, report.exit_code), (RunState::Failed, unhealthy), "{report:?}");
    Ok(())
}

on_both!(a_kill_replaces_the_named_container_only);
fn a_kill_replaces_the_named_container_only<F: Factory>() -> Outcome {
    let bed = Bed::<F>::new()?;
    bed.client.create("web", &web(1), AT_ONCE, 1)?;
    let before = bed.host.containers(bed.app()?)?;
    let mine = before[0].container.0;
    assert_eq!(code(&bed.client.kill_container("web", Some("999"))), ExitCode::BadState);
    assert_eq!(bed.host.containers(bed.app()?)?, before);
    assert_eq!(code(&bed.client.kill_container("web", Some(&mine.to_string()))), ExitCode::Success);
    let after = bed.host.containers(bed.app()?)?;
    assert_eq!(after.len(), 2);
    assert!(after.iter().all(|found| found.container.0 != mine));
    Ok(())
}

on_both!(status_says_why_a_request_waits);
fn status_says_why_a_request_waits<F: Factory>() -> Outcome {
    let bed = Bed::<F>::new()?;
    bed.client.create("web", &web(20), AT_ONCE, 1)?;
    let status = bed.status()?;
    assert!(!status.outstanding.is_empty());
    for waits in &status.outstanding {
        assert_eq!(waits.cause, OutstandingCause::ClusterTooSmall, "{waits:?}");
        assert!(waits.remedy.contains("add nodes"), "{waits:?}");
    }
    let json = serde_json::to_value(&status)?;
    assert_eq!(json["outstanding"][0]["cause"], "cluster_too_small");
    Ok(())
}

on_both!(of_simultaneous_starts_on_real_hosts_one_succeeds);
fn of_simultaneous_starts_on_real_hosts_one_succeeds<F: Factory>() -> Outcome
where
    ServiceHost<F>: Send + Sync,
{
    let bed = Bed::<F>::new()?;
    bed.client.build("web", &web(1))?;
    let codes: Vec<ExitCode> = std::thread::scope(|scope| {
        let start = |number: u64| {
            let client = client(bed.folder.path(), &bed.host);
            scope.spawn(move || code(&client.start("web", AT_ONCE, number)))
        };
        let starters: Vec<_> = (1..=6).map(start).collect();
        starters.into_iter().filter_map(|starter| starter.join().ok()).collect()
    });
    assert_eq!(codes.len(), 6);
    assert_eq!(codes.iter().filter(|code| **code == ExitCode::Success).count(), 1, "{codes:?}");
    assert_eq!(bed.host.reports("ann").len(), 1);
    assert_eq!(bed.live()?, 2);
    Ok(())
}

on_both!(a_master_that_dies_too_often_ends_the_service);
fn a_master_that_dies_too_often_ends_the_service<F: Factory>() -> Outcome {
    let bed = Bed::<F>::new()?;
    let web = web(1);
    let internal = web.internal.with_global("slider.yarn.restart.limit", 2);
    bed.client.create("web", &Definition { internal, ..web }, AT_ONCE, 1)?;
    assert_eq!(code(&bed.client.kill_master("web")), ExitCode::Success);
    assert_eq!(bed.report()?.state, RunState::Running);
    assert_eq!(code(&bed.client.kill_master("web")), ExitCode::Success);
    assert_eq!((bed.report()?.state, bed.report()?.exit_code), (RunState::Failed, Some(65)));
    Ok(())
}

on_both!(a_host_takes_one_of_a_name);
/// F4 without the commands' own check: two clients submit to the host directly.
fn a_host_takes_one_of_a_name<F: Factory>() -> Outcome {
    let bed = Bed::<F>::new()?;
    let (name, other): (InstanceName, InstanceName) = ("web".parse()?, "other".parse()?);
    let definition = web(1);
    let resolved = definition.resolve(&SizeBounds::default())?;
    let history = bed.folder.path().join("history");
    let submit = |user, name| {
        bed.host.submit(Submission {
            user,
            name,
            definition: &definition,
            resolved: &resolved,
            history: &history,
            now_ms: 1,
        })
    };
    let first = submit("ann", &name)?;
    assert_eq!(submit("ann", &name), Err(HostError::AlreadyRunning(first)));
    assert!(submit("ben", &name).is_ok(), "another user may use the same name");
    assert!(submit("ann", &other).is_ok());
    bed.host.stop(first, "enough")?;
    assert!(submit("ann", &name).is_ok(), "an ended application does not block the name");
    Ok(())
}

on_both!(containers_of_two_services_have_numbers_of_their_own);
/// One service cannot end a container of another by its number.
fn containers_of_two_services_have_numbers_of_their_own<F: Factory>() -> Outcome {
    let bed = Bed::<F>::new()?;
    bed.client.create("web", &web(1), AT_ONCE, 1)?;
    bed.client.create("other", &web(1), AT_ONCE, 1)?;
    let reports = bed.host.reports("ann");
    let containers = |name: &str| {
        let report = reports.iter().find(|report| report.name == name);
        report.map_or_else(|| Ok(Vec::new()), |report| bed.host.containers(report.id))
    };
    let (mine, others) = (containers("web")?, containers("other")?);
    assert_eq!((mine.len(), others.len()), (2, 2));
    let other = others[0].container.0.to_string();
    assert_eq!(code(&bed.client.kill_container("web", Some(&other))), ExitCode::BadState);
    assert_eq!((containers("web")?, containers("other")?), (mine, others));
    Ok(())
}

/// The client does not know of a container when its application ends. The container is stopped, and its end is
/// confirmed.
#[test]
fn the_containers_of_an_application_that_ends_wait_for_no_timeout() -> Outcome {
    let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
    config.stop_ended_applications = true;
    let engine = Arc::new(Engine::start(config, Mode::Serial, Arc::new(ManualClock::new()), None)?);
    engine.handle().add_node(NodeSpec::new("alpha", Resources::new(&[1_024, 8])))?;
    let mut factory = EngineFactory::new(Arc::clone(&engine), "root.default");
    let mut client = factory.connect("ann", "web")?;
    client.request(ContainerRequest::new(RequestId(1), Resources::new(&[1, 1]), 1))?;
    factory.run_until_idle();
    let application = client.application();
    let counts = || engine.read(|view| (view.application(application).is_some(), view.container_count()));
    assert_eq!(counts(), (true, 1));
    factory.disconnect(client, ApplicationEnd::Finished);
    factory.run_until_idle();
    assert_eq!(counts(), (false, 0));
    Ok(())
}

/// Only the engine runs this test, since the fake never ends an application.
#[test]
fn an_application_ended_at_the_engine_is_reported_as_killed() -> Outcome {
    let bed = Bed::<EngineFactory>::new()?;
    bed.client.create("web", &web(2), AT_ONCE, 1)?;
    let app = bed.app()?;
    let application = bed.host.with_client(app, |client| client.application())?;
    bed.factory.engine().handle().end_application(application, ApplicationEnd::Killed)?;
    bed.host.tick(2);
    let report = bed.report()?;
    assert_eq!((report.state, report.exit_code), (RunState::Killed, Some(66)), "{report:?}");
    assert_eq!(code(&bed.client.start("web", AT_ONCE, 3)), ExitCode::Success);
    Ok(())
}

on_both!(all_nodes_of_the_cluster_are_listed);
fn all_nodes_of_the_cluster_are_listed<F: Factory>() -> Outcome {
    let bed = Bed::<F>::new()?;
    bed.factory.clone().run_until_idle();
    let AnswerDetail::Nodes(nodes) = detail(bed.client.usable_nodes())? else { return Err("nodes".into()) };
    let mut hosts: Vec<&str> = nodes.iter().map(|node| &*node.host).collect();
    hosts.sort_unstable();
    assert_eq!(hosts, HOSTS);
    Ok(())
}
