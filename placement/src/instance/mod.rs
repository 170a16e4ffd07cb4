//! The life of an application instance: what it is to be, and where that is kept.

mod definition;
mod directory;
mod exit_code;
mod locks;
mod name;
mod provider;
mod report;
mod state;
mod storage;

pub use definition::{
    ConfFile, ConfTree, Definition, DefinitionError, INSTANCES_MAX, InstanceSettings, KEYS, Key, MASTER,
    Options, PRIORITY_MAX, Place, ResolvedDefinition, SCHEMA, Scope, SizeBounds, UnknownComponentId,
};
pub use directory::{BuildError, InstanceDirectories, InstanceDirectory, LoadError, Presence};
pub use exit_code::ExitCode;
pub use locks::{DefinitionLocks, HeldLock, LockError, LockHolder, LockKind};
pub use name::{InstanceName, InvalidName};
pub use provider::{CountRule, CountingProvider, GenericProvider, Provider, ProviderError, Providers};
pub use report::{AppId, ApplicationReport, RunState, UnknownRunState, find_application};
pub use state::{LifeState, WrongTransition};
pub use storage::StorageError;
