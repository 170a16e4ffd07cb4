//! The caller's own part: which containers run, which end next, and what to ask for again.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::committer::{Allocated, Committer};
use super::ids::Id;
use super::proposer::Feed;

/// A recurring ask: its application and its kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    pub(super) application: u32,
    pub(super) kind: u32,
}

/// The same tables as the caller of `throughput` holds.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    /// Tasks by the slot of their ask.
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
    pub(super) fn ask(&mut self, committer: &mut Committer, feed: &mut impl Feed, task: Task) {
        let slot = committer.ask(task.application, task.kind, feed).slot as usize;
        if slot >= self.asked.len() {
            self.asked.resize(slot + 1, task);
        }
        self.asked[slot] = task;
        self.unanswered += 1;
    }

    /// Ends this many containers at random, and asks for each of them again.
    pub(super) fn replace(&mut self, committer: &mut Committer, feed: &mut impl Feed, count: usize) {
        for _ in 0..count.min(self.running.len()) {
            let place = self.random.random_range(0..self.running.len());
            let (container, task) = self.running.swap_remove(place);
            self.ended.push(container);
            self.tasks.push(task);
        }
        committer.complete(&self.ended, feed);
        self.ended.clear();
        let mut tasks = std::mem::take(&mut self.tasks);
        tasks.drain(..).for_each(|task| self.ask(committer, feed, task));
        self.tasks = tasks;
    }

    /// Takes all events.
    pub(super) fn take_events(&mut self, committer: &mut Committer) {
        std::mem::swap(&mut self.events, &mut committer.events);
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
