//! A client of an engine without a service: its own confirmations, commands and callbacks.

use std::sync::Arc;

use apportion::config::{EngineConfig, HeartbeatPolicy, QueueConfig};
use apportion::{
    ApplicationEnd, ApplicationId, ApplicationSpec, AskSpec, ContainerId, Engine, ManualClock, Mode,
    NodeSpec, ResourceTypes, Resources, RunningContainer,
};
use apportion_placement::{
    Callback, ClusterClient, ContainerExit, ContainerRef, ContainerRequest, EngineClient, Launch,
    NodeCommand, RequestId,
};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// An engine with one node.
struct Site {
    engine: Engine,
    clock: Arc<ManualClock>,
}

fn node(name: &str) -> NodeSpec {
    NodeSpec::new(name, Resources::new(&[10]))
}

fn application() -> ApplicationSpec {
    ApplicationSpec::new("service", "root.default", "ann")
}

impl Site {
    fn new() -> Outcome<Self> {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut EngineConfig)) -> Outcome<Self> {
        let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
        change(&mut config);
        let clock = Arc::new(ManualClock::new());
        let engine = Engine::start(config, Mode::Serial, clock.clone(), None)?;
        engine.handle().add_node(node("alpha"))?;
        Ok(Self { engine, clock })
    }

    fn client(&self, events_max: usize) -> Outcome<EngineClient> {
        Ok(EngineClient::submit(self.engine.handle(), application(), events_max)?)
    }

    /// Requests a container and starts it.
    fn run_one(&self, client: &mut EngineClient, id: u64) -> Outcome<ContainerRef> {
        client.request(ContainerRequest::new(RequestId(id), Resources::new(&[1]), 1))?;
        self.engine.run_until_quiet();
        let callbacks = client.poll();
        let allocated = callbacks.iter().find_map(|callback| match callback {
            Callback::Allocated(allocations) => allocations.first(),
            _ => None,
        });
        let container = allocated.ok_or("it is served")?.container;
        client.start(container, &Launch::of("worker"))?;
        // Takes the launch command.
        assert!(client.take_commands().len() <= 1);
        client.poll();
        Ok(container)
    }

    fn attach(&self, application: ApplicationId, events_max: usize) -> Outcome<EngineClient> {
        let handle = self.engine.handle();
        let events = handle.event_stream(events_max);
        let ticket = handle.attach(application, &events)?;
        self.engine.run_until_quiet();
        let attachment = ticket.try_take().ok_or("it is answered")??;
        Ok(EngineClient::attach(handle, events, attachment, |_| Some(Launch::of("worker"))))
    }

    /// A node registers with a container of the application.
    fn recover(&self, application: ApplicationId, host: &str) -> Outcome<ContainerRef> {
        let found = RunningContainer::new(application, Resources::new(&[1])).with_priority(1);
        let recovery = self.engine.handle().recover_node(node(host), vec![found])?;
        self.engine.run_until_quiet();
        let [Ok(container)] = recovery.containers.try_take().ok_or("it is answered")?[..] else {
            return Err("known".into());
        };
        Ok(EngineClient::reference(container))
    }

    fn containers(&self) -> usize {
        self.engine.read(|view| view.container_count())
    }
}

fn kill(container: ContainerRef, host: &str) -> NodeCommand {
    NodeCommand::Kill { container, host: host.into() }
}

fn exits(callbacks: &[Callback]) -> Vec<(ContainerRef, ContainerExit)> {
    let mut exits = Vec::new();
    for callback in callbacks {
        if let Callback::Completed(ended) = callback {
            exits.extend(ended.iter().cloned());
        }
    }
    exits
}

#[test]
fn a_container_that_was_being_stopped_at_the_attach_is_killed() -> Outcome {
    let site = Site::new()?;
    let mut before = site.client(1_000)?.with_node_agents();
    let container = site.run_one(&mut before, 1)?;
    before.release(container)?;
    assert_eq!(before.take_commands(), [kill(container, "alpha")]);
    let mut client = site.attach(before.application(), 1_000)?.with_node_agents();
    drop(before);
    client.poll();
    assert_eq!(client.take_commands(), [kill(container, "alpha")], "the earlier command may be lost");
    client.poll();
    assert_eq!(client.take_commands(), [], "it is told once");
    client.report_exit(container, ContainerExit::of(143))?;
    site.engine.run_until_quiet();
    assert_eq!(site.containers(), 0);
    Ok(())
}

#[test]
fn a_container_that_was_being_stopped_at_the_attach_ends_without_node_agents() -> Outcome {
    let site = Site::new()?;
    let mut before = site.client(1_000)?;
    let container = site.run_one(&mut before, 1)?;
    let id = before.engine_container(container).ok_or("it runs")?;
    site.engine.handle().stop_container(id)?;
    let mut client = site.attach(before.application(), 1_000)?;
    client.poll();
    site.engine.run_until_quiet();
    assert_eq!(site.containers(), 0);
    Ok(())
}

#[test]
fn a_container_that_is_stopped_before_its_recovery_is_reported_is_killed() -> Outcome {
    let site = Site::new()?;
    let mut client = site.client(1_000)?.with_node_agents();
    site.run_one(&mut client, 1)?;
    let late = site.recover(client.application(), "beta")?;
    site.engine.handle().stop_container(ContainerId::from_number(late.0))?;
    site.engine.run_until_quiet();
    client.poll();
    assert_eq!(client.take_commands(), [kill(late, "beta")]);
    Ok(())
}

#[test]
fn a_preemption_that_is_not_confirmed_in_time_is_one() -> Outcome {
    let site = Site::new()?;
    let mut client = site.client(1_000)?.with_node_agents();
    let (taken, given_back) = (site.run_one(&mut client, 1)?, site.run_one(&mut client, 2)?);
    let id = client.engine_container(taken).ok_or("it runs")?;
    site.engine.handle().preempt_container(id)?;
    client.release(given_back)?;
    site.engine.run_until_quiet();
    assert_eq!(exits(&client.poll()), []);
    site.clock.set(site.engine.handle().config().stop_timeout_ms + 1);
    site.engine.run_until_quiet();
    let ended = exits(&client.poll());
    let statuses: Vec<_> = ended.iter().map(|(container, exit)| (*container, exit.status)).collect();
    let expected = [(taken, ContainerExit::PREEMPTED), (given_back, ContainerExit::KILLED_BY_APPMASTER)];
    assert_eq!(statuses, expected);
    assert!(ended.iter().all(|(_, exit)| exit.diagnostics.contains("did not confirm")), "{ended:?}");
    Ok(())
}

#[test]
fn containers_end_with_their_application_whether_or_not_the_engine_stops_them() -> Outcome {
    for stop_ended_applications in [false, true] {
        let site = Site::with(|config| config.stop_ended_applications = stop_ended_applications)?;
        let mut client = site.client(1_000)?;
        let container = site.run_one(&mut client, 1)?;
        client.finish(ApplicationEnd::Finished)?;
        site.engine.run_until_quiet();
        assert_eq!(site.containers(), 0);
        let exit = ContainerExit::of(ContainerExit::KILLED_AFTER_APP_COMPLETION);
        assert_eq!(exits(&client.poll()), [(container, exit)], "stops: {stop_ended_applications}");
        site.engine.run_until_quiet();
        assert_eq!(site.engine.health().refused.len(), 0, "each end is confirmed once");
    }
    Ok(())
}

/// The service did not request it, and nothing marks it as the service's.
#[test]
fn a_container_that_was_asked_for_elsewhere_is_not_taken_on_after_an_overflow() -> Outcome {
    for events_max in [1_000, 1] {
        let site = Site::new()?;
        let mut client = site.client(events_max)?;
        site.engine.run_until_quiet();
        client.poll();
        let ask = AskSpec::new(Resources::new(&[1]), 3).with_priority(1);
        site.engine.handle().submit_ask(client.application(), ask)?;
        let late = site.recover(client.application(), "beta")?;
        assert_eq!(site.containers(), 4);
        let told = [client.poll(), client.poll()].concat();
        let recovered: Vec<_> = told
            .iter()
            .filter_map(|callback| match callback {
                Callback::Recovered(found) => Some(found.container),
                _ => None,
            })
            .collect();
        assert_eq!(recovered, [late], "{events_max} events");
    }
    Ok(())
}

#[test]
fn nodes_that_take_no_containers_are_reported_as_unusable() -> Outcome {
    let site = Site::with(|config| {
        config.heartbeat = Some(HeartbeatPolicy { interval_ms: 100, missed_max: 2 });
    })?;
    let handle = site.engine.handle();
    let alpha = handle.node("alpha").ok_or("it is added")?;
    let mut client = site.client(1_000)?;
    let mut reported = || {
        site.engine.run_until_quiet();
        let usable = |callback: Callback| match callback {
            Callback::NodesUpdated(nodes) => nodes.iter().map(|node| node.is_usable).collect(),
            _ => Vec::new(),
        };
        client.poll().into_iter().flat_map(usable).collect::<Vec<bool>>()
    };
    assert_eq!(reported(), [true]);
    handle.drain_node(alpha)?;
    assert_eq!(reported(), [false], "it is drained");
    handle.activate_node(alpha)?;
    assert_eq!(reported(), [true]);
    site.clock.set(201);
    assert_eq!(reported(), [false], "it is silent");
    handle.drain_node(alpha)?;
    assert!(reported().is_empty(), "it is both");
    handle.heartbeat(&[alpha])?;
    handle.activate_node(alpha)?;
    assert_eq!(reported(), [true]);
    Ok(())
}

/// The stream has room for one event.
#[test]
fn cancelled_requests_are_withdrawn_although_their_events_are_lost() -> Outcome {
    let site = Site::new()?;
    let mut client = site.client(1)?;
    let ids = [1, 2, 3].map(RequestId);
    for id in ids {
        client.request(ContainerRequest::new(id, Resources::new(&[11]), 1))?;
    }
    site.engine.run_until_quiet();
    client.poll();
    for id in &ids[..2] {
        client.cancel(*id)?;
    }
    site.engine.run_until_quiet();
    let mut callbacks = client.poll();
    callbacks.retain(|callback| matches!(callback, Callback::Withdrawn(_)));
    assert_eq!(callbacks, ids[..2].iter().copied().map(Callback::Withdrawn).collect::<Vec<_>>());
    client.cancel(ids[2])?;
    Ok(())
}
