//! The steps of an engine's halves on one thread, in an order that a seed repeats.

use apportion::ProposalBatch;
use apportion::engine::{Parts, Step};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg32;

/// Steps after which an engine that still finds work will never be quiet.
const STEPS_MAX: usize = 1_000_000;

/// The order changes after this many steps on average.
const STEPS_BETWEEN_CHANGES: u32 = 2_000;

/// Drives an engine's halves on one thread. Each step performs the first action in `order` that has work. The order is
/// random and seldom changes, so one proposer may overtake another for long. Threads hardly ever do that. The idea is
/// that of PCT (Burckhardt et al., ASPLOS 2010).
#[derive(Debug)]
pub struct SeededSteps {
    parts: Parts,
    /// The batch that each proposer has made and not sent.
    unsent: Vec<Option<Box<ProposalBatch>>>,
    order: Vec<Action>,
    random: Pcg32,
}

#[derive(Clone, Copy, Debug)]
enum Action {
    Commit,
    /// By the proposer with this number.
    Propose(usize),
    Send(usize),
}

impl SeededSteps {
    /// The order depends on the seed alone.
    #[must_use]
    pub fn new(parts: Parts, seed: u64) -> Self {
        let unsent: Vec<_> = parts.proposers.iter().map(|_| None).collect();
        let of_proposers =
            (0..unsent.len()).flat_map(|proposer| [Action::Propose(proposer), Action::Send(proposer)]);
        let mut order: Vec<Action> = of_proposers.chain([Action::Commit]).collect();
        let mut random = Pcg32::seed_from_u64(seed);
        order.shuffle(&mut random);
        Self { parts, unsent, order, random }
    }

    /// The number of proposing halves.
    #[must_use]
    pub fn proposers(&self) -> usize {
        self.unsent.len()
    }

    /// A seed for the engine that goes on after this one.
    pub fn next_seed(&mut self) -> u64 {
        self.random.random()
    }

    /// Takes up to five steps.
    pub fn work_a_little(&mut self) {
        for _ in 0..self.random.random_range(0..6) {
            self.step();
        }
    }

    /// Takes steps until no half has work.
    ///
    /// # Panics
    /// If the work has no end.
    pub fn run_until_quiet(&mut self) {
        let is_quiet = (0..STEPS_MAX).any(|_| !self.step());
        assert!(is_quiet, "the engine works without an end");
    }

    /// Performs the first action in the order that has work. Returns whether there was one.
    fn step(&mut self) -> bool {
        if self.random.random_ratio(1, STEPS_BETWEEN_CHANGES) {
            self.order.shuffle(&mut self.random);
        }
        (0..self.order.len()).any(|place| self.try_perform(self.order[place]))
    }

    /// Returns whether the action had work.
    fn try_perform(&mut self, action: Action) -> bool {
        match action {
            Action::Commit => self.parts.committer.step() == Step::Worked,
            Action::Propose(proposer) if self.unsent[proposer].is_none() => {
                self.unsent[proposer] = self.parts.proposers[proposer].propose();
                self.unsent[proposer].is_some()
            }
            Action::Propose(_) => false,
            Action::Send(proposer) => {
                let Some(batch) = self.unsent[proposer].take() else { return false };
                self.parts.proposers[proposer].send(batch).unwrap();
                true
            }
        }
    }
}
