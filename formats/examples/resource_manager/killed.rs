//! The manager is killed again and again while it starts and completes containers. None is lost, and none runs twice.
//!
//! `APPORTION_MANAGER_KILLS` and `APPORTION_MANAGER_CONTAINERS` set other sizes.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use apportion::ContainerId;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::manager::{Directive, ResourceManager};
use super::{Agents, QUEUES, lines};

const FOLDER: &str = "APPORTION_MANAGER_FOLDER";
const NODES: usize = 100;

fn number(name: &str, default: u32) -> u32 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

fn containers() -> u32 {
    number("APPORTION_MANAGER_CONTAINERS", 1_000)
}

/// The process that is killed. Without a folder it has nothing to do.
#[test]
fn manager() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    lines::serve(Path::new(&folder), &lines::jobs(containers() / 2)).unwrap();
}

/// A manager's process, and the lines that it writes.
struct Manager {
    process: Child,
    input: ChildStdin,
    lines: Receiver<String>,
}

impl Manager {
    fn start(folder: &Path) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "killed::manager", "--nocapture"])
            .env(FOLDER, folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            BufReader::new(output).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Self { process, input, lines }
    }

    /// The manager may be gone.
    fn tell(&mut self, line: &str) {
        let _ = writeln!(self.input, "{line}");
    }

    /// Carries out orders until the manager writes a line, or has ended.
    fn serve_until(&mut self, last: &str, agents: &mut Agents) -> bool {
        while let Ok(line) = self.lines.recv() {
            if line == last {
                return true;
            }
            agents.carry_out(order(&line));
        }
        false
    }

    /// Kills the manager, and carries out the orders that it had written.
    fn kill(mut self, agents: &mut Agents) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        assert!(!self.serve_until("the last line", agents));
    }
}

fn order(line: &str) -> Vec<Directive> {
    match line.split(' ').collect::<Vec<_>>()[..] {
        ["start", node, container, application] => vec![Directive::Start {
            node: node.to_owned(),
            container: container.parse().unwrap(),
            application: application.parse().unwrap(),
        }],
        ["stop", node, container] => {
            vec![Directive::Stop { node: node.to_owned(), container: container.parse().unwrap() }]
        }
        _ => Vec::new(),
    }
}

/// Every agent connects with all that it runs.
fn connect(manager: &mut Manager, agents: &Agents) {
    for number in 0..NODES {
        let name = format!("n{number:03}");
        let running = agents.running(&name);
        let running: String =
            running.iter().map(|(id, application)| format!(" {id}/{application}")).collect();
        manager.tell(&format!("node {name}{running}"));
    }
}

/// Ends this many containers at random, and returns them.
fn end_some(
    manager: &mut Manager,
    agents: &mut Agents,
    count: usize,
    random: &mut Pcg64Mcg,
) -> Vec<ContainerId> {
    let mut all: Vec<_> =
        agents.0.iter().flat_map(|(node, running)| running.keys().map(|id| (node.clone(), *id))).collect();
    let mut ended = Vec::new();
    for _ in 0..count.min(all.len()) {
        let (node, container) = all.swap_remove(random.random_range(0..all.len()));
        agents.0.get_mut(&node).unwrap().remove(&container);
        manager.tell(&format!("ended {node} {container}"));
        ended.push(container);
    }
    ended
}

#[test]
fn a_manager_that_is_killed_loses_no_container_and_starts_none_twice() {
    let (kills, wanted) = (number("APPORTION_MANAGER_KILLS", 3), containers() as usize);
    let folder = tempfile::tempdir().unwrap();
    let mut random = Pcg64Mcg::seed_from_u64(9);
    let mut agents = Agents::default();
    let mut ended = Vec::new();
    for round in 0..=kills {
        let mut manager = Manager::start(folder.path());
        assert!(manager.serve_until("ready", &mut agents), "round {round}: the manager does not start");
        connect(&mut manager, &agents);
        if round > 0 && round < kills {
            // The kill comes at any moment: before the reports are read, between ends, or in the middle of orders.
            for _ in 0..random.random_range(0..5) {
                let count = random.random_range(0..wanted / 10);
                ended.extend(end_some(&mut manager, &mut agents, count, &mut random));
                // Another container takes the place of each one that has ended.
                for _ in 0..random.random_range(0..=count) {
                    agents.carry_out(order(&manager.lines.recv().unwrap()));
                }
            }
            manager.kill(&mut agents);
            continue;
        }
        manager.tell("sync");
        assert!(manager.serve_until("synced", &mut agents), "round {round}: the manager has ended by itself");
        let running: usize = agents.containers().values().map(std::collections::BTreeSet::len).sum();
        assert_eq!(running, wanted, "round {round}");
        manager.kill(&mut agents);
    }
    let running = agents.containers();
    assert!(ended.iter().all(|id| !running.values().any(|node| node.contains(id))));
    assert!(kills < 2 || ended.len() > wanted / 100, "only {} ended", ended.len());
    let known = ResourceManager::open(folder.path(), QUEUES).unwrap().containers();
    assert_eq!(running.len(), NODES);
    assert_eq!(running, known, "the agents run exactly the containers that the engine has");
}
