//! Calls of a handle that submit, move, change and end applications.

use std::sync::Arc;

use super::group::GroupCommitter;
use super::handle::Handle;
use super::message::Call;
use super::stream::{EventStream, StreamCore};
use super::submit_error::SubmitError;
use crate::change::{ApplicationSpec, Change};
use crate::event::Refusal;
use crate::facts::{ApplicationEnd, Blacklist, BlacklistUpdate};
use crate::ids::ApplicationId;
use crate::request::CommitSeq;
use crate::state::State;
use crate::sync::Ticket;

/// # Applications
///
/// An [`ApplicationId`] is unknown once the application has ended, also if another application has its slot. The
/// refusal is [`ApplicationEnded`](Refusal::ApplicationEnded).
impl Handle {
    /// Submits an application; its events come through `events`. A missing queue is created if a queue above it has
    /// [`AutoCreation`](crate::config::AutoCreation).
    ///
    /// # Errors
    /// If the queue is unknown or not a leaf, and there are no mapping rules. If the size of the master is not valid
    /// or its partition is unknown. Refusals by mapping rules, access lists and limits of queues come as an
    /// [`ApplicationRefused`](crate::event::EventKind::ApplicationRefused) event.
    pub fn submit_application(
        &self,
        mut spec: ApplicationSpec,
        events: &EventStream,
    ) -> Result<ApplicationId, SubmitError> {
        self.check_queue(&spec.queue)?;
        if let Some(master) = &mut spec.master {
            self.shared.config.resources.check(&master.size)?;
            self.check_partition(master.partition)?;
            self.normalize(&mut master.size)?;
        }
        let application = self.shared.ids.applications.lock().take();
        let (spec, stream) = (Box::new(spec), Arc::clone(events.core()));
        self.send_call(Call::Application { application, spec, stream })
            .inspect_err(|_| self.shared.ids.applications.lock().give_back(application))?;
        Ok(application)
    }

    /// Checks that the queue is a leaf, unless mapping rules may change it. A caller that mistypes a name learns
    /// it at once; the committer checks again.
    fn check_queue(&self, path: &str) -> Result<(), SubmitError> {
        let found = self.check_leaf(path);
        if found.is_err() && self.shared.state.read().facts.queue_mapping.has_rules() {
            Ok(())
        } else {
            found
        }
    }

    /// Moves an application to another leaf. Its use and reservations are charged to that leaf and to its user
    /// there. The ticket has the change, or the refusal. The engine refuses an unknown application, and a leaf that is
    /// gone or stopped, is at its limit of applications, or would exceed its maximum.
    ///
    /// An active application stays active, above the limits on active applications there if necessary.
    ///
    /// # Errors
    /// If the queue is unknown or not a leaf.
    pub fn move_application(
        &self,
        application: ApplicationId,
        queue: &str,
    ) -> Result<Ticket<Result<CommitSeq, Refusal>>, SubmitError> {
        let queue = self.leaf(queue)?;
        self.send_answered(Change::ApplicationMoved { application, queue })
    }

    /// Sets the priority of an application, capped at
    /// [`maximum_application_priority`](crate::config::EngineConfig::maximum_application_priority). An unknown
    /// application is [refused](Self::take_refusals).
    ///
    /// # Errors
    /// If the engine is shut down.
    pub fn set_application_priority(
        &self,
        application: ApplicationId,
        priority: u32,
    ) -> Result<(), SubmitError> {
        self.send(Change::ApplicationPrioritySet { application, priority })
    }

    /// Adds to and removes from an application's blacklist. None of its asks is then placed on a listed node or
    /// rack. Running containers stay; reservations on listed nodes end. A name in both lists is removed. An unknown
    /// application is [refused](Self::take_refusals).
    ///
    /// # Errors
    /// If the engine is shut down.
    pub fn update_blacklist(
        &self,
        application: ApplicationId,
        add: Blacklist,
        remove: Blacklist,
    ) -> Result<(), SubmitError> {
        let update = Box::new(BlacklistUpdate { add, remove });
        self.send(Change::BlacklistUpdated { application, update })
    }

    /// Ends an application: its asks are cancelled and its containers end. With
    /// [`stop_ended_applications`](crate::config::EngineConfig::stop_ended_applications) its containers are
    /// stopped, and the application ends with the last of them. The call for an application that is unknown or ending
    /// is [refused](Self::take_refusals).
    ///
    /// # Errors
    /// If the engine is shut down.
    pub fn end_application(
        &self,
        application: ApplicationId,
        end: ApplicationEnd,
    ) -> Result<(), SubmitError> {
        self.send(Change::ApplicationEnded { application, end })
    }
}

impl GroupCommitter {
    /// Applies a submission. Its stream also gets a refusal, but no events of another application that owns the
    /// identifier.
    pub(super) fn application(
        &mut self,
        state: &mut State,
        application: ApplicationId,
        spec: Box<ApplicationSpec>,
        stream: &Arc<StreamCore>,
    ) {
        if self.change(state, Change::ApplicationSubmitted { application, spec })
            != Err(Refusal::IdentifierTaken)
        {
            self.publisher.streams.connect(application, stream);
        }
    }
}
