//! The keys of the definition files: sections, valid values and defaults.
//!
//! `placement/DEFINITION.md` documents them; a test compares both.

use std::fmt;

use apportion::nearest::nearest;
use apportion::resource::AMOUNT_MAX;

use super::error::{DefinitionError, Place};
use super::number::{self, decode};
use crate::component::PlacementPolicy;
use crate::history::COMPONENT_ID_MAX;

/// A definition file of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConfFile {
    /// Numbers, sizes and placement of containers.
    Resources,
    /// Keys for the service's master.
    Internal,
    /// Keys for the application's provider.
    AppConfig,
}

impl ConfFile {
    /// Every file.
    pub const ALL: [Self; 3] = [Self::Resources, Self::Internal, Self::AppConfig];

    /// Returns the file's name in the instance's folder.
    #[must_use]
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Resources => "resources.json",
            Self::Internal => "internal.json",
            Self::AppConfig => "app_config.json",
        }
    }
}

impl fmt::Display for ConfFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.file_name())
    }
}

/// The sections in which a key may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// In `global` only.
    Global,
    /// In a component's section, or in `global` for all components.
    Component,
}

/// The valid values of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A whole number within these bounds.
    Number(i64, i64),
    /// A whole number from 0 to this bound, or `max`.
    Amount(i64),
    /// `true` or `false`.
    Flag,
    /// The number of a placement policy.
    Policy,
    /// At most one label.
    Label,
    /// Any text.
    Text,
}

/// A known key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its name in the file.
    pub name: &'static str,
    /// The file.
    pub file: ConfFile,
    /// The sections.
    pub scope: Scope,
    /// Its default; empty if there is none.
    pub default: &'static str,
    pub(crate) kind: Kind,
}

/// The most instances of a component, so that a mistyped digit does not exhaust the memory.
pub const INSTANCES_MAX: i64 = 1_000_000;
/// The largest component id. The next bit marks requests without a host (spec 1.1).
pub const PRIORITY_MAX: i64 = COMPONENT_ID_MAX as i64;
/// A thousand years, so that sums of times cannot overflow.
const SECONDS_MAX: i64 = 1_000 * 366 * 86_400;

const fn of_component(name: &'static str, default: &'static str, kind: Kind) -> Key {
    Key { name, file: ConfFile::Resources, scope: Scope::Component, default, kind }
}

const fn of_service(file: ConfFile, name: &'static str, default: &'static str, kind: Kind) -> Key {
    Key { name, file, scope: Scope::Global, default, kind }
}

macro_rules! keys {
    ($($name:ident = $key:expr;)*) => {
        $(pub(crate) const $name: Key = $key;)*

        /// Every known key.
        pub const KEYS: &[Key] = &[$($name),*];
    };
}

use ConfFile::{Internal, Resources};
use Kind::{Amount, Flag, Label, Number, Policy, Text};

keys! {
    INSTANCES = of_component("yarn.component.instances", "0", Number(0, INSTANCES_MAX));
    PRIORITY = of_component("yarn.role.priority", "", Number(1, PRIORITY_MAX));
    UNIQUE_NAMES = of_component("component.unique.names", "false", Flag);
    POLICY = of_component("yarn.component.placement.policy", "0", Policy);
    ESCALATE_SECONDS = of_component("yarn.placement.escalate.seconds", "30", Number(0, SECONDS_MAX));
    LABEL = of_component("yarn.label.expression", "", Label);
    NODE_FAILURES = of_component("yarn.node.failure.threshold", "3", Number(i64::MIN, u32::MAX as i64));
    CONTAINER_FAILURES =
        of_component("yarn.container.failure.threshold", "5", Number(i64::MIN, u32::MAX as i64));
    MIN_AVAILABLE = of_component("yarn.component.disruption.min.available", "-1", Number(-1, INSTANCES_MAX));
    MAX_UNAVAILABLE = of_component("yarn.component.disruption.max.unavailable", "-1", Number(-1, INSTANCES_MAX));
    HEALTH_PERCENT = of_component("yarn.container.health.threshold.percent", "-1", Number(-1, 100));
    HEALTH_WINDOW =
        of_component("yarn.container.health.threshold.window.secs", "600", Number(1, SECONDS_MAX));
    HEALTH_DELAY =
        of_component("yarn.container.health.threshold.init.delay.secs", "600", Number(0, SECONDS_MAX));
    HEALTH_POLL =
        of_component("yarn.container.health.threshold.poll.frequency.secs", "10", Number(1, SECONDS_MAX));
    MEMORY = of_component("yarn.memory", "256", Amount(AMOUNT_MAX));
    VCORES = of_component("yarn.vcores", "1", Amount(AMOUNT_MAX / 1_000));
    NORMALISE = of_component("yarn.resource.normalization.enabled", "true", Flag);
    WINDOW_DAYS =
        of_service(Resources, "yarn.container.failure.window.days", "0", Number(0, SECONDS_MAX / 86_400));
    WINDOW_HOURS =
        of_service(Resources, "yarn.container.failure.window.hours", "6", Number(0, SECONDS_MAX / 3_600));
    WINDOW_MINUTES =
        of_service(Resources, "yarn.container.failure.window.minutes", "0", Number(0, SECONDS_MAX / 60));
    WINDOW_SECONDS =
        of_service(Resources, "yarn.container.failure.window.seconds", "0", Number(0, SECONDS_MAX));
    RETRY_WINDOW_MS = of_service(
        Resources,
        "yarn.resourcemanager.am.retry-count-window-ms",
        "300000",
        Number(0, SECONDS_MAX * 1_000),
    );
    PROVIDER = of_service(Internal, "internal.provider.name", "generic", Text);
    SHORT_LIFE = of_service(Internal, "internal.container.failure.shortlife", "60", Number(0, SECONDS_MAX));
    STARTUP_DELAY_MS =
        of_service(Internal, "internal.container.startup.delay", "5000", Number(0, SECONDS_MAX * 1_000));
    ESCALATION_CHECK =
        of_service(Internal, "escalation.check.interval.seconds", "30", Number(1, SECONDS_MAX));
    RESTART_LIMIT = of_service(Internal, "slider.yarn.restart.limit", "0", Number(0, u32::MAX as i64));
}

impl Key {
    /// Finds the key of this name, and checks that it may stand at `place`.
    pub(crate) fn find(name: &str, place: &Place) -> Result<&'static Self, DefinitionError> {
        let Some(key) = KEYS.iter().find(|key| key.name == name) else {
            let near = KEYS.iter().filter(|key| key.file == place.file()).map(|key| key.name);
            let nearest = nearest(name, near);
            return Err(DefinitionError::UnknownKey { place: place.clone(), key: name.to_owned(), nearest });
        };
        let is_here = match place {
            Place::Global(_) => true,
            Place::Component(..) => key.scope == Scope::Component,
        };
        if key.file == place.file() && is_here {
            return Ok(key);
        }
        let sections = if key.scope == Scope::Global { "`global`" } else { "`components`" };
        let belongs = format!("{sections} of {}", key.file);
        Err(DefinitionError::MisplacedKey { place: place.clone(), key: key.name, belongs })
    }

    /// Checks a value of the key.
    pub(crate) fn check(&self, value: &str, place: &Place) -> Result<(), DefinitionError> {
        let is_good = match self.kind {
            Kind::Number(least, most) => return number::bounded(self, value, place, least, most).map(drop),
            Kind::Amount(most) => {
                value == "max" || decode(value).is_some_and(|amount| (0..=most).contains(&amount))
            }
            Kind::Flag => number::flag(value).is_some(),
            Kind::Policy => decode(value).is_some_and(|bits| PlacementPolicy::from_bits(bits).is_ok()),
            Kind::Label => !value.contains("&&") && !value.contains("||"),
            Kind::Text => true,
        };
        if is_good { Ok(()) } else { Err(self.wrong(value, place)) }
    }

    /// Creates the error for an invalid value.
    pub(crate) fn wrong(&self, value: &str, place: &Place) -> DefinitionError {
        let expected = match self.kind {
            Kind::Number(i64::MIN, most) => format!("a whole number up to {most}"),
            Kind::Number(least, most) => format!("a whole number from {least} to {most}"),
            Kind::Amount(most) => format!("a whole number from 0 to {most}, or `max`"),
            Kind::Flag => "`true` or `false`".to_owned(),
            Kind::Policy => "0 (normal), 1 (strict), 2 (anywhere) or 4 (anti-affinity)".to_owned(),
            Kind::Label => "a single label, without `&&` and `||`".to_owned(),
            Kind::Text => "a text".to_owned(),
        };
        DefinitionError::BadValue { place: place.clone(), key: self.name, value: value.to_owned(), expected }
    }
}
