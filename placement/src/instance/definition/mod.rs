//! The definition of an instance: its three files, read, checked and made into components.

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
    /// How many containers of what size, and where.
    pub resources: ConfTree,
    /// Keys for the service's master.
    pub internal: ConfTree,
    /// Keys for the application's provider.
    pub app_config: ConfTree,
}

/// A definition with everything inherited and every default filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedDefinition {
    /// The components in the order of their numbers.
    pub components: Vec<ComponentSpec>,
    /// Settings of the service as a whole.
    pub settings: InstanceSettings,
}

impl Definition {
    /// Reads the texts of the three files.
    ///
    /// # Errors
    /// When one of them is not of the form of a definition file. What the keys say is not looked at.
    pub fn parse(resources: &str, internal: &str, app_config: &str) -> Result<Self, DefinitionError> {
        Ok(Self {
            resources: ConfTree::parse(ConfFile::Resources, resources)?,
            internal: ConfTree::parse(ConfFile::Internal, internal)?,
            app_config: ConfTree::parse(ConfFile::AppConfig, app_config)?,
        })
    }

    /// A definition of these resources, everything else at its default.
    #[must_use]
    pub fn of(resources: ConfTree) -> Self {
        Self { resources, ..Self::default() }
    }

    /// One of its files.
    #[must_use]
    pub fn file(&self, file: ConfFile) -> &ConfTree {
        match file {
            ConfFile::Resources => &self.resources,
            ConfFile::Internal => &self.internal,
            ConfFile::AppConfig => &self.app_config,
        }
    }

    /// What it comes to on a cluster manager with containers of these sizes.
    ///
    /// # Errors
    /// When a key is unknown or says what it may not, or when components contradict each other.
    pub fn resolve(&self, bounds: &SizeBounds) -> Result<ResolvedDefinition, DefinitionError> {
        for file in [ConfFile::Resources, ConfFile::Internal] {
            values::check_keys(file, self.file(file))?;
        }
        let components = components::resolve(&self.resources, bounds)?;
        Ok(ResolvedDefinition { components, settings: InstanceSettings::resolve(self, bounds)? })
    }

    /// The same definition with what every section inherits written into it.
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
