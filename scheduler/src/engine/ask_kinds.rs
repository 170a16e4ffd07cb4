//! Asks by kinds that callers register once: nothing is copied or checked again for each ask.

use rustc_hash::FxHashMap;

use super::group::GroupCommitter;
use super::handle::Handle;
use super::message::{Call, Message};
use super::publish::Publisher;
use super::refusals::refuse;
use super::submit_error::SubmitError;
use crate::change::{AskOfKind, AskSpec, SubmittedAsk};
use crate::commit::Committer;
use crate::ids::{AskId, AskKindId};
use crate::log::EncodedKind;
use crate::state::State;

/// Asks per message; the committer processes other messages between them.
const CHUNK: usize = 64;

/// The kinds that callers have registered.
pub(crate) type AskKinds = FxHashMap<AskSpec, AskKindId>;

/// # Kinds of asks
///
/// An [`AskKindId`] is known as long as the engine exists. It is a number: a kind of another engine names the kind
/// with that number here.
impl Handle {
    /// Registers a kind of asks: size, priority, partition, preferences, rule and tags. The count and the allocation
    /// request of the description do not matter. Returns the known kind if an equal one is registered. Hosts and
    /// racks are checked with each ask of the kind.
    ///
    /// # Errors
    /// If asks of this kind would not be valid or their partition is unknown, as for [`submit_ask`](Self::submit_ask).
    pub fn register_ask_kind(&self, spec: AskSpec) -> Result<AskKindId, SubmitError> {
        let mut spec = AskSpec { count: 1, allocation_request_id: 0, ..spec };
        self.check_ask(&mut spec)?;
        // Locked until the message is sent, so that the committer numbers the kinds alike.
        let mut kinds = self.shared.ask_kinds.lock();
        if let Some(known) = kinds.get(&spec) {
            return Ok(*known);
        }
        let kind = AskKindId(kinds.len() as u32);
        self.shared.send(Message::AskKind(Box::new(EncodedKind::new(spec.clone()))))?;
        kinds.insert(spec, kind);
        Ok(kind)
    }

    /// Submits asks of registered kinds: the cheapest way to ask. The identifiers are in the order of the asks. As with
    /// [`submit_asks`](Self::submit_asks), the committer refuses each ask of an unknown application by itself.
    ///
    /// ```
    /// # use apportion::config::{EngineConfig, QueueConfig};
    /// # use apportion::event::EventKind;
    /// # use apportion::{ApplicationSpec, AskOfKind, AskSpec, Engine, ManualClock, Mode, NodeSpec, ResourceTypes};
    /// # let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
    /// # let engine = Engine::start(config, Mode::Serial, std::sync::Arc::new(ManualClock::new()), None).unwrap();
    /// # let (handle, events) = (engine.handle(), engine.handle().event_stream(100));
    /// # let size = handle.resources(&[("memory_mib", 1_024), ("vcore_milli", 1_000)])?;
    /// # handle.add_node(NodeSpec::new("alpha", size))?;
    /// # let application = handle.submit_application(ApplicationSpec::new("job", "root.default", "ann"), &events)?;
    /// let worker = handle.register_ask_kind(AskSpec::new(size, 1))?;
    /// let tasks = ["map", "reduce"];
    /// handle.submit_asks_of_kinds((0..2).map(|task| AskOfKind {
    ///     application,
    ///     kind: worker,
    ///     count: 1,
    ///     allocation_request_id: task,
    /// }))?;
    /// # engine.run_until_quiet();
    /// if let Some(event) = events.try_next()?
    ///     && let EventKind::Allocated { allocation_request_id, .. } = event.kind
    /// {
    ///     assert_eq!(tasks[allocation_request_id as usize], "map");
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If one of the asks is for no container or of an unknown kind, none is submitted. If the engine is shut down
    /// meanwhile, the first asks may have been submitted.
    pub fn submit_asks_of_kinds(
        &self,
        asks: impl IntoIterator<Item = AskOfKind>,
    ) -> Result<Vec<AskId>, SubmitError> {
        let asks: Vec<_> = asks.into_iter().collect();
        let known = self.shared.ask_kinds.lock().len();
        asks.iter().try_for_each(|ask| check(ask, known))?;
        let ids = self.take_ask_ids(asks.len())?;
        let submitted = ids.iter().zip(asks).map(|(ask, of)| SubmittedAsk { ask: *ask, of });
        self.send_in_chunks(submitted, CHUNK, Call::Asks)?;
        Ok(ids)
    }
}

impl GroupCommitter {
    /// Submits asks of kinds, each as if sent alone.
    pub(super) fn asks_of_kinds(&mut self, state: &mut State, asks: Vec<SubmittedAsk>) {
        let Publisher { effects, log, kinds, .. } = &mut self.publisher;
        let mut committer = Committer { state, effects, log, stats: &mut self.stats };
        committer.apply_asks(kinds, asks, refuse);
    }
}

/// Checks an ask against the number of registered kinds.
fn check(ask: &AskOfKind, known: usize) -> Result<(), SubmitError> {
    if ask.count == 0 {
        return Err(SubmitError::NothingAsked);
    }
    if ask.kind.index() >= known {
        return Err(SubmitError::UnknownAskKind { kind: ask.kind });
    }
    Ok(())
}
