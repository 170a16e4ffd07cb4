//! Decides when a service gives up: too many failures, or too few instances for too long (spec 1.11, 1.12).

use super::back_off::BackOff;
use super::{ApplicationState, Component};
use crate::exit_code::ExitCode;
use crate::status::Failure;

impl ApplicationState {
    /// Forgets recent failures of components and hosts, and ends all pauses.
    pub(super) fn reset_failures(&mut self) {
        for known in self.components.values_mut() {
            known.counters.failed_recently = 0;
            known.back_off = BackOff::default();
        }
        self.end_window();
    }

    /// Ends the failure window. Failures that count in a row stay.
    pub(super) fn end_window(&mut self) {
        for known in self.components.values_mut().filter(|known| known.spec.retries.is_none()) {
            known.counters.failed_recently = 0;
        }
        self.touched.extend(self.components.keys());
        for component in self.history.shunning_alone() {
            if let Some(known) = self.components.get_mut(&component) {
                known.has_stale_list = true;
            }
        }
        self.history.reset_failures();
    }

    pub(super) fn check_failures(&mut self) {
        if self.is_over() {
            return;
        }
        let started_ms = self.started_ms;
        for component in self.touched.union(&self.watched) {
            let failure =
                self.components.get_mut(component).and_then(|known| known.check(started_ms, self.now_ms));
            if failure.is_some() {
                self.failure = failure;
                return;
            }
        }
    }

    /// Returns when an unhealthy component exceeds its limit, or when its initial delay ends; the earliest
    /// of all.
    pub(super) fn next_health_check_ms(&self) -> Option<u64> {
        let watched = self.watched.iter().filter_map(|component| self.components.get(component));
        let deadlines = watched.filter_map(|known| {
            let health = known.spec.health?;
            let looks_from_ms = self.started_ms.saturating_add(health.initial_delay_ms);
            let since_ms = known.unhealthy_since_ms;
            let too_long_ms =
                since_ms.map(|since_ms| since_ms.saturating_add(health.window_ms).saturating_add(1));
            too_long_ms.or_else(|| known.is_too_few(health.percent).then_some(looks_from_ms))
        });
        deadlines.min()
    }
}

impl Component {
    fn check(&mut self, started_ms: u64, now_ms: u64) -> Option<Failure> {
        let Some(health) = self.spec.health else {
            let failure = self.too_many_failures();
            if failure.is_some() && self.spec.degrades {
                self.transition_given_up(true);
            }
            return failure.filter(|_| !self.spec.degrades);
        };
        let looks = now_ms >= started_ms.saturating_add(health.initial_delay_ms);
        if !looks || !self.is_too_few(health.percent) {
            self.unhealthy_since_ms = None;
            return None;
        }
        let since_ms = *self.unhealthy_since_ms.get_or_insert(now_ms);
        let lasted_ms = now_ms.saturating_sub(since_ms);
        (lasted_ms > health.window_ms).then(|| Failure {
            exit_code: ExitCode::ExceptionThrown.code(),
            component: self.spec.name.clone(),
            message: format!(
                "component `{}`: {} of {} instances ran, less than {} %, for {} s (at most {} s)",
                self.spec.name,
                self.live(),
                self.spec.desired,
                health.percent,
                lasted_ms / 1_000,
                health.window_ms / 1_000
            ),
        })
    }

    /// Gives the component up, or takes it back and forgets its recent failures.
    pub(super) fn transition_given_up(&mut self, is_given_up: bool) {
        self.is_given_up = is_given_up;
        if !is_given_up {
            self.counters.failed_recently = 0;
        }
    }

    fn too_many_failures(&self) -> Option<Failure> {
        let threshold = self.spec.container_failure_threshold?;
        let counters = &self.counters;
        (counters.failed_recently > threshold).then(|| Failure {
            exit_code: ExitCode::DeploymentFailed.code(),
            component: self.spec.name.clone(),
            message: format!(
                "component `{}`: {} failures in {}, more than {threshold}; {} failures since the start, \
                 {} of them while starting; the last one: {}",
                self.spec.name,
                counters.failed_recently,
                if self.spec.retries.is_some() { "a row" } else { "this failure window" },
                counters.failed,
                counters.start_failed,
                if self.last_failure.is_empty() { "without diagnostics" } else { &self.last_failure }
            ),
        })
    }

    fn live(&self) -> u32 {
        self.census.count(crate::InstanceState::Live)
    }

    fn is_too_few(&self, percent: u32) -> bool {
        u64::from(self.live()) * 100 < u64::from(self.spec.desired) * u64::from(percent)
    }
}
