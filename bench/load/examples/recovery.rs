//! Measures the ways back from a log: a replay of all changes, a snapshot, and a recovery from it.
//!
//! ```text
//! cargo run --release -p apportion-load --example recovery
//! cargo run --release -p apportion-load --example recovery -- 10000 100000
//! ```
//!
//! The numbers are those of nodes and of running containers; a tenth of the containers has ended and was replaced.
//! The rates are of containers placed while the log is written to memory, and to the folder of temporary files.

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{fmt, io, thread};

use anyhow::Context;
use apportion::config::{Capacity, EngineConfig, Percent, QueueConfig};
use apportion::file_log::{Compactor, Durability, FileLog, FileLogOptions};
use apportion::log::{LogEnd, LogSink, LoggedGroup};
use apportion::replay::Replay;
use apportion::{
    ApplicationId, ApplicationSpec, AskSpec, Clock, Engine, Handle, ManualClock, Mode, NodeSpec,
    ResourceTypes, Resources, StateDigest, SystemClock,
};

const USAGE: &str = "usage: recovery [NODES CONTAINERS], 100000 and 1000000 by default; at least 10 nodes, and at most 40 \
                     containers for each node";
const LEAVES: usize = 100;
const APPLICATIONS: usize = 1_000;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let numbers: Vec<usize> = arguments.iter().filter_map(|text| text.parse().ok()).collect();
    let (nodes, containers) = match (arguments.len(), &numbers[..]) {
        (0, _) => (100_000, 1_000_000),
        (2, &[nodes, containers]) if nodes >= 10 && containers > 0 && containers <= nodes * 40 => {
            (nodes, containers)
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match measure(nodes, containers) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("recovery: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// A log in memory.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn add(&self, bytes: &[u8]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
    }
}

impl LogSink for Log {
    fn start(&mut self, header: &[u8]) -> io::Result<()> {
        self.add(header);
        Ok(())
    }

    fn resume(&mut self, _: LogEnd) -> io::Result<()> {
        Ok(())
    }

    fn append(&mut self, group: &LoggedGroup<'_>) -> io::Result<()> {
        self.add(group.frame());
        Ok(())
    }
}

fn measure(nodes: usize, containers: usize) -> anyhow::Result<()> {
    let log = Log::default();
    let (digest, changes) = run(nodes, containers, "memory", Box::new(log.clone()))?;
    for (name, durability) in [
        ("file, none", Durability::None),
        ("file, grouped", Durability::Grouped { bytes: 1 << 20 }),
        ("file, before events", Durability::BeforeEvents),
    ] {
        let folder = tempfile::tempdir()?;
        let options = FileLogOptions { durability, ..FileLogOptions::default() };
        run(nodes, containers, name, Box::new(FileLog::open(folder.path(), options)?))?;
    }
    churn(nodes, containers)?;
    let log = std::mem::take(&mut *log.0.lock().unwrap_or_else(PoisonError::into_inner));
    report("log", format_args!("{changes} changes, {:.1} MB", megabytes(log.len())));

    let begun = Instant::now();
    let mut replay = Replay::read(&log[..], None)?;
    let spent = begun.elapsed();
    anyhow::ensure!(replay.digest() == digest, "the replay ends in another state");
    report(
        "replay",
        format_args!("{:.2} s, {:.2} million changes/s", spent.as_secs_f64(), rate(changes, spent)),
    );

    let mut snapshot = Vec::new();
    let begun = Instant::now();
    replay.write_snapshot(&mut snapshot)?;
    report(
        "snapshot",
        format_args!("{:.2} s, {:.1} MB", begun.elapsed().as_secs_f64(), megabytes(snapshot.len())),
    );
    drop(replay);

    for (name, source) in [("recovery from the log", &log), ("recovery from the snapshot", &snapshot)] {
        let begun = Instant::now();
        let sink = Box::new(Log::default());
        let clock = Arc::new(ManualClock::new());
        let (engine, recovered) = Engine::recover(&source[..], Mode::Serial, clock, Some(sink))?;
        let spent = begun.elapsed();
        anyhow::ensure!(engine.digest() == digest && recovered.end.last == changes, "{name}: another state");
        report(name, format_args!("{:.2} s", spent.as_secs_f64()));
    }
    Ok(())
}

/// An engine with nodes and applications, and the containers that it is asked for.
struct Cluster {
    engine: Engine,
    handle: Handle,
    applications: Vec<ApplicationId>,
    ask: AskSpec,
}

impl Cluster {
    fn start(nodes: usize, clock: Arc<dyn Clock>, sink: Box<dyn LogSink>) -> anyhow::Result<Self> {
        let share = Capacity::Percent(Percent::whole(1));
        let leaves = (0..LEAVES)
            .map(|number| QueueConfig::leaf(format!("leaf{number}"), share).with_user_limit_factor(None));
        let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::root(leaves));
        config.reservations.delay_ms = None;
        let engine = Engine::start(config, Mode::Background, clock, Some(sink))?;
        let handle = engine.handle();
        for number in 0..nodes {
            let spec = NodeSpec::new(format!("node{number}"), Resources::new(&[40 * 1024, 40_000]));
            handle.add_node(spec.on_rack(format!("rack{}", number / 40)))?;
        }
        let events = handle.event_stream(1);
        let submit = |number| {
            let queue = format!("root.leaf{}", number % LEAVES);
            handle.submit_application(ApplicationSpec::new("job", &queue, "ann"), &events)
        };
        let applications = (0..APPLICATIONS).map(submit).collect::<Result<_, _>>()?;
        let ask = AskSpec::new(Resources::new(&[1024, 1_000]), 1);
        Ok(Self { engine, handle, applications, ask })
    }

    /// Asks for `count` containers; returns the rate at which they are placed.
    fn fill(&self, count: usize) -> anyhow::Result<f64> {
        let begun = Instant::now();
        let asks = (0..count).map(|number| (self.applications[number % APPLICATIONS], self.ask.clone()));
        self.handle.submit_asks(asks)?;
        self.engine.run_until_quiet();
        Ok(count as f64 / begun.elapsed().as_secs_f64())
    }

    /// Replaces every `every`-th container.
    fn replace(&self, every: usize) -> anyhow::Result<()> {
        let running: Vec<_> =
            self.engine.read(|view| view.containers().map(|(id, _)| id).step_by(every).collect());
        self.handle.complete_containers(running.iter().copied())?;
        self.fill(running.len()).map(drop)
    }

    /// Replaces all containers of an application; returns their number. It reads only these, so the engine does not
    /// wait for a long read.
    fn replace_all_of(&self, application: ApplicationId) -> anyhow::Result<usize> {
        let running: Vec<_> = self.engine.read(|view| {
            let application = view.application(application);
            application.iter().flat_map(|one| one.containers()).map(|one| one.container).collect()
        });
        self.handle.complete_containers(running.iter().copied())?;
        self.handle.submit_asks(running.iter().map(|_| (application, self.ask.clone())))?;
        self.engine.run_until_quiet();
        Ok(running.len())
    }

    /// Ends the engine. Returns the digest and the number of changes.
    fn end(self, containers: usize) -> anyhow::Result<(StateDigest, u64)> {
        let placed = self.engine.read(|view| view.container_count());
        anyhow::ensure!(placed == containers, "{placed} of {containers} containers were placed");
        let last = self.engine.read(|view| view.seq());
        let digest = self.engine.digest();
        self.engine.shutdown();
        self.engine.log_error().map_or(Ok(()), |error| Err(anyhow::anyhow!(error))).context("logging")?;
        Ok((digest, last.0))
    }
}

/// Fills the cluster, then replaces a tenth of the containers. Returns the digest and the number of changes.
fn run(
    nodes: usize,
    containers: usize,
    name: &str,
    sink: Box<dyn LogSink>,
) -> anyhow::Result<(StateDigest, u64)> {
    let cluster = Cluster::start(nodes, Arc::new(ManualClock::new()), sink)?;
    report(name, format_args!("{:.0} containers/s", cluster.fill(containers)?));
    cluster.replace(10)?;
    cluster.end(containers)
}

/// Replaces containers without a pause: first alone, then while a compactor makes a snapshot.
fn churn(nodes: usize, containers: usize) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let options = FileLogOptions { durability: Durability::None, ..FileLogOptions::default() };
    let log = FileLog::open(folder.path(), FileLogOptions { segment_bytes: 4 << 20, ..options })?;
    let compactor = Compactor::open(folder.path())?;
    let cluster = Cluster::start(nodes, Arc::new(SystemClock::new()), Box::new(log))?;
    cluster.fill(containers)?;
    cluster.churn_until("churn alone", &|spent| spent > Duration::from_secs(2))?;
    let compaction = thread::spawn(move || {
        let begun = Instant::now();
        compactor.compact().map(|compacted| (compacted, begun.elapsed()))
    });
    cluster.churn_until("churn beside a snapshot", &|_| compaction.is_finished())?;
    let (compacted, spent) = compaction.join().map_err(|_| anyhow::anyhow!("the compactor panicked"))??;
    let compacted = compacted.context("nothing was compacted")?;
    report(
        "the snapshot",
        format_args!(
            "{:.2} s, change {}, {:.1} MB of log became {:.1} MB",
            spent.as_secs_f64(),
            compacted.last.0,
            megabytes(compacted.bytes_before as usize),
            megabytes(compacted.bytes_after as usize)
        ),
    );
    cluster.end(containers).map(drop)
}

impl Cluster {
    /// Replaces containers until `is_over`. Reports the rate, and the ages of batches at their decision: a pause of
    /// the engine shows as old batches.
    fn churn_until(&self, name: &str, is_over: &dyn Fn(Duration) -> bool) -> anyhow::Result<()> {
        drop(self.engine.take_timing());
        let (begun, mut count) = (Instant::now(), 0);
        for application in self.applications.iter().cycle() {
            if is_over(begun.elapsed()) {
                break;
            }
            count += self.replace_all_of(*application)?;
        }
        let ages = self.engine.take_timing().proposal_age_ns;
        let ms = |part| ages.value_at_quantile(part) as f64 / 1e6;
        report(
            name,
            format_args!(
                "{:.0} containers/s, the oldest batch {:.2} ms, one in a thousand {:.2} ms",
                count as f64 / begun.elapsed().as_secs_f64(),
                ms(1.0),
                ms(0.999)
            ),
        );
        Ok(())
    }
}

fn report(name: &str, figures: fmt::Arguments<'_>) {
    println!("{name:26}  {figures}");
}

fn megabytes(bytes: usize) -> f64 {
    bytes as f64 / 1e6
}

fn rate(changes: u64, spent: Duration) -> f64 {
    changes as f64 / spent.as_secs_f64() / 1e6
}
