//! Measures the time from an ask to the event of its container, at a steady rate, with each durability of the log.
//!
//! ```text
//! cargo run --release -p apportion-load --example durability
//! cargo run --release -p apportion-load --example durability -- 100000
//! ```
//!
//! The number is that of containers a second, 200,000 by default. Each millisecond a burst is asked for; containers
//! end as soon as their event is read. The log is in the folder of temporary files, as a folder and then as a store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use apportion::config::{EngineConfig, QueueConfig};
use apportion::event::EventKind;
use apportion::file_log::{FileLog, FileLogOptions};
use apportion::log::{Durability, LogSink};
use apportion::store_log::{StoreLog, StoreLogOptions};
use apportion::{
    ApplicationId, ApplicationSpec, AskOfKind, AskSpec, Engine, EventStream, Handle, Mode, NodeSpec,
    ResourceTypes, Resources, SystemClock,
};
use hdrhistogram::Histogram;

const SECONDS: u64 = 10;
const BURST_EVERY: Duration = Duration::from_millis(1);

fn main() -> anyhow::Result<()> {
    let rate = match std::env::args().nth(1) {
        None => 200_000,
        Some(text) => text.parse().context("give the containers a second")?,
    };
    let durabilities = [
        ("none", Durability::None),
        ("grouped", Durability::Grouped { bytes: 1 << 20 }),
        ("before events", Durability::BeforeEvents),
    ];
    for (name, durability) in durabilities {
        let folder = tempfile::tempdir()?;
        let options = FileLogOptions { durability, ..FileLogOptions::default() };
        print(&format!("folder, {name}"), measure(FileLog::open(folder.path(), options)?, rate)?);
    }
    for (name, durability) in durabilities {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("log.redb");
        let log = StoreLog::open(path, StoreLogOptions { durability })?;
        print(&format!("store, {name}"), measure(log, rate)?);
    }
    Ok(())
}

fn print(name: &str, measured: (f64, Histogram<u64>)) {
    let (placed, latency_us) = measured;
    println!(
        "{name:>21}: {placed:.0} containers/s, ask to event p50 {:.2} ms, p99 {:.2} ms, p99.9 {:.2} ms, most {:.2} ms",
        ms(latency_us.value_at_quantile(0.5)),
        ms(latency_us.value_at_quantile(0.99)),
        ms(latency_us.value_at_quantile(0.999)),
        ms(latency_us.max()),
    );
}

fn ms(us: u64) -> f64 {
    us as f64 / 1_000.0
}

fn measure(log: impl LogSink + 'static, rate: u64) -> anyhow::Result<(f64, Histogram<u64>)> {
    let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
    let engine = Engine::start(config, Mode::Background, Arc::new(SystemClock::new()), Some(Box::new(log)))?;
    let handle = engine.handle();
    for number in 0..1_000 {
        handle.add_node(NodeSpec::new(format!("n{number}"), Resources::new(&[64, 64])))?;
    }
    let events = handle.event_stream(1 << 22);
    let application = ApplicationSpec::new("load", "root.default", "ann");
    let application = handle.submit_application(application, &events)?;
    let (begun, is_over) = (Instant::now(), Arc::new(AtomicBool::new(false)));
    let reader = {
        let (handle, is_over) = (handle.clone(), Arc::clone(&is_over));
        thread::spawn(move || read(&handle, &events, begun, &is_over))
    };
    let asked = ask(&handle, application, rate, begun)?;
    let spent = begun.elapsed().as_secs_f64();
    engine.run_until_quiet();
    is_over.store(true, Ordering::Relaxed);
    let latency_us = reader.join().map_err(|_| anyhow::anyhow!("the reader panicked"))??;
    anyhow::ensure!(latency_us.len() == asked, "{} of {asked} containers came", latency_us.len());
    Ok((asked as f64 / spent, latency_us))
}

/// Asks in bursts. The number of an ask is the microsecond at which its burst was due, so a late burst counts as late.
fn ask(handle: &Handle, application: ApplicationId, rate: u64, begun: Instant) -> anyhow::Result<u64> {
    let kind = handle.register_ask_kind(AskSpec::new(Resources::new(&[1, 1]), 1))?;
    let bursts = SECONDS * 1_000;
    let count = rate / 1_000;
    for burst in 0..bursts {
        let due = BURST_EVERY * burst as u32;
        if let Some(left) = due.checked_sub(begun.elapsed()) {
            thread::sleep(left);
        }
        let ask = AskOfKind { application, kind, count: 1, allocation_request_id: due.as_micros() as u64 };
        handle.submit_asks_of_kinds((0..count).map(|_| ask))?;
    }
    Ok(bursts * count)
}

/// Ends each container, and returns the times from the asks to the events.
fn read(
    handle: &Handle,
    events: &EventStream,
    begun: Instant,
    is_over: &AtomicBool,
) -> anyhow::Result<Histogram<u64>> {
    let mut latency_us = Histogram::<u64>::new(3)?;
    let mut told = Vec::new();
    while !is_over.load(Ordering::Relaxed) || !told.is_empty() {
        told.clear();
        told.extend(events.wait_timeout(Duration::from_millis(20))?);
        events.drain_into(&mut told)?;
        let now_us = begun.elapsed().as_micros() as u64;
        let mut placed = Vec::new();
        for event in &told {
            if let EventKind::Allocated { container, allocation_request_id, .. } = event.kind {
                latency_us.record(now_us.saturating_sub(allocation_request_id).max(1))?;
                placed.push(container);
            }
        }
        handle.complete_containers(placed)?;
    }
    Ok(latency_us)
}
