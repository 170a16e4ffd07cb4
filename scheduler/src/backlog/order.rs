//! The order in which a leaf serves its applications, as frozen keys.
//!
//! Keys are computed once and compared many times; they never read live values while being sorted, which
//! is what crashed YARN's comparators three times (YARN-10178, 11684, 11745).
//!
//! Ties: applications of fair leaves that are equal otherwise take turns, and those that were never served come in
//! the order of submission. Every order ends in a number that no two applications share.

use crate::config::ApplicationOrdering;
use crate::facts::{Application, Facts};
use crate::resource::{Resources, dominant_share};

/// Resources and containers that the present pass gave to an application.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Given {
    pub(crate) resources: Resources,
    /// The number of the last, above all that were given before the pass; 0 if it was given nothing.
    pub(crate) last_served: u64,
}

/// Smaller is served first. Of equal shares that which has waited longest: those that were never served, in the order
/// of submission, then the application served longest ago. No two applications are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OrderKey([u64; 3]);

impl OrderKey {
    #[cfg(test)]
    pub(super) fn for_test(number: u64) -> Self {
        Self([number, 0, 0])
    }

    /// The key of `application` in its leaf, with `given` on top of its use.
    pub(crate) fn of(facts: &Facts, application: &Application, given: &Given) -> Self {
        let rank = u64::from(u32::MAX - application.priority);
        let submitted = application.submitted;
        match facts.queue(application.leaf).config.ordering {
            ApplicationOrdering::Fifo => Self([rank, submitted, 0]),
            ordering => {
                let root = facts.queues[0].quota.iter().map(|quota| quota.guaranteed).sum();
                let share = dominant_share(&(application.used + given.resources), &root);
                let share = match ordering {
                    ApplicationOrdering::FairBySize => {
                        by_size(share, dominant_share(&application.demand, &root))
                    }
                    _ => share,
                };
                let turn = match application.last_served.max(given.last_served) {
                    0 => submitted,
                    last_served => WAS_SERVED | last_served,
                };
                Self([share, rank, turn])
            }
        }
    }
}

/// Above every number of a submission.
const WAS_SERVED: u64 = 1 << 63;

/// The share, in steps of 2^-30 now, divided by the weight that a demand of this share gives. An application that wants
/// next to nothing has no weight, and no share either.
fn by_size(share: u64, demand: u64) -> u64 {
    let weight = binary_logarithm(u128::from(demand) + 1).max(1);
    u64::try_from((u128::from(share) << (2 * LOGARITHM_BITS)) / u128::from(weight)).unwrap_or(u64::MAX)
}

/// Binary digits behind the point.
const LOGARITHM_BITS: u32 = 10;

/// The binary logarithm of a number from 1 to 2^64, in steps of 2^-10, rounded down. In whole numbers: it has to be the
/// same on every machine.
fn binary_logarithm(number: u128) -> u64 {
    let whole = number.ilog2();
    // From 1 to 2, with 63 digits behind the point. With each square the next digit comes to stand before it.
    let mut rest = if whole > 63 { number >> (whole - 63) } else { number << (63 - whole) };
    let mut logarithm = u64::from(whole);
    for _ in 0..LOGARITHM_BITS {
        rest = (rest * rest) >> 63;
        let digit = rest >> 64;
        rest >>= digit;
        logarithm = logarithm << 1 | digit as u64;
    }
    logarithm
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_rounded_down() {
        let exact = [(1, 0), (2, 1024), (8, 3 * 1024), (1 << 64, 64 * 1024), (3, 1623), (1000, 10204)];
        exact
            .into_iter()
            .for_each(|(number, expected)| assert_eq!(binary_logarithm(number), expected, "{number}"));
        assert_eq!(binary_logarithm((1 << 64) - 1), 64 * 1024 - 1);
    }

    #[test]
    fn larger_demands_count_for_more() {
        assert_eq!(by_size(100, 3), 51_200, "two binary digits");
        assert_eq!(by_size(100, 15), 25_600);
        assert_eq!((by_size(0, 0), by_size(u64::MAX, 1)), (0, u64::MAX));
    }
}
