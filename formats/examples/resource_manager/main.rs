//! A resource manager: queues from a `capacity-scheduler.xml`, jobs, agents on nodes, and a log from which the next
//! start goes on.
//!
//! ```text
//! cargo run -p apportion-formats --example resource_manager             # a demonstration with agents in the program
//! cargo run -p apportion-formats --example resource_manager -- FOLDER   # reads lines of agents, writes orders
//! ```
//!
//! `manager.rs` is the manager, `lines.rs` the protocol of the second form. `killed.rs` kills the program while it
//! runs ten thousand containers, and looks for lost ones.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the program of an example writes")]

#[cfg(test)]
mod killed;
mod lines;
mod manager;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::ExitCode;

use apportion::{ApplicationId, ContainerId};
use manager::{Directive, Fallible, Job, ResourceManager};

const QUEUES: &str = r#"<?xml version="1.0"?>
<configuration>
  <property><name>yarn.scheduler.capacity.root.queues</name><value>prod,dev</value></property>
  <property><name>yarn.scheduler.capacity.root.prod.capacity</name><value>70</value></property>
  <property><name>yarn.scheduler.capacity.root.dev.capacity</name><value>30</value></property>
  <property><name>yarn.scheduler.capacity.root.dev.maximum-capacity</name><value>50</value></property>
</configuration>"#;

/// Stands for the agents on other machines: they do as they are told.
#[derive(Debug, Default)]
pub(crate) struct Agents(BTreeMap<String, BTreeMap<ContainerId, ApplicationId>>);

impl Agents {
    fn carry_out(&mut self, directives: Vec<Directive>) {
        for directive in directives {
            match directive {
                Directive::Start { node, container, application } => {
                    let started = self.0.entry(node).or_default().insert(container, application);
                    assert_eq!(started, None, "{container} is started once");
                }
                Directive::Stop { node, container } => {
                    self.0.entry(node).or_default().remove(&container);
                }
            }
        }
    }

    fn running(&self, node: &str) -> Vec<(ContainerId, ApplicationId)> {
        self.0
            .get(node)
            .into_iter()
            .flatten()
            .map(|(container, application)| (*container, *application))
            .collect()
    }

    /// The containers of each node, by name.
    fn containers(&self) -> BTreeMap<String, BTreeSet<ContainerId>> {
        self.0.iter().map(|(node, running)| (node.clone(), running.keys().copied().collect())).collect()
    }
}

fn main() -> ExitCode {
    let done = match std::env::args().nth(1) {
        Some(folder) => lines::serve(Path::new(&folder), &lines::jobs(100)),
        None => demonstrate(),
    };
    let Err(error) = done else { return ExitCode::SUCCESS };
    eprintln!("error: {error}");
    ExitCode::FAILURE
}

fn demonstrate() -> Fallible<()> {
    let folder = tempfile::tempdir()?;
    let jobs = [
        Job { name: "shop", queue: "root.prod", memory_mib: 2_048, containers: 6 },
        Job { name: "trial", queue: "root.dev", memory_mib: 4_096, containers: 5 },
    ];
    let mut agents = Agents::default();
    let mut manager = ResourceManager::open(folder.path(), QUEUES)?;
    for node in ["alpha", "beta", "gamma"] {
        manager.node_connected(node, 16_384, &[])?;
    }
    manager.submit(&jobs[0])?;
    let trial = manager.submit(&jobs[1])?;
    work(&mut manager, &mut agents)?;
    println!("first start: {}", summary(&manager));
    if let Some(explanation) = manager.explain(trial) {
        println!("an ask of `trial` waits:\n{explanation}");
    }

    println!("the agent of gamma is lost");
    let gone = agents.0.remove("gamma").unwrap_or_default();
    manager.node_lost("gamma")?;
    work(&mut manager, &mut agents)?;
    println!("without gamma: {}", summary(&manager));

    // The manager stops without notice. Meanwhile a container ends, and gamma comes back with its old containers.
    drop(manager);
    let alpha = agents.0.get_mut("alpha").ok_or("alpha runs containers")?;
    let ended = alpha.pop_first();
    agents.0.insert("gamma".to_owned(), gone);
    let mut manager = ResourceManager::open(folder.path(), QUEUES)?;
    for job in &jobs {
        manager.submit(job)?;
    }
    for node in ["alpha", "beta", "gamma"] {
        manager.node_connected(node, 16_384, &agents.running(node))?;
    }
    work(&mut manager, &mut agents)?;
    println!("second start: {}", summary(&manager));
    assert!(ended.is_some_and(|(container, _)| !manager.containers()["alpha"].contains(&container)));
    Ok(())
}

/// Carries out all orders until there are none.
fn work(manager: &mut ResourceManager, agents: &mut Agents) -> Fallible<()> {
    agents.carry_out(manager.run_until_quiet()?);
    let expected: BTreeMap<_, _> =
        manager.containers().into_iter().filter(|(_, all)| !all.is_empty()).collect();
    let running: BTreeMap<_, _> =
        agents.containers().into_iter().filter(|(_, all)| !all.is_empty()).collect();
    assert_eq!(running, expected, "agents run exactly the containers that the engine has");
    Ok(())
}

fn summary(manager: &ResourceManager) -> String {
    let of = |(node, containers): (String, BTreeSet<ContainerId>)| format!("{node} {}", containers.len());
    manager.containers().into_iter().map(of).collect::<Vec<_>>().join(", ")
}

#[test]
fn the_demonstration_is_true() {
    demonstrate().unwrap();
}
