//! One outstanding request.

use std::sync::Arc;

use super::ActionId;
use crate::client::{Allocation, ContainerRef, ContainerRequest, RequestId};
use crate::component::ComponentId;
use crate::history::request_priority;

/// How far from the requested host a request may be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Only on the host.
    Host,
    /// On the host's rack.
    Rack,
    /// On any of the hosts in the request.
    Listed,
    /// On any host.
    Anywhere,
}

/// An outstanding request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OutstandingRequest {
    pub(super) component: ComponentId,
    /// The request as made; its id is the outstanding request's.
    pub(super) request: ContainerRequest,
    /// The host of the history that it asks for.
    pub(super) host: Option<Arc<str>>,
    pub(super) reach: Reach,
    /// When it, or the request that it was widened from, was made.
    pub(super) since_ms: u64,
    /// After this time it is widened, or reissued if the manager refused it.
    pub(super) deadline_ms: Option<u64>,
    /// After this time it is widened, even if the manager refused it.
    pub(super) widens_ms: Option<u64>,
    /// Why the manager does not have it.
    pub(super) not_taken: Option<String>,
    /// The history's [`gained`](crate::history::RoleHistory::gained) when its hosts were listed.
    pub(super) gained: u64,
    /// The placement action that it finds a place for. Such a request does not count towards the
    /// component's instances.
    pub(super) action: Option<ActionId>,
    /// The container whose place the action takes.
    pub(super) way: Option<Way>,
}

/// A container that makes way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) of: ContainerRef,
    /// Time limit for getting its place once it has ended.
    pub(super) within_ms: u64,
}

impl OutstandingRequest {
    /// Creates a request for any host, without a deadline.
    pub(super) fn new(component: ComponentId, request: ContainerRequest, since_ms: u64) -> Self {
        Self {
            component,
            request,
            host: None,
            reach: Reach::Anywhere,
            since_ms,
            deadline_ms: None,
            widens_ms: None,
            not_taken: None,
            gained: 0,
            action: None,
            way: None,
        }
    }

    pub(super) fn id(&self) -> RequestId {
        self.request.id
    }

    /// Returns whether it lists exactly these hosts.
    pub(super) fn is_for(&self, hosts: &[Arc<str>]) -> bool {
        self.reach == Reach::Listed && self.request.hosts == *hosts
    }

    /// Changes it to list these hosts, without a deadline.
    pub(super) fn list(&mut self, hosts: Vec<Arc<str>>) {
        self.reach = Reach::Listed;
        self.request.hosts = hosts;
        self.request.racks.clear();
        self.request.relax_locality = false;
        self.request.priority = request_priority(self.component, true);
        self.deadline_ms = None;
        self.widens_ms = None;
    }

    /// Returns whether it is wider than at first.
    pub(super) fn is_escalated(&self) -> bool {
        self.host.is_some() && self.reach != Reach::Host
    }

    /// Returns whether the container has its priority and size, and came to a host that it accepts.
    pub(super) fn takes(&self, came: &Allocation) -> bool {
        let request = &self.request;
        let may_be_there = request.relax_locality || request.hosts.contains(&came.host);
        self.not_taken.is_none()
            && may_be_there
            && request.priority == came.priority
            && request.size.within(&came.size)
    }
}
