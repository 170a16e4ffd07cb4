//! The caller's own part: which containers run, which end next, and what to ask for again.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::engine::{Allocated, Engine};
use super::ids::Id;

/// A recurring ask: its application and its kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    pub(super) application: u32,
    pub(super) kind: u32,
}

/// The same tables as the caller of `throughput` holds.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    /// Tasks by the slot of their ask, which has no container yet.
    asked: Vec<Task>,
    running: Vec<(Id, Task)>,
    pub(super) unanswered: usize,
    pub(super) random: Pcg64Mcg,
    events: Vec<Allocated>,
    ended: Vec<Id>,
    tasks: Vec<Task>,
    /// Digest of all placements so far, in order.
    pub(super) digest: u64,
    pub(super) placed: u64,
}

impl Caller {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            asked: Vec::new(),
            running: Vec::new(),
            unanswered: 0,
            random: Pcg64Mcg::seed_from_u64(seed),
            events: Vec::new(),
            ended: Vec::new(),
            tasks: Vec::new(),
            digest: 0,
            placed: 0,
        }
    }

    pub(super) fn running(&self) -> usize {
        self.running.len()
    }

    /// Forgets all containers: the cluster is empty again.
    pub(super) fn forget(&mut self) {
        (self.digest, self.unanswered) = (0, 0);
        self.running.clear();
    }

    /// Asks for a container.
    pub(super) fn ask(&mut self, engine: &mut Engine, task: Task) {
        let slot = engine.ask(task.application, task.kind).slot as usize;
        if slot >= self.asked.len() {
            self.asked.resize(slot + 1, task);
        }
        self.asked[slot] = task;
        self.unanswered += 1;
    }

    /// Ends this many containers at random, and asks for each of them again.
    pub(super) fn replace(&mut self, engine: &mut Engine, count: usize) {
        for _ in 0..count.min(self.running.len()) {
            let place = self.random.random_range(0..self.running.len());
            let (container, task) = self.running.swap_remove(place);
            self.ended.push(container);
            self.tasks.push(task);
        }
        engine.complete(&self.ended);
        self.ended.clear();
        let mut tasks = std::mem::take(&mut self.tasks);
        tasks.drain(..).for_each(|task| self.ask(engine, task));
        self.tasks = tasks;
    }

    /// Takes all events.
    pub(super) fn take_events(&mut self, engine: &mut Engine) {
        std::mem::swap(&mut self.events, &mut engine.events);
        for event in self.events.drain(..) {
            let task = self.asked[event.ask.slot as usize];
            self.running.push((event.container, task));
            // One step of FxHash for each placement.
            let placement = event.number << 24 ^ u64::from(event.node);
            self.digest = (self.digest.rotate_left(5) ^ placement).wrapping_mul(0x517c_c1b7_2722_0a95);
            self.placed += 1;
            self.unanswered -= 1;
        }
    }
}
