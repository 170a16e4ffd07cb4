//! The life of an application instance: its definition, its storage, and its commands.
//!
//! Three files in a folder define an instance ([`Definition`], [`InstanceDirectory`]); it runs on an
//! [`ApplicationHost`]. Users work with it through an [`InstanceClient`], which ends each command with one
//! of Slider's exit codes ([`ExitCode`]). `placement/DEFINITION.md` documents the keys, defaults and exit
//! codes.

mod actions;
mod definition;
mod directory;
mod host;
mod locks;
mod memory_host;
mod name;
mod provider;
mod report;
mod service_host;
mod state;
mod storage;

pub use crate::exit_code::ExitCode;
pub use actions::{
    ActionAnswer, ActionError, AnswerDetail, DestroyOptions, Diagnostics, ExistsOptions, InstanceClient,
    InstanceSummary, ListOptions, StartOptions, StopOptions, Verb, VerbError,
};
pub use definition::{
    ConfFile, ConfTree, Definition, DefinitionError, INSTANCES_MAX, InstanceSettings, KEYS, Key, MASTER,
    Options, PRIORITY_MAX, Place, ResolvedDefinition, SCHEMA, Scope, SizeBounds,
};
pub use directory::{BuildError, InstanceDirectories, InstanceDirectory, LoadError, Presence};
pub use host::{ApplicationHost, HostError, HostedContainer, Submission};
pub use locks::{DefinitionLocks, HeldLock, LockError, LockHolder, LockKind};
pub use memory_host::{HostFault, MemoryHost};
pub use name::{InstanceName, InvalidName};
pub use provider::{CountRule, CountingProvider, GenericProvider, Provider, ProviderError, Providers};
pub use report::{AppId, ApplicationReport, RunState, UnknownRunState, find_application};
pub use service_host::{ClientFactory, EngineFactory, FakeFactory, ServiceHost};
pub use state::LifeState;
pub use storage::StorageError;
