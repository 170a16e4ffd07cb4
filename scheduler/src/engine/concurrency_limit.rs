//! The limit on sets checked out at a time: lower while proposers collide, higher while they do not.
//!
//! With one set out there is one batch on its way, so no proposals collide. Two signals show that too many sets are
//! out. One is rejected proposals. The other is the work of passes that lost a race: they proposed nothing because
//! amounts they could have used were in flight. The limit follows both as a sender's window follows lost packets:
//! it halves at once, and grows by a quarter after some windows without collisions. A pass over a full cluster with
//! nothing in flight is not a signal.

use super::group::GroupCommitter;
use crate::ids::SETS_MAX;
use crate::propose::{ProposalBatch, Work};
use crate::state::State;

/// The number of batches after which the limit may change.
const WINDOW: u64 = 32;
/// The limit falls above this percentage of rejected requests in a window, or of work done by passes that lost a
/// race.
const REJECTED_PERCENT_HIGH: u64 = 10;
const LOST_RACE_PERCENT_HIGH: u64 = 40;
/// The limit rises after `PEACEFUL_WINDOWS` windows in a row below both of these percentages.
const REJECTED_PERCENT_LOW: u64 = 2;
const LOST_RACE_PERCENT_LOW: u64 = 20;
const PEACEFUL_WINDOWS: u64 = 4;

/// The outcome of one batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decided {
    pub(super) requests: usize,
    pub(super) rejected: usize,
    /// The number of nodes that the pass looked at.
    pub(super) visits: usize,
    /// The pass proposed nothing because amounts it could have used were in flight.
    pub(super) lost_race: bool,
}

/// Sums over the batches of one window.
#[derive(Debug, Default)]
struct Seen {
    batches: u64,
    visits: u64,
    visits_lost: u64,
    requests: u64,
    rejected: u64,
}

#[derive(Debug)]
pub(super) struct ConcurrencyLimit {
    sets_checked_out_max: u64,
    /// The largest possible number of sets.
    sets_max: u64,
    /// Windows in a row without collisions.
    peaceful: u64,
    seen: Seen,
}

impl ConcurrencyLimit {
    /// Begins at the largest possible number of sets.
    pub(super) fn new(partitions: usize) -> Self {
        let sets_max = (partitions * SETS_MAX) as u64;
        Self { sets_checked_out_max: sets_max, sets_max, peaceful: 0, seen: Seen::default() }
    }

    /// The most sets checked out at a time at present.
    pub(super) fn sets_checked_out_max(&self) -> u64 {
        self.sets_checked_out_max
    }

    /// Counts a batch. At the end of a window, returns the new limit; `sets()` is the present number of sets.
    pub(super) fn record(&mut self, decided: Decided, sets: impl FnOnce() -> u64) -> Option<u64> {
        self.seen.add(&decided);
        if self.seen.batches < WINDOW {
            return None;
        }
        let Seen { visits, visits_lost, requests, rejected, .. } = std::mem::take(&mut self.seen);
        let lost = 100 * visits_lost / visits;
        let rejected = 100 * rejected / requests.max(1);
        if rejected > REJECTED_PERCENT_HIGH || lost > LOST_RACE_PERCENT_HIGH {
            self.peaceful = 0;
            self.sets_checked_out_max = (self.sets_checked_out_max.min(sets()) / 2).max(1);
        } else if rejected < REJECTED_PERCENT_LOW && lost < LOST_RACE_PERCENT_LOW {
            self.peaceful += 1;
            if self.peaceful.is_multiple_of(PEACEFUL_WINDOWS) {
                self.sets_checked_out_max =
                    (self.sets_checked_out_max + self.sets_checked_out_max.div_ceil(4)).min(self.sets_max);
            }
        }
        Some(self.sets_checked_out_max)
    }
}

impl Decided {
    /// A batch before its decision; `None` for a search for gangs, which collides with no pass.
    pub(super) fn of_pass(batch: &ProposalBatch) -> Option<Self> {
        let (proposals, requests) = (&batch.proposals, batch.proposals.requests.len());
        let Work::GangSearch(_) = batch.work else {
            let (visits, lost_race) = (proposals.visits, proposals.lost_race);
            return Some(Self { requests, rejected: 0, visits, lost_race });
        };
        None
    }
}

impl GroupCommitter {
    /// Adapts the number of sets checked out to the rate of collisions between proposers.
    pub(super) fn adapt_concurrency(&mut self, state: &State, decided: Decided) {
        let sets = || state.partitions().map(|partition| u64::from(state.node_shards.sets(partition))).sum();
        if let Some(sets_checked_out_max) = self.concurrency_limit.record(decided, sets) {
            self.stats.sets_checked_out_max = sets_checked_out_max;
            self.shared.leases.set_checked_out_max(sets_checked_out_max);
        }
    }
}

impl Seen {
    fn add(&mut self, decided: &Decided) {
        // A pass that looked at no node still was some work.
        let visits = decided.visits as u64 + 1;
        self.batches += 1;
        self.visits += visits;
        self.visits_lost += if decided.lost_race { visits } else { 0 };
        self.requests += decided.requests as u64;
        self.rejected += decided.rejected as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETS: u64 = 16;

    /// A window of batches of 100 requests; the first `lost` passes lost a race and looked at as many nodes.
    fn window(concurrency_limit: &mut ConcurrencyLimit, lost: u64, rejected: usize) -> u64 {
        let mut last = None;
        for number in 0..WINDOW {
            assert_eq!(last, None, "nothing is said within a window");
            let decided = Decided { requests: 100, rejected, visits: 99, lost_race: false };
            let nothing = Decided { requests: 0, rejected: 0, visits: 99, lost_race: true };
            last = concurrency_limit.record(if number < lost { nothing } else { decided }, || SETS);
        }
        last.expect("a window's end")
    }

    /// Enough windows without collisions for one step up.
    fn peace(concurrency_limit: &mut ConcurrencyLimit) -> u64 {
        (0..PEACEFUL_WINDOWS).map(|_| window(concurrency_limit, 0, 0)).last().expect("some windows")
    }

    #[test]
    fn collisions_halve_the_number_and_peace_raises_it_again() {
        let mut concurrency_limit = ConcurrencyLimit::new(1);
        assert_eq!(window(&mut concurrency_limit, 0, 20), 8);
        assert_eq!(window(&mut concurrency_limit, 20, 0), 4, "passes that lost a race count as well");
        assert_eq!(window(&mut concurrency_limit, 8, 5), 4, "neither much nor little");
        assert_eq!(window(&mut concurrency_limit, 0, 0), 4, "not yet");
        window(&mut concurrency_limit, 0, 20);
        assert_eq!((peace(&mut concurrency_limit), peace(&mut concurrency_limit)), (3, 4));
        assert_eq!((peace(&mut concurrency_limit), peace(&mut concurrency_limit)), (5, 7));
        for _ in 0..5 {
            window(&mut concurrency_limit, 0, 100);
        }
        assert_eq!(window(&mut concurrency_limit, 32, 0), 1, "never none");
        for _ in 0..30 {
            peace(&mut concurrency_limit);
        }
        assert_eq!(peace(&mut concurrency_limit), SETS_MAX as u64, "never more than there can be");
    }

    /// The number of sets does not show how much proposers collide.
    #[test]
    fn a_cluster_that_was_small_and_peaceful_is_not_held_back_when_it_grows() {
        let mut concurrency_limit = ConcurrencyLimit::new(1);
        for _ in 0..4 * WINDOW {
            concurrency_limit
                .record(Decided { requests: 100, rejected: 0, visits: 99, lost_race: false }, || 1);
        }
        assert!(peace(&mut concurrency_limit) >= SETS);
    }

    #[test]
    fn peace_is_counted_from_the_last_collision_on() {
        let mut concurrency_limit = ConcurrencyLimit::new(1);
        window(&mut concurrency_limit, 0, 20);
        for _ in 1..PEACEFUL_WINDOWS {
            assert_eq!(window(&mut concurrency_limit, 0, 0), 8);
        }
        assert_eq!(window(&mut concurrency_limit, 0, 20), 4);
        for _ in 1..PEACEFUL_WINDOWS {
            assert_eq!(window(&mut concurrency_limit, 0, 0), 4);
        }
        assert_eq!(window(&mut concurrency_limit, 0, 0), 5);
    }

    #[test]
    fn a_window_in_which_no_pass_looked_at_a_node_tells_nothing() {
        let mut concurrency_limit = ConcurrencyLimit::new(1);
        let before = concurrency_limit.sets_checked_out_max();
        for _ in 0..WINDOW {
            concurrency_limit
                .record(Decided { requests: 0, rejected: 0, visits: 0, lost_race: false }, || SETS);
        }
        assert_eq!(concurrency_limit.sets_checked_out_max(), before);
    }

    /// At the end of a backlog there are more sets than asks; looking at those sets for nothing costs next to nothing.
    #[test]
    fn passes_that_lost_a_race_count_by_their_work() {
        let mut concurrency_limit = ConcurrencyLimit::new(1);
        for _ in 0..4 * WINDOW {
            for (requests, visits, lost_race) in [(1, 100, false), (0, 0, true), (0, 0, true)] {
                let said =
                    concurrency_limit.record(Decided { requests, rejected: 0, visits, lost_race }, || SETS);
                assert!(said.is_none_or(|sets_checked_out_max| sets_checked_out_max >= SETS), "{said:?}");
            }
        }
    }
}
