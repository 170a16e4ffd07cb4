//! The order in which a leaf serves its applications, as frozen keys.
//!
//! Keys are computed once and compared many times; they never read live values while being sorted, which
//! is what crashed YARN's comparators three times (YARN-10178, 11684, 11745).

use crate::config::ApplicationOrdering;
use crate::facts::{Application, Facts};
use crate::resource::{Resources, dominant_share};

/// Smaller is served first. Ends in the order of submission, so no two applications are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OrderKey([u64; 3]);

impl OrderKey {
    #[cfg(test)]
    pub(super) fn for_test(number: u64) -> Self {
        Self([number, 0, 0])
    }

    /// The key of `application` in its leaf, with `more` on top of what it uses already.
    pub(crate) fn of(facts: &Facts, application: &Application, more: &Resources) -> Self {
        let rank = u64::from(u32::MAX - application.priority);
        let submitted = application.submitted;
        match facts.queue(application.leaf).config.ordering {
            ApplicationOrdering::Fifo => Self([rank, submitted, 0]),
            ApplicationOrdering::Fair => {
                let root = facts.queues[0].quota.iter().map(|quota| quota.guaranteed).sum();
                Self([dominant_share(&(application.used + *more), &root), rank, submitted])
            }
        }
    }
}
