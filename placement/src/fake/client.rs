//! The fake cluster as a cluster manager.

use std::sync::Arc;

use super::{FakeCluster, Fault};
use crate::client::{
    Callback, ClientError, ClusterClient, ContainerRef, ContainerRequest, Launch, NodeReport, RequestId,
    RunningContainer, Unserved,
};
use crate::exit::ContainerExit;

impl ClusterClient for FakeCluster {
    fn keeps_apart(&self) -> bool {
        self.keeps_apart
    }

    fn request(&mut self, request: ContainerRequest) -> Result<(), ClientError> {
        self.may_request(&request)?;
        // Earlier requests did not fit a moment ago, and nothing else has changed.
        let key = (request.priority, request.id);
        self.waiting.insert(key, request);
        self.place_one(key);
        Ok(())
    }

    fn cancel(&mut self, request: RequestId) -> Result<(), ClientError> {
        self.take_back(request)?;
        self.tell(Callback::Withdrawn(request));
        Ok(())
    }

    fn release(&mut self, container: ContainerRef) -> Result<(), ClientError> {
        if self.running.contains_key(&container) && self.takes_turn(Fault::FailStop) {
            self.tell(Callback::StopFailed(container));
            return Ok(());
        }
        if self.stops_slowly(container) {
            return Ok(());
        }
        self.complete(container, ContainerExit::of(ContainerExit::KILLED_BY_APPMASTER))
    }

    /// A cluster that does not name the request of a container cannot swap.
    fn swap(&mut self, container: ContainerRef, request: ContainerRequest) -> Result<(), ClientError> {
        if !self.echoes_requests {
            return Err(ClientError::CannotSwap);
        }
        if !self.running.contains_key(&container) {
            return Err(ClientError::UnknownContainer(container));
        }
        self.may_request(&request)?;
        let key = (request.priority, request.id);
        if self.takes_turn(Fault::FailStop) {
            self.tell(Callback::StopFailed(container));
            self.waiting.insert(key, request);
            self.place_one(key);
        } else {
            self.swaps.insert(container, request);
            if !self.stops_slowly(container) {
                self.end(container, ContainerExit::of(ContainerExit::KILLED_BY_APPMASTER));
            }
        }
        self.place();
        Ok(())
    }

    fn start(&mut self, container: ContainerRef, launch: &Launch) -> Result<(), ClientError> {
        let found = self.running.get_mut(&container);
        found.ok_or(ClientError::UnknownContainer(container))?.launch = Some(launch.clone());
        self.launch(container);
        Ok(())
    }

    fn update_blacklist(&mut self, add: &[Arc<str>], remove: &[Arc<str>]) -> Result<(), ClientError> {
        self.blacklist.extend(add.iter().cloned());
        for host in remove {
            self.blacklist.remove(host);
        }
        self.place();
        Ok(())
    }

    fn nodes(&self) -> Vec<NodeReport> {
        self.nodes.iter().map(|(host, node)| self.report_of(host, node)).collect()
    }

    fn take_over(&mut self) -> Vec<RunningContainer> {
        self.waiting.clear();
        self.served.clear();
        self.swaps.clear();
        self.callbacks.clear();
        self.delayed = None;
        self.blacklist.clear();
        self.callbacks.push(Callback::NodesUpdated(self.nodes()));
        let running = self.running.iter().map(|(container, found)| RunningContainer {
            container: *container,
            priority: found.priority,
            host: found.host.clone(),
            launch: found.launch.clone(),
            is_stopping: found.is_stopping,
        });
        running.collect()
    }

    fn explain(&self, request: RequestId) -> Option<Unserved> {
        let key = self.key_of(request).ok()?;
        self.waiting.get(&key).map(|request| self.obstacle(request))
    }

    fn poll(&mut self) -> Vec<Callback> {
        self.callbacks.extend(self.delayed.take());
        std::mem::take(&mut self.callbacks)
    }
}
