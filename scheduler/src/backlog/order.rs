//! The order in which a leaf serves its applications, as frozen keys.
//!
//! Keys are computed once and compared many times. A sort never reads live values, which crashed YARN's comparators
//! three times (YARN-10178, 11684, 11745).
//!
//! Ties: otherwise equal applications of fair leaves take turns, and those that were never served come in the order of
//! submission. Every order ends in a number that no two applications share.

use crate::config::ApplicationOrdering;
use crate::facts::{Application, Facts};
use crate::resource::{Resources, dominant_share};

/// Resources and containers that the present pass gave to an application.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Given {
    pub(crate) resources: Resources,
    /// The serve number of its last container, above all serve numbers before the pass; 0 if it got none.
    pub(crate) last_served: u64,
}

/// An application's place in the order of its leaf: the smallest key is served first. Among equal shares and
/// priorities, applications that were never served come first, in the order of submission, then the application served
/// longest ago. No two keys are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OrderKey(u64, u64, u64);

impl OrderKey {
    #[cfg(test)]
    pub(crate) fn for_test(number: u64) -> Self {
        Self(number, 0, 0)
    }

    /// The key of `application` in its leaf, with `given` on top of its use.
    pub(crate) fn of(facts: &Facts, application: &Application, given: &Given) -> Self {
        let rank = u64::from(u32::MAX - application.priority);
        let submitted = application.submitted;
        match facts.queue(application.leaf).config.ordering {
            ApplicationOrdering::Fifo => Self(rank, submitted, 0),
            ordering => {
                let all = &facts.tree.guaranteed;
                let share = dominant_share(&(application.used + given.resources), all);
                let share = match ordering {
                    ApplicationOrdering::FairBySize => {
                        by_size(share, dominant_share(&application.demand, all))
                    }
                    _ => share,
                };
                let turn = match application.last_served.max(given.last_served) {
                    0 => submitted,
                    last_served => WAS_SERVED | last_served,
                };
                Self(share, rank, turn)
            }
        }
    }
}

/// Above every submission number.
const WAS_SERVED: u64 = 1 << 63;

/// Divides the share by the weight that a demand of this share gives. The result is in steps of 2^-30. An application
/// with next to no demand has no weight, and no share either.
fn by_size(share: u64, demand: u64) -> u64 {
    let weight = binary_logarithm(u128::from(demand) + 1).max(1);
    u64::try_from((u128::from(share) << (2 * LOGARITHM_BITS)) / u128::from(weight)).unwrap_or(u64::MAX)
}

/// Binary digits after the point.
const LOGARITHM_BITS: u32 = 10;

/// The binary logarithm of a number from 1 to 2^64, in steps of 2^-10, rounded down. Integer arithmetic, so that every
/// machine gets the same result.
fn binary_logarithm(number: u128) -> u64 {
    let whole = number.ilog2();
    // From 1 to 2, with 63 digits after the point. Each squaring moves the next digit of the logarithm before the
    // point.
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
