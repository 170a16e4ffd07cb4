//! The other jobs: they keep a part of the cluster busy, and replace each container that ends by one elsewhere.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use anyhow::{Context, bail};
use apportion::event::{Event, EventKind};
use apportion::{ApplicationId, ApplicationSpec, AskSpec, ContainerId, EventStream, Handle, Resources};
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, LogNormal};
use rand_pcg::Pcg64Mcg;

use super::plan::{HOUR_MS, MINUTE_MS};
use crate::synthetic::log_normal;

/// Containers that end within this time end together.
const TICK_MS: u64 = 5 * MINUTE_MS;
/// Number of applications that share the containers.
const APPLICATIONS: usize = 20;
/// Containers are of 1 to this many slots.
const SLOTS_MAX: i64 = 4;
/// Mean life of containers; below it their spread and bounds.
const LIFE_MEAN_MS: u64 = 12 * HOUR_MS;
const LIFE_SIGMA: f64 = 1.0;
const LIFE_MIN_MS: f64 = 60_000.0;
const LIFE_MAX_MEANS: f64 = 10.0;

/// Jobs that keep a number of slots busy.
pub(crate) struct Jobs {
    handle: Handle,
    events: EventStream,
    applications: Vec<ApplicationId>,
    ends: BinaryHeap<Reverse<(u64, ContainerId)>>,
    lives: LogNormal<f64>,
    random: Pcg64Mcg,
    received: Vec<Event>,
    /// Number of containers that ended on their own so far.
    pub(crate) ended: u64,
}

impl Jobs {
    /// Asks for about as many slots as the jobs keep busy.
    pub(crate) fn start(handle: &Handle, queue: &str, slots: i64, seed: u64) -> anyhow::Result<Self> {
        let events = handle.event_stream(usize::MAX);
        let submit = |number| {
            let spec = ApplicationSpec::new(format!("job-{number}"), queue, format!("user-{number}"));
            handle.submit_application(spec, &events)
        };
        let applications = (0..APPLICATIONS).map(submit).collect::<Result<_, _>>()?;
        let mut jobs = Self {
            handle: handle.clone(),
            events,
            applications,
            ends: BinaryHeap::new(),
            lives: log_normal(LIFE_MEAN_MS as f64, LIFE_SIGMA),
            random: Pcg64Mcg::seed_from_u64(seed),
            received: Vec::new(),
            ended: 0,
        };
        let mut asked = 0;
        while asked < slots {
            asked += jobs.ask()?;
        }
        Ok(jobs)
    }

    fn ask(&mut self) -> anyhow::Result<i64> {
        let slots = self.random.random_range(1..=SLOTS_MAX);
        let application = self.applications[self.random.random_range(0..APPLICATIONS)];
        self.handle.submit_ask(application, AskSpec::new(slots_of(slots), 1))?;
        Ok(slots)
    }

    /// The time at which the next container ends.
    pub(crate) fn next_ms(&self) -> Option<u64> {
        self.ends.peek().map(|Reverse((at_ms, _))| *at_ms)
    }

    /// Ends the containers whose time has come.
    pub(crate) fn end_until(&mut self, now_ms: u64) -> anyhow::Result<()> {
        let mut ended = Vec::new();
        while let Some(Reverse((at_ms, container))) = self.ends.peek().copied()
            && at_ms <= now_ms
        {
            self.ends.pop();
            ended.push(container);
        }
        if !ended.is_empty() {
            self.ended += ended.len() as u64;
            self.handle.complete_containers(ended)?;
        }
        Ok(())
    }

    /// Handles events of the containers. Returns whether it made a new ask.
    pub(crate) fn poll(&mut self, now_ms: u64) -> anyhow::Result<bool> {
        self.events.drain_into(&mut self.received).context("an event was lost")?;
        let mut asks = 0;
        for event in std::mem::take(&mut self.received) {
            match event.kind {
                EventKind::Allocated { container, .. } => {
                    let life_ms = self.lives.sample(&mut self.random);
                    let life_ms = life_ms.clamp(LIFE_MIN_MS, LIFE_MAX_MEANS * LIFE_MEAN_MS as f64) as u64;
                    let ends_ms = (now_ms + life_ms).next_multiple_of(TICK_MS);
                    self.ends.push(Reverse((ends_ms, container)));
                }
                EventKind::ContainerEnded { .. } => {
                    self.ask()?;
                    asks += 1;
                }
                EventKind::AskRefused { refusal, .. } => bail!("a job's ask was refused: {refusal}"),
                _ => {}
            }
        }
        Ok(asks > 0)
    }
}

/// The amount of this many slots: each has 4 GiB of memory and a core.
pub(crate) fn slots_of(slots: i64) -> Resources {
    Resources::new(&[4_096 * slots, 1_000 * slots])
}
