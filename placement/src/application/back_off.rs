//! Pauses before instances restart. Instances that end soon after their start come back later and later,
//! failed or not. The last retry waits as long as the component's [`RetryPolicy`](crate::RetryPolicy) says.

use super::ServiceSettings;

/// The short lives of a component's instances, and the resulting pauses.
#[derive(Clone, Debug, Default)]
pub(super) struct BackOff {
    /// Generations of short-lived instances in a row. Instances that ran together are one generation.
    generations: u32,
    /// The end of the last short life.
    ended_ms: u64,
    /// For each missing instance that is paused, the time at which it may be requested; sorted.
    until_ms: Vec<u64>,
}

impl BackOff {
    pub(super) fn generation(&self) -> u32 {
        self.generations
    }

    pub(super) fn paused(&self) -> usize {
        self.until_ms.len()
    }

    /// Returns when the next of the instances that are held back may be requested; `None` without any.
    /// If more pauses run, the first ones end without a request.
    pub(super) fn next_end_ms(&self, held_back: usize) -> Option<u64> {
        self.until_ms.get(self.until_ms.len().checked_sub(held_back)?).copied()
    }

    /// Records that an instance of this generation ended soon after its start. Returns the pause of its
    /// successor.
    pub(super) fn short_life(&mut self, generation: u32, now_ms: u64, settings: &ServiceSettings) -> u64 {
        let row_ends_ms = settings.back_off_max_ms.saturating_add(settings.short_life_ms);
        if now_ms.saturating_sub(self.ended_ms) > row_ends_ms {
            self.generations = 0;
        }
        if generation >= self.generations {
            self.generations += 1;
        }
        self.ended_ms = now_ms;
        // The first generation comes back at once, as in Slider.
        let Some(doublings) = self.generations.checked_sub(2) else { return 0 };
        let factor = 1_u64.checked_shl(doublings).unwrap_or(u64::MAX);
        settings.back_off_ms.saturating_mul(factor).min(settings.back_off_max_ms)
    }

    /// Records that an instance of this generation ran for a while.
    pub(super) fn long_life(&mut self, generation: u32) {
        if generation >= self.generations {
            self.generations = 0;
        }
    }

    pub(super) fn pause(&mut self, until_ms: u64) {
        let place = self.until_ms.partition_point(|other_ms| *other_ms <= until_ms);
        self.until_ms.insert(place, until_ms);
    }

    /// Returns how many of the missing instances may be requested now. A pause lasts until its time, even
    /// while fewer instances are missing.
    pub(super) fn due_of(&mut self, missing: usize, now_ms: u64) -> usize {
        let over = self.until_ms.partition_point(|until_ms| *until_ms <= now_ms);
        self.until_ms.drain(..over);
        missing.saturating_sub(self.until_ms.len())
    }
}
