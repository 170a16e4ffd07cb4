//! Models of a program that counts the nodes it registers.

use std::process::ExitCode;
use std::sync::Arc;

use apportion::config::{EngineConfig, QueueConfig};
use apportion::engine::{Parts, Step};
use apportion::model::{Model, run};
use apportion::sync::{Mutex, Thread};
use apportion::{Engine, ManualClock, NodeSpec, ResourceTypes, Resources};

/// Counts nodes in one step.
fn count_at_once(nodes: &Mutex<u64>) {
    *nodes.lock() += 1;
}

/// The defect: a step of another thread between the two is lost.
fn count_in_two_steps(nodes: &Mutex<u64>) {
    let before = *nodes.lock();
    *nodes.lock() = before + 1;
}

/// Three threads register a node each and count it.
fn three_register(count: fn(&Mutex<u64>)) {
    println!("an order begins");
    let types = ResourceTypes::new(["memory"]).expect("a valid name");
    let config = EngineConfig::new(types, QueueConfig::single_leaf());
    let (engine, mut parts) = Engine::assemble(config, 1, Arc::new(ManualClock::new()), None).expect("valid");
    let nodes = Arc::new(Mutex::new(0));
    let register = |name: &'static str| {
        let (handle, nodes) = (engine.handle(), Arc::clone(&nodes));
        move || {
            handle.add_node(NodeSpec::new(name, Resources::new(&[1]))).expect("a new name");
            count(&nodes);
        }
    };
    let others = ["beta", "gamma"].map(|name| Thread::start(name.into(), register(name)).expect("a thread"));
    register("alpha")();
    others.into_iter().for_each(|other| other.join().expect("no panic"));
    commit(&mut parts);
    assert_eq!(engine.read(|view| view.node_count()), 3);
    // Few orders lose two of three steps, so a checker has to look for them.
    assert_ne!(*nodes.lock(), 1, "the program counts more than one node");
}

fn commit(parts: &mut Parts) {
    while parts.committer.step() == Step::Worked {}
}

fn main() -> ExitCode {
    run([
        Model::new("counts_at_once", || three_register(count_at_once)),
        Model::new("counts_in_two_steps", || three_register(count_in_two_steps)),
    ])
}
