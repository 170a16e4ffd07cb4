//! Task groups: real containers that take the places of placeholders.

use super::answered_call::{AnsweredCall, TaskGroupResult};
use super::group::GroupCommitter;
use super::handle::Handle;
use super::refusals::refuse;
use super::submit_error::SubmitError;
use crate::change::{AskSpec, Change};
use crate::event::{Refusal, TaskGroupRefusal};
use crate::facts::Facts;
use crate::ids::{ApplicationId, AskId};
use crate::nearest::nearest;
use crate::request::CommitSeq;
use crate::state::State;
use crate::sync::Ticket;

/// A submitted ask of a task group.
#[derive(Debug)]
pub struct SubmittedGroupAsk {
    /// The ask.
    pub ask: AskId,
    /// The change with which it was submitted, or why it was refused.
    pub ticket: Ticket<Result<CommitSeq, TaskGroupRefusal>>,
}

/// # Task groups
///
/// A role of a gang [with placeholders](crate::gang::GangSpec::with_placeholders) is a task group of its application.
/// Its name is known until the application ends.
impl Handle {
    /// Asks for real containers of a task group. Each unit takes the place of one placeholder of the group. The
    /// placeholder [ends as replaced](crate::EndCause::Replaced) and the container starts on its node, in one change.
    /// The difference in size is given back.
    ///
    /// A unit that is larger than every placeholder in some type, or that their nodes may not serve, stays pending as
    /// an ordinary ask. A placeholder is released for it. Without a running placeholder, the unit is an ordinary ask
    /// too, and a pending placeholder is cancelled for it. While the gang of the group waits, the ask waits with it.
    ///
    /// ```
    /// use apportion::gang::GangSpec;
    /// # use std::sync::Arc;
    /// # use apportion::config::{EngineConfig, QueueConfig};
    /// # use apportion::EndCause;
    /// # use apportion::event::EventKind;
    /// # use apportion::{ApplicationSpec, AskSpec, Engine, ManualClock, Mode, NodeSpec, ResourceTypes};
    /// # let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
    /// # let engine = Engine::start(config, Mode::Serial, Arc::new(ManualClock::new()), None).unwrap();
    /// # let (handle, events) = (engine.handle(), engine.handle().event_stream(100));
    /// # let size = handle.resources(&[("memory_mib", 1_024), ("vcore_milli", 1_000)])?;
    /// # let node = handle.resources(&[("memory_mib", 4_096), ("vcore_milli", 4_000)])?;
    /// # handle.add_node(NodeSpec::new("alpha", node))?;
    /// # let job = handle.submit_application(ApplicationSpec::new("job", "root.default", "ann"), &events)?;
    /// let gang = GangSpec::new(job)
    ///     .with_placeholders("worker", AskSpec::new(size, 3), 3)
    ///     .with_placeholder_timeout_ms(900_000);
    /// handle.submit_gang(gang)?;
    /// let real = handle.submit_ask_of_group(job, "worker", AskSpec::new(size, 2))?;
    /// engine.run_until_quiet();
    /// assert!(real.ticket.try_take().unwrap().is_ok());
    /// let events: Vec<_> = std::iter::from_fn(|| events.try_next().ok().flatten()).collect();
    /// let replaced = |event: &&apportion::event::Event| {
    ///     matches!(event.kind, EventKind::ContainerEnded { cause: EndCause::Replaced, .. })
    /// };
    /// assert_eq!(events.iter().filter(replaced).count(), 2);
    /// assert_eq!(engine.read(|view| view.container_count()), 3, "two workers and a placeholder");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the ask itself is not valid, or its partition is unknown. The ticket refuses an unknown task group with the
    /// known names, and the ask of an unknown application.
    pub fn submit_ask_of_group(
        &self,
        application: ApplicationId,
        group: impl Into<String>,
        mut spec: AskSpec,
    ) -> Result<SubmittedGroupAsk, SubmitError> {
        self.check_ask(&mut spec)?;
        let ask = self.shared.ids.asks.lock().take();
        let (group, spec) = (group.into(), Box::new(spec));
        let change = Change::TaskGroupAskSubmitted { ask, application, group, spec };
        let change = Box::new(change);
        let sent = self.send_for_answer(|answer| AnsweredCall::TaskGroupAsk { change, answer });
        let ticket = sent.inspect_err(|_| self.shared.ids.asks.lock().give_back(ask))?;
        Ok(SubmittedGroupAsk { ask, ticket })
    }
}

impl GroupCommitter {
    /// Submits an ask of a task group if it is valid.
    pub(super) fn ask_of_group(&mut self, state: &mut State, change: Change) -> TaskGroupResult {
        let mut committer = self.committer(state);
        let Err(refusal) = committer.admit(&change) else { return Ok(committer.apply(change)) };
        refuse(&mut committer, &change, refusal);
        let Change::TaskGroupAskSubmitted { application, group, .. } = &change else {
            return Err(TaskGroupRefusal::Refused(refusal));
        };
        Err(task_group_refusal(&committer.state.facts, *application, group, refusal))
    }
}

/// The refusal of such an ask with the names that would be right.
fn task_group_refusal(
    facts: &Facts,
    application: ApplicationId,
    group: &str,
    refusal: Refusal,
) -> TaskGroupRefusal {
    if refusal != Refusal::UnknownTaskGroup {
        return TaskGroupRefusal::Refused(refusal);
    }
    let known = || facts.placeholders.names_of(application);
    TaskGroupRefusal::Unknown {
        name: group.to_owned(),
        nearest: nearest(group, known()),
        known: known().map(str::to_owned).collect(),
    }
}
