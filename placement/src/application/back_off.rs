//! Pauses before instances restart. Instances that end soon after their start come back later and later,
//! failed or not. The last retry waits as long as the component's [`RetryPolicy`](crate::RetryPolicy) says.

use super::{ApplicationState, Component, ComponentInstance, ServiceSettings};
use crate::component::ComponentId;
use crate::exit::{ContainerExit, ContainerOutcome};
use crate::history::InstanceState;

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

    /// Records that an instance of this generation ended soon after its start. Returns the pause of its
    /// successor.
    fn short_life(&mut self, generation: u32, now_ms: u64, settings: &ServiceSettings) -> u64 {
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
    fn long_life(&mut self, generation: u32) {
        if generation >= self.generations {
            self.generations = 0;
        }
    }

    fn pause(&mut self, until_ms: u64) {
        let place = self.until_ms.partition_point(|other_ms| *other_ms <= until_ms);
        self.until_ms.insert(place, until_ms);
    }

    /// Returns how many of the missing instances may be requested now. A pause lasts until its time, even
    /// while fewer instances are missing.
    fn due_of(&mut self, missing: usize, now_ms: u64) -> usize {
        let over = self.until_ms.partition_point(|until_ms| *until_ms <= now_ms);
        self.until_ms.drain(..over);
        missing.saturating_sub(self.until_ms.len())
    }
}

impl Component {
    /// Counts a failure towards the failure threshold.
    pub(super) fn count_recent_failure(&mut self, now_ms: u64) {
        let window_ms = self.spec.retries.map(|retries| retries.window_ms);
        let is_row_over =
            window_ms.is_some_and(|window_ms| now_ms >= self.retried_ms.saturating_add(window_ms));
        if is_row_over {
            self.counters.failed_recently = 0;
        }
        self.counters.failed_recently += 1;
    }

    /// Returns the extra delay of a retry. Only the last retry of a component with host affinity has one.
    fn retry_delay_ms(&self) -> u64 {
        let is_last = self.spec.container_failure_threshold == Some(self.counters.failed_recently);
        let retries = self.spec.retries.filter(|_| is_last && self.spec.policy.uses_history());
        retries.map_or(0, |retries| retries.last_delay_ms)
    }
}

impl ApplicationState {
    /// Starts the pause that an ended instance causes for its successor.
    pub(super) fn pause_after(
        &mut self,
        was: InstanceState,
        ended: &ComponentInstance,
        exit: &ContainerExit,
    ) {
        let now_ms = self.now_ms;
        let Some(known) = self.components.get_mut(&ended.component) else { return };
        let lived_ms = ended.started_ms.map(|started_ms| now_ms.saturating_sub(started_ms));
        let is_short = lived_ms.is_none_or(|lived_ms| lived_ms < self.settings.short_life_ms);
        if !is_short {
            known.back_off.long_life(ended.generation);
        }
        let is_ended_by_service = matches!(was, InstanceState::Releasing | InstanceState::Reserved);
        let outcome = exit.outcome();
        let has_failed = was == InstanceState::StartFailed
            || matches!(outcome, ContainerOutcome::Failed | ContainerOutcome::LimitsExceeded);
        let is_failure = has_failed && !is_ended_by_service;
        let is_own_end = is_failure || (exit.status == ContainerExit::SUCCESS && !is_ended_by_service);
        let mut pause_ms = 0;
        if is_own_end && is_short {
            pause_ms = known.back_off.short_life(ended.generation, now_ms, &self.settings);
        }
        if is_failure {
            pause_ms = pause_ms.max(known.retry_delay_ms());
            known.retried_ms = now_ms.saturating_add(pause_ms);
        }
        if pause_ms > 0 {
            let until_ms = now_ms.saturating_add(pause_ms);
            known.back_off.pause(until_ms);
            self.wakes.insert((until_ms, ended.component));
        }
    }

    /// Returns how many of the component's missing instances may be requested now.
    pub(super) fn due_of(&mut self, component: ComponentId, delta: i64) -> i64 {
        let Some(known) = self.components.get_mut(&component) else { return delta };
        let missing = usize::try_from(delta.max(0)).unwrap_or(usize::MAX);
        let due = known.back_off.due_of(missing, self.now_ms);
        if delta > 0 { i64::try_from(due).unwrap_or(i64::MAX) } else { delta }
    }

    /// Marks components for review whose pause has ended.
    pub(super) fn wake(&mut self) {
        while let Some((until_ms, component)) =
            self.wakes.first().copied().filter(|(at_ms, _)| *at_ms <= self.now_ms)
        {
            self.wakes.remove(&(until_ms, component));
            self.touch(component);
        }
    }

    pub(super) fn next_wake_ms(&self) -> Option<u64> {
        self.wakes.first().map(|(until_ms, _)| *until_ms)
    }

    /// Returns the number of paused instances of a component, and when the first pause ends.
    pub(super) fn paused(&self, component: ComponentId) -> Option<(usize, u64)> {
        let back_off = &self.components.get(&component)?.back_off;
        Some((back_off.paused(), *back_off.until_ms.first()?))
    }
}
