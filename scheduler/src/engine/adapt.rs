//! How many sets may be out at a time: fewer when proposers are in each other's way, more when they are not.
//!
//! With one set out there is one batch on its way, and nothing that another proposer could have taken. Two things
//! tell that it is too many: proposals that are rejected, and passes that came second, which found everything they
//! could have used in flight already. So the number follows them as a sender's window follows lost packets: down by
//! half, up by one. A pass that finds a full cluster tells nothing.

use crate::ids::SETS_MAX;

/// So many batches are looked at together.
const WINDOW: u64 = 32;
/// Above this part of the requests of a window rejected, or of its passes second, fewer sets may be out.
const REJECTED_PERCENT_HIGH: u64 = 10;
const SECOND_PERCENT_HIGH: u64 = 40;
/// Below both of these, more.
const REJECTED_PERCENT_LOW: u64 = 2;
const SECOND_PERCENT_LOW: u64 = 20;

/// What became of one batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decided {
    pub(super) requests: usize,
    pub(super) rejected: usize,
    /// The pass found everything it could have used in flight.
    pub(super) came_second: bool,
}

/// What a window has seen.
#[derive(Debug, Default)]
struct Seen {
    batches: u64,
    second: u64,
    requests: u64,
    rejected: u64,
}

#[derive(Debug)]
pub(super) struct Adaption {
    sets_out_max: u64,
    seen: Seen,
}

impl Adaption {
    /// Begins with as many as there can be.
    pub(super) fn new(partitions: usize) -> Self {
        Self { sets_out_max: (partitions * SETS_MAX) as u64, seen: Seen::default() }
    }

    /// Counts a batch; at the end of a window returns how many sets may be out from now on, of `sets` there are.
    pub(super) fn note(&mut self, decided: Decided, sets: usize) -> Option<u64> {
        self.seen.batches += 1;
        self.seen.second += u64::from(decided.came_second);
        self.seen.requests += decided.requests as u64;
        self.seen.rejected += decided.rejected as u64;
        if self.seen.batches < WINDOW {
            return None;
        }
        let Seen { batches, second, requests, rejected } = std::mem::take(&mut self.seen);
        let second = 100 * second / batches;
        let rejected = 100 * rejected / requests.max(1);
        let sets = (sets as u64).max(1);
        if rejected > REJECTED_PERCENT_HIGH || second > SECOND_PERCENT_HIGH {
            self.sets_out_max = (self.sets_out_max.min(sets) / 2).max(1);
        } else if rejected < REJECTED_PERCENT_LOW && second < SECOND_PERCENT_LOW {
            self.sets_out_max = (self.sets_out_max + 1).min(sets);
        }
        Some(self.sets_out_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETS: usize = 16;

    /// A window of batches of 100 requests, after `second` passes that came second.
    fn window(adaption: &mut Adaption, second: u64, rejected: usize) -> u64 {
        let mut last = None;
        for number in 0..WINDOW {
            assert_eq!(last, None, "nothing is said within a window");
            let decided = Decided { requests: 100, rejected, came_second: false };
            let nothing = Decided { requests: 0, rejected: 0, came_second: true };
            last = adaption.note(if number < second { nothing } else { decided }, SETS);
        }
        last.expect("a window's end")
    }

    #[test]
    fn collisions_halve_the_number_and_peace_raises_it_again() {
        let mut adaption = Adaption::new(1);
        assert_eq!(window(&mut adaption, 0, 20), 8);
        assert_eq!(window(&mut adaption, 20, 0), 4, "passes that came second count as well");
        assert_eq!(window(&mut adaption, 8, 5), 4, "neither much nor little");
        assert_eq!(window(&mut adaption, 0, 0), 5);
        for _ in 0..5 {
            window(&mut adaption, 0, 100);
        }
        assert_eq!(window(&mut adaption, 32, 0), 1, "never none");
        for _ in 0..20 {
            window(&mut adaption, 0, 0);
        }
        assert_eq!(window(&mut adaption, 0, 0), SETS as u64, "never more than there are");
    }
}
