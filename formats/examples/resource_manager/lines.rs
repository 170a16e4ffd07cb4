//! The protocol between the manager and its agents: one line for each order and each report.
//!
//! | line | meaning |
//! |---|---|
//! | `node NAME CONTAINER/APPLICATION ...` | an agent connects and reports the containers that it runs |
//! | `lost NAME` | the connection to an agent is broken |
//! | `ended NODE CONTAINER` | the processes of a container have ended |
//! | `sync` | the manager answers `synced` when nothing is left to do |
//! | `start NODE CONTAINER APPLICATION`, `stop NODE CONTAINER` | orders to an agent |

use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Duration;

use super::QUEUES;
use super::manager::{Directive, Fallible, Job, ResourceManager};

const NODE_MEMORY_MIB: i64 = 256 * 1_024;

/// Two jobs with this many containers each.
pub(crate) fn jobs(containers: u32) -> [Job; 2] {
    [("shop", "root.prod"), ("trial", "root.dev")].map(|(name, queue)| Job {
        name,
        queue,
        memory_mib: 1_024,
        containers,
    })
}

/// Serves the agents until there are no more lines.
pub(crate) fn serve(folder: &Path, jobs: &[Job]) -> Fallible<()> {
    let mut manager = ResourceManager::open(folder, QUEUES)?;
    for job in jobs {
        manager.submit(job)?;
    }
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    println!("ready");
    while serve_waiting(&mut manager, &lines)? {
        write_orders(&manager.poll(Duration::from_millis(2))?)?;
    }
    Ok(())
}

/// Serves the lines that have arrived. Returns false if no more will come.
fn serve_waiting(manager: &mut ResourceManager, lines: &Receiver<String>) -> Fallible<bool> {
    loop {
        match lines.try_recv() {
            Ok(line) => serve_line(manager, &line).map_err(|error| format!("`{line}`: {error}"))?,
            Err(TryRecvError::Empty) => return Ok(true),
            Err(TryRecvError::Disconnected) => return Ok(false),
        }
    }
}

fn serve_line(manager: &mut ResourceManager, line: &str) -> Fallible<()> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        ["node", name, ref running @ ..] => {
            let parse = |word: &&str| {
                let (container, application) = word.split_once('/').ok_or("give CONTAINER/APPLICATION")?;
                Ok((container.parse()?, application.parse()?))
            };
            let running = running.iter().map(parse).collect::<Fallible<Vec<_>>>()?;
            manager.node_connected(name, NODE_MEMORY_MIB, &running)
        }
        ["lost", name] => manager.node_lost(name),
        ["ended", node, container] => manager.container_ended(node, container.parse()?),
        ["sync"] => {
            write_orders(&manager.run_until_quiet()?)?;
            println!("synced");
            Ok(())
        }
        _ => Err("use `node`, `lost`, `ended` or `sync`".into()),
    }
}

fn write_orders(orders: &[Directive]) -> Fallible<()> {
    let mut out = std::io::stdout().lock();
    for order in orders {
        match order {
            Directive::Start { node, container, application } => {
                writeln!(out, "start {node} {container} {application}")?;
            }
            Directive::Stop { node, container } => writeln!(out, "stop {node} {container}")?,
        }
    }
    Ok(())
}
