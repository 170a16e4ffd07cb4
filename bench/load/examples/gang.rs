//! The time to start a large gang, and of a look in vain: `cargo run --release -p apportion-load --example gang`.
//!
//! Half of each node is in use. Arguments: nodes, containers for which each node has room, members of the gang.

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use apportion::config::{EngineConfig, QueueConfig};
use apportion::engine::{GroupCommitter, Parts, Proposer, Step};
use apportion::gang::GangSpec;
use apportion::{
    ApplicationSpec, AskSpec, Engine, ManualClock, NodeSpec, ProposalBatch, ResourceTypes, Resources,
};

/// An engine whose parts this thread steps.
struct Stepped {
    committer: GroupCommitter,
    proposer: Proposer,
}

impl Stepped {
    /// Commits everything sent.
    fn commit(&mut self) {
        while self.committer.step() == Step::Worked {}
    }

    /// Works until nothing is proposed any more.
    fn run(&mut self) {
        self.commit();
        while let Some(batch) = self.proposer.propose() {
            self.send(batch);
        }
    }

    fn send(&mut self, batch: Box<ProposalBatch>) {
        self.proposer.send(batch).expect("the engine runs");
        self.commit();
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let given: Vec<u32> = std::env::args().skip(1).map(|text| text.parse()).collect::<Result<_, _>>()?;
    let argument = |place: usize, default: u32| given.get(place).copied().unwrap_or(default);
    let (nodes, on_node, members) = (argument(0, 10_000), argument(1, 20), argument(2, 1_000));
    let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
    let (engine, parts) = Engine::assemble(config, 1, Arc::new(ManualClock::new()), None)?;
    let Parts { committer, mut proposers } = parts;
    let mut stepped = Stepped { committer, proposer: proposers.remove(0) };
    let (handle, events) = (engine.handle(), engine.handle().event_stream(1 << 24));
    let size = |times: u32| Resources::new(&[1_024 * i64::from(times), 1_000 * i64::from(times)]);
    for number in 0..nodes {
        handle.add_node(NodeSpec::new(format!("n{number}"), size(on_node)))?;
        stepped.commit();
    }
    let job = handle.submit_application(ApplicationSpec::new("job", "root.default", "ann"), &events)?;
    handle.submit_ask(job, AskSpec::new(size(1), nodes * on_node / 2))?;
    stepped.run();

    for large in [false, true, true, false, true] {
        // Containers of more than half a node fit nowhere.
        let each = if large { on_node / 2 + 1 } else { 1 };
        let ask = AskSpec::new(size(each), members);
        let gang = handle.submit_gang(GangSpec::new(job).with_role("worker", ask))?;
        let start = Instant::now();
        stepped.commit();
        let submitted = start.elapsed();
        let start = Instant::now();
        let batch = stepped.proposer.propose();
        let looked = start.elapsed();
        let found = batch.as_ref().map_or(0, |batch| batch.requests().len());
        let start = Instant::now();
        batch.into_iter().for_each(|batch| stepped.send(batch));
        let decided = start.elapsed();
        let ms = |time: std::time::Duration| time.as_secs_f64() * 1e3;
        println!(
            "{nodes} nodes, {members} members, {found} gangs found: admitted in {:.2} ms, look {:.2} ms, commit {:.2} ms",
            ms(submitted),
            ms(looked),
            ms(decided)
        );
        if large {
            handle.cancel_gang(gang.gang)?;
        }
        stepped.run();
    }
    Ok(())
}
