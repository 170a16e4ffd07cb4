//! Effects of time: requests are reissued (`escalate.rs`), the failure window ends (spec 1.12), overdue
//! stops are repeated, and old hosts are forgotten.

use super::{ApplicationState, Operation};

impl ApplicationState {
    /// Returns the next time at which the state changes without an event; pass
    /// [`TimePassed`](super::ServiceEvent::TimePassed) then. `None` if there is no such time.
    #[must_use]
    pub fn next_deadline_ms(&self) -> Option<u64> {
        let again_ms = self.leaving.next_ms();
        if self.is_over() {
            return again_ms;
        }
        let request_ms = self.outstanding.next_deadline_ms().map(|deadline_ms| deadline_ms.saturating_add(1));
        let stop_ms = self.actions.next_deadline_ms().map(|deadline_ms| deadline_ms.saturating_add(1));
        let wake_ms = self.next_wake_ms();
        let deadlines =
            [request_ms, stop_ms, again_ms, wake_ms, self.window_ends_ms, self.next_health_check_ms()];
        deadlines.into_iter().flatten().min()
    }

    pub(super) fn pass_time(&mut self, operations: &mut Vec<Operation>) {
        self.stop_again(operations);
        if self.is_over() {
            return;
        }
        self.wake();
        for request in self.outstanding.due(self.now_ms) {
            self.widen(request, operations);
        }
        self.check_stops(operations);
        self.forget_old_hosts();
    }

    /// Ends the failure window. Failures after its end belong to the next window, even without events in
    /// between.
    pub(super) fn pass_window(&mut self) {
        let Some(ends_ms) = self.window_ends_ms.filter(|ends_ms| *ends_ms <= self.now_ms && !self.is_over())
        else {
            return;
        };
        self.end_window();
        let window_ms = self.settings.failure_window_ms.unwrap_or(0).max(1);
        let windows = (self.now_ms - ends_ms) / window_ms + 1;
        self.window_ends_ms = Some(ends_ms.saturating_add(windows.saturating_mul(window_ms)));
    }

    /// Forgets old hosts once in a while: a service that runs for years must not keep every host.
    fn forget_old_hosts(&mut self) {
        let Some(age_max_ms) = self.settings.history_age_max_ms else { return };
        if self.now_ms < self.forgot_ms.saturating_add(age_max_ms / 8) {
            return;
        }
        self.forgot_ms = self.now_ms;
        self.history.forget_before(self.now_ms.saturating_sub(age_max_ms));
    }
}
