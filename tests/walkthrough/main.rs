//! One allocation, from submit to publish.
//!
//! Read it beside "One allocation, in five steps" in `ARCHITECTURE.md`. With `--nocapture` it prints each step.

use std::sync::Arc;

use apportion::config::{EngineConfig, QueueConfig};
use apportion::event::EventKind;
use apportion::explain::PendingReason;
use apportion::log::{LogReader, SharedLog};
use apportion::replay::Replay;
use apportion::request::RejectReason;
use apportion::{
    ApplicationSpec, AskSpec, Change, CommitOutcome, Engine, ManualClock, Mode, NodeSpec,
    ResourceAllocationCommitRequest, ResourceTypes,
};

type Outcome = Result<(), Box<dyn std::error::Error>>;

#[test]
fn one_allocation_from_submit_to_publish() -> Outcome {
    // An engine in serial mode: it works only when it is called. Its log goes to memory.
    let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
    let log = SharedLog::new();
    let clock = Arc::new(ManualClock::new());
    let engine = Engine::start(config, Mode::Serial, clock, Some(Box::new(log.clone())))?;
    let handle = engine.handle();
    let node = handle.add_node(NodeSpec::new("alpha", handle.resources(&[("memory_mib", 1_000)])?))?;
    handle.add_node(NodeSpec::new("beta", handle.resources(&[("memory_mib", 500)])?))?;
    let events = handle.event_stream(100);

    // 1. Submit. The handle checks the ask without the state, gives it an identifier and sends a change. The state
    // has not changed: callers never touch it.
    let application =
        handle.submit_application(ApplicationSpec::new("word-count", "root.default", "ann"), &events)?;
    let size = handle.resources(&[("memory_mib", 600)])?;
    let ask = handle.submit_ask(application, AskSpec::new(size, 1))?;
    assert!(engine.read(|view| view.ask(ask).is_none()), "the change waits in the inbox");
    println!("1. {ask} is on its way");

    // 2. to 5. Propose, send, commit, publish. In serial mode this one call does all of it; in parallel mode it would
    // wait for the threads that do.
    engine.run_until_quiet();

    // The commit is one change in the log, behind the changes that it depends on.
    let changes = changes_of(&log)?;
    let committed = changes.iter().position(|change| matches!(change, Change::Committed { .. }));
    let committed = committed.ok_or("the ask was placed")?;
    let Change::Committed { request } = &changes[committed] else { return Err("not a commit".into()) };
    assert_eq!(*request, ResourceAllocationCommitRequest::allocate(ask, node));
    println!("2. proposed and 3. sent: {request:?}");
    println!("4. committed as change {} of {}", committed + 1, changes.len());

    // The application gets the event, with the position in the log.
    let event = events.try_next()?.ok_or("an event was published")?;
    let EventKind::Allocated { container, .. } = event.kind else { return Err("not an allocation".into()) };
    assert_eq!(event.seq.0, committed as u64 + 1);
    println!("5. published: {container} runs on {node}");

    // A proposer's view may be outdated when its batch is decided, so the committer checks everything again. This
    // proposal is made by hand: the ask is satisfied, and the node has 400 left.
    let stale = handle.commit(ResourceAllocationCommitRequest::allocate(ask, node))?;
    let second = handle.submit_ask(application, AskSpec::new(size, 1))?;
    let too_large = handle.commit(ResourceAllocationCommitRequest::allocate(second, node))?;
    engine.run_until_quiet();
    assert_eq!(stale.try_take(), Some(CommitOutcome::Rejected(RejectReason::UnknownAsk)));
    assert_eq!(too_large.try_take(), Some(CommitOutcome::Rejected(RejectReason::NodeFull)));
    // The queue may still take 900, but no node has 600.
    let why = engine.read(|view| view.ask(second).map(|ask| ask.pending_reason()));
    assert_eq!(why, Some(PendingReason::NoRoom));
    println!("a stale proposal is rejected with one reason, and nothing is applied");

    // When the container completes, an ask that waits for its room is placed at once.
    handle.complete_container(container)?;
    engine.run_until_quiet();
    assert!(engine.read(|view| view.ask(second).is_none()), "satisfied");

    // Everything adds up, and the log alone gives the same state, byte for byte.
    assert!(engine.audit().is_clean());
    let mut replay = Replay::read(log.bytes().as_slice(), None)?;
    assert_eq!(replay.canonical_bytes(), engine.canonical_bytes());
    println!("state {} after {} changes", engine.digest(), replay.seq().0);
    Ok(())
}

fn changes_of(log: &SharedLog) -> Result<Vec<Change>, Box<dyn std::error::Error>> {
    let bytes = log.bytes();
    let mut reader = LogReader::new(bytes.as_slice())?;
    let mut changes = Vec::new();
    while let Some(change) = reader.next_change()? {
        changes.push(change);
    }
    Ok(changes)
}
