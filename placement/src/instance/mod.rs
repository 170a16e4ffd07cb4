//! The life of an application instance: what it is to be, and where that is kept.

mod definition;
mod exit_code;
mod name;
mod provider;

pub use definition::{
    ConfFile, ConfTree, Definition, DefinitionError, INSTANCES_MAX, InstanceSettings, KEYS, Key, MASTER,
    Options, PRIORITY_MAX, Place, ResolvedDefinition, SCHEMA, Scope, SizeBounds, UnknownComponentId,
};
pub use exit_code::ExitCode;
pub use name::{InstanceName, InvalidName};
pub use provider::{CountRule, CountingProvider, GenericProvider, Provider, ProviderError, Providers};
