//! Virtual time: its ticks, and its end.

/// The end of virtual time, after 290 million years. It is later than any time of a trace, and the sum of two times up
/// to it does not overflow.
pub(super) const END_MS: u64 = u64::MAX / 2;

/// The time `delay_ms` after `at_ms`, or `None` if virtual time ends before.
pub(super) fn later(at_ms: u64, delay_ms: u64) -> Option<u64> {
    at_ms.checked_add(delay_ms).filter(|at_ms| *at_ms <= END_MS)
}

/// The first tick that is not before `at_ms`.
pub(super) fn tick_from(at_ms: u64, tick_ms: u64) -> u64 {
    at_ms.checked_next_multiple_of(tick_ms.max(1)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_later_than_the_end() {
        assert_eq!(later(5, 7), Some(12));
        assert_eq!(later(END_MS - 7, 7), Some(END_MS));
        assert_eq!([later(END_MS - 7, 8), later(5, u64::MAX)], [None; 2]);
    }

    #[test]
    fn times_are_rounded_up_to_ticks() {
        assert_eq!([0, 1, 100, 101].map(|at_ms| tick_from(at_ms, 100)), [0, 100, 100, 200]);
        assert_eq!((tick_from(7, 0), tick_from(u64::MAX, 100)), (7, u64::MAX));
    }
}
