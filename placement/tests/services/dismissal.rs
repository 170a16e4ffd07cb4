//! A service ends by itself when its manager dismisses it.

use std::sync::Arc;

use apportion::config::{ApplicationLimits, EngineConfig, QueueConfig};
use apportion::{
    ApplicationEnd, ApplicationSpec, Engine, ManualClock, Mode, NodeSpec, ResourceTypes, Resources,
};
use apportion_placement::{
    ClientError, ClusterClient, ComponentSpec, ContainerRequest, Dismissal, EngineClient, RequestId, Service,
    ServiceSettings,
};

type Made<T> = Result<T, Box<dyn std::error::Error>>;

struct Bed {
    engine: Engine,
    clock: Arc<ManualClock>,
    service: Service<EngineClient>,
}

impl Bed {
    fn new(spec: ApplicationSpec, limits: ApplicationLimits, events_max: usize) -> Made<Self> {
        let config = EngineConfig::new(
            ResourceTypes::memory_and_vcores(),
            QueueConfig::single_leaf().with_applications(limits),
        );
        let clock = Arc::new(ManualClock::new());
        let engine = Engine::start(config, Mode::Serial, clock.clone(), None)?;
        engine.handle().add_node(NodeSpec::new("alpha", Resources::new(&[10])))?;
        let client = EngineClient::submit(engine.handle(), spec, events_max)?;
        let components = vec![ComponentSpec::new("web", 1, 3, Resources::new(&[1]))];
        let service = Service::start(components, ServiceSettings::default(), client, None, 0);
        let mut bed = Self { engine, clock, service };
        bed.run_until_idle();
        Ok(bed)
    }

    /// Returns the number of requests and callbacks in the last of many ticks.
    fn run_until_idle(&mut self) -> u64 {
        let mut before = 0;
        for _ in 0..10 {
            before = self.service.moves();
            self.engine.run_until_quiet();
            self.service.tick(0);
        }
        self.service.moves() - before
    }

    #[track_caller]
    fn check_over(&mut self, why: &Dismissal) {
        assert_eq!(self.run_until_idle(), 0, "it sends no more requests");
        assert_eq!(self.service.client().dismissal(), Some(why));
        assert!(self.service.state().is_over());
        assert_eq!(self.service.state().container_count(), 0);
        assert_eq!(self.service.state().audit(), []);
    }
}

fn spec() -> ApplicationSpec {
    ApplicationSpec::new("service", "root.default", "ann")
}

#[test]
fn its_application_is_ended_at_the_engine() -> Made<()> {
    for events_max in [1, 100] {
        let mut bed = Bed::new(spec(), ApplicationLimits::default(), events_max)?;
        assert_eq!((bed.service.state().container_count(), bed.service.client().dismissal()), (3, None));
        let application = bed.service.client().application();
        bed.engine.handle().end_application(application, ApplicationEnd::Killed)?;
        bed.check_over(&Dismissal::Ended);
    }
    Ok(())
}

#[test]
fn its_lifetime_is_over() -> Made<()> {
    let short = ApplicationSpec { lifetime_ms: Some(1_000), ..spec() };
    let mut bed = Bed::new(short, ApplicationLimits::default(), 100)?;
    assert_eq!(bed.service.state().container_count(), 3);
    bed.clock.set(1_000);
    bed.check_over(&Dismissal::Expired);
    Ok(())
}

#[test]
fn its_application_is_refused() -> Made<()> {
    let none = ApplicationLimits { total: Some(0), ..ApplicationLimits::default() };
    let mut bed = Bed::new(spec(), none, 100)?;
    let why = bed.service.client().dismissal().cloned().ok_or("it is dismissed")?;
    assert!(matches!(why, Dismissal::Refused(_)), "{why:?}");
    bed.check_over(&why);
    Ok(())
}

/// The service notices the shutdown with its next call to the manager.
#[test]
fn its_manager_is_not_there_any_more() -> Made<()> {
    for kills in [false, true] {
        let mut bed = Bed::new(spec(), ApplicationLimits::default(), 100)?;
        bed.engine.shutdown();
        match kills {
            true => {
                let running = bed.service.state().containers().next().map(|found| found.container);
                assert!(running.is_some_and(|running| bed.service.kill_container(running, 0).is_ok()));
            }
            false => drop(bed.service.flex(vec![ComponentSpec::new("web", 1, 4, Resources::new(&[1]))], 0)),
        }
        bed.check_over(&Dismissal::Gone);
    }
    Ok(())
}

/// The first reason stays.
#[test]
fn a_refusal_dismisses_only_if_the_engine_is_shut_down() -> Made<()> {
    for ends_before in [false, true] {
        let mut bed = Bed::new(spec(), ApplicationLimits::default(), 100)?;
        let mut client = EngineClient::submit(bed.engine.handle(), spec(), 100)?;
        let wrong = ContainerRequest::new(RequestId(1), Resources::new(&[-1]), 1);
        assert!(matches!(client.request(wrong), Err(ClientError::Refused(_))));
        assert_eq!(client.dismissal(), None, "a wrong request");
        let mut why = Dismissal::Gone;
        if ends_before {
            bed.engine.handle().end_application(client.application(), ApplicationEnd::Killed)?;
            bed.run_until_idle();
            client.poll();
            why = Dismissal::Ended;
        }
        bed.engine.shutdown();
        let late = ContainerRequest::new(RequestId(2), Resources::new(&[1]), 1);
        assert!(matches!(client.request(late), Err(ClientError::Refused(_))));
        assert_eq!(client.dismissal(), Some(&why));
    }
    Ok(())
}
