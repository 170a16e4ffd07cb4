//! A running service: its decisions, carried out by a cluster manager (Slider's application master).

use std::collections::VecDeque;

use apportion::preempt::DisruptionBudget;
use thiserror::Error;

use crate::application::{
    ActionId, ActionStatus, AntiAffinity, ApplicationState, ContainerAction, Operation, ServiceEvent,
    ServiceSettings,
};
use crate::client::{Callback, ClientError, ClusterClient, ContainerRef};
use crate::component::ComponentSpec;
use crate::exit::ContainerExit;
use crate::history::ThawReport;
use crate::persistence::{HistoryFile, HistorySaver};
use crate::status::ServiceStatus;

/// A service and its cluster manager. Its owner calls [`tick`](Self::tick) when something may have
/// happened.
#[derive(Debug)]
pub struct Service<C> {
    state: ApplicationState,
    client: C,
    thawed: Option<ThawReport>,
    /// Why the manager refused the disruption budgets.
    refused_budgets: Option<String>,
    answers: Vec<ActionProgress>,
    saved_version: u64,
    moves: u64,
}

/// The progress of a placement action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionProgress {
    /// The action.
    pub action: ActionId,
    /// Its status.
    pub status: ActionStatus,
    /// The status in words.
    pub message: String,
}

/// The service has no such running container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("no container {} of this service runs", .0.0)]
pub struct NotRunning(pub ContainerRef);

impl<C: ClusterClient> Service<C> {
    /// Starts a service, which returns to the hosts in the history. The first [`tick`](Self::tick) requests
    /// containers. Anti-affine instances are requested one by one if the manager cannot keep them apart.
    pub fn start(
        components: Vec<ComponentSpec>,
        settings: ServiceSettings,
        client: C,
        history: Option<&HistoryFile>,
        now_ms: u64,
    ) -> Self {
        let mut service = Self::create(components, settings, client, history, now_ms);
        let budgets = service.state.disruption_budgets();
        if !budgets.is_empty() {
            service.set_budgets(budgets);
        }
        service
    }

    /// Creates a service that has not told its manager anything.
    fn create(
        components: Vec<ComponentSpec>,
        mut settings: ServiceSettings,
        client: C,
        history: Option<&HistoryFile>,
        now_ms: u64,
    ) -> Self {
        if !client.keeps_apart() {
            settings.anti_affinity = AntiAffinity::OneByOne;
        }
        let mut state = ApplicationState::new(components, settings, now_ms);
        let thawed = history.map(|file| state.thaw(file));
        state.learn_nodes(&client.nodes());
        Self {
            saved_version: state.history_version(),
            state,
            client,
            thawed,
            refused_budgets: None,
            answers: Vec::new(),
            moves: 0,
        }
    }

    /// Restarts the master of a service; its containers ran on and stay.
    pub fn restart(
        components: Vec<ComponentSpec>,
        settings: ServiceSettings,
        client: C,
        history: Option<&HistoryFile>,
        now_ms: u64,
    ) -> Self {
        let mut service = Self::create(components, settings, client, history, now_ms);
        // The manager has the budgets of the last master, which the present one may not have.
        service.set_budgets(service.state.disruption_budgets());
        let running = service.client.take_over();
        let operations = service.state.adopt(&running, now_ms);
        service.perform(operations, now_ms);
        service
    }

    /// Handles the manager's callbacks and due work. Returns the next time at which it must be called even
    /// without callbacks. A service that its manager [dismissed](ClusterClient::dismissal) stops.
    pub fn tick(&mut self, now_ms: u64) -> Option<u64> {
        let callbacks = self.client.poll();
        // Without this, the service would replace containers that ended with the dismissal.
        if self.client.dismissal().is_some() && !self.state.is_over() {
            self.stop(now_ms);
        }
        for callback in callbacks {
            self.moves += 1;
            self.handle(ServiceEvent::Callback(callback), now_ms);
        }
        self.handle(ServiceEvent::TimePassed, now_ms);
        self.state.next_deadline_ms()
    }

    /// Replaces the components and their numbers of instances. Returns whether that is a change.
    pub fn flex(&mut self, components: Vec<ComponentSpec>, now_ms: u64) -> bool {
        let is_change = self.state.would_change(&components);
        self.handle(ServiceEvent::Flex(components), now_ms);
        is_change
    }

    /// Kills one container; the service replaces it.
    ///
    /// # Errors
    /// If the service has no such running container.
    pub fn kill_container(&mut self, container: ContainerRef, now_ms: u64) -> Result<(), NotRunning> {
        let held = self.state.instance_state(container).is_some_and(crate::InstanceState::is_held);
        if !held {
            return Err(NotRunning(container));
        }
        self.handle(ServiceEvent::KillContainer(container), now_ms);
        Ok(())
    }

    /// Submits a placement action on one container. [`take_answers`](Self::take_answers) reports its
    /// progress.
    pub fn submit(&mut self, action: ContainerAction, now_ms: u64) {
        self.handle(ServiceEvent::Action(action), now_ms);
    }

    /// Returns whether there is no progress of placement actions to take.
    pub(crate) fn has_no_answers(&self) -> bool {
        self.answers.is_empty()
    }

    /// Takes the progress of placement actions since the last call, in order.
    pub fn take_answers(&mut self) -> Vec<ActionProgress> {
        std::mem::take(&mut self.answers)
    }

    /// Stops the service: releases all containers and makes no more requests.
    pub fn stop(&mut self, now_ms: u64) {
        self.handle(ServiceEvent::Stop, now_ms);
    }

    /// Handles an event that does not come from the manager.
    pub fn handle(&mut self, event: ServiceEvent, now_ms: u64) {
        let may_change_budgets = matches!(event, ServiceEvent::Flex(_) | ServiceEvent::Change(_));
        let before = if may_change_budgets { self.state.disruption_budgets() } else { Vec::new() };
        let operations = self.state.handle(event, now_ms);
        let after = if may_change_budgets { self.state.disruption_budgets() } else { Vec::new() };
        if before != after {
            self.set_budgets(after);
        }
        self.perform(operations, now_ms);
    }

    /// Sets the budgets. If the manager refuses them, its earlier ones stay, and the status says why.
    fn set_budgets(&mut self, budgets: Vec<DisruptionBudget>) {
        let refused = self.client.set_disruption_budgets(budgets).err();
        self.refused_budgets = refused.map(|error| error.to_string());
    }

    /// Returns the status of the service, with the reason why each request waits.
    pub fn status(&self, now_ms: u64) -> ServiceStatus {
        let status = self.state.status(now_ms, &|request| self.client.explain(request));
        ServiceStatus { refused_budgets: self.refused_budgets.clone(), ..status }
    }

    /// Returns the history to save if it changed since the last call.
    pub fn take_history(&mut self, now_ms: u64) -> Option<HistoryFile> {
        let version = self.state.history_version();
        let is_news = std::mem::replace(&mut self.saved_version, version) != version;
        is_news.then(|| self.state.image(now_ms))
    }

    /// Offers the history to the saver if it changed and the saver is idle. Changes during a save are saved
    /// together afterwards. Never waits. Call it after each [`tick`](Self::tick).
    pub fn save_with(&mut self, saver: &HistorySaver, now_ms: u64) {
        if !saver.is_ready() {
            return;
        }
        if let Some(history) = self.take_history(now_ms) {
            saver.offer(history);
        }
    }

    /// Counts callbacks and operations. While the count stays, nothing moves.
    #[must_use]
    pub fn moves(&self) -> u64 {
        self.moves
    }

    /// Returns the result of the thaw; `None` without a history.
    pub fn thawed(&self) -> Option<&ThawReport> {
        self.thawed.as_ref()
    }

    /// Returns the state of the decisions.
    pub fn state(&self) -> &ApplicationState {
        &self.state
    }

    /// Returns the manager's client.
    pub fn client(&self) -> &C {
        &self.client
    }

    /// Returns the manager's client, for embedders that pass it reports.
    pub fn client_mut(&mut self) -> &mut C {
        &mut self.client
    }

    /// Returns the manager's client, for a master that restarts.
    pub fn into_client(self) -> C {
        self.client
    }

    /// Carries out operations, and the operations that follow from failed ones.
    fn perform(&mut self, operations: Vec<Operation>, now_ms: u64) {
        let mut waiting = VecDeque::from(operations);
        while let Some(operation) = waiting.pop_front() {
            self.moves += 1;
            if let Some(event) = self.carry_out(operation, &mut waiting) {
                waiting.extend(self.state.handle(event, now_ms));
            }
        }
    }

    /// Carries out one operation. Returns the event for a failure. A swap that the manager cannot do
    /// becomes two operations at the head of the queue.
    fn carry_out(&mut self, operation: Operation, waiting: &mut VecDeque<Operation>) -> Option<ServiceEvent> {
        match operation {
            Operation::Swap { container, request } => {
                if self.client.swap(container, request.clone()).is_err() {
                    waiting.push_front(Operation::Request(request));
                    waiting.push_front(Operation::Release(container));
                }
                None
            }
            Operation::Request(request) => {
                let id = request.id;
                let taken = self.client.request(request);
                taken.err().map(|error| ServiceEvent::NotTaken { request: id, error })
            }
            Operation::Release(container) => {
                ended_without_callback(container, &self.client.release(container))
            }
            Operation::Start { container, component } => {
                let launch = self.state.launch(container, component);
                ended_without_callback(container, &self.client.start(container, &launch))
            }
            Operation::Answer { action, status, message } => {
                self.answers.push(ActionProgress { action, status, message });
                None
            }
            Operation::Cancel(request) => {
                // A request that is over needs no cancel.
                let _ = self.client.cancel(request);
                None
            }
            Operation::UpdateBlacklist { add, remove } => {
                // A manager that is gone has no blacklist.
                let _ = self.client.update_blacklist(&add, &remove);
                None
            }
        }
    }
}

/// Reports the end of a container that the manager no longer knows: its end was missed.
fn ended_without_callback(container: ContainerRef, done: &Result<(), ClientError>) -> Option<ServiceEvent> {
    let is_unknown = matches!(done, Err(ClientError::UnknownContainer(_)));
    let exit = ContainerExit::of(ContainerExit::ABORTED);
    is_unknown.then(|| ServiceEvent::Callback(Callback::Completed(vec![(container, exit)])))
}
