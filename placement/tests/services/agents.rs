//! Node agents behind an engine: slow stops, and restarts of masters and engines.

use std::collections::BTreeMap;
use std::sync::Arc;

use apportion::config::{EngineConfig, QueueConfig};
use apportion::{
    ApplicationEnd, ApplicationId, ApplicationSpec, Engine, ManualClock, Mode, NodeSpec, ResourceTypes,
    Resources, RunningContainer,
};
use apportion_placement::{
    ClusterClient, ComponentId, ComponentSpec, ContainerExit, ContainerRef, Dismissal, EngineClient,
    HistoryFile, Launch, NodeCommand, PlacementPolicy, Service, ServiceSettings,
};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

const WORKER: ComponentId = ComponentId(1);
const EXIT_OF_SIGTERM: i32 = 143;

/// An engine, and the processes on the machines of its nodes.
struct Site {
    engine: Engine,
    clock: Arc<ManualClock>,
    machines: BTreeMap<ContainerRef, (Arc<str>, Launch)>,
    /// Processes that agents were told to kill, in order.
    killed: Vec<ContainerRef>,
}

impl Site {
    fn new() -> Outcome<Self> {
        Self::of(EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf()))
    }

    fn of(config: EngineConfig) -> Outcome<Self> {
        let clock = Arc::new(ManualClock::new());
        let engine = Engine::start(config, Mode::Serial, clock.clone(), None)?;
        Ok(Self { engine, clock, machines: BTreeMap::new(), killed: Vec::new() })
    }

    fn with_nodes(self, names: &[&str]) -> Outcome<Self> {
        for name in names {
            self.engine.handle().add_node(node(name))?;
        }
        Ok(self)
    }

    fn submit(&self) -> Outcome<EngineClient> {
        let spec = ApplicationSpec::new("service", "root.default", "ann");
        Ok(EngineClient::submit(self.engine.handle(), spec, 1_000)?.with_node_agents())
    }

    fn attach(&mut self, application: ApplicationId) -> Outcome<EngineClient> {
        let handle = self.engine.handle();
        let events = handle.event_stream(1_000);
        let ticket = handle.attach(application, &events)?;
        self.engine.run_until_quiet();
        let attachment = ticket.try_take().ok_or("it is answered")??;
        let launched = |container| self.machines.get(&container).map(|(_, launch)| launch.clone());
        Ok(EngineClient::attach(handle, events, attachment, launched).with_node_agents())
    }

    /// Runs service and engine until nothing happens, and starts processes. No machine may have two of one component.
    fn run_until_idle(&mut self, service: &mut Service<EngineClient>, now_ms: u64) -> Outcome {
        self.clock.set(now_ms);
        for _ in 0..4 {
            self.engine.run_until_quiet();
            service.tick(now_ms);
            for command in service.client_mut().take_commands() {
                match command {
                    NodeCommand::Launch { container, host, launch } => {
                        let process = (host, launch);
                        assert!(
                            self.machines.values().all(|other| *other != process),
                            "{process:?} runs already"
                        );
                        self.machines.insert(container, process);
                        service.client_mut().report_started(container)?;
                    }
                    NodeCommand::Kill { container, .. } => self.killed.push(container),
                }
            }
        }
        Ok(())
    }

    /// A process ends, and its agent reports the end.
    fn end(&mut self, service: &mut Service<EngineClient>, container: ContainerRef) -> Outcome {
        self.machines.remove(&container).ok_or("it runs")?;
        Ok(service.client_mut().report_exit(container, ContainerExit::of(EXIT_OF_SIGTERM))?)
    }

    fn containers_in_engine(&self) -> usize {
        self.engine.read(|view| view.container_count())
    }
}

fn node(name: &str) -> NodeSpec {
    NodeSpec::new(name, Resources::new(&[10]))
}

fn workers(desired: u32) -> Vec<ComponentSpec> {
    let workers = ComponentSpec::new("worker", WORKER.0, desired, Resources::new(&[1]));
    vec![workers.with_policy(PlacementPolicy::AntiAffinity)]
}

fn started(client: EngineClient, desired: u32) -> Service<EngineClient> {
    Service::start(workers(desired), ServiceSettings::default(), client, None, 1)
}

fn restarted(client: EngineClient, desired: u32) -> Service<EngineClient> {
    Service::restart(workers(desired), ServiceSettings::default(), client, None, 2)
}

fn live(service: &Service<EngineClient>) -> u32 {
    service.state().component(WORKER).map_or(0, |worker| worker.live)
}

/// Runs the example with real processes and the machine's clock.
#[test]
fn the_example_runs_and_leaves_no_process() -> Outcome {
    crate::example::main()
}

#[test]
fn a_replacement_starts_when_the_process_has_ended() -> Outcome {
    let mut site = Site::new()?.with_nodes(&["alpha"])?;
    let mut service = started(site.submit()?, 1);
    site.run_until_idle(&mut service, 1)?;
    let [first] = site.machines.keys().copied().collect::<Vec<_>>()[..] else {
        return Err("one runs".into());
    };
    service.kill_container(first, 2)?;
    site.run_until_idle(&mut service, 2)?;
    assert_eq!((&site.killed[..], site.machines.len(), live(&service)), (&[first][..], 1, 0));
    assert_eq!(site.containers_in_engine(), 1, "it keeps its host");
    site.end(&mut service, first)?;
    site.run_until_idle(&mut service, 3)?;
    assert_eq!((site.machines.len(), live(&service)), (1, 1));
    assert!(!site.machines.contains_key(&first));
    Ok(())
}

/// The service does not wait for the end of a process that never started.
#[test]
fn a_container_that_is_stopped_before_its_start_fails_has_ended() -> Outcome {
    let site = Site::new()?.with_nodes(&["alpha"])?;
    let mut service = started(site.submit()?, 1);
    service.tick(1);
    site.engine.run_until_quiet();
    service.tick(1);
    let [NodeCommand::Launch { container, .. }] = service.client_mut().take_commands()[..] else {
        return Err("one is launched".into());
    };
    service.stop(2);
    site.engine.run_until_quiet();
    service.client_mut().report_start_failed(container, "no such program".into())?;
    site.engine.run_until_quiet();
    service.tick(2);
    assert_eq!((site.containers_in_engine(), service.state().container_count()), (0, 0));
    Ok(())
}

#[test]
fn a_stop_that_is_not_confirmed_ends_after_the_timeout() -> Outcome {
    let mut site = Site::new()?.with_nodes(&["alpha"])?;
    let mut service = started(site.submit()?, 1);
    site.run_until_idle(&mut service, 1)?;
    let first = *site.machines.keys().next().ok_or("one runs")?;
    let timeout_ms = site.engine.handle().config().stop_timeout_ms;
    service.kill_container(first, 2)?;
    site.run_until_idle(&mut service, 2)?;
    site.run_until_idle(&mut service, 2 + timeout_ms - 1)?;
    assert_eq!(site.containers_in_engine(), 1);
    // The process may still run, but nothing can stop it from here.
    site.machines.clear();
    site.run_until_idle(&mut service, 2 + timeout_ms)?;
    assert_eq!((site.machines.len(), live(&service)), (1, 1));
    assert_eq!(site.killed, [first, first], "the process may run on, so its agent is told once more");
    assert!(service.client_mut().report_exit(first, ContainerExit::of(EXIT_OF_SIGTERM)).is_err());
    Ok(())
}

#[test]
fn a_master_that_is_started_again_has_the_containers_of_the_one_before() -> Outcome {
    let mut site = Site::new()?.with_nodes(&["alpha", "beta", "gamma"])?;
    // The fourth worker has no host.
    let mut service = started(site.submit()?, 4);
    site.run_until_idle(&mut service, 1)?;
    let before = site.machines.clone();
    let leaving = *before.keys().next().ok_or("three run")?;
    service.kill_container(leaving, 2)?;
    site.run_until_idle(&mut service, 2)?;
    let asks = |site: &Site| site.engine.read(|view| view.asks().count());
    assert!(asks(&site) > 0);
    let application = service.client().application();
    drop(service);

    let client = site.attach(application)?;
    let mut service = restarted(client, 4);
    site.run_until_idle(&mut service, 3)?;
    assert_eq!((live(&service), &site.machines), (2, &before), "one is still being stopped");
    assert_eq!(asks(&site), 0, "no host is left to ask for, and the earlier master's ask is taken back");
    site.end(&mut service, leaving)?;
    site.run_until_idle(&mut service, 4)?;
    assert_eq!((live(&service), site.machines.len()), (3, 3));
    assert_eq!(service.state().audit(), []);
    Ok(())
}

#[test]
fn a_service_goes_on_after_its_engine_was_started_again() -> Outcome {
    let mut site = Site::new()?.with_nodes(&["alpha", "beta"])?;
    let mut service = started(site.submit()?, 2);
    site.run_until_idle(&mut service, 1)?;
    drop(service);
    let running: Vec<_> = std::mem::take(&mut site.machines).into_values().collect();
    assert_eq!(running.len(), 2);

    let mut again = Site::new()?;
    let handle = again.engine.handle();
    let nobody = handle.event_stream(1);
    let spec = ApplicationSpec::new("service", "root.default", "ann");
    let application = handle.submit_application(spec, &nobody)?;
    let found = RunningContainer::new(application, Resources::new(&[1])).with_priority(WORKER.0);
    let mut tickets = Vec::new();
    for (host, launch) in &running {
        let recovery = handle.recover_node(node(host), vec![found.clone()])?;
        tickets.push((recovery.containers, host.clone(), launch.clone()));
    }
    again.engine.run_until_quiet();
    for (ticket, host, launch) in tickets {
        let [Ok(container)] = ticket.try_take().ok_or("it is answered")?[..] else {
            return Err("known".into());
        };
        again.machines.insert(EngineClient::reference(container), (host, launch));
    }
    let before = again.machines.clone();
    let mut service = restarted(again.attach(application)?, 2);
    again.run_until_idle(&mut service, 3)?;
    assert_eq!((live(&service), &again.machines, &again.killed[..]), (2, &before, &[][..]));

    // Two workers that keep apart do so after the restart, and a third gets a host of its own.
    handle.add_node(node("gamma"))?;
    again.run_until_idle(&mut service, 3)?;
    service.flex(workers(3), 4);
    again.run_until_idle(&mut service, 4)?;
    assert_eq!((live(&service), again.machines.len()), (3, 3));
    Ok(())
}

/// An engine after a restart, the service's application, and the service's history from before the restart.
fn started_again(hosts: &[&str]) -> Outcome<(Site, ApplicationId, HistoryFile)> {
    let mut site = Site::new()?.with_nodes(hosts)?;
    let mut service = started(site.submit()?, u32::try_from(hosts.len())?);
    site.run_until_idle(&mut service, 1)?;
    assert_eq!(site.machines.len(), hosts.len());
    let history = service.take_history(1).ok_or("a service that runs has one")?;
    let again = Site::new()?;
    let handle = again.engine.handle();
    let spec = ApplicationSpec::new("service", "root.default", "ann");
    let application = handle.submit_application(spec, &handle.event_stream(1))?;
    Ok((again, application, history))
}

impl Site {
    /// The node registers with its running worker.
    fn recover(&mut self, application: ApplicationId, host: &str) -> Outcome<ContainerRef> {
        let found = RunningContainer::new(application, Resources::new(&[1])).with_priority(WORKER.0);
        let recovery = self.engine.handle().recover_node(node(host), vec![found])?;
        self.engine.run_until_quiet();
        let [Ok(container)] = recovery.containers.try_take().ok_or("it is answered")?[..] else {
            return Err("known".into());
        };
        let container = EngineClient::reference(container);
        self.machines
            .insert(container, (host.into(), Launch { version: "v7".into(), ..Launch::of("worker") }));
        Ok(container)
    }
}

#[test]
fn a_container_of_a_node_that_is_recovered_late_is_kept() -> Outcome {
    for policy in [PlacementPolicy::Normal, PlacementPolicy::AntiAffinity] {
        let workers: Vec<_> = workers(2).into_iter().map(|spec| spec.with_policy(policy)).collect();
        let (mut site, application, history) = started_again(&["alpha", "beta"])?;
        site.recover(application, "alpha")?;
        let client = site.attach(application)?;
        let mut service = Service::restart(workers, ServiceSettings::default(), client, Some(&history), 2);
        site.run_until_idle(&mut service, 3)?;
        let missing = service.status(3).outstanding.len();
        assert_eq!((live(&service), missing), (1, 1), "{policy:?}: beta is waited for");

        let late = site.recover(application, "beta")?;
        let (_, launch) = site.machines[&late].clone();
        service.client_mut().report_running(late, launch);
        let before = site.machines.clone();
        site.run_until_idle(&mut service, 10_000)?;
        assert_eq!((live(&service), &site.machines, &site.killed[..]), (2, &before, &[][..]), "{policy:?}");
        assert!(
            service.status(10_000).outstanding.is_empty(),
            "{policy:?}: the service requests no second container"
        );
        let versions: Vec<_> = service.state().containers().map(|kept| kept.version).collect();
        assert_eq!(versions, ["v7", "v7"], "{policy:?}");
        // Long after the wait for its host, still no other container has been started.
        site.run_until_idle(&mut service, 60_000)?;
        assert_eq!((live(&service), &site.machines), (2, &before), "{policy:?}");
        assert_eq!(site.engine.read(|view| (view.asks().count(), view.container_count())), (0, 2));
        assert_eq!(service.state().audit(), []);
    }
    Ok(())
}

#[test]
fn a_container_that_is_recovered_late_answers_a_request_that_waits_in_the_engine() -> Outcome {
    let (mut site, application, _) = started_again(&["alpha", "beta"])?;
    site.recover(application, "alpha")?;
    let large = vec![ComponentSpec::new("worker", WORKER.0, 2, Resources::new(&[10]))];
    let client = site.attach(application)?;
    let mut service = Service::restart(large, ServiceSettings::default(), client, None, 2);
    site.run_until_idle(&mut service, 3)?;
    assert_eq!(site.engine.read(|view| view.asks().count()), 1, "alpha has no room for a second one");
    site.recover(application, "beta")?;
    let before = site.machines.clone();
    site.run_until_idle(&mut service, 4)?;
    assert_eq!((live(&service), &site.machines, &site.killed[..]), (2, &before, &[][..]));
    assert_eq!(site.engine.read(|view| (view.asks().count(), view.container_count())), (0, 2));
    assert_eq!(service.state().audit(), []);
    Ok(())
}

#[test]
fn a_container_that_is_recovered_after_its_replacement_came_is_stopped() -> Outcome {
    let (mut site, application, history) = started_again(&["alpha", "beta"])?;
    site.recover(application, "alpha")?;
    let client = site.attach(application)?;
    let mut service = Service::restart(workers(2), ServiceSettings::default(), client, Some(&history), 2);
    site.engine.handle().add_node(node("gamma"))?;
    site.run_until_idle(&mut service, 3)?;
    site.run_until_idle(&mut service, 30_003)?;
    assert_eq!((live(&service), site.machines.len()), (2, 2), "beta was waited for in vain");
    let late = site.recover(application, "beta")?;
    site.run_until_idle(&mut service, 40_000)?;
    assert_eq!((&site.killed[..], live(&service)), (&[late][..], 2));
    let surplus = service.state().component(WORKER).map(|status| status.counters.surplus);
    assert_eq!(surplus, Some(1));
    site.end(&mut service, late)?;
    site.run_until_idle(&mut service, 40_001)?;
    assert_eq!((site.containers_in_engine(), live(&service)), (2, 2));
    Ok(())
}

/// The engine stops the containers of an application when its lifetime ends. The service replaces none of them.
#[test]
fn the_containers_of_an_application_that_expires_are_killed_and_awaited() -> Outcome {
    let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
    config.stop_ended_applications = true;
    let mut site = Site::of(config)?.with_nodes(&["alpha", "beta"])?;
    let mut spec = ApplicationSpec::new("service", "root.default", "ann");
    spec.lifetime_ms = Some(1_000);
    let client = EngineClient::submit(site.engine.handle(), spec, 1_000)?.with_node_agents();
    let mut service = started(client, 2);
    site.run_until_idle(&mut service, 1)?;
    assert_eq!(live(&service), 2);
    site.run_until_idle(&mut service, 2_000)?;
    let running: Vec<_> = site.machines.keys().copied().collect();
    site.killed.dedup();
    assert!(running.iter().all(|container| site.killed.contains(container)), "{:?}", site.killed);
    assert_eq!((site.containers_in_engine(), site.machines.len()), (2, 2), "their processes have not ended");
    assert_eq!(service.client().dismissal(), Some(&Dismissal::Expired));
    let application = service.client().application();

    // A master that is restarted now learns of the end, too.
    let again = site.attach(application)?;
    assert_eq!(again.dismissal(), Some(&Dismissal::Expired));
    drop(service);
    let mut service = restarted(again, 2);
    site.run_until_idle(&mut service, 2_001)?;
    for container in running {
        site.end(&mut service, container)?;
    }
    site.run_until_idle(&mut service, 2_002)?;
    assert_eq!((site.containers_in_engine(), service.state().container_count()), (0, 0));
    assert!(site.engine.read(|view| view.application(application).is_none()));
    Ok(())
}

/// Without node agents no process runs in a container, so the end waits for no stop.
#[test]
fn an_application_without_node_agents_ends_at_once() -> Outcome {
    let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
    config.stop_ended_applications = true;
    let site = Site::of(config)?.with_nodes(&["alpha", "beta"])?;
    let spec = ApplicationSpec::new("service", "root.default", "ann");
    let mut service = started(EngineClient::submit(site.engine.handle(), spec, 1_000)?, 2);
    for now_ms in 1..4 {
        site.engine.run_until_quiet();
        service.tick(now_ms);
    }
    assert_eq!(live(&service), 2);
    let mut client = service.into_client();
    client.finish(ApplicationEnd::Finished)?;
    drop(client);
    site.engine.run_until_quiet();
    assert_eq!(site.containers_in_engine(), 0);
    Ok(())
}

#[test]
fn a_surplus_container_reported_after_the_takeover_is_stopped() -> Outcome {
    let mut site = Site::new()?.with_nodes(&["alpha"])?;
    let mut service = started(site.submit()?, 1);
    site.run_until_idle(&mut service, 1)?;
    let application = service.client().application();
    let found = RunningContainer::new(application, Resources::new(&[1])).with_priority(WORKER.0);
    let recovery = site.engine.handle().recover_node(node("beta"), vec![found])?;
    site.run_until_idle(&mut service, 2)?;
    let [Ok(late)] = recovery.containers.try_take().ok_or("it is answered")?[..] else {
        return Err("known".into());
    };
    let late = EngineClient::reference(late);
    assert_eq!((&site.killed[..], site.containers_in_engine(), live(&service)), (&[late][..], 2, 1));
    service.client_mut().report_exit(late, ContainerExit::of(EXIT_OF_SIGTERM))?;
    site.run_until_idle(&mut service, 3)?;
    assert_eq!((site.containers_in_engine(), live(&service)), (1, 1));
    Ok(())
}
