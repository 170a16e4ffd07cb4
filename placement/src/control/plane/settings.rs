//! What a control plane and the jobs in it are told when they start.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use thiserror::Error;

use crate::control::action::{ActionName, JobAction};
use crate::control::metadata_store::ControlStoreError;

/// Limits of a control plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlSettings {
    /// So many requests at once are taken on and not over; the others stay in the store.
    pub accepted_max: usize,
    /// A request that has waited for longer than this in the store is not begun any more, nor one whose time is ahead by more.
    pub age_max_ms: u64,
    /// The outcome of a request is kept for this long, and at least for twice `age_max_ms`: whoever repeats the request
    /// meanwhile finds the first outcome, and later it is too old.
    pub retention_ms: u64,
    /// How often outcomes that are too old are looked for.
    pub sweep_every_ms: u64,
}

impl Default for ControlSettings {
    /// 10,000 requests at once, an hour in the store, outcomes for a week.
    fn default() -> Self {
        const HOUR_MS: u64 = 3_600_000;
        Self {
            accepted_max: 10_000,
            age_max_ms: HOUR_MS,
            retention_ms: 7 * 24 * HOUR_MS,
            sweep_every_ms: HOUR_MS,
        }
    }
}

/// What becomes of a request for a processor for which another one is not over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictPolicy {
    /// It waits, unless so many wait already (Samza's way, `samza.md` Z2).
    Queue {
        /// How many may wait for one processor and its standbys, and how many that concern many containers.
        most: usize,
    },
    /// It is refused with `CONFLICT` (the seed's 409); so is one that concerns many containers while any other is not
    /// over, and any while one that concerns many is not over.
    Refuse,
}

impl Default for ConflictPolicy {
    fn default() -> Self {
        Self::Queue { most: 100 }
    }
}

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
    /// What each of them may ask for.
    pub principals: BTreeMap<String, Permission>,
}

/// What somebody may ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permission {
    /// Everything.
    All,
    /// The actions of these names. It is the action that counts, not how a message called it: a `MOVE` to `LAST_SEEN` is a
    /// restart.
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

/// A job that was not taken into a control plane.
#[derive(Debug, Error)]
#[error("{error}")]
pub struct NotDeployed<J: fmt::Debug> {
    /// Why.
    pub error: DeployError,
    /// The job, which goes on as before.
    pub job: Box<J>,
}

/// Why a job was not taken into a control plane.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DeployError {
    /// Each start of a coordinator is a deployment of its own, or old requests would be carried out again.
    #[error("there was a deployment `{0}` already: each start of a job's coordinator needs a new id")]
    Known(String),
    /// The store does not work.
    #[error(transparent)]
    Store(#[from] ControlStoreError),
}
