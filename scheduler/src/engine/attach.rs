//! Connects a new event stream to a running application.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::handle::Handle;
use super::shared::Message;
use super::stream::EventStream;
use super::submit_error::SubmitError;
use crate::event::Refusal;
use crate::facts::{ApplicationEnd, Blacklist, ContainerOnNode};
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
    /// Its asks with outstanding units, in the order of submission.
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
}

impl Handle {
    /// Connects a new event stream to a running application, for a master that restarted. The ticket has the
    /// holdings of the application, or tells that it has ended. The earlier stream gets no further events of the
    /// application.
    ///
    /// # Errors
    /// If the engine is shut down.
    pub fn attach(
        &self,
        application: ApplicationId,
        events: &EventStream,
    ) -> Result<Ticket<Result<Attachment, Refusal>>, SubmitError> {
        let (answer, ticket) = Ticket::new();
        let stream = Arc::clone(events.core());
        self.shared.send(Message::Attach { application, stream, answer })?;
        Ok(ticket)
    }
}

/// The present holdings of the application.
pub(super) fn attachment(state: &State, application: ApplicationId) -> Result<Attachment, Refusal> {
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
        }
    });
    let blacklist = facts.applications.at(application).blacklist.as_deref();
    Ok(Attachment {
        application,
        seq: view.seq(),
        containers: found.containers().collect(),
        asks: asks.collect(),
        blacklist: blacklist.cloned().unwrap_or_default(),
        ending: found.ending(),
    })
}
