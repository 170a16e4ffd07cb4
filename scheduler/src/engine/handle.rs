//! Handles: how callers talk to an engine.

use std::sync::Arc;

use super::refusals::RefusalList;
use super::shared::{Message, Shared};
use super::stream::EventStream;
use super::submit_error::SubmitError;
use crate::change::{AskSpec, Change};
use crate::commit::check_reconfiguration;
use crate::config::{ConfigError, EngineConfig, QueueDifferences, QueueUpdate, Reconfiguration};
use crate::facts::{AskTags, ContainerOnNode};
use crate::ids::{ApplicationId, AskId, NodeId, PartitionId, QueueId};
use crate::nearest::nearest;
use crate::request::{CommitOutcome, CommitSeq, ResourceAllocationCommitRequest};
use crate::resource::{ResourceError, Resources};
use crate::sync::Ticket;
use crate::view::View;

/// Submits calls to an engine and reads its state. Clones share the engine and the list of refusals.
///
/// A call checks what it can without the state. The committer checks the rest later and reports a refusal on the
/// call's [`Ticket`]. A call without a ticket reports it in [`take_refusals`](Self::take_refusals). Refused
/// applications and asks are also events of the application's [`EventStream`]. Except in serial mode a call blocks while
/// the inbox is full.
#[doc = include_str!("../../doc/handle.md")]
#[derive(Clone, Debug)]
pub struct Handle {
    pub(super) shared: Arc<Shared>,
    pub(super) refusals: Arc<RefusalList>,
}

impl Handle {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, refusals: Arc::default() }
    }

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

    /// Makes a stream for the events of applications submitted with it. It holds up to `capacity` events.
    #[must_use]
    pub fn event_stream(&self, capacity: usize) -> EventStream {
        let events = EventStream::new(capacity);
        self.shared.add_stream(events.core());
        events
    }

    /// The registered node with this name.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<NodeId> {
        self.shared.names.nodes.get(name)
    }

    /// The partition with this name; the default partition has the empty name.
    ///
    /// # Errors
    /// If there is no such partition; the error names the nearest one.
    pub fn partition(&self, name: &str) -> Result<PartitionId, SubmitError> {
        let names = &self.shared.config.partitions;
        if name.is_empty() {
            return Ok(PartitionId::DEFAULT);
        }
        let place = names.iter().position(|known| known == name);
        place.map(|place| PartitionId(place as u32 + 1)).ok_or_else(|| SubmitError::UnknownPartition {
            name: name.to_owned(),
            nearest: nearest(name, names.iter().map(String::as_str)),
        })
    }

    /// Asks for containers. If the application has ended, the committer refuses the ask. The refusal is in
    /// [`take_refusals`](Self::take_refusals) and on the application's stream, as
    /// [`ApplicationEnded`](crate::event::EventKind::ApplicationEnded) describes.
    ///
    /// # Errors
    /// If the ask itself is not valid.
    pub fn submit_ask(&self, application: ApplicationId, mut spec: AskSpec) -> Result<AskId, SubmitError> {
        self.check_ask(&mut spec)?;
        let ask = self.shared.ids.asks.lock().take();
        let change = Change::AskSubmitted { ask, application, spec };
        self.send(change).inspect_err(|_| self.shared.ids.asks.lock().give_back(ask))?;
        Ok(ask)
    }

    /// Cancels up to `units` outstanding units of an ask. A cancellation for a satisfied or cancelled ask is
    /// [refused](Self::take_refusals).
    ///
    /// # Errors
    /// If the engine is shut down.
    pub fn cancel_ask(&self, ask: AskId, units: u32) -> Result<(), SubmitError> {
        self.send(Change::AskCancelled { ask, units })
    }

    /// Changes a queue's limits. The ticket tells whether they were valid and which change set them.
    ///
    /// # Errors
    /// If the engine is shut down.
    pub fn update_queue(
        &self,
        queue: QueueId,
        update: QueueUpdate,
    ) -> Result<Ticket<Result<CommitSeq, ConfigError>>, SubmitError> {
        self.configure(Change::QueueUpdated { queue, update: Box::new(update) })
    }

    /// Changes the whole queue tree in one step: adds and removes queues, changes their settings, and replaces
    /// placement rules. The ticket has the change from which on the new tree holds, or the mistake; after a mistake
    /// nothing has changed.
    ///
    /// A queue that is removed or becomes a parent must be stopped and have no applications. Running containers go
    /// on, above new limits too. See [`check_reconfiguration`](Self::check_reconfiguration) for a dry run.
    ///
    /// # Errors
    /// If the engine is shut down.
    pub fn reconfigure(
        &self,
        configuration: Reconfiguration,
    ) -> Result<Ticket<Result<CommitSeq, ConfigError>>, SubmitError> {
        self.configure(Change::Reconfigured { configuration: Box::new(configuration) })
    }

    /// Returns the differences that [`reconfigure`](Self::reconfigure) would make now.
    ///
    /// # Errors
    /// The first mistake in the configuration.
    pub fn check_reconfiguration(
        &self,
        configuration: &Reconfiguration,
    ) -> Result<QueueDifferences, ConfigError> {
        let state = self.shared.state.read();
        check_reconfiguration(&state.facts, configuration)?;
        Ok(QueueDifferences::between(&state.facts.queue_tree(), &configuration.root))
    }

    fn configure(&self, change: Change) -> Result<Ticket<Result<CommitSeq, ConfigError>>, SubmitError> {
        let (answer, ticket) = Ticket::new();
        self.shared.send(Message::Configure { change, answer })?;
        Ok(ticket)
    }

    /// Submits a commit request made outside the engine; the ticket has the outcome.
    ///
    /// # Errors
    /// If the engine is shut down.
    pub fn commit(
        &self,
        request: ResourceAllocationCommitRequest,
    ) -> Result<Ticket<CommitOutcome>, SubmitError> {
        let (answer, ticket) = Ticket::new();
        self.shared.send(Message::Request { request, answer })?;
        Ok(ticket)
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

    /// Lets a lagging stream go on. Returns the running containers of the applications, as of the returned change.
    /// The stream does not repeat events up to that change.
    #[must_use]
    pub fn resync(
        &self,
        events: &EventStream,
        applications: &[ApplicationId],
    ) -> (CommitSeq, Vec<(ApplicationId, Vec<ContainerOnNode>)>) {
        let state = self.shared.state.read();
        let view = View::new(&state);
        let running = applications
            .iter()
            .filter_map(|id| Some((*id, view.application(*id)?.containers().collect())))
            .collect();
        let known = view.seq();
        events.restart(known);
        (known, running)
    }

    pub(super) fn check_ask(&self, spec: &mut AskSpec) -> Result<(), SubmitError> {
        let types = &self.shared.config.resources;
        if spec.count == 0 {
            return Err(SubmitError::NothingAsked);
        }
        if spec.preference.is_empty() && !spec.preference.relax_locality {
            return Err(SubmitError::NothingNamed);
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

    pub(super) fn normalize(&self, size: &mut Resources) -> Result<(), SubmitError> {
        let EngineConfig { allocation, resources, .. } = &*self.shared.config;
        allocation.normalize(size).map_err(|i| SubmitError::ContainerTooLarge {
            name: resources.names()[i].clone(),
            amount: size[i],
            maximum: allocation.maximum[i].unwrap_or(i64::MAX),
        })
    }

    pub(super) fn check_partition(&self, partition: PartitionId) -> Result<(), SubmitError> {
        if partition.index() <= self.shared.config.partitions.len() {
            return Ok(());
        }
        Err(SubmitError::UnknownPartition { name: partition.to_string(), nearest: None })
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
