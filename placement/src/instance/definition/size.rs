//! Resolves the size of a container from its keys.

use apportion::{ResourceTypes, Resources};

use super::error::DefinitionError;
use super::keys::{MEMORY, NORMALISE, VCORES};
use super::values::Values;

/// The smallest and largest containers of a cluster manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeBounds {
    /// The least memory in MiB; sizes are multiples of it.
    pub memory_mib_min: i64,
    /// The most memory in MiB.
    pub memory_mib_max: i64,
    /// The fewest virtual cores; sizes are multiples of it.
    pub vcores_min: i64,
    /// The most virtual cores.
    pub vcores_max: i64,
}

impl Default for SizeBounds {
    /// YARN's defaults, with steps of 1 MiB.
    fn default() -> Self {
        Self { memory_mib_min: 1, memory_mib_max: 8_192, vcores_min: 1, vcores_max: 4 }
    }
}

/// Resolves the size that a section requests.
pub(crate) fn resolve(values: &Values<'_>, bounds: &SizeBounds) -> Result<Resources, DefinitionError> {
    let mut memory_mib = values.amount(&MEMORY, bounds.memory_mib_max)?;
    let mut vcores = values.amount(&VCORES, bounds.vcores_max)?;
    if values.flag(&NORMALISE)? {
        memory_mib = normalised(memory_mib, bounds.memory_mib_min, bounds.memory_mib_max);
        vcores = normalised(vcores, bounds.vcores_min, bounds.vcores_max);
    }
    let wrong = |_| MEMORY.wrong(values.text(&MEMORY), values.place());
    let amounts = [("memory_mib", memory_mib), ("vcore_milli", vcores.saturating_mul(1_000))];
    ResourceTypes::memory_and_vcores().resources(&amounts).map_err(wrong)
}

/// Rounds up to a multiple of `step`, at least one step and at most `most`.
fn normalised(amount: i64, step: i64, most: i64) -> i64 {
    let step = step.max(1);
    let steps = amount.max(1).saturating_add(step - 1) / step;
    steps.saturating_mul(step).min(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_rounded_up_and_bounded() {
        assert_eq!(normalised(1, 256, 4_096), 256);
        assert_eq!(normalised(0, 256, 4_096), 256);
        assert_eq!(normalised(257, 256, 4_096), 512);
        assert_eq!(normalised(4_097, 256, 4_096), 4_096);
        assert_eq!(normalised(7, 0, 100), 7);
        assert_eq!(normalised(i64::MAX, 256, 4_096), 4_096);
    }
}
