//! Slow hosts: containers start and stop some time after the command, and some fail to do so.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;

use apportion_placement::{
    Callback, ClientError, ClusterClient, ContainerExit, ContainerRef, ContainerRequest, Dismissal,
    EngineClient, Launch, NodeCommand, NodeReport, RequestId, RunningContainer, Unserved,
};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::record::FaultCounts;

/// The shortest and the longest time of a start, and of a stop.
const START_MS: [u64; 2] = [2_000, 10_000];
const STOP_MS: [u64; 2] = [1_000, 5_000];
/// The shortest and the longest time in which a running standby reads all state.
pub(super) const READ_MS: [u64; 2] = [10_000, 60_000];

/// A delayed event of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Starts,
    FailsToStart,
    Stops,
    FailsToStop,
    HasCaughtUp,
}

/// An engine's client with simulated delays of containers.
#[derive(Debug)]
pub(super) struct SlowHosts {
    client: EngineClient,
    now_ms: u64,
    due: BinaryHeap<Reverse<(u64, ContainerRef, Due)>>,
    stopping: BTreeSet<ContainerRef>,
    /// The request that replaces each container that is being stopped.
    swaps: BTreeMap<ContainerRef, ContainerRequest>,
    told: Vec<Callback>,
    random: Pcg64Mcg,
    /// Percentage of starts and of stops that fail.
    fault_percent: u32,
    faults: FaultCounts,
    /// The standbys in their containers.
    standbys: BTreeMap<ContainerRef, String>,
    caught_up: Vec<(ContainerRef, String)>,
}

impl SlowHosts {
    pub(super) fn new(client: EngineClient, seed: u64) -> Self {
        Self {
            client: client.with_node_agents(),
            now_ms: 0,
            due: BinaryHeap::new(),
            stopping: BTreeSet::new(),
            swaps: BTreeMap::new(),
            told: Vec::new(),
            random: Pcg64Mcg::seed_from_u64(seed ^ 0x510e),
            fault_percent: 0,
            faults: FaultCounts::default(),
            standbys: BTreeMap::new(),
            caught_up: Vec::new(),
        }
    }

    /// From now on, makes this percentage of starts and stops fail.
    pub(super) fn inject_faults(&mut self, fault_percent: u32) {
        self.fault_percent = fault_percent;
    }

    /// The time of the next due event.
    pub(super) fn next_ms(&self) -> Option<u64> {
        self.due.peek().map(|Reverse((at_ms, ..))| *at_ms)
    }

    /// Starts and stops that failed so far.
    pub(super) fn faults(&self) -> FaultCounts {
        self.faults
    }

    /// Takes the standbys that have read all state since the last call, with their containers.
    pub(super) fn take_caught_up(&mut self) -> Vec<(ContainerRef, String)> {
        std::mem::take(&mut self.caught_up)
    }

    /// Advances to this time.
    pub(super) fn pass(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
        while let Some(Reverse((at_ms, container, due))) = self.due.peek().copied()
            && at_ms <= now_ms
        {
            self.due.pop();
            self.fall_due(container, due);
        }
    }

    /// Handles a due event. An event of a container that is gone has no effect.
    fn fall_due(&mut self, container: ContainerRef, due: Due) {
        match due {
            Due::Starts if self.stopping.contains(&container) => {}
            Due::Starts => self.has_started(container),
            Due::FailsToStart => {
                drop(self.client.report_start_failed(container, "the process ended at once".to_owned()));
            }
            Due::Stops => self.stop(container),
            Due::FailsToStop => self.told.push(Callback::StopFailed(container)),
            Due::HasCaughtUp => {
                let standby = self.standbys.remove(&container).map(|standby| (container, standby));
                self.caught_up.extend(standby);
            }
        }
        if matches!(due, Due::Stops | Due::FailsToStop) {
            self.stopping.remove(&container);
        }
    }

    fn has_started(&mut self, container: ContainerRef) {
        drop(self.client.report_started(container));
        if self.standbys.contains_key(&container) {
            let reads_ms = self.random.random_range(READ_MS[0]..=READ_MS[1]);
            self.due.push(Reverse((self.now_ms + reads_ms, container, Due::HasCaughtUp)));
        }
    }

    /// Ends a container's process. Its replacement is requested in the same step, if the engine can.
    fn stop(&mut self, container: ContainerRef) {
        self.give_up(container);
        for command in self.client.take_commands() {
            if let NodeCommand::Kill { container, .. } = command {
                let exit = ContainerExit::of(ContainerExit::KILLED_BY_APPMASTER);
                drop(self.client.report_exit(container, exit));
            }
        }
    }

    fn give_up(&mut self, container: ContainerRef) {
        let swap = self.swaps.remove(&container);
        let Some(request) = swap else {
            drop(self.client.release(container));
            return;
        };
        if self.client.swap(container, request.clone()).is_ok() {
            return;
        }
        drop(self.client.release(container));
        let id = request.id;
        if self.client.request(request).is_err() {
            self.told.push(Callback::Withdrawn(id));
        }
    }

    fn later(&mut self, container: ContainerRef, [least, most]: [u64; 2], goes_well: Due, fails: Due) {
        let at_ms = self.now_ms + self.random.random_range(least..=most);
        let is_fault = self.random.random_range(0..100) < self.fault_percent;
        self.faults.starts_failed += u32::from(is_fault && fails == Due::FailsToStart);
        self.faults.stops_failed += u32::from(is_fault && fails == Due::FailsToStop);
        let due = if is_fault { fails } else { goes_well };
        self.due.push(Reverse((at_ms, container, due)));
    }
}

impl ClusterClient for SlowHosts {
    fn keeps_apart(&self) -> bool {
        self.client.keeps_apart()
    }

    fn request(&mut self, request: ContainerRequest) -> Result<(), ClientError> {
        self.client.request(request)
    }

    fn cancel(&mut self, request: RequestId) -> Result<(), ClientError> {
        let is_other = |_: &ContainerRef, waits: &mut ContainerRequest| waits.id != request;
        let swaps = self.swaps.len();
        self.swaps.retain(is_other);
        if self.swaps.len() < swaps {
            return Ok(());
        }
        self.client.cancel(request)
    }

    fn release(&mut self, container: ContainerRef) -> Result<(), ClientError> {
        if self.client.engine_container(container).is_none() {
            return Err(ClientError::UnknownContainer(container));
        }
        if self.stopping.insert(container) {
            self.later(container, STOP_MS, Due::Stops, Due::FailsToStop);
        }
        Ok(())
    }

    fn swap(&mut self, container: ContainerRef, request: ContainerRequest) -> Result<(), ClientError> {
        self.release(container)?;
        self.swaps.insert(container, request);
        Ok(())
    }

    fn start(&mut self, container: ContainerRef, launch: &Launch) -> Result<(), ClientError> {
        self.client.start(container, launch)?;
        if launch.component.contains('-') {
            self.standbys.insert(container, launch.component.clone());
        }
        self.later(container, START_MS, Due::Starts, Due::FailsToStart);
        Ok(())
    }

    fn update_blacklist(&mut self, add: &[Arc<str>], remove: &[Arc<str>]) -> Result<(), ClientError> {
        self.client.update_blacklist(add, remove)
    }

    fn nodes(&self) -> Vec<NodeReport> {
        self.client.nodes()
    }

    fn take_over(&mut self) -> Vec<RunningContainer> {
        self.client.take_over()
    }

    fn explain(&self, request: RequestId) -> Option<Unserved> {
        self.client.explain(request)
    }

    fn poll(&mut self) -> Vec<Callback> {
        let mut callbacks = self.client.poll();
        callbacks.append(&mut self.told);
        callbacks
    }

    fn dismissal(&self) -> Option<&Dismissal> {
        self.client.dismissal()
    }
}
