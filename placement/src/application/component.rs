//! One component of a service: its containers, its counters and its failures.

use std::collections::BTreeSet;

use super::back_off::BackOff;
use super::fleet::ComponentInstance;
use super::takeover::Takeover;
use super::{ComponentChange, ServiceSettings};
use crate::client::ContainerRef;
use crate::component::{ComponentId, ComponentSpec, PlacementPolicy};
use crate::exit::{ContainerExit, ContainerOutcome};
use crate::exit_code::ExitCode;
use crate::history::{Census, InstanceState};
use crate::status::{ComponentCounters, Failure};

/// A component, its containers and its counters.
#[derive(Clone, Debug)]
pub(super) struct Component {
    pub(super) spec: ComponentSpec,
    pub(super) census: Census,
    pub(super) counters: ComponentCounters,
    /// Missing instances without a request, if requests of the component list acceptable hosts.
    pub(super) pending_anti_affine: u32,
    pub(super) last_failure: String,
    pub(super) back_off: BackOff,
    /// When the last failed instance was or will be restarted.
    retried_ms: u64,
    /// Containers without the manager's anti-affinity tag.
    pub(super) untagged: BTreeSet<ContainerRef>,
    /// Whether its list of hosts is no longer needed: the last untagged container has ended, or the
    /// component no longer avoids hosts alone.
    pub(super) has_stale_list: bool,
    /// Whether it failed too often, while the service runs on without it.
    pub(super) is_given_up: bool,
    /// Since when too few instances run.
    unhealthy_since_ms: Option<u64>,
    pub(super) takeover: Takeover,
    /// The number of its missing instances as of the last review.
    pub(super) down: u64,
}

impl Component {
    pub(super) fn new(spec: ComponentSpec) -> Self {
        Self {
            spec,
            census: Census::default(),
            counters: ComponentCounters::default(),
            pending_anti_affine: 0,
            last_failure: String::new(),
            back_off: BackOff::default(),
            retried_ms: 0,
            untagged: BTreeSet::new(),
            has_stale_list: false,
            is_given_up: false,
            unhealthy_since_ms: None,
            takeover: Takeover::default(),
            down: 0,
        }
    }

    pub(super) fn id(&self) -> ComponentId {
        self.spec.id
    }

    pub(super) fn is_anti_affine(&self) -> bool {
        self.spec.policy == PlacementPolicy::AntiAffinity
    }

    pub(super) fn is_strict(&self) -> bool {
        self.spec.policy == PlacementPolicy::Strict
    }

    /// Returns how many containers it should have. A component that was given up gets no further ones.
    pub(super) fn wanted(&self) -> u32 {
        if self.is_given_up { self.spec.desired.min(self.actual()) } else { self.spec.desired }
    }

    /// Returns how many containers it has, including releasing ones (Slider's "actual") but not reserved
    /// ones.
    pub(super) fn actual(&self) -> u32 {
        self.census.total() - self.census.count(InstanceState::Reserved)
    }

    pub(super) fn live(&self) -> u32 {
        self.census.count(InstanceState::Live)
    }

    /// Returns how many wanted instances do not run.
    pub(super) fn count_down(&self) -> u64 {
        u64::from(self.wanted().saturating_sub(self.live()))
    }

    /// Returns how many containers it is short of, given its requests; negative if it has too many.
    ///
    /// Releasing containers still count while more are wanted: they are replaced when they have ended.
    pub(super) fn delta(&self, requested: u32) -> i64 {
        let delta = i64::from(self.wanted()) - (i64::from(self.actual()) + i64::from(requested));
        if delta < 0 { (delta + i64::from(self.census.leaving())).min(0) } else { delta }
    }

    /// Returns [`delta`](Self::delta) without instances that a pause holds back.
    pub(super) fn unasked(&self, requested: u32) -> i64 {
        let held_back = i64::try_from(self.held_back(requested)).unwrap_or(i64::MAX);
        self.delta(requested) - held_back
    }

    /// Returns how many missing instances a pause holds back.
    pub(super) fn held_back(&self, requested: u32) -> usize {
        let missing = usize::try_from(self.delta(requested).max(0)).unwrap_or(usize::MAX);
        self.back_off.paused().min(missing)
    }

    /// Returns how many of the missing instances may be requested now; a negative `delta` as it is.
    pub(super) fn due_of(&mut self, delta: i64, now_ms: u64) -> i64 {
        let missing = usize::try_from(delta.max(0)).unwrap_or(usize::MAX);
        let due = self.back_off.due_of(missing, now_ms);
        if delta > 0 { i64::try_from(due).unwrap_or(i64::MAX) } else { delta }
    }

    /// Changes version and size. Returns the change that undoes this.
    pub(super) fn change(&mut self, change: &ComponentChange) -> ComponentChange {
        let mut undo = ComponentChange::default();
        if let Some(version) = &change.version {
            undo.version = Some(std::mem::replace(&mut self.spec.version, version.clone()));
        }
        if let Some(size) = change.size.filter(|size| *size != self.spec.size) {
            undo.size = Some(std::mem::replace(&mut self.spec.size, size));
        }
        undo
    }

    /// Gives the component up, or takes it back and forgets its recent failures.
    pub(super) fn transition_given_up(&mut self, is_given_up: bool) {
        self.is_given_up = is_given_up;
        if !is_given_up {
            self.counters.failed_recently = 0;
        }
    }

    pub(super) fn count_failure(&mut self, is_start_failure: bool, diagnostics: String, now_ms: u64) {
        self.counters.failed += 1;
        self.counters.start_failed += u64::from(is_start_failure);
        self.last_failure = diagnostics;
        let window_ms = self.spec.retries.map(|retries| retries.window_ms);
        let is_row_over =
            window_ms.is_some_and(|window_ms| now_ms >= self.retried_ms.saturating_add(window_ms));
        if is_row_over {
            self.counters.failed_recently = 0;
        }
        self.counters.failed_recently += 1;
    }

    /// Starts the pause that an ended instance causes for its successor. Returns its end.
    pub(super) fn pause_after(
        &mut self,
        was: InstanceState,
        ended: &ComponentInstance,
        exit: &ContainerExit,
        settings: &ServiceSettings,
        now_ms: u64,
    ) -> Option<u64> {
        let is_short = ended.is_short_lived(settings, now_ms);
        if !is_short {
            self.back_off.long_life(ended.generation);
        }
        let is_ended_by_service = matches!(was, InstanceState::Releasing | InstanceState::Reserved);
        let has_failed = was == InstanceState::StartFailed
            || matches!(exit.outcome(), ContainerOutcome::Failed | ContainerOutcome::LimitsExceeded);
        let is_failure = has_failed && !is_ended_by_service;
        let is_own_end = is_failure || (exit.status == ContainerExit::SUCCESS && !is_ended_by_service);
        let mut pause_ms = 0;
        if is_own_end && is_short {
            pause_ms = self.back_off.short_life(ended.generation, now_ms, settings);
        }
        if is_failure {
            pause_ms = pause_ms.max(self.retry_delay_ms());
            self.retried_ms = now_ms.saturating_add(pause_ms);
        }
        let until_ms = (pause_ms > 0).then(|| now_ms.saturating_add(pause_ms))?;
        self.back_off.pause(until_ms);
        Some(until_ms)
    }

    /// Returns the extra delay of a retry. Only the last retry of a component with host affinity has one.
    fn retry_delay_ms(&self) -> u64 {
        let is_last = self.spec.container_failure_threshold == Some(self.counters.failed_recently);
        let retries = self.spec.retries.filter(|_| is_last && self.spec.policy.uses_history());
        retries.map_or(0, |retries| retries.last_delay_ms)
    }

    /// Starts or ends the time in which too few instances run. Without a health check, gives the component
    /// up if it failed too often and the service can run on without it.
    pub(super) fn update_health(&mut self, started_ms: u64, now_ms: u64) {
        let Some(health) = self.spec.health else {
            if self.spec.degrades && self.too_many_failures().is_some() {
                self.transition_given_up(true);
            }
            return;
        };
        let looks = now_ms >= started_ms.saturating_add(health.initial_delay_ms);
        let is_unhealthy = looks && self.is_too_few(health.percent);
        self.unhealthy_since_ms = is_unhealthy.then(|| self.unhealthy_since_ms.unwrap_or(now_ms));
    }

    /// Returns why the service has to give up because of this component: too many failures, or too few
    /// instances for too long (spec 1.11, 1.12).
    pub(super) fn failure(&self, now_ms: u64) -> Option<Failure> {
        let Some(health) = self.spec.health else {
            return self.too_many_failures().filter(|_| !self.spec.degrades);
        };
        let lasted_ms = now_ms.saturating_sub(self.unhealthy_since_ms?);
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

    /// Returns when it has been unhealthy for too long, or when its initial delay ends.
    pub(super) fn next_health_check_ms(&self, started_ms: u64) -> Option<u64> {
        let health = self.spec.health?;
        let looks_from_ms = started_ms.saturating_add(health.initial_delay_ms);
        let too_long_ms = self
            .unhealthy_since_ms
            .map(|since_ms| since_ms.saturating_add(health.window_ms).saturating_add(1));
        too_long_ms.or_else(|| self.is_too_few(health.percent).then_some(looks_from_ms))
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

    fn is_too_few(&self, percent: u32) -> bool {
        u64::from(self.live()) * 100 < u64::from(self.spec.desired) * u64::from(percent)
    }
}
