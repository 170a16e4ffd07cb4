//! How evenly waiting members are served, moment by moment.

/// Jain's index over the shares of all waiting members, as a mean over the time in which two or more wait.
#[derive(Clone, Debug, Default)]
pub(super) struct Contention {
    /// The share of each waiting member, in steps of `ONE`.
    members: Vec<Option<u64>>,
    waiting: u64,
    sum: u128,
    squares: u128,
    jain_ms: f64,
    contended_ms: u64,
}

/// The unit of shares. Shares are whole numbers, so that sums do not drift.
const ONE: f64 = 1_048_576.0;
/// The largest share; larger ones are cut to it. For a queue: 4,000 times its guarantee.
const SHARE_MAX: f64 = 4_000.0;

impl Contention {
    pub(super) fn new(members: usize) -> Self {
        Self { members: vec![None; members], ..Self::default() }
    }

    /// Sets a member's share from now on; `None` if it does not wait.
    pub(super) fn set(&mut self, member: usize, share: Option<f64>) {
        let new = share.map(|share| (share.min(SHARE_MAX) * ONE).round() as u64);
        if let Some(old) = std::mem::replace(&mut self.members[member], new) {
            self.waiting -= 1;
            self.sum -= u128::from(old);
            self.squares -= u128::from(old) * u128::from(old);
        }
        if let Some(new) = new {
            self.waiting += 1;
            self.sum += u128::from(new);
            self.squares += u128::from(new) * u128::from(new);
        }
    }

    /// Counts a time in which no member changed.
    pub(super) fn advance(&mut self, elapsed_ms: u64) {
        if self.waiting < 2 {
            return;
        }
        let (sum, squares) = (self.sum as f64, self.squares as f64);
        let index = if self.squares > 0 { sum * sum / (self.waiting as f64 * squares) } else { 1.0 };
        self.jain_ms += index * elapsed_ms as f64;
        self.contended_ms += elapsed_ms;
    }

    /// The time in which two or more waited, and the mean index over that time.
    pub(super) fn outcome(&self) -> (u64, Option<f64>) {
        let mean = (self.contended_ms > 0).then(|| self.jain_ms / self.contended_ms as f64);
        (self.contended_ms, mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_members_that_wait_count_and_only_while_two_do() {
        let mut contention = Contention::new(3);
        contention.set(0, Some(0.5));
        contention.advance(100);
        assert_eq!(contention.outcome(), (0, None));
        contention.set(1, Some(0.5));
        contention.advance(30);
        contention.set(1, Some(0.0));
        contention.advance(10);
        let (contended_ms, index) = contention.outcome();
        // 30 ms of 1, and 10 ms of 1/2.
        assert_eq!(contended_ms, 40);
        assert!((index.unwrap() - 0.875).abs() < 1e-6, "{index:?}");
        contention.set(0, None);
        contention.set(1, None);
        assert_eq!((contention.sum, contention.squares, contention.waiting), (0, 0, 0));
    }
}
