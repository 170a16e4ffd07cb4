//! The definition of an instance: parses, checks and resolves its three files.

mod components;
mod error;
mod keys;
mod master;
mod number;
mod settings;
mod size;
mod tree;
mod values;

pub(crate) use error::hint;
pub use error::{DefinitionError, Place};
pub use keys::{ConfFile, INSTANCES_MAX, KEYS, Key, PRIORITY_MAX, Scope};
pub use master::MASTER;
pub(crate) use number::decode;
pub use settings::InstanceSettings;
pub use size::SizeBounds;
pub use tree::{ConfTree, Options, SCHEMA};

use crate::component::ComponentSpec;

/// The three definition files of an instance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Definition {
    /// Numbers, sizes and placement of containers.
    pub resources: ConfTree,
    /// Keys for the service's master.
    pub internal: ConfTree,
    /// Keys for the application's provider.
    pub app_config: ConfTree,
}

/// A definition with all inherited values and defaults filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedDefinition {
    /// The components in the order of ids.
    pub components: Vec<ComponentSpec>,
    /// Settings of the service as a whole.
    pub settings: InstanceSettings,
}

impl Definition {
    /// Parses the three files.
    ///
    /// # Errors
    /// If a file has the wrong form. Keys and values are not checked.
    pub fn parse(resources: &str, internal: &str, app_config: &str) -> Result<Self, DefinitionError> {
        Ok(Self {
            resources: ConfTree::parse(ConfFile::Resources, resources)?,
            internal: ConfTree::parse(ConfFile::Internal, internal)?,
            app_config: ConfTree::parse(ConfFile::AppConfig, app_config)?,
        })
    }

    /// Creates a definition from these resources, with defaults otherwise.
    #[must_use]
    pub fn of(resources: ConfTree) -> Self {
        Self { resources, ..Self::default() }
    }

    /// Returns one of its files.
    #[must_use]
    pub fn file(&self, file: ConfFile) -> &ConfTree {
        match file {
            ConfFile::Resources => &self.resources,
            ConfFile::Internal => &self.internal,
            ConfFile::AppConfig => &self.app_config,
        }
    }

    /// Resolves the definition for a cluster manager with these container sizes.
    ///
    /// # Errors
    /// If a key is unknown or has an invalid value, or if components contradict each other.
    pub fn resolve(&self, bounds: &SizeBounds) -> Result<ResolvedDefinition, DefinitionError> {
        for file in [ConfFile::Resources, ConfFile::Internal] {
            values::check_keys(file, self.file(file))?;
        }
        let components = components::resolve(&self.resources, bounds)?;
        Ok(ResolvedDefinition { components, settings: InstanceSettings::resolve(self, bounds)? })
    }

    /// Returns the definition with inherited values written into every section.
    #[must_use]
    pub fn generated(&self) -> Self {
        let mut generated = self.clone();
        let inherited = |name: &str| KEYS.iter().any(|key| key.name == name && key.scope == Scope::Component);
        inherit(&mut generated.resources, inherited);
        inherit(&mut generated.app_config, |_| true);
        generated
    }
}

fn inherit(tree: &mut ConfTree, is_inherited: impl Fn(&str) -> bool) {
    for (component, options) in &mut tree.components {
        for (key, value) in tree.global.iter().filter(|(key, _)| is_inherited(key) && component != MASTER) {
            options.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
}
