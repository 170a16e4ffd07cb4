//! The decisions of one running service (Slider's application state): `(state, event, now) -> operations`.
//!
//! Nothing here does I/O, reads a clock or uses randomness. The caller carries out the operations in order
//! and feeds the results back; `service.rs` does that with a [`ClusterClient`](crate::ClusterClient).

mod actions;
mod allocated;
mod apart;
mod ask;
mod audit;
mod back_off;
mod blacklist;
mod budgets;
mod component;
mod components;
mod escalate;
mod event;
mod explain;
mod fleet;
mod leaving;
mod lifecycle;
mod outstanding;
mod requests;
mod restore;
mod review;
mod shunned;
mod status;
mod takeover;
mod waits;

pub use actions::{ActionId, ActionKind, ActionStatus, ComponentChange, ContainerAction, HandOver};
pub use audit::Inconsistency;
pub(crate) use budgets::budgets_of;
pub use event::{AllocationOutcome, AntiAffinity, Operation, ServiceEvent, ServiceSettings};

use actions::Actions;
use blacklist::Blacklist;
use fleet::Fleet;
use leaving::Leaving;
use requests::Requests;

use crate::client::{Callback, ContainerRef};
use crate::component::ComponentSpec;
use crate::history::InstanceState;
use crate::persistence::HistoryFile;
use crate::status::Failure;

/// A running service.
#[derive(Clone, Debug)]
pub struct ApplicationState {
    settings: ServiceSettings,
    started_ms: u64,
    /// The time of the current event.
    now_ms: u64,
    /// The operations that the current event has led to; empty between events.
    operations: Vec<Operation>,
    fleet: Fleet,
    requests: Requests,
    leaving: Leaving,
    blacklist: Blacklist,
    actions: Actions,
    window_ends_ms: Option<u64>,
    /// When old hosts were last forgotten.
    forgot_ms: u64,
    containers_at_restart: Option<u32>,
    is_stopped: bool,
    failure: Option<Failure>,
    /// The history at the stop or the failure, with its version. The teardown does not change it.
    at_end: Option<(u64, HistoryFile)>,
}

impl ApplicationState {
    /// Creates a service of these components that never ran before. It makes no requests until its first
    /// event.
    ///
    /// If two components have one id, the last one counts; definitions are checked elsewhere.
    #[must_use]
    pub fn new(components: Vec<ComponentSpec>, settings: ServiceSettings, now_ms: u64) -> Self {
        let mut state = Self {
            window_ends_ms: settings.failure_window_ms.map(|window_ms| now_ms.saturating_add(window_ms)),
            settings,
            started_ms: now_ms,
            now_ms,
            operations: Vec::new(),
            forgot_ms: now_ms,
            fleet: Fleet::default(),
            requests: Requests::default(),
            leaving: Leaving::default(),
            blacklist: Blacklist::default(),
            actions: Actions::default(),
            containers_at_restart: None,
            is_stopped: false,
            failure: None,
            at_end: None,
        };
        state.fleet.asks_one_by_one = state.settings.anti_affinity == AntiAffinity::OneByOne;
        for spec in components {
            state.fleet.declare(spec);
        }
        state
    }

    /// Handles an event and returns the operations. An event about unknown objects changes nothing.
    ///
    /// Every event ends in a review. Only the review requests and releases containers to reach the desired
    /// numbers.
    pub fn handle(&mut self, event: ServiceEvent, now_ms: u64) -> Vec<Operation> {
        self.now_ms = now_ms;
        self.pass_window();
        match event {
            ServiceEvent::Callback(callback) => self.on_callback(callback),
            ServiceEvent::NotTaken { request, error } => {
                self.request_not_taken(request, &error);
            }
            ServiceEvent::Action(action) => self.submit_action(action),
            ServiceEvent::CancelAction(action) => self.cancel_action(action),
            ServiceEvent::Flex(components) => self.flex(components),
            ServiceEvent::Change(component) => self.change(component),
            ServiceEvent::KillContainer(container) => self.kill_container(container),
            ServiceEvent::ContainerLost(container) => self.release(container),
            ServiceEvent::CaughtUp(container) => self.caught_up(container),
            ServiceEvent::Exclude(hosts) => self.exclude(hosts),
            ServiceEvent::TimePassed => {}
            ServiceEvent::Stop => self.is_stopped = true,
        }
        self.pass_time();
        self.review();
        std::mem::take(&mut self.operations)
    }

    fn on_callback(&mut self, callback: Callback) {
        match callback {
            Callback::Allocated(allocations) => self.containers_allocated(allocations),
            Callback::Recovered(found) => self.container_recovered(&found),
            Callback::Started(container) => self.container_started(container),
            Callback::StopFailed(container) => self.stop_failed(container),
            Callback::StartFailed { container, diagnostics } => {
                self.container_start_failed(container, diagnostics);
            }
            Callback::Completed(ended) => {
                for (container, exit) in ended {
                    self.container_completed(container, &exit);
                }
            }
            Callback::Withdrawn(request) => self.request_withdrawn(request),
            Callback::NodesUpdated(reports) => {
                self.learn_nodes(&reports);
                self.requests.cancel_where_relabelled(&reports, &mut self.fleet, &mut self.operations);
                self.requests.retry_where(&reports, self.now_ms);
            }
        }
    }

    /// Returns the next time at which the state changes without an event; pass
    /// [`TimePassed`](ServiceEvent::TimePassed) then. `None` if there is no such time.
    #[must_use]
    pub fn next_deadline_ms(&self) -> Option<u64> {
        let again_ms = self.leaving.next_ms();
        if self.is_over() {
            return again_ms;
        }
        let request_ms = self.requests.next_deadline_ms().map(|deadline_ms| deadline_ms.saturating_add(1));
        let stop_ms = self.actions.next_deadline_ms().map(|deadline_ms| deadline_ms.saturating_add(1));
        let wake_ms = self.fleet.components.next_wake_ms();
        let health_ms = self.fleet.components.next_health_check_ms(self.started_ms);
        let deadlines = [request_ms, stop_ms, again_ms, wake_ms, self.window_ends_ms, health_ms];
        deadlines.into_iter().flatten().min()
    }

    fn pass_time(&mut self) {
        self.stop_again();
        if self.is_over() {
            return;
        }
        self.fleet.components.wake(self.now_ms);
        for request in self.requests.due(self.now_ms) {
            self.request_is_late(request);
        }
        self.check_stops();
        self.forget_old_hosts();
    }

    /// Ends the failure window. Failures after its end belong to the next window, even without events in
    /// between.
    fn pass_window(&mut self) {
        let Some(ends_ms) = self.window_ends_ms.filter(|ends_ms| *ends_ms <= self.now_ms && !self.is_over())
        else {
            return;
        };
        self.fleet.end_window();
        let window_ms = self.settings.failure_window_ms.unwrap_or(0).max(1);
        let windows = (self.now_ms - ends_ms) / window_ms + 1;
        self.window_ends_ms = Some(ends_ms.saturating_add(windows.saturating_mul(window_ms)));
    }

    /// Forgets old hosts once in a while: a service that runs for years must not keep every host.
    fn forget_old_hosts(&mut self) {
        let Some(age_max_ms) = self.settings.history_age_max_ms else {
            return;
        };
        if self.now_ms < self.forgot_ms.saturating_add(age_max_ms / 8) {
            return;
        }
        self.forgot_ms = self.now_ms;
        self.fleet.history.forget_before(self.now_ms.saturating_sub(age_max_ms));
    }

    /// Returns whether it was stopped or gave up; then it makes no more requests.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_stopped || self.failure.is_some()
    }

    /// Returns why the service gave up; `None` if it did not.
    #[must_use]
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    /// Counts the containers that have not ended.
    #[must_use]
    pub fn container_count(&self) -> usize {
        self.fleet.instances().len() + self.leaving.surplus_count()
    }

    /// Returns the state of a component's container; `None` if the container belongs to none.
    #[must_use]
    pub fn instance_state(&self, container: ContainerRef) -> Option<InstanceState> {
        self.fleet.state(container)
    }
}
