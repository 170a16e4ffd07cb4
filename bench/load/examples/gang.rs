//! The time to start a large gang, of a failed search, and of the end of a turn:
//! `cargo run --release -p apportion-load --example gang`.
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

/// How long a gang holds room that does not grow.
const LIMIT_MS: u64 = 1_000;

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

    /// Proposes and commits until no pass proposes anything.
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
    let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
    config.gather_limit_ms = Some(LIMIT_MS);
    let clock = Arc::new(ManualClock::new());
    let (engine, parts) = Engine::assemble(config, 1, Arc::clone(&clock) as _, None)?;
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
        let submitted = timed(|| stepped.commit());
        let mut batch = None;
        let searched = timed(|| batch = stepped.proposer.propose());
        let found = batch.as_ref().map_or(0, |batch| batch.requests().len());
        let decided = timed(|| batch.into_iter().for_each(|batch| stepped.send(batch)));
        println!(
            "{nodes} nodes, {members} members, {found} gangs found: admitted in {submitted:.2} ms, search {searched:.2} ms, commit {decided:.2} ms"
        );
        if large {
            handle.cancel_gang(gang.gang)?;
        }
        stepped.run();
    }

    // Of two large gangs the first holds room, and its time is over.
    for _ in 0..2 {
        let ask = AskSpec::new(size(on_node / 2 + 1), members);
        handle.submit_gang(GangSpec::new(job).with_role("worker", ask))?;
        stepped.run();
    }
    clock.set(LIMIT_MS);
    handle.tick()?;
    let recorded = timed(|| stepped.commit());
    let mut batch = None;
    let searched = timed(|| batch = stepped.proposer.propose());
    let batch = batch.ok_or("no search for gangs is due")?;
    let ended = timed(|| stepped.send(batch));
    let holders =
        engine.read(|view| view.gangs().filter(|gang| gang.is_gathering && gang.turns == 0).count());
    println!(
        "the end of a turn: recorded in {recorded:.2} ms, search {searched:.2} ms, commit {ended:.2} ms; {holders} gang gathers next"
    );
    Ok(())
}

/// The time that the work takes, in milliseconds.
fn timed(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64() * 1e3
}
