//! Applications come and go.

use std::sync::Arc;

use super::handle::{Handle, SubmitError};
use super::shared::Message;
use super::stream::EventStream;
use crate::change::{ApplicationSpec, Change};
use crate::event::Refusal;
use crate::facts::{ApplicationEnd, Blacklist, BlacklistUpdate, QueueRole};
use crate::ids::ApplicationId;
use crate::request::CommitSeq;
use crate::sync::Ticket;

impl Handle {
    /// Submits an application; what happens to it will come through `events`. A queue that is not there is made, if one
    /// above it says so ([`AutoCreation`](crate::config::AutoCreation)).
    ///
    /// # Errors
    /// When the queue is not known or not a leaf, and there are no placement rules. What they, access lists and limits
    /// of queues refuse is told by an [`ApplicationRefused`](crate::event::EventKind::ApplicationRefused).
    pub fn submit_application(
        &self,
        mut spec: ApplicationSpec,
        events: &EventStream,
    ) -> Result<ApplicationId, SubmitError> {
        self.check_queue(&spec.queue)?;
        if let Some(master) = &mut spec.master {
            self.shared.config.resources.check(&master.size)?;
            self.check_partition(master.partition)?;
            master.size = self.normalized(&master.size)?;
        }
        let application = self.shared.ids.applications.lock().take();
        let change = Change::ApplicationSubmitted { application, spec: Box::new(spec) };
        let message = Message::Application {
            change,
            stream: Arc::clone(events.core()),
            caller: Arc::clone(&self.refusals),
        };
        self.shared
            .send(message)
            .inspect_err(|_| self.shared.ids.applications.lock().give_back(application))?;
        Ok(application)
    }

    /// Whether the queue is a leaf, or placement rules may make something else of its name. So that callers who mistype
    /// a name hear of it at once; the committer looks for itself.
    fn check_queue(&self, path: &str) -> Result<(), SubmitError> {
        let found = self.check_leaf(path);
        if found.is_err() && self.shared.state.read().facts.has_placement_rules() { Ok(()) } else { found }
    }

    /// Lets an application go on in another leaf, with everything it has there: what it uses and has reserved is
    /// charged to that leaf and its user there. The ticket says with which change, or why not: the leaf is gone or
    /// stopped, has as many applications as it may have, or would be above its maximum.
    ///
    /// One that is active stays so, whatever the limits on active applications there.
    ///
    /// # Errors
    /// When the queue is not known or not a leaf.
    pub fn move_application(
        &self,
        application: ApplicationId,
        queue: &str,
    ) -> Result<Ticket<Result<CommitSeq, Refusal>>, SubmitError> {
        let (queue, QueueRole::Leaf) = self.find_queue(queue)? else {
            return Err(SubmitError::NotALeaf { path: queue.to_owned() });
        };
        let (answer, ticket) = Ticket::new();
        self.shared
            .send(Message::Answered { change: Change::ApplicationMoved { application, queue }, answer })?;
        Ok(ticket)
    }

    /// Gives an application another priority; above
    /// [`maximum_application_priority`](crate::config::EngineConfig::maximum_application_priority) it counts as that.
    /// An application that has ended is [refused](Self::take_refusals).
    ///
    /// # Errors
    /// When the engine is shut down.
    pub fn set_application_priority(
        &self,
        application: ApplicationId,
        priority: u32,
    ) -> Result<(), SubmitError> {
        self.send(Change::ApplicationPrioritySet { application, priority })
    }

    /// Adds to an application's blacklist, and takes off it: none of its asks is placed on what is there from then on.
    /// Containers that run stay, nodes that are reserved are given up. A name in both is taken off. An application
    /// that has ended is [refused](Self::take_refusals).
    ///
    /// # Errors
    /// When the engine is shut down.
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
    /// [`stop_ended_applications`](crate::config::EngineConfig::stop_ended_applications) its containers are stopped,
    /// and it ends with the last of them. An application that has ended, or is ending, is
    /// [refused](Self::take_refusals).
    ///
    /// # Errors
    /// When the engine is shut down.
    pub fn end_application(
        &self,
        application: ApplicationId,
        end: ApplicationEnd,
    ) -> Result<(), SubmitError> {
        self.send(Change::ApplicationEnded { application, end })
    }
}
