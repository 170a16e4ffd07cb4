//! What happens because time goes by: requests are made again (`escalate.rs`), the failure window ends (spec 1.12),
//! stops that were not heard of are looked after, and old hosts are forgotten.

use super::{ApplicationState, Operation};

impl ApplicationState {
    /// The next time at which something happens though nobody says anything; hand in
    /// [`TimePassed`](super::ServiceEvent::TimePassed) then. `None`: nothing will.
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

    pub(super) fn pass_time(&mut self, now_ms: u64, operations: &mut Vec<Operation>) {
        self.stop_again(operations);
        if self.is_over() {
            return;
        }
        self.wake(now_ms);
        for request in self.outstanding.due(now_ms) {
            self.widen(request, now_ms, operations);
        }
        self.check_stops(now_ms, operations);
        self.forget_old_hosts(now_ms);
    }

    /// What fails from the end of a failure window on is of the next one, also if nobody looked between.
    pub(super) fn pass_window(&mut self, now_ms: u64) {
        let Some(ends_ms) = self.window_ends_ms.filter(|ends_ms| *ends_ms <= now_ms && !self.is_over())
        else {
            return;
        };
        self.end_window();
        let window_ms = self.settings.failure_window_ms.unwrap_or(0).max(1);
        let windows = (now_ms - ends_ms) / window_ms + 1;
        self.window_ends_ms = Some(ends_ms.saturating_add(windows.saturating_mul(window_ms)));
    }

    /// A service that runs for years does not keep every host that it ever was on. Looks once in a while.
    fn forget_old_hosts(&mut self, now_ms: u64) {
        let Some(age_max_ms) = self.settings.history_age_max_ms else { return };
        if now_ms < self.forgot_ms.saturating_add(age_max_ms / 8) {
            return;
        }
        self.forgot_ms = now_ms;
        self.history.forget_before(now_ms.saturating_sub(age_max_ms));
    }
}
