//! A master and workers as processes of this machine: they crash, are replaced, restarted, given up and stopped.
//! `cargo run -p apportion-placement --example service`

use std::collections::BTreeMap;
use std::error::Error;
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::{Duration, Instant};

use apportion::config::{EngineConfig, QueueConfig};
use apportion::{ApplicationSpec, Engine, ManualClock, Mode, NodeSpec, ResourceTypes, Resources};
use apportion_placement::{ComponentSpec, ContainerExit, ContainerRef, EngineClient, Launch};
use apportion_placement::{NodeCommand, PlacementPolicy, Service, ServiceSettings};

#[derive(Default)]
struct Processes(BTreeMap<ContainerRef, (Launch, Child)>);

impl Processes {
    /// Carries out the commands of the service, and reports processes that have ended.
    fn obey(&mut self, client: &mut EngineClient) {
        client.carry_out(|command| match command {
            NodeCommand::Launch { container, host, launch } => {
                let process = Command::new("sleep").arg("30").spawn()?;
                println!("{host}: a {} starts as process {}", launch.component, process.id());
                self.0.insert(container, (launch, process));
                Ok(())
            }
            NodeCommand::Kill { container, host } => {
                self.0.get_mut(&container).map_or(Ok(()), |(_, process)| {
                    println!("{host}: process {} is told to stop", process.id());
                    process.kill()
                })
            }
        });
        let ended = |_: &_, (_, process): &mut (_, Child)| !matches!(process.try_wait(), Ok(None));
        for (container, (launch, process)) in self.0.extract_if(.., ended) {
            println!("process {} has ended, which was a {}", process.id(), launch.component);
            drop(client.report_exit(container, ContainerExit::of(137)));
        }
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.0.values_mut().for_each(|(_, process)| drop(process.kill()));
    }
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
    let (began, clock, mut processes) = (Instant::now(), Arc::new(ManualClock::new()), Processes::default());
    let engine = Engine::start(config, Mode::Serial, clock.clone(), None)?;
    let handle = engine.handle();
    for host in ["alpha", "beta", "gamma"] {
        handle.add_node(NodeSpec::new(host, Resources::new(&[2])))?;
    }
    let component = |name, id, count| ComponentSpec::new(name, id, count, Resources::new(&[1]));
    let workers = |count| component("worker", 2, count).with_policy(PlacementPolicy::AntiAffinity);
    let components = |count| vec![component("master", 1, 1), workers(count)];
    let application = ApplicationSpec::new("service", "root.default", "ann");
    let client = EngineClient::submit(handle.clone(), application, 1_000)?.with_node_agents();
    let mut service = Service::start(components(3), ServiceSettings::default(), client, None, 0);
    for step in 0..200 {
        let now_ms = u64::try_from(began.elapsed().as_millis())?;
        clock.set(now_ms);
        engine.run_until_quiet();
        service.tick(now_ms);
        processes.obey(service.client_mut());
        match (step, processes.0.iter_mut().next()) {
            (40, Some((_, (_, process)))) => process.kill()?,
            (80, Some((container, _))) => service.kill_container(*container, now_ms)?,
            (40 | 80, None) => return Err("nothing runs".into()),
            (120, _) => drop(service.flex(components(2), now_ms)),
            (160, _) => service.stop(now_ms),
            _ => std::thread::sleep(Duration::from_millis(10)),
        }
    }
    if processes.0.is_empty() { Ok(()) } else { Err("processes are left".into()) }
}
