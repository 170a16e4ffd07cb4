//! Handles: how callers talk to an engine.
//!
//! Here are the handle itself, and the calls for one ask. The other calls are in the files of their subjects.

use std::sync::Arc;

use super::ask_tags::check_tags;
use super::message::{Call, Message};
use super::opportunistic::check_opportunistic;
use super::refusals::RefusalList;
use super::shared::Shared;
use super::submit_error::SubmitError;
use crate::change::{AskSpec, Change};
use crate::config::EngineConfig;
use crate::facts::ExecutionType;
use crate::ids::{ApplicationId, AskId, PartitionId};
use crate::resource::{DeviceNeed, Resources};

/// Submits calls to an engine and reads its state. Clones share the engine and the list of refusals.
///
/// A call checks what it can without the state. The committer checks the rest later and reports a refusal on the
/// call's [`Ticket`](crate::Ticket). A call without a ticket reports it in [`take_refusals`](Self::take_refusals).
/// Refused applications and asks are also events of the application's [`EventStream`](crate::EventStream). Except in
/// serial mode a call blocks while the inbox is full.
#[doc = include_str!("../../doc/handle.md")]
#[derive(Clone, Debug)]
pub struct Handle {
    pub(super) shared: Arc<Shared>,
    pub(super) refusals: Arc<RefusalList>,
}

/// # Asks
///
/// An [`AskId`] is unknown once the last container of the ask is placed, or the ask is cancelled. The refusal is
/// [`UnknownAsk`](crate::event::Refusal::UnknownAsk).
impl Handle {
    /// Asks for containers. The ask of an unknown application is [refused](Self::take_refusals). The stream of an
    /// ended application gets the refusal too, as [`ApplicationEnded`](crate::event::EventKind::ApplicationEnded)
    /// says. An ask for an unknown rack is refused. An unknown host never has room.
    ///
    /// # Errors
    /// If the ask is not valid, its partition is unknown, or the engine is shut down.
    pub fn submit_ask(&self, application: ApplicationId, mut spec: AskSpec) -> Result<AskId, SubmitError> {
        self.check_ask(&mut spec)?;
        let ask = self.shared.ids.asks.lock().take();
        let change = Change::AskSubmitted { ask, application, spec };
        self.send(change).inspect_err(|_| self.shared.ids.asks.lock().give_back(ask))?;
        Ok(ask)
    }

    /// Cancels up to `units` outstanding units of an ask. An unknown ask is [refused](Self::take_refusals).
    ///
    /// # Errors
    /// If the engine is shut down.
    pub fn cancel_ask(&self, ask: AskId, units: u32) -> Result<(), SubmitError> {
        self.send(Change::AskCancelled { ask, units })
    }

    /// Checks an ask without the state, and rounds its size up. The committer checks the rest when it admits the ask:
    /// whether its application runs, and whether its racks are known.
    pub(super) fn check_ask(&self, spec: &mut AskSpec) -> Result<(), SubmitError> {
        let config = &*self.shared.config;
        if spec.count == 0 {
            return Err(SubmitError::NothingAsked);
        }
        if spec.preference.is_empty() && !spec.preference.relax_locality {
            return Err(SubmitError::NothingNamed);
        }
        if spec.execution_type == ExecutionType::Opportunistic {
            check_opportunistic(config, spec)?;
        }
        spec.tags.as_deref().map_or(Ok(()), check_tags)?;
        self.check_size(&mut spec.size, spec.devices)?;
        self.normalize(&mut spec.size)?;
        if !config.allocation.admits(&spec.size) {
            return Err(SubmitError::EmptyContainer);
        }
        spec.partition.map_or(Ok(()), |partition| self.check_partition(partition))
    }
}

impl Handle {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, refusals: Arc::default() }
    }

    /// Adds the devices to the size of a container, and checks its amounts.
    pub(super) fn check_size(
        &self,
        size: &mut Resources,
        devices: Option<DeviceNeed>,
    ) -> Result<(), SubmitError> {
        if let Some(need) = devices.filter(|need| !need.is_valid()) {
            return Err(SubmitError::Devices { count: need.count, milli: need.milli });
        }
        let types = &self.shared.config.resources;
        types.count_devices(size, devices.map_or(0, |need| need.total_milli()))?;
        Ok(types.check(size)?)
    }

    /// Rounds a size up to the steps of the configuration, up to its maximum.
    pub(super) fn normalize(&self, size: &mut Resources) -> Result<(), SubmitError> {
        let EngineConfig { allocation, resources, .. } = &*self.shared.config;
        allocation.normalize(size).map_err(|i| SubmitError::ContainerTooLarge {
            name: resources.names()[i].clone(),
            amount: size[i],
            maximum: allocation.maximum[i].unwrap_or(i64::MAX),
        })
    }

    pub(super) fn check_partition(&self, partition: PartitionId) -> Result<(), SubmitError> {
        let last = PartitionId(self.shared.config.partitions.len() as u32);
        if partition <= last { Ok(()) } else { Err(SubmitError::UnknownPartitionId { partition, last }) }
    }

    /// Puts a change into the committer's inbox; waits while the inbox is full. From here on the committer processes
    /// the change, even if the engine is shut down right afterwards.
    pub(super) fn send(&self, change: Change) -> Result<(), SubmitError> {
        self.send_call(Call::Change(change))
    }

    /// As [`send`](Self::send), for any call without a ticket. Its refusals go to this handle's list.
    pub(super) fn send_call(&self, call: Call) -> Result<(), SubmitError> {
        let caller = Arc::clone(&self.refusals);
        Ok(self.shared.send(Message::Call { call, caller })?)
    }
}
