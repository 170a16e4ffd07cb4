//! Settings of a service as a whole.

use apportion::Resources;

use super::Definition;
use super::error::DefinitionError;
use super::keys::{
    ConfFile, ESCALATION_CHECK, PROVIDER, RESTART_LIMIT, RETRY_WINDOW_MS, SHORT_LIFE, STARTUP_DELAY_MS,
    WINDOW_DAYS, WINDOW_HOURS, WINDOW_MINUTES, WINDOW_SECONDS,
};
use super::master::MASTER;
use super::size::{self, SizeBounds};
use super::values::Values;

/// Settings of a service as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceSettings {
    /// How long recent failures count; `None`: without limit.
    pub failure_window_ms: Option<u64>,
    /// A container that fails sooner than this after its start counts as a failed start.
    pub short_life_ms: u64,
    /// The delay before the application starts in a container. Only for hosts that start processes; this
    /// crate's hosts do not.
    pub startup_delay_ms: u64,
    /// The interval at which a host without timers widens requests. This crate's hosts widen each request
    /// at its deadline.
    pub escalation_check_interval_ms: u64,
    /// The size of the master's container. This crate's hosts run the master in their own process.
    pub master_size: Resources,
    /// The most starts of the master; 0: the cluster manager's limit.
    pub master_starts_max: u32,
    /// Starts of the master older than this do not count.
    pub master_starts_window_ms: u64,
    /// The provider of the application.
    pub provider: String,
}

impl InstanceSettings {
    pub(crate) fn resolve(definition: &Definition, bounds: &SizeBounds) -> Result<Self, DefinitionError> {
        let resources = Values::global(ConfFile::Resources, &definition.resources);
        let internal = Values::global(ConfFile::Internal, &definition.internal);
        let master = Values::component(ConfFile::Resources, &definition.resources, MASTER);
        Ok(Self {
            failure_window_ms: failure_window_ms(&resources)?,
            short_life_ms: internal.seconds_as_ms(&SHORT_LIFE)?,
            startup_delay_ms: internal.unsigned(&STARTUP_DELAY_MS)?,
            escalation_check_interval_ms: internal.seconds_as_ms(&ESCALATION_CHECK)?,
            master_size: size::resolve(&master, bounds)?,
            master_starts_max: internal.unsigned(&RESTART_LIMIT)?,
            master_starts_window_ms: resources.unsigned(&RETRY_WINDOW_MS)?,
            provider: internal.text(&PROVIDER).to_owned(),
        })
    }
}

/// Sums up the failure window. An hour has sixty minutes; in Slider it had twenty-four (`slider.md` D20).
fn failure_window_ms(values: &Values<'_>) -> Result<Option<u64>, DefinitionError> {
    let parts = [(WINDOW_DAYS, 86_400), (WINDOW_HOURS, 3_600), (WINDOW_MINUTES, 60), (WINDOW_SECONDS, 1)];
    let mut window_ms: u64 = 0;
    for (key, seconds) in parts {
        let part_ms = values.seconds_as_ms(&key)?.saturating_mul(seconds);
        window_ms = window_ms.saturating_add(part_ms);
    }
    Ok((window_ms > 0).then_some(window_ms))
}
