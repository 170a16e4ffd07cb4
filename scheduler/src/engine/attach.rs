//! Calls of a handle that make, connect and restart event streams.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::answered_call::{AnsweredCall, AttachResult};
use super::group::GroupCommitter;
use super::handle::Handle;
use super::stream::{EventStream, StreamCore};
use super::submit_error::SubmitError;
use crate::event::Refusal;
use crate::facts::{ApplicationEnd, Blacklist, ContainerOnNode, ExecutionType};
use crate::ids::{ApplicationId, AskId};
use crate::request::CommitSeq;
use crate::resource::Resources;
use crate::state::State;
use crate::sync::Ticket;
use crate::view::View;

/// The holdings of an application at the moment its stream was connected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// The application.
    pub application: ApplicationId,
    /// The last change included here; the stream gets all later ones.
    pub seq: CommitSeq,
    /// Its containers in the order of placement.
    pub containers: Vec<ContainerOnNode>,
    /// Its asks with outstanding units, in the order of submission; opportunistic asks come last.
    pub asks: Vec<AttachedAsk>,
    /// The hosts and racks on its blacklist.
    pub blacklist: Blacklist,
    /// How it was ended, while its containers are being stopped.
    pub ending: Option<ApplicationEnd>,
}

/// An ask with outstanding units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachedAsk {
    /// The ask.
    pub ask: AskId,
    /// Its priority.
    pub priority: u32,
    /// The [number](crate::AskSpec::allocation_request_id) that the caller gave it.
    pub allocation_request_id: u64,
    /// The size of one container.
    pub size: Resources,
    /// Units neither placed nor cancelled.
    pub outstanding: u32,
    /// Whether its containers are guaranteed or opportunistic.
    #[serde(default)]
    pub execution_type: ExecutionType,
}

/// # Event streams
///
/// A stream serves the applications that are submitted with it or [attached](Self::attach) to it.
impl Handle {
    /// Makes a stream for the events of applications submitted with it. It holds up to `capacity` events. The first
    /// event reserves addresses for up to 16,384; memory is taken as events come.
    #[must_use]
    pub fn event_stream(&self, capacity: usize) -> EventStream {
        let events = EventStream::new(capacity);
        self.shared.add_stream(events.core());
        events
    }

    /// Connects a new event stream to a running application, for a master that restarted. The ticket has the
    /// holdings of the application, or refuses an unknown application; the stream then stays as it is. The earlier
    /// stream gets no further events of the application.
    ///
    /// # Errors
    /// If the engine is shut down.
    pub fn attach(
        &self,
        application: ApplicationId,
        events: &EventStream,
    ) -> Result<Ticket<Result<Attachment, Refusal>>, SubmitError> {
        let stream = Arc::clone(events.core());
        self.send_for_answer(|answer| AnsweredCall::Attach { application, stream, answer })
    }

    /// Lets a lagging stream go on. Returns the running containers of the applications, as of the returned change.
    /// The stream does not repeat events up to that change. An unknown application is left out of the answer.
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
}

impl GroupCommitter {
    /// Sends an application's events to `stream` from here on, if the application runs. Events of earlier changes
    /// go to the earlier stream.
    pub(super) fn attach(
        &mut self,
        state: &State,
        application: ApplicationId,
        stream: Arc<StreamCore>,
    ) -> AttachResult {
        let found = attachment(state, application);
        match &found {
            Ok(_) => self.publisher.attach(application, stream),
            Err(refusal) => self.stats.count_refused(*refusal),
        }
        found
    }
}

/// The present holdings of the application.
fn attachment(state: &State, application: ApplicationId) -> AttachResult {
    let view = View::new(state);
    let found = view.application(application).ok_or(Refusal::ApplicationEnded)?;
    let facts = &state.facts;
    // From the backlog: a scan of all asks of the cluster would take too long under the guard.
    let asks = state.backlog.asks_in_order(facts, application).into_iter().map(|id| {
        let ask = facts.asks.at(id);
        AttachedAsk {
            ask: id,
            priority: ask.priority,
            allocation_request_id: ask.allocation_request_id,
            size: facts.shapes.at(ask.shape).need.resources,
            outstanding: ask.outstanding(),
            execution_type: ExecutionType::Guaranteed,
        }
    });
    let opportunistic = facts.opportunistic_asks_of(application).into_iter().filter_map(|id| {
        let ask = facts.node_queues.asks.get(&id)?;
        Some(AttachedAsk {
            ask: id,
            priority: ask.priority,
            allocation_request_id: ask.allocation_request_id,
            size: ask.shape.need.resources,
            outstanding: ask.outstanding(),
            execution_type: ExecutionType::Opportunistic,
        })
    });
    let blacklist = facts.applications.at(application).blacklist.as_deref();
    Ok(Attachment {
        application,
        seq: view.seq(),
        containers: found.containers().collect(),
        asks: asks.chain(opportunistic).collect(),
        blacklist: blacklist.cloned().unwrap_or_default(),
        ending: found.ending(),
    })
}
