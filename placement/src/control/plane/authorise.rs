//! Permissions for actions on a job.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::control::action::{ActionName, JobAction};

/// Who may ask for what.
pub trait Authoriser: fmt::Debug + Send {
    /// Whether this principal may ask for this.
    ///
    /// # Errors
    /// Why not, in words for whoever asked.
    fn authorise(&self, principal: Option<&str>, action: &JobAction) -> Result<(), String>;
}

/// Everybody may ask for everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllowAll;

impl Authoriser for AllowAll {
    fn authorise(&self, _principal: Option<&str>, _action: &JobAction) -> Result<(), String> {
        Ok(())
    }
}

/// Some principals may ask for everything, others for the actions that are named, nobody else for anything.
#[derive(Clone, Debug, Default)]
pub struct AllowPrincipals {
    /// The actions permitted to each.
    pub principals: BTreeMap<String, Permission>,
}

/// The actions permitted to a caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permission {
    /// Everything.
    All,
    /// The actions of these names. It is the action that counts, not how a message called it: a `MOVE` to `LAST_SEEN`
    /// is a restart.
    Only(BTreeSet<ActionName>),
}

impl Authoriser for AllowPrincipals {
    fn authorise(&self, principal: Option<&str>, action: &JobAction) -> Result<(), String> {
        let Some(principal) = principal else { return Err("principal is missing: who asks?".to_owned()) };
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
