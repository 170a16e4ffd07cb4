//! `build`, `create`, `update`: instances get their definitions.

use super::answer::ActionAnswer;
use super::error::ActionError;
use super::run::StartOptions;
use super::{InstanceClient, Target};
use crate::instance::definition::Definition;
use crate::instance::directory::Presence;
use crate::instance::locks::LockKind;
use crate::instance::state::LifeState;

impl InstanceClient {
    /// Saves a definition as a new instance, which does not run yet.
    ///
    /// # Errors
    /// When there is an instance of that name, or the definition is wrong. Then nothing is saved.
    pub fn build(&self, name: &str, definition: &Definition) -> Result<ActionAnswer, ActionError> {
        let target = self.target(name)?;
        target.may_become(LifeState::Created)?;
        self.make(&target, definition)?;
        Ok(ActionAnswer::success(format!("`{}` is built", target.name)))
    }

    fn make(&self, target: &Target, definition: &Definition) -> Result<(), ActionError> {
        self.resolved(definition)?;
        target.directory.build(definition).map_err(|error| ActionError::build(&target.name, error))
    }

    /// Builds an instance and starts it.
    ///
    /// # Errors
    /// As [`build`](Self::build) and [`start`](Self::start). An instance that cannot be started stays built.
    pub fn create(
        &self,
        name: &str,
        definition: &Definition,
        options: StartOptions,
        now_ms: u64,
    ) -> Result<ActionAnswer, ActionError> {
        self.build(name, definition)?;
        self.start(name, options, now_ms)
    }

    /// Saves a definition in place of the one there is, if there is one. An instance that runs is not told; what it
    /// runs with next is the new one.
    ///
    /// # Errors
    /// When the definition is wrong or somebody else is at it. Then nothing is saved.
    pub fn update(&self, name: &str, definition: &Definition) -> Result<ActionAnswer, ActionError> {
        let target = self.target(name)?;
        if target.directory.presence() == Presence::Absent {
            self.make(&target, definition)?;
        } else {
            self.resolved(definition)?;
            let _lock = self.lock(&target, LockKind::Write)?;
            target.directory.replace(definition)?;
        }
        Ok(ActionAnswer::success(format!("`{}` is updated", target.name)))
    }
}
