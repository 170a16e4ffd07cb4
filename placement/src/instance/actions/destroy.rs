//! `destroy`: instances go.

use super::InstanceClient;
use super::answer::ActionAnswer;
use super::error::ActionError;
use crate::instance::locks::LockKind;
use crate::instance::state::LifeState;

/// How to destroy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DestroyOptions {
    /// The user is sure.
    pub force: bool,
}

impl InstanceClient {
    /// Removes an instance with all it has. One that is not there is no mistake.
    ///
    /// # Errors
    /// When it runs, when somebody else is at it, or when nobody said that they are sure.
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
            // Whoever started it before the lock was taken was served.
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
