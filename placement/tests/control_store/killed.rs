//! A process that is killed while it writes leaves whole transactions, and all that were acknowledged.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use apportion_placement::control::{Change, ControlStore, OpenStoreError, RedbControlStore};
use proptest::test_runner::{RngAlgorithm, TestRng};
use rand::RngExt;

use crate::support::{TestResult, accepted, plain, uuid};

/// The path of the child's store. Without it, the child's test does nothing.
const PATH: &str = "APPORTION_TEST_CONTROL_STORE";
const ROUNDS: usize = 10;

/// Transaction `number`: two requests, and a response in place of the previous transaction's first request.
fn transaction(number: u64) -> Vec<Change> {
    let (first, second) = pair(number);
    let mut changes =
        vec![Change::PutRequest(plain(first, number)), Change::PutRequest(plain(second, number))];
    if let Some(before) = number.checked_sub(1) {
        let (first, _) = pair(before);
        changes.push(Change::PutResponse(accepted(&plain(first, before))));
        changes.push(Change::DeleteRequest(uuid(first)));
    }
    changes
}

fn pair(number: u64) -> (u128, u128) {
    let number = u128::from(number);
    (2 * number, 2 * number + 1)
}

/// Returns the number of transactions. Panics if one of them is incomplete.
fn transactions(store: &RedbControlStore) -> Result<u64, Box<dyn std::error::Error>> {
    let counts = store.counts()?;
    let count = counts.responses + u64::from(counts.requests > 0);
    assert_eq!(counts.requests, count + u64::from(count > 0), "one of each pair, and both of the last");
    for number in 0..count {
        let (first, second) = pair(number);
        let is_last = number + 1 == count;
        assert_eq!(store.request(uuid(first))?.is_some(), is_last, "the first request of {number}");
        assert_eq!(store.response(uuid(first))?.is_some(), !is_last, "the response of {number}");
        assert!(store.request(uuid(second))?.is_some(), "the second request of {number}");
    }
    let page = store.requests(None, usize::MAX)?;
    assert_eq!(
        (page.requests.len() as u64, page.bad.len()),
        (counts.requests, 0),
        "the time order has no other entries"
    );
    Ok(count)
}

#[test]
fn the_child_writes_until_it_is_killed() -> TestResult {
    let Some(path) = env::var_os(PATH) else { return Ok(()) };
    let store = RedbControlStore::open(path)?;
    let mut number = store.counts()?.responses + u64::from(store.counts()?.requests > 0);
    loop {
        store.apply(&transaction(number))?;
        // Written directly, because the test runner may capture the output.
        let mut out = std::io::stdout().lock();
        writeln!(out, "made {number}")?;
        out.flush()?;
        number += 1;
    }
}

fn child(path: &Path) -> std::io::Result<Child> {
    Command::new(env::current_exe()?)
        .args(["--exact", "killed::the_child_writes_until_it_is_killed", "--nocapture"])
        .env(PATH, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
}

#[test]
fn a_kill_leaves_whole_transactions_and_all_that_were_acknowledged() -> TestResult {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("control.redb");
    let mut chance = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut known = 0;
    for round in 0..ROUNDS {
        let mut child = child(&path)?;
        let out = BufReader::new(child.stdout.take().ok_or("a pipe")?);
        let mut made = out.lines().map_while(Result::ok).filter_map(|line| {
            let (_, number) = line.split_once("made ")?;
            number.parse::<u64>().ok()
        });
        let wanted = chance.random_range(1..40);
        let first = made.by_ref().take(wanted).last().ok_or("the child has made nothing")?;
        assert!(matches!(RedbControlStore::open(&path), Err(OpenStoreError::Locked { .. })));
        // A random point within the next transactions.
        (0..chance.random_range(0..2_000_u32)).for_each(|_| std::hint::spin_loop());
        child.kill()?;
        let acknowledged = made.last().unwrap_or(first) + 1;
        child.wait()?;
        let found = transactions(&RedbControlStore::open(&path)?)?;
        assert!(
            found == acknowledged || found == acknowledged + 1,
            "{found} found, {acknowledged} acknowledged"
        );
        assert!(acknowledged > known, "round {round} went on where the last one ended");
        known = found;
    }
    Ok(())
}
