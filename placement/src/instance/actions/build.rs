//! `build`, `create`, `update`: save definitions.

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
    /// If the name is in use, or the definition is wrong. Nothing is saved then.
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
    /// As for [`build`](Self::build) and [`start`](Self::start). An instance that cannot start stays built.
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

    /// Saves a definition, replacing the previous one if there is one. A running instance keeps its old
    /// definition; its next start uses the new one.
    ///
    /// # Errors
    /// If the definition is wrong or another client holds a lock. Nothing is saved then.
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
