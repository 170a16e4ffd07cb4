//! Known kinds of applications (Slider model, "valid-for-provider").

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use apportion::nearest::nearest;
use thiserror::Error;

use super::definition::{ConfFile, Definition, ResolvedDefinition, hint};

/// Knows one kind of application.
pub trait Provider: fmt::Debug + Send + Sync {
    /// Returns its name in `internal.provider.name`.
    fn name(&self) -> &str;

    /// Checks a definition for this kind of application. The checks for all kinds have passed before.
    ///
    /// # Errors
    /// If the definition does not suit the kind.
    fn validate(&self, definition: &Definition, resolved: &ResolvedDefinition) -> Result<(), ProviderError>;
}

/// Why a definition does not suit its provider.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProviderError {
    /// The provider is unknown.
    #[error("{}: unknown provider `{name}`{}", ConfFile::Internal, hint(nearest.as_deref()))]
    UnknownProvider {
        /// The text of the definition.
        name: String,
        /// The nearest known name.
        nearest: Option<String>,
    },
    /// The provider has no such component.
    #[error("provider `{provider}` has no component `{component}`{}", hint(nearest.as_deref()))]
    UnknownComponent {
        /// The kind.
        provider: String,
        /// The component.
        component: String,
        /// The nearest known name.
        nearest: Option<String>,
    },
    /// A component has too few or too many instances.
    #[error("provider `{provider}` needs {expected} instances of `{component}`, not {count}")]
    Count {
        /// The kind.
        provider: String,
        /// The component.
        component: String,
        /// The number in the definition.
        count: u64,
        /// The numbers allowed.
        expected: String,
    },
    /// Any other problem.
    #[error("provider `{provider}`: {problem}")]
    Other {
        /// The kind.
        provider: String,
        /// The problem, and a correct form.
        problem: String,
    },
}

/// Accepts any definition.
#[derive(Clone, Copy, Debug, Default)]
pub struct GenericProvider;

impl Provider for GenericProvider {
    fn name(&self) -> &'static str {
        "generic"
    }

    fn validate(&self, _: &Definition, _: &ResolvedDefinition) -> Result<(), ProviderError> {
        Ok(())
    }
}

/// The allowed number of instances of one component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountRule {
    /// The component, or the group whose instances have unique names.
    pub component: String,
    /// The least number.
    pub least: u64,
    /// The greatest number, if there is one.
    pub most: Option<u64>,
}

/// A kind of application with fixed components and rules for their numbers.
#[derive(Clone, Debug)]
pub struct CountingProvider {
    name: String,
    rules: Vec<CountRule>,
}

impl CountingProvider {
    /// A kind with exactly these components.
    #[must_use]
    pub fn new(name: impl Into<String>, rules: Vec<CountRule>) -> Self {
        Self { name: name.into(), rules }
    }

    /// `HBase`: at least one master, and any number of region servers and gateways.
    #[must_use]
    pub fn hbase() -> Self {
        let rule = |component: &str, least| CountRule { component: component.to_owned(), least, most: None };
        let gateways = ["HBASE_REST", "HBASE_THRIFT", "HBASE_THRIFT2"].map(|gateway| rule(gateway, 0));
        let mut rules = vec![rule("HBASE_MASTER", 1), rule("HBASE_REGIONSERVER", 0)];
        rules.extend(gateways);
        Self::new("hbase", rules)
    }
}

impl Provider for CountingProvider {
    fn name(&self) -> &str {
        &self.name
    }

    fn validate(&self, _: &Definition, resolved: &ResolvedDefinition) -> Result<(), ProviderError> {
        let names = || self.rules.iter().map(|rule| rule.component.as_str());
        let stranger = resolved.components.iter().find(|spec| names().all(|name| name != spec.group));
        if let Some(stranger) = stranger {
            return Err(ProviderError::UnknownComponent {
                provider: self.name.clone(),
                component: stranger.group.clone(),
                nearest: nearest(&stranger.group, names()),
            });
        }
        for rule in &self.rules {
            let of_rule = resolved.components.iter().filter(|spec| spec.group == rule.component);
            let count: u64 = of_rule.map(|spec| u64::from(spec.desired)).sum();
            if count < rule.least || rule.most.is_some_and(|most| count > most) {
                let expected = match rule.most {
                    Some(most) => format!("{} to {most}", rule.least),
                    None => format!("at least {}", rule.least),
                };
                let (provider, component) = (self.name.clone(), rule.component.clone());
                return Err(ProviderError::Count { provider, component, count, expected });
            }
        }
        Ok(())
    }
}

/// The known kinds of applications.
#[derive(Clone, Debug, Default)]
pub struct Providers(BTreeMap<String, Arc<dyn Provider>>);

impl Providers {
    /// The kinds that come with this crate.
    #[must_use]
    pub fn built_in() -> Self {
        Self::default().with(Arc::new(GenericProvider)).with(Arc::new(CountingProvider::hbase()))
    }

    /// Adds a provider, or replaces the one of its name.
    #[must_use]
    pub fn with(mut self, provider: Arc<dyn Provider>) -> Self {
        self.0.insert(provider.name().to_owned(), provider);
        self
    }

    /// Checks a definition with the provider that it names.
    ///
    /// # Errors
    /// If the provider is unknown, or rejects the definition.
    pub fn validate(
        &self,
        definition: &Definition,
        resolved: &ResolvedDefinition,
    ) -> Result<(), ProviderError> {
        let name = &resolved.settings.provider;
        let provider = self.0.get(name).ok_or_else(|| ProviderError::UnknownProvider {
            name: name.clone(),
            nearest: nearest(name, self.0.keys().map(String::as_str)),
        })?;
        provider.validate(definition, resolved)
    }
}
