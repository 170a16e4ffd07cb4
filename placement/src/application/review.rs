//! The review: compares the containers with the desired numbers (spec 1.5).

use super::{ApplicationState, Operation};
use crate::component::ComponentId;

impl ApplicationState {
    /// Requests missing containers and releases surplus ones of changed components. A second review in a
    /// row does nothing.
    pub(super) fn review(&mut self, operations: &mut Vec<Operation>) {
        self.check_failures();
        if self.is_over() {
            self.keep_history_as_it_is();
            self.give_everything_back(operations);
            self.recount_touched();
            return;
        }
        self.review_blacklist(operations);
        if self.asks_one_by_one() {
            // Any component may have got an acceptable host.
            self.touched.extend(self.components.keys());
        }
        let version = self.history.hosts_version();
        if std::mem::replace(&mut self.listed_version, version) != version {
            self.touch_listed();
            self.relist_destinations(operations);
        }
        while !self.touched.is_empty() {
            let touched = std::mem::take(&mut self.touched);
            for component in &touched {
                self.review_component(*component, operations);
                self.recount_down(*component);
            }
            for component in touched {
                self.begin_actions(component, operations);
            }
        }
    }

    fn recount_touched(&mut self) {
        for component in std::mem::take(&mut self.touched) {
            self.recount_down(component);
        }
    }

    /// Returns how many containers a component is short of; negative if it has too many.
    ///
    /// Releasing containers still count while more are wanted: they are replaced when they have ended.
    pub(super) fn delta(&self, component: ComponentId) -> i64 {
        let Some(known) = self.components.get(&component) else { return 0 };
        let asked = i64::from(self.outstanding.count(component));
        let wanted = known.wanted();
        let delta = i64::from(wanted) - (i64::from(known.actual()) + asked);
        if delta < 0 { (delta + i64::from(known.census.leaving())).min(0) } else { delta }
    }

    /// Returns [`delta`](Self::delta) without instances that a pause holds back.
    pub(super) fn unasked(&self, component: ComponentId) -> i64 {
        let paused = self.components.get(&component).map_or(0, |known| known.back_off.paused());
        let (delta, paused) = (self.delta(component), i64::try_from(paused).unwrap_or(i64::MAX));
        delta - paused.min(delta.max(0))
    }

    fn review_component(&mut self, component: ComponentId, operations: &mut Vec<Operation>) {
        if self.is_one_by_one(component) {
            self.refresh_anti_affine(component, operations);
        } else if self.is_choosy(component) {
            self.refresh_choosy(component, operations);
        } else {
            self.drop_stale_list(component, operations);
        }
        let delta = self.delta(component);
        let delta = if delta > 0 && self.awaits_place(component, operations) { 0 } else { delta };
        let delta = self.due_of(component, delta);
        let is_one_by_one = self.is_one_by_one(component);
        if delta < 0 {
            self.shrink(component, delta.unsigned_abs(), operations);
        } else if !is_one_by_one {
            for _ in 0..delta {
                self.ask(component, operations);
            }
        } else if delta > 0 && self.outstanding.count(component) == 0 {
            self.ask_apart(component, operations);
        }
        let pending = if self.lists_hosts(component) { self.unasked(component).max(0) } else { 0 };
        if let Some(known) = self.components.get_mut(&component) {
            known.pending_anti_affine = u32::try_from(pending).unwrap_or(u32::MAX);
        }
    }

    /// Cancels requests first, then releases containers.
    fn shrink(&mut self, component: ComponentId, excess: u64, operations: &mut Vec<Operation>) {
        let excess = usize::try_from(excess).unwrap_or(usize::MAX);
        let cancelled = self.cancel_requests(component, excess, operations);
        for container in self.choose_released(component, excess - cancelled) {
            self.release(container, operations);
        }
    }
}
