//! A service that runs: its decisions, carried out by a cluster manager (Slider's application master).

use std::collections::VecDeque;

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

/// A service and its cluster manager. Whoever owns it calls [`tick`](Self::tick) when something may have happened.
#[derive(Debug)]
pub struct Service<C> {
    state: ApplicationState,
    client: C,
    thawed: Option<ThawReport>,
    answers: Vec<ActionProgress>,
    saved_version: u64,
    moves: u64,
}

/// What became of a placement action so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionProgress {
    /// Of which.
    pub action: ActionId,
    /// How it stands.
    pub status: ActionStatus,
    /// The same in words.
    pub message: String,
}

/// Why something was not done to a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("no container {} of this service runs", .0.0)]
pub struct NotRunning(pub ContainerRef);

impl<C: ClusterClient> Service<C> {
    /// A service that starts: it comes back to where the history says it was. The first [`tick`](Self::tick) asks for
    /// containers. Instances that keep apart are asked for one by one if the manager cannot keep them apart.
    pub fn start(
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
        Self { saved_version: state.history_version(), state, client, thawed, answers: Vec::new(), moves: 0 }
    }

    /// A service whose master was started again: its containers ran on and stay.
    pub fn restart(
        components: Vec<ComponentSpec>,
        settings: ServiceSettings,
        client: C,
        history: Option<&HistoryFile>,
        now_ms: u64,
    ) -> Self {
        let mut service = Self::start(components, settings, client, history, now_ms);
        let running = service.client.take_over();
        let operations = service.state.adopt(&running, now_ms);
        service.perform(operations, now_ms);
        service
    }

    /// Hears what the manager tells and does what is due. Says when it wants to be called again even if nothing
    /// happens. A service that its manager [dismissed](ClusterClient::dismissal) stops.
    pub fn tick(&mut self, now_ms: u64) -> Option<u64> {
        let callbacks = self.client.poll();
        // Otherwise it would ask again for whatever it is told has ended.
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

    /// From now on there should be these components, with these numbers of instances. Says whether that is a change.
    pub fn flex(&mut self, components: Vec<ComponentSpec>, now_ms: u64) -> bool {
        let is_change = self.state.would_change(&components);
        self.handle(ServiceEvent::Flex(components), now_ms);
        is_change
    }

    /// Ends one container; another one comes in its place.
    ///
    /// # Errors
    /// When no such container of the service runs.
    pub fn kill_container(&mut self, container: ContainerRef, now_ms: u64) -> Result<(), NotRunning> {
        let held = self.state.instance_state(container).is_some_and(crate::InstanceState::is_held);
        if !held {
            return Err(NotRunning(container));
        }
        self.handle(ServiceEvent::KillContainer(container), now_ms);
        Ok(())
    }

    /// Lets one container go elsewhere or start anew. What becomes of it is told by
    /// [`take_answers`](Self::take_answers).
    pub fn submit(&mut self, action: ContainerAction, now_ms: u64) {
        self.handle(ServiceEvent::Action(action), now_ms);
    }

    /// Whether nothing has become of placement actions since they were asked for last.
    pub(crate) fn has_no_answers(&self) -> bool {
        self.answers.is_empty()
    }

    /// What has become of placement actions since the last call, in order.
    pub fn take_answers(&mut self) -> Vec<ActionProgress> {
        std::mem::take(&mut self.answers)
    }

    /// Gives everything back and asks for nothing any more.
    pub fn stop(&mut self, now_ms: u64) {
        self.handle(ServiceEvent::Stop, now_ms);
    }

    /// Tells the service something besides what its manager tells.
    pub fn handle(&mut self, event: ServiceEvent, now_ms: u64) {
        let operations = self.state.handle(event, now_ms);
        self.perform(operations, now_ms);
    }

    /// How the service stands, and why each of its requests waits.
    pub fn status(&self, now_ms: u64) -> ServiceStatus {
        self.state.status(now_ms, &|request| self.client.explain(request))
    }

    /// What is worth saving, if anything has changed since it was last taken.
    pub fn take_history(&mut self, now_ms: u64) -> Option<HistoryFile> {
        let version = self.state.history_version();
        let is_news = std::mem::replace(&mut self.saved_version, version) != version;
        is_news.then(|| self.state.image(now_ms))
    }

    /// Has what is worth saving saved, if anything has changed and the saver has nothing else to do: what changes while
    /// it saves is saved together afterwards. Never waits. Call it after each [`tick`](Self::tick).
    pub fn save_with(&mut self, saver: &HistorySaver, now_ms: u64) {
        if !saver.is_ready() {
            return;
        }
        if let Some(history) = self.take_history(now_ms) {
            saver.offer(history);
        }
    }

    /// How often it has heard something of its manager or asked something of it. While this stays, nothing moves.
    #[must_use]
    pub fn moves(&self) -> u64 {
        self.moves
    }

    /// What became of the history that it started from; `None` if there was none.
    pub fn thawed(&self) -> Option<&ThawReport> {
        self.thawed.as_ref()
    }

    /// Its decisions, to look at.
    pub fn state(&self) -> &ApplicationState {
        &self.state
    }

    /// Its manager, to look at.
    pub fn client(&self) -> &C {
        &self.client
    }

    /// Its manager, to be told something.
    pub fn client_mut(&mut self) -> &mut C {
        &mut self.client
    }

    /// Its manager, for a master that is started again.
    pub fn into_client(self) -> C {
        self.client
    }

    /// Carries out operations, and those that follow from operations that came to nothing.
    fn perform(&mut self, operations: Vec<Operation>, now_ms: u64) {
        let mut waiting = VecDeque::from(operations);
        while let Some(operation) = waiting.pop_front() {
            self.moves += 1;
            if let Some(event) = self.carry_out(operation, &mut waiting) {
                waiting.extend(self.state.handle(event, now_ms));
            }
        }
    }

    /// Carries out one operation; says what has to be told of it. What cannot be done in one step is put before what
    /// waits.
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
            Operation::Release(container) => ended_unheard(container, &self.client.release(container)),
            Operation::Start { container, component } => {
                let launch = self.state.launch(container, component);
                ended_unheard(container, &self.client.start(container, &launch))
            }
            Operation::Answer { action, status, message } => {
                self.answers.push(ActionProgress { action, status, message });
                None
            }
            // A request that is over is what was wanted; a manager that is gone has no list to change.
            Operation::Cancel(request) => self.client.cancel(request).err().and(None),
            Operation::UpdateBlacklist { add, remove } => {
                self.client.update_blacklist(&add, &remove).err().and(None)
            }
        }
    }
}

/// The manager knows nothing of a container that the service has: its end was not heard.
fn ended_unheard(container: ContainerRef, done: &Result<(), ClientError>) -> Option<ServiceEvent> {
    let is_unknown = matches!(done, Err(ClientError::UnknownContainer(_)));
    let exit = ContainerExit::of(ContainerExit::ABORTED);
    is_unknown.then(|| ServiceEvent::Callback(Callback::Completed(vec![(container, exit)])))
}
