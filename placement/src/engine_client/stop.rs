//! Stops: a container with node agents has ended when its agent reports the exit.

use std::fmt::Display;
use std::sync::Arc;

use apportion::engine::SubmitError;
use apportion::{ContainerId, EndCause};

use super::{EngineClient, NodeCommand, Placed, swap};
use crate::client::{Callback, ClientError, ClusterClient, ContainerRef, ContainerRequest};
use crate::exit::ContainerExit;

impl EngineClient {
    /// Takes the commands for node agents, in order. Empty without [node agents](Self::with_node_agents).
    #[must_use]
    pub fn take_commands(&mut self) -> Vec<NodeCommand> {
        std::mem::take(&mut self.commands)
    }

    /// Passes each command to `agent`, for node agents in this process. A launch that returns `Ok` counts
    /// as started, and an error as a failed start. The service repeats a failed kill later.
    pub fn carry_out<E: Display>(&mut self, mut agent: impl FnMut(NodeCommand) -> Result<(), E>) {
        for command in self.take_commands() {
            let launched = match &command {
                NodeCommand::Launch { container, .. } => Some(*container),
                NodeCommand::Kill { .. } => None,
            };
            let done = agent(command);
            let Some(container) = launched else { continue };
            // A container that has ended meanwhile needs no report.
            let _ = match done {
                Ok(()) => self.report_started(container),
                Err(error) => self.report_start_failed(container, error.to_string()),
            };
        }
    }

    /// Reports, for a node agent, that the process in a container has ended, by itself or because it was
    /// killed.
    ///
    /// # Errors
    /// If the container has ended before.
    pub fn report_exit(&mut self, container: ContainerRef, exit: ContainerExit) -> Result<(), ClientError> {
        let placed = self.containers.get_mut(&container).ok_or(ClientError::UnknownContainer(container))?;
        // The process is gone.
        placed.launch = None;
        let id = ContainerId::from_number(container.0);
        self.exits.insert(id, exit);
        match self.swaps.take_instead_of(container) {
            Some(request) => self.swap_after_end(container, request),
            None => self.handle.complete_container(id).map_err(|error| self.refused(&error)),
        }
    }

    /// Returns whether a process may run in it, which an agent has to end.
    pub(super) fn waits_for_end_of(&self, placed: &Placed) -> bool {
        self.has_node_agents && (placed.launch.is_some() || placed.stopping.is_some())
    }

    /// Stops a container: the engine waits for its end, and its agent gets a kill command. A repeated call
    /// repeats the command.
    pub(super) fn stop(&mut self, container: ContainerRef) {
        let Some(placed) = self.containers.get_mut(&container) else { return };
        self.found_stopping.remove(&container);
        let host = placed.host.clone();
        let is_first = placed.stopping.is_none();
        placed.stopping.get_or_insert(EndCause::Released);
        if is_first && let Err(error) = self.handle.stop_container(ContainerId::from_number(container.0)) {
            self.refused(&error);
        }
        self.command_kill(container, host);
    }

    fn command_kill(&mut self, container: ContainerRef, host: Arc<str>) {
        if self.has_node_agents {
            self.commands.push(NodeCommand::Kill { container, host });
        }
    }

    /// Handles the engine's order to stop a container. A repeated order changes nothing.
    pub(super) fn told_to_stop(&mut self, container: ContainerId, cause: EndCause) -> Option<Callback> {
        let reference = Self::reference(container);
        let placed = self.containers.get_mut(&reference)?;
        // The engine may have stopped it for another cause before it received this client's stop.
        let was_told = placed.stopping.replace(cause).is_some();
        if self.found_stopping.remove(&reference) || !was_told {
            self.obey_stop(reference);
        }
        None
    }

    /// Carries out stops that came before this client.
    pub(super) fn obey_found_stops(&mut self) {
        for container in std::mem::take(&mut self.found_stopping) {
            self.obey_stop(container);
        }
    }

    /// Commands the agent to kill the process. Without agents, or without a process, the container ends at
    /// once.
    fn obey_stop(&mut self, container: ContainerRef) {
        let Some(placed) = self.containers.get(&container) else { return };
        if self.has_node_agents && placed.launch.is_some() {
            let host = placed.host.clone();
            self.command_kill(container, host);
        } else {
            // The next call notices an engine that is shut down.
            let _ = self.handle.complete_container(ContainerId::from_number(container.0));
        }
    }

    /// Confirms all stops of an ended application without node agents: no process runs, and no other caller
    /// confirms.
    pub(super) fn confirm_all(&mut self) -> Result<(), SubmitError> {
        let found_stopping = std::mem::take(&mut self.found_stopping);
        for (container, placed) in &mut self.containers {
            let is_confirmed = placed.stopping.is_some() && !found_stopping.contains(container);
            placed.stopping.get_or_insert(EndCause::ApplicationEnded);
            if !is_confirmed {
                self.handle.complete_container(ContainerId::from_number(container.0))?;
            }
        }
        Ok(())
    }

    /// Releases a container without a process.
    pub(super) fn give_back(&mut self, container: ContainerRef) -> Result<(), ClientError> {
        self.placed(container)?;
        self.handle
            .release_container(ContainerId::from_number(container.0))
            .map_err(|error| self.refused(&error))
    }

    /// Commits a swap: the container ends and the request is served in its place.
    pub(super) fn swap_now(
        &mut self,
        container: ContainerRef,
        request: ContainerRequest,
    ) -> Result<(), ClientError> {
        self.placed(container)?;
        let [host] = &request.hosts[..] else { return Err(ClientError::CannotSwap) };
        let unknown = ClientError::UnknownHost { host: host.to_string() };
        let node = self.handle.node(host).ok_or(unknown)?;
        let number = request.id;
        self.request(request)?;
        let ask = self.requests.ask(number).ok_or(ClientError::UnknownRequest(number))?;
        let ticket =
            self.handle.commit(swap::commit_request(ContainerId::from_number(container.0), ask, node));
        let ticket = ticket.map_err(|error| self.refused(&error))?;
        self.swaps.begun(container, ticket);
        Ok(())
    }

    /// Commits a waiting swap after the process has ended. If the engine refuses the request, the container
    /// is released anyway.
    fn swap_after_end(
        &mut self,
        container: ContainerRef,
        request: ContainerRequest,
    ) -> Result<(), ClientError> {
        let number = request.id;
        self.swap_now(container, request).or_else(|_| {
            self.told.push(Callback::Withdrawn(number));
            self.give_back(container)
        })
    }

    /// Handles the end of a container. Has a process that may still run killed, and submits the request of
    /// a waiting swap.
    pub(super) fn ended(&mut self, container: ContainerId, cause: Option<EndCause>) -> Option<Callback> {
        let reference = Self::reference(container);
        let placed = self.containers.remove(&reference)?;
        self.found_stopping.remove(&reference);
        // After a stop timeout the process may still run: its agent failed to kill it, or never got the
        // command.
        let has_timed_out = cause == Some(EndCause::StopTimedOut);
        if placed.launch.is_some() && (placed.stopping.is_none() || has_timed_out) {
            self.command_kill(reference, placed.host);
        }
        if let Some(request) = self.swaps.take_instead_of(reference) {
            let number = request.id;
            if self.request(request).is_err() {
                self.told.push(Callback::Withdrawn(number));
            }
        }
        let reported = self.exits.remove(&container);
        let exit = match (cause, reported) {
            (Some(EndCause::Completed) | None, Some(reported)) => reported,
            (Some(EndCause::StopTimedOut), _) => unconfirmed(placed.stopping),
            (cause, _) => exit_of(cause),
        };
        Some(Callback::Completed(vec![(reference, exit)]))
    }
}

/// Returns the YARN exit status of a container without a report of its agent.
fn exit_of(cause: Option<EndCause>) -> ContainerExit {
    let status = match cause {
        Some(EndCause::Completed) => ContainerExit::SUCCESS,
        Some(
            EndCause::Released | EndCause::StopTimedOut | EndCause::Replaced | EndCause::PlaceholderReleased,
        ) => ContainerExit::KILLED_BY_APPMASTER,
        Some(EndCause::Preempted | EndCause::OpportunisticPreempted) => ContainerExit::PREEMPTED,
        Some(EndCause::ApplicationEnded) => ContainerExit::KILLED_AFTER_APP_COMPLETION,
        Some(EndCause::NodeLost) | None => ContainerExit::ABORTED,
    };
    ContainerExit::of(status)
}

/// Returns the exit of a stopped container whose agent did not confirm the stop.
fn unconfirmed(stopping: Option<EndCause>) -> ContainerExit {
    let diagnostics = "its host did not confirm the stop in time".to_owned();
    ContainerExit { diagnostics, ..exit_of(stopping.or(Some(EndCause::Released))) }
}
