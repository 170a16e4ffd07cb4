//! `destroy`: removes instances.

use super::InstanceClient;
use super::answer::ActionAnswer;
use super::error::ActionError;
use crate::instance::locks::LockKind;
use crate::instance::state::LifeState;

/// Options of `destroy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DestroyOptions {
    /// The user confirms the removal.
    pub force: bool,
}

impl InstanceClient {
    /// Removes an instance with all its data. Removing a missing instance succeeds.
    ///
    /// # Errors
    /// If it runs, if another client holds a lock, or without `force`.
    pub fn destroy(&self, name: &str, options: DestroyOptions) -> Result<ActionAnswer, ActionError> {
        let target = self.target(name)?;
        target.may_become(LifeState::Destroyed)?;
        if target.state == LifeState::Destroyed {
            return Ok(ActionAnswer::success(format!("there is no instance `{}`", target.name)));
        }
        if !options.force {
            let what = format!("destroying `{}` removes its definition and its data; force it", target.name);
            return Err(ActionError::Usage(what));
        }
        {
            let lock = self.lock(&target, LockKind::Write)?;
            // Another client may have started it before the lock was taken; that start counts.
            self.look_at(target.name.clone()).may_become(LifeState::Destroyed)?;
            target.directory.destroy()?;
            lock.gone();
        }
        let after = self.look_at(target.name.clone());
        if after.state != LifeState::Destroyed {
            return Err(ActionError::MadeAgain(target.name));
        }
        Ok(ActionAnswer::success(format!("`{}` is destroyed", target.name)))
    }
}
