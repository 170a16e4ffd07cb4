//! Random gangs.

use std::cmp::Reverse;
use std::ops::Range;

use apportion::gang::{GangSpec, GangStyle, GangTopology};
use apportion::{ApplicationId, AskSpec};
use proptest::prelude::*;
use proptest::sample::Index;

#[derive(Clone, Debug)]
pub(crate) struct Gang {
    /// Size, count, minimum and whether they are placeholders.
    roles: Vec<(i64, u32, Index, bool)>,
    timeout_ms: Option<u64>,
    is_soft: bool,
    topology: GangTopology,
    placeholder_timeout_ms: u64,
    gathers: bool,
}

/// The ranges of random gangs.
pub(crate) struct Gangs {
    /// Their number of roles.
    pub(crate) roles: Range<usize>,
    /// The part of roles with placeholders, and of gangs with a timeout.
    pub(crate) parts: [f64; 2],
    pub(crate) timeout_ms: Range<u64>,
    pub(crate) placeholder_timeout_ms: Range<u64>,
}

impl Gangs {
    pub(crate) fn any(self) -> impl Strategy<Value = Gang> {
        let [placeholders, timeouts] = self.parts;
        let role = (1..3i64, 1..6u32, any::<Index>(), prop::bool::weighted(placeholders));
        let roles = prop::collection::vec(role, self.roles);
        let timeout = prop::option::weighted(timeouts, self.timeout_ms);
        let all = [GangTopology::Anywhere, GangTopology::SameRack, GangTopology::NearestRacks];
        let topology = prop::sample::select(all.to_vec());
        let others = (any::<bool>(), topology, self.placeholder_timeout_ms, prop::bool::weighted(0.8));
        (roles, timeout, others).prop_map(
            |(roles, timeout_ms, (is_soft, topology, placeholder_timeout_ms, gathers))| Gang {
                roles,
                timeout_ms,
                is_soft,
                topology,
                placeholder_timeout_ms,
                gathers,
            },
        )
    }
}

impl Gang {
    /// Roles are placed in their order. With the larger members first, every minimum that fits finds nodes.
    pub(crate) fn with_large_members_first(mut self) -> Self {
        self.roles.sort_by_key(|(units, ..)| Reverse(*units));
        self
    }

    /// The gang of an application, with such asks for a size and a count.
    pub(crate) fn spec(&self, job: ApplicationId, ask: impl Fn(i64, u32) -> AskSpec) -> GangSpec {
        let mut spec = GangSpec::new(job);
        for (number, (units, count, minimum, is_placeholder)) in self.roles.iter().enumerate() {
            // The first role always has a member that must start.
            let least = u32::from(number == 0);
            let minimum = least + minimum.index((count + 1 - least) as usize) as u32;
            spec = spec.with_role_of_at_least(format!("role {number}"), ask(*units, *count), minimum);
            spec.roles[number].is_placeholder = *is_placeholder;
        }
        spec.timeout_ms = self.timeout_ms;
        spec.style = if self.is_soft { GangStyle::Soft } else { GangStyle::Hard };
        spec.topology = self.topology;
        let has_placeholders = spec.roles.iter().any(|role| role.is_placeholder);
        spec.placeholder_timeout_ms = has_placeholders.then_some(self.placeholder_timeout_ms);
        spec.gathers = self.gathers;
        spec
    }
}
