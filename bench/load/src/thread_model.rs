//! A discrete model of the engine's threads on a machine with any number of cores.
//!
//! It knows the guard, the sets, the batches and the times of each step, and nothing else. It has no cache lines that
//! travel, no wake-ups, no limits. So it says which step bounds the rate, and flatters machines on which threads
//! share much. `examples/cores.rs` prints it.

use std::collections::VecDeque;

/// Times for one container, in nanoseconds of one core.
#[derive(Clone, Copy, Debug)]
pub struct StepTimes {
    /// A proposal, under the read guard.
    pub propose_ns: f64,
    /// The part of a proposal that needs no guard.
    pub search_ns: f64,
    /// The commit of a placement, under the write guard.
    pub commit_ns: f64,
    /// Taking an ask and a completion in, under the write guard.
    pub intake_ns: f64,
    /// Publishing all of these, without a guard.
    pub publish_ns: f64,
    /// The caller's own work.
    pub caller_ns: f64,
}

/// The machine and the engine on it.
#[derive(Clone, Copy, Debug)]
pub struct ModelMachine {
    /// Processors. Threads beyond that number share them equally.
    pub cores: usize,
    /// Proposer threads.
    pub proposers: usize,
    /// The most requests in a batch.
    pub batch: usize,
    /// The most sets that are leased at a time.
    pub sets: usize,
    /// Asks that are pending, in flight or on their way back to the caller.
    pub asks: usize,
}

/// The outcome of a run of the model.
#[derive(Clone, Copy, Debug)]
pub struct ModelOutcome {
    /// Containers placed per second.
    pub per_second: f64,
    /// The fraction of the time in which the committer holds the guard.
    pub written: f64,
    /// The fraction of the time in which proposers hold the guard and the committer waits for them.
    pub excluded: f64,
    /// Cores that work, on average.
    pub busy_cores: f64,
    /// Requests in a batch, on average.
    pub batch: f64,
}

/// The activity of a thread. The number is the rest of its work.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Work {
    Idle,
    WaitsForGuard,
    Guarded(f64),
    Unguarded(f64),
}

impl Work {
    fn rest(self) -> Option<f64> {
        match self {
            Self::Guarded(rest) | Self::Unguarded(rest) => Some(rest),
            Self::Idle | Self::WaitsForGuard => None,
        }
    }

    fn advance(&mut self, by: f64) {
        if let Self::Guarded(rest) | Self::Unguarded(rest) = self {
            *rest = (*rest - by).max(0.0);
        }
    }
}

struct Model {
    times: StepTimes,
    machine: ModelMachine,
    committer: Work,
    /// The batches and changes of the present group.
    group: Group,
    /// Each with the size of its batch.
    proposers: Vec<(Work, usize)>,
    caller: Work,
    inbox: VecDeque<Message>,
    /// Placed containers that the caller does not know of.
    events: usize,
    /// Asks that no proposer has taken.
    pending: usize,
    leased: usize,
    placed: usize,
    batches: usize,
}

#[derive(Default)]
struct Group {
    batches: usize,
    placements: usize,
    changes: usize,
}

enum Message {
    /// A batch of this size.
    Batch(usize),
    /// Asks, each with a completion.
    Changes(usize),
}

/// Containers in a message: the engine sends 32 changes at a time, and each container is an ask and an end.
const CHUNK: usize = 16;
/// Requests and changes in a group, as in the engine.
const GROUP: usize = 1024;

/// Runs the model for `placements` containers.
///
/// # Panics
/// If a number of the machine is 0.
#[must_use]
pub fn simulate(times: StepTimes, machine: ModelMachine, placements: usize) -> ModelOutcome {
    let ModelMachine { cores, proposers, batch, sets, asks } = machine;
    assert!(
        [cores, proposers, batch, sets, asks].iter().all(|number| *number > 0),
        "{machine:?} has nothing to run"
    );
    let mut model = Model {
        times,
        machine,
        committer: Work::Idle,
        group: Group::default(),
        proposers: vec![(Work::Idle, 0); machine.proposers],
        caller: Work::Idle,
        inbox: VecDeque::new(),
        events: 0,
        pending: machine.asks,
        leased: 0,
        placed: 0,
        batches: 0,
    };
    let (mut now, mut written, mut excluded, mut busy) = (0.0, 0.0, 0.0, 0.0);
    while model.placed < placements {
        model.begin();
        let running = model.works().filter_map(Work::rest).count() as f64;
        let speed = (model.machine.cores as f64 / running).min(1.0);
        let Some(shortest) = model.works().filter_map(Work::rest).reduce(f64::min) else { break };
        let elapsed = shortest / speed;
        now += elapsed;
        busy += elapsed * running * speed;
        match model.committer {
            Work::Guarded(_) => written += elapsed,
            Work::WaitsForGuard => excluded += elapsed,
            Work::Idle | Work::Unguarded(_) => {}
        }
        model.advance(shortest);
        model.finish();
    }
    ModelOutcome {
        per_second: model.placed as f64 / now * 1e9,
        written: written / now,
        excluded: excluded / now,
        busy_cores: busy / now,
        batch: model.placed as f64 / model.batches as f64,
    }
}

impl Model {
    fn works(&self) -> impl Iterator<Item = Work> {
        [self.committer, self.caller].into_iter().chain(self.proposers.iter().map(|(work, _)| *work))
    }

    /// Lets every thread begin what it can begin now. The committer comes before new readers.
    fn begin(&mut self) {
        if self.committer == Work::Idle && !self.inbox.is_empty() {
            self.committer = Work::WaitsForGuard;
        }
        let is_read = self.proposers.iter().any(|(work, _)| matches!(work, Work::Guarded(_)));
        if self.committer == Work::WaitsForGuard && !is_read {
            self.committer = Work::Guarded(self.gather());
        }
        for proposer in 0..self.proposers.len() {
            self.begin_pass(proposer);
        }
        if self.caller == Work::Idle && self.events > 0 {
            self.caller = Work::Unguarded(self.times.caller_ns * self.events.min(CHUNK) as f64);
        }
    }

    /// Fills a group from the inbox. Returns the time that it takes under the guard.
    fn gather(&mut self) -> f64 {
        let mut group = Group::default();
        while group.placements + 2 * group.changes < GROUP {
            match self.inbox.pop_front() {
                None => break,
                Some(Message::Changes(count)) => group.changes += count,
                Some(Message::Batch(size)) => {
                    group.placements += size;
                    group.batches += 1;
                }
            }
        }
        self.group = group;
        let Group { placements, changes, .. } = self.group;
        placements as f64 * self.times.commit_ns + changes as f64 * self.times.intake_ns
    }

    fn begin_pass(&mut self, proposer: usize) {
        let is_taken = matches!(self.committer, Work::Guarded(_) | Work::WaitsForGuard);
        let (work, size) = &mut self.proposers[proposer];
        if *work == Work::Idle && self.leased < self.machine.sets && self.pending > 0 {
            self.leased += 1;
            *work = Work::WaitsForGuard;
        }
        if *work == Work::WaitsForGuard && !is_taken {
            *size = self.pending.min(self.machine.batch);
            self.pending -= *size;
            *work = Work::Guarded(*size as f64 * self.times.propose_ns);
        }
    }

    fn advance(&mut self, by: f64) {
        self.committer.advance(by);
        self.caller.advance(by);
        self.proposers.iter_mut().for_each(|(work, _)| work.advance(by));
    }

    /// Ends what has no work left.
    fn finish(&mut self) {
        for proposer in 0..self.proposers.len() {
            let (work, size) = self.proposers[proposer];
            let search_ns = size as f64 * self.times.search_ns;
            self.proposers[proposer].0 = match work {
                Work::Guarded(0.0) if search_ns > 0.0 => Work::Unguarded(search_ns),
                Work::Guarded(0.0) | Work::Unguarded(0.0) => {
                    self.inbox.push_back(Message::Batch(size));
                    Work::Idle
                }
                other => other,
            };
        }
        if self.committer == Work::Guarded(0.0) {
            self.end_group();
        } else if self.committer == Work::Unguarded(0.0) {
            self.committer = Work::Idle;
        }
        if self.caller == Work::Unguarded(0.0) {
            let replaced = self.events.min(CHUNK);
            self.events -= replaced;
            self.inbox.push_back(Message::Changes(replaced));
            self.caller = Work::Idle;
        }
    }

    fn end_group(&mut self) {
        let Group { batches, placements, changes } = std::mem::take(&mut self.group);
        self.leased -= batches;
        self.batches += batches;
        self.events += placements;
        self.placed += placements;
        self.pending += changes;
        self.committer = Work::Unguarded((placements + changes) as f64 / 2.0 * self.times.publish_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: StepTimes = StepTimes {
        propose_ns: 800.0,
        search_ns: 0.0,
        commit_ns: 500.0,
        intake_ns: 700.0,
        publish_ns: 100.0,
        caller_ns: 400.0,
    };

    fn outcome(times: StepTimes, cores: usize, proposers: usize) -> ModelOutcome {
        let machine = ModelMachine { cores, proposers, batch: 256, sets: 16, asks: 2048 };
        simulate(times, machine, 200_000)
    }

    #[test]
    fn one_core_does_one_thing_after_another() {
        let one = outcome(TIMES, 1, 1);
        assert!((one.per_second - 1e9 / 2_500.0).abs() < 4_000.0, "{one:?}");
        assert!((one.busy_cores - 1.0).abs() < 1e-6, "{one:?}");
    }

    /// However many cores there are, the committer holds the guard for 1,200 ns a container.
    #[test]
    fn the_write_guard_bounds_the_rate() {
        for cores in [2, 4, 16, 64] {
            let many = outcome(TIMES, cores, cores);
            assert!(many.per_second < 1e9 / 1_200.0, "{cores} cores: {many:?}");
            assert!(many.written <= 1.0 && many.written + many.excluded <= 1.0 + 1e-9, "{many:?}");
        }
        assert!(outcome(TIMES, 64, 64).per_second > outcome(TIMES, 2, 1).per_second * 1.15);
    }

    #[test]
    fn work_without_the_guard_excludes_no_thread() {
        let split = StepTimes { propose_ns: 400.0, search_ns: 400.0, ..TIMES };
        let (whole, split) = (outcome(TIMES, 4, 2), outcome(split, 4, 2));
        assert!(split.per_second > whole.per_second * 1.1, "{whole:?} {split:?}");
        assert!(split.excluded < whole.excluded, "{whole:?} {split:?}");
    }
}
