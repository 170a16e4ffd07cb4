//! Faults that tests inject.

use super::FakeCluster;
use crate::client::{Callback, ClientError, ContainerRef, ContainerRequest};

/// A fault that happens once, when its turn comes. Faults of different kinds do not wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The next request is refused.
    RefuseRequest,
    /// The next start of a container fails.
    FailStart,
    /// The next release of a container fails: the container cannot be stopped.
    FailStop,
    /// The next callback is lost.
    LoseCallback,
    /// The next callback comes twice.
    RepeatCallback,
    /// The next callback changes places with its successor.
    DelayCallback,
}

impl FakeCluster {
    pub(super) fn takes_turn(&mut self, fault: Fault) -> bool {
        let turn = self.faults.iter().position(|waits| *waits == fault);
        turn.is_some_and(|turn| self.faults.remove(turn).is_some())
    }

    pub(super) fn may_request(&mut self, request: &ContainerRequest) -> Result<(), ClientError> {
        if self.takes_turn(Fault::RefuseRequest) {
            return Err(ClientError::Refused("injected fault".into()));
        }
        if let Some(host) = request.hosts.iter().find(|host| !self.nodes.contains_key(*host)) {
            return Err(ClientError::UnknownHost { host: host.to_string() });
        }
        let is_known = self.waiting.contains_key(&(request.priority, request.id));
        if is_known { Err(ClientError::RequestRepeated(request.id)) } else { Ok(()) }
    }

    pub(super) fn launch(&mut self, container: ContainerRef) {
        if self.takes_turn(Fault::FailStart) {
            let diagnostics = "injected fault".to_owned();
            self.tell(Callback::StartFailed { container, diagnostics });
        } else if self.starts_by_itself {
            self.tell(Callback::Started(container));
        }
    }

    /// Delivers a callback. Every callback comes through here.
    pub(super) fn tell(&mut self, callback: Callback) {
        if self.takes_turn(Fault::LoseCallback) {
            return;
        }
        if self.takes_turn(Fault::RepeatCallback) {
            self.callbacks.push(callback.clone());
        }
        let is_overtaking = self.delayed.is_some();
        if !is_overtaking && self.takes_turn(Fault::DelayCallback) {
            self.delayed = Some(callback);
            return;
        }
        self.callbacks.push(callback);
        self.callbacks.extend(self.delayed.take());
    }
}
