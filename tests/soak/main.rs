//! Runs a crowd with faults on real threads, round after round, for ten minutes. Every third engine is in background
//! mode.
//!
//! `cargo soak` runs it. `APPORTION_SOAK_SECONDS` sets the duration, `APPORTION_SOAK_SEED` the first seed. Every
//! round has its own engine. While it works, the audit runs without a pause and a watchdog observes its health. At
//! the end the sequential model follows the whole log. Then the log is cut at a random byte, twice, and another engine
//! goes on from there with a crowd of its own. If anything is wrong, the program prints the seed and ends with 1.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use apportion::Engine;
use apportion_tests::support::crowd::{Crowd, Outcome};

/// A round that gives no result for this long is stuck.
const PATIENCE: Duration = Duration::from_secs(30);

fn main() -> ExitCode {
    if !cfg!(apportion_faults) {
        eprintln!("error: this build cannot make proposers panic; run it as `cargo soak`");
        return ExitCode::from(2);
    }
    match (number("APPORTION_SOAK_SECONDS", 600), number("APPORTION_SOAK_SEED", 1)) {
        (Ok(0), Ok(_)) => {
            eprintln!("error: APPORTION_SOAK_SECONDS is `0`; set it to at least 1");
            ExitCode::from(2)
        }
        (Ok(seconds), Ok(seed)) => soak(Duration::from_secs(seconds), seed),
        (Err(problem), _) | (_, Err(problem)) => {
            eprintln!("error: {problem}");
            ExitCode::from(2)
        }
    }
}

fn number(name: &str, default: u64) -> Result<u64, String> {
    let Ok(text) = std::env::var(name) else { return Ok(default) };
    text.parse().map_err(|_| format!("{name} is `{text}`; set it to a whole number"))
}

/// The sums over all rounds.
#[derive(Default)]
struct Total {
    rounds: u64,
    changes: u64,
    audits: u64,
    committed: u64,
    rejected: u64,
    placed_by_committer: u64,
    panics: u64,
    crashes: u64,
}

fn soak(duration: Duration, first_seed: u64) -> ExitCode {
    let (start, mut said, mut total) = (Instant::now(), Instant::now(), Total::default());
    while start.elapsed() < duration {
        let seed = first_seed.wrapping_add(total.rounds);
        let Some((outcome, audits)) = round(seed) else {
            eprintln!(
                "round {} failed: APPORTION_SOAK_SEED={seed} starts with the same plan, but the threads may run in another order",
                total.rounds + 1
            );
            return ExitCode::FAILURE;
        };
        total.add(&outcome, audits);
        if said.elapsed() > Duration::from_secs(10) {
            said = Instant::now();
            println!("{:>4} s  {total}", start.elapsed().as_secs());
        }
    }
    if duration.as_secs() >= 60
        && (total.panics == 0 || total.rejected == 0 || total.placed_by_committer == 0)
    {
        eprintln!("nothing was wrong, but some kind of fault never occurred; run it longer: {total}");
        return ExitCode::FAILURE;
    }
    println!("{:>4} s  {total}: nothing wrong", start.elapsed().as_secs());
    ExitCode::SUCCESS
}

/// Runs one engine; returns `None` after a failure, which is already printed.
fn round(seed: u64) -> Option<(Outcome, u64)> {
    let crowd = Crowd {
        seed,
        callers: 6,
        proposers: if seed.is_multiple_of(3) { 0 } else { 4 },
        steps: 60,
        pause: |units| std::thread::sleep(Duration::from_micros(200) * units),
        sink_fails_after: seed.is_multiple_of(5).then_some(20),
        crashes: 2,
    };
    let (told, end) = mpsc::channel();
    let watched: Arc<Mutex<Option<Arc<Engine>>>> = Arc::default();
    let shown = Arc::clone(&watched);
    std::thread::spawn(move || {
        let is_over = Arc::new(AtomicBool::new(false));
        let mut auditor = None;
        let outcome = crowd.run(|engine| {
            *shown.lock().unwrap() = Some(Arc::clone(engine));
            auditor = Some(audit(Arc::clone(engine), Arc::clone(&is_over)));
        });
        is_over.store(true, Ordering::Relaxed);
        let audits = auditor.and_then(|auditor| auditor.join().ok());
        let _ = told.send(audits.map(|audits| (outcome, audits)));
    });
    match end.recv_timeout(PATIENCE) {
        Ok(result) => result,
        Err(mpsc::RecvTimeoutError::Disconnected) => None,
        Err(mpsc::RecvTimeoutError::Timeout) => {
            let health = watched.lock().unwrap().as_ref().map(|engine| engine.health());
            eprintln!("no result after {} s: {health:?}", PATIENCE.as_secs());
            None
        }
    }
}

/// Audits repeatedly until `is_over`; the thread returns the number of audits.
fn audit(engine: Arc<Engine>, is_over: Arc<AtomicBool>) -> std::thread::JoinHandle<u64> {
    std::thread::spawn(move || {
        let mut audits = 0;
        while !is_over.load(Ordering::Relaxed) {
            let report = engine.audit();
            assert!(report.is_clean(), "{report}");
            audits += 1;
            std::thread::sleep(Duration::from_micros(500));
        }
        audits
    })
}

impl Total {
    fn add(&mut self, outcome: &Outcome, audits: u64) {
        self.rounds += 1;
        self.audits += audits;
        self.changes += outcome.changes;
        self.committed += outcome.stats.committed;
        self.rejected += outcome.stats.rejected_total();
        self.placed_by_committer += outcome.stats.placed_by_committer;
        self.panics += outcome.stats.proposer_panics;
        self.crashes += u64::from(outcome.crashes);
    }
}

impl std::fmt::Display for Total {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { rounds, changes, audits, committed, rejected, placed_by_committer, panics, crashes } =
            self;
        write!(
            f,
            "{rounds} rounds, {changes} changes followed, {audits} audits, {committed} requests committed, \
             {rejected} rejected, {placed_by_committer} placed by the committer, {panics} panics and {crashes} crashes survived"
        )
    }
}
