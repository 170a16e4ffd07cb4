//! Permissions for actions on a job.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::control::action::{ActionName, JobAction};

/// Decides which principal may request which action.
pub trait Authoriser: fmt::Debug + Send {
    /// Checks whether this principal may request this action.
    ///
    /// # Errors
    /// The reason, in words for the principal.
    fn authorise(&self, principal: Option<&str>, action: &JobAction) -> Result<(), String>;
}

/// Allows every action to every principal.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllowAll;

impl Authoriser for AllowAll {
    fn authorise(&self, _principal: Option<&str>, _action: &JobAction) -> Result<(), String> {
        Ok(())
    }
}

/// Allows each listed principal its actions, and other principals none.
#[derive(Clone, Debug, Default)]
pub struct AllowPrincipals {
    /// The permission of each principal.
    pub principals: BTreeMap<String, Permission>,
}

/// The actions permitted to a principal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permission {
    /// All actions.
    All,
    /// The listed actions. The action counts, not its form in the message: a `MOVE` to `LAST_SEEN` is a
    /// restart.
    Only(BTreeSet<ActionName>),
}

impl Authoriser for AllowPrincipals {
    fn authorise(&self, principal: Option<&str>, action: &JobAction) -> Result<(), String> {
        let Some(principal) = principal else {
            return Err("principal is missing; the message must name one".to_owned());
        };
        match self.principals.get(principal) {
            Some(Permission::All) => Ok(()),
            Some(Permission::Only(names)) if names.contains(&action.name()) => Ok(()),
            Some(Permission::Only(names)) if !names.is_empty() => {
                let names: Vec<&str> = names.iter().copied().map(ActionName::as_str).collect();
                Err(format!("`{principal}` may ask for {}, and not for {}", names.join(", "), action.name()))
            }
            Some(Permission::Only(_)) | None => Err(format!("`{principal}` may ask for nothing of this job")),
        }
    }
}
