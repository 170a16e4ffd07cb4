//! The components of a service, their groups, and those that need a review.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Index;

use super::component::Component;
use super::event::Names;
use crate::component::{ComponentId, ComponentSpec};
use crate::status::Failure;

/// The components by id. The other indexes follow from them, except `touched`.
#[derive(Clone, Debug, Default)]
pub(super) struct Components {
    by_id: BTreeMap<ComponentId, Component>,
    /// Components that are kept apart from each other, by group name.
    groups: BTreeMap<String, BTreeSet<ComponentId>>,
    /// Components that changed since their last review.
    touched: BTreeSet<ComponentId>,
    /// Components with health checks.
    watched: BTreeSet<ComponentId>,
    /// The ends of pauses.
    wakes: BTreeSet<(u64, ComponentId)>,
    /// The number of missing instances as of the last review.
    down: u64,
}

impl Components {
    /// Adds or replaces a component. Returns its previous specification.
    pub(super) fn declare(&mut self, spec: ComponentSpec) -> Option<ComponentSpec> {
        let id = spec.id;
        self.touch(id);
        if spec.health.is_some() {
            self.watched.insert(id);
        } else {
            self.watched.remove(&id);
        }
        let group = spec.apart_from.as_ref().map(|group| group.name.clone());
        let before = match self.by_id.get_mut(&id) {
            Some(known) => Some(std::mem::replace(&mut known.spec, spec)),
            None => {
                self.by_id.insert(id, Component::new(spec));
                None
            }
        };
        let left = before.as_ref().and_then(|before| before.apart_from.as_ref());
        if let Some(members) = left.and_then(|left| self.groups.get_mut(&left.name)) {
            members.remove(&id);
        }
        if let Some(group) = group {
            self.groups.entry(group).or_default().insert(id);
        }
        before
    }

    pub(super) fn get(&self, component: ComponentId) -> Option<&Component> {
        self.by_id.get(&component)
    }

    pub(super) fn get_mut(&mut self, component: ComponentId) -> Option<&mut Component> {
        self.by_id.get_mut(&component)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Component> {
        self.by_id.values()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Component> {
        self.by_id.values_mut()
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = ComponentId> {
        self.by_id.keys().copied()
    }

    pub(super) fn names(&self) -> Names {
        self.iter().map(|known| (known.spec.name.clone(), known.id())).collect()
    }

    /// Returns the other components of its group.
    pub(super) fn peers(&self, component: ComponentId) -> impl Iterator<Item = ComponentId> {
        let group = self.get(component).and_then(|known| known.spec.apart_from.as_ref());
        let members = group.and_then(|group| self.groups.get(&group.name)).into_iter().flatten();
        members.copied().filter(move |member| *member != component)
    }

    /// Returns the components in groups.
    pub(super) fn grouped(&self) -> impl Iterator<Item = ComponentId> {
        self.groups.values().flatten().copied()
    }

    /// Marks a component for the next review, together with its group: a member may be able to request a
    /// host now.
    pub(super) fn touch(&mut self, component: ComponentId) {
        self.touched.insert(component);
        let peers: Vec<ComponentId> = self.peers(component).collect();
        self.touched.extend(peers);
    }

    /// Marks components for the next review, without their groups.
    pub(super) fn touch_only(&mut self, components: impl IntoIterator<Item = ComponentId>) {
        self.touched.extend(components);
    }

    pub(super) fn touch_all(&mut self) {
        self.touched.extend(self.by_id.keys());
    }

    /// Takes the components to review.
    pub(super) fn take_touched(&mut self) -> BTreeSet<ComponentId> {
        std::mem::take(&mut self.touched)
    }

    /// Marks a component for review when a pause of it ends.
    pub(super) fn wake_at(&mut self, until_ms: u64, component: ComponentId) {
        self.wakes.insert((until_ms, component));
    }

    /// Marks components for review whose pause has ended.
    pub(super) fn wake(&mut self, now_ms: u64) {
        while self.next_wake_ms().is_some_and(|until_ms| until_ms <= now_ms) {
            if let Some((_, component)) = self.wakes.pop_first() {
                self.touch(component);
            }
        }
    }

    pub(super) fn next_wake_ms(&self) -> Option<u64> {
        self.wakes.first().map(|(until_ms, _)| *until_ms)
    }

    /// Returns whether a component's list of hosts is no longer needed; once.
    pub(super) fn take_stale_list(&mut self, component: ComponentId) -> bool {
        self.get_mut(component).is_some_and(|known| std::mem::take(&mut known.has_stale_list))
    }

    /// Shrinks all other components to 0 instances; they stay known.
    pub(super) fn shrink_all_but(&mut self, kept: &[ComponentSpec]) {
        for (id, known) in &mut self.by_id {
            if kept.iter().all(|spec| spec.id != *id) {
                known.spec.desired = 0;
                self.touched.insert(*id);
            }
        }
    }

    /// Ends the failure window. Failures that count in a row stay.
    pub(super) fn end_window(&mut self) {
        for known in self.by_id.values_mut().filter(|known| known.spec.retries.is_none()) {
            known.counters.failed_recently = 0;
        }
        self.touch_all();
    }

    /// Updates the health of changed components and of those with health checks.
    pub(super) fn update_health(&mut self, started_ms: u64, now_ms: u64) {
        for component in self.touched.union(&self.watched) {
            if let Some(known) = self.by_id.get_mut(component) {
                known.update_health(started_ms, now_ms);
            }
        }
    }

    /// Returns why the service has to give up, if one of those components is a reason.
    pub(super) fn failure(&self, now_ms: u64) -> Option<Failure> {
        let mut concerned = self.touched.union(&self.watched);
        concerned.find_map(|component| self.get(*component)?.failure(now_ms))
    }

    /// Returns when an unhealthy component exceeds its limit, or when its initial delay ends; the earliest
    /// of all.
    pub(super) fn next_health_check_ms(&self, started_ms: u64) -> Option<u64> {
        let watched = self.watched.iter().filter_map(|component| self.by_id.get(component));
        watched.filter_map(|known| known.next_health_check_ms(started_ms)).min()
    }

    /// Counts the missing instances, without components that were given up.
    pub(super) fn down(&self) -> u64 {
        self.down
    }

    /// Recounts the missing instances of one component. After every review [`down`](Self::down) is their
    /// sum.
    pub(super) fn recount_down(&mut self, component: ComponentId) {
        if let Some(known) = self.by_id.get_mut(&component) {
            let down = known.count_down();
            self.down = self.down - known.down + down;
            known.down = down;
        }
    }
}

impl Index<ComponentId> for Components {
    type Output = Component;

    fn index(&self, component: ComponentId) -> &Component {
        &self.by_id[&component]
    }
}
