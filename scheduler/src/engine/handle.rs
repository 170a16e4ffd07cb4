//! Handles: how callers talk to an engine.

use std::sync::Arc;

use super::refusals::RefusalList;
use super::shared::{Message, Shared};
use super::submit_error::SubmitError;
use crate::change::{AskSpec, Change};
use crate::config::EngineConfig;
use crate::facts::{AskTags, ExecutionType};
use crate::ids::{ApplicationId, AskId, PartitionId};
use crate::resource::{ResourceError, Resources};
use crate::view::View;

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

/// # State and time
///
/// These calls take no identifiers. The methods of a [`View`] find nothing for an unknown identifier.
impl Handle {
    /// The configuration at the start of the engine; [`View::queue_tree`] has the present queues.
    #[must_use]
    pub fn config(&self) -> &EngineConfig {
        &self.shared.config
    }

    /// A vector from named amounts; types not named are zero.
    ///
    /// # Errors
    /// If a name is not a resource type of the engine, or an amount is out of range.
    pub fn resources(&self, amounts: &[(&str, i64)]) -> Result<Resources, ResourceError> {
        self.shared.config.resources.resources(amounts)
    }

    /// Tells the engine that the clock was moved.
    ///
    /// # Errors
    /// If the engine is shut down.
    pub fn tick(&self) -> Result<(), SubmitError> {
        Ok(self.shared.send(Message::Tick)?)
    }

    /// Calls `look` with a view of the state. The engine is blocked meanwhile, so `look` must be quick and must not
    /// call this engine.
    pub fn read<T>(&self, look: impl FnOnce(&View<'_>) -> T) -> T {
        let state = self.shared.state.read();
        look(&View::new(&state))
    }
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
    /// If the ask itself is not valid, or its partition is unknown.
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

    /// Submits many asks, also of several applications, for a part of the cost of [`submit_ask`](Self::submit_ask).
    /// The identifiers are in the order of the asks. The committer refuses each ask with an unknown identifier by
    /// itself.
    ///
    /// # Errors
    /// If one of the asks is not valid, none is submitted. If the engine is shut down meanwhile, the first asks may
    /// have been submitted.
    pub fn submit_asks(
        &self,
        asks: impl IntoIterator<Item = (ApplicationId, AskSpec)>,
    ) -> Result<Vec<AskId>, SubmitError> {
        let mut asks: Vec<_> = asks.into_iter().collect();
        asks.iter_mut().try_for_each(|(_, spec)| self.check_ask(spec))?;
        let ids = self.take_ask_ids(asks.len())?;
        let changes = ids.iter().zip(asks).map(|(ask, (application, spec))| {
            let ask = *ask;
            Change::AskSubmitted { ask, application, spec }
        });
        self.send_all(changes)?;
        Ok(ids)
    }

    pub(super) fn check_ask(&self, spec: &mut AskSpec) -> Result<(), SubmitError> {
        let types = &self.shared.config.resources;
        if spec.count == 0 {
            return Err(SubmitError::NothingAsked);
        }
        if spec.preference.is_empty() && !spec.preference.relax_locality {
            return Err(SubmitError::NothingNamed);
        }
        if spec.execution_type == ExecutionType::Opportunistic {
            self.check_opportunistic(spec)?;
        }
        spec.tags.as_deref().map_or(Ok(()), check_tags)?;
        if let Some(need) = spec.devices.filter(|need| !need.is_valid()) {
            return Err(SubmitError::Devices { count: need.count, milli: need.milli });
        }
        let milli = spec.devices_milli();
        types.count_devices(&mut spec.size, milli)?;
        types.check(&spec.size)?;
        self.normalize(&mut spec.size)?;
        if !self.shared.config.allocation.admits(&spec.size) {
            return Err(SubmitError::EmptyContainer);
        }
        spec.partition.map_or(Ok(()), |partition| self.check_partition(partition))
    }

    #[cold]
    fn check_opportunistic(&self, spec: &AskSpec) -> Result<(), SubmitError> {
        match (&self.shared.config.opportunistic, spec.is_master) {
            (None, _) => Err(SubmitError::NoOpportunistic),
            (Some(_), true) => Err(SubmitError::OpportunisticMaster),
            (Some(_), false) => Ok(()),
        }
    }

    pub(super) fn take_ask_ids(&self, count: usize) -> Result<Vec<AskId>, SubmitError> {
        if self.shared.is_closed() {
            return Err(SubmitError::Closed);
        }
        let mut pool = self.shared.ids.asks.lock();
        Ok((0..count).map(|_| pool.take()).collect())
    }
}

impl Handle {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, refusals: Arc::default() }
    }

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

    pub(super) fn send(&self, change: Change) -> Result<(), SubmitError> {
        let caller = Arc::clone(&self.refusals);
        Ok(self.shared.send(Message::Change { change, caller })?)
    }
}

fn check_tags(tags: &AskTags) -> Result<(), SubmitError> {
    let AskTags { names, limits } = tags;
    if names.iter().chain(limits.iter().map(|limit| &limit.tag)).any(String::is_empty) {
        return Err(SubmitError::EmptyTag);
    }
    match limits.iter().find(|limit| limit.most == 0 && names.contains(&limit.tag)) {
        Some(limit) => Err(SubmitError::NoneOfOwnTag { tag: limit.tag.clone() }),
        None => Ok(()),
    }
}
