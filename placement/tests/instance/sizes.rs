//! The container sizes of components (`slider.md` 5, last lines).

use apportion_placement::instance::{ConfTree, Definition, SizeBounds};

use super::support::Outcome;

const BOUNDS: SizeBounds =
    SizeBounds { memory_mib_min: 256, memory_mib_max: 4_096, vcores_min: 1, vcores_max: 64 };

/// Memory in MiB and virtual cores in thousandths.
fn size(keys: &[(&str, &str)]) -> Result<(i64, i64), Box<dyn std::error::Error>> {
    let start = ConfTree::default().with("worker", "yarn.role.priority", 1);
    let tree = keys.iter().fold(start, |tree, (key, value)| tree.with("worker", key, value));
    let size = Definition::of(tree).resolve(&BOUNDS)?.components[0].size;
    Ok((size[0], size[1]))
}

#[test]
fn sizes_follow_from_the_keys() -> Outcome {
    const MEMORY: &str = "yarn.memory";
    const VCORES: &str = "yarn.vcores";
    const NORMALISE: &str = "yarn.resource.normalization.enabled";
    for (keys, expected) in [
        (vec![], (256, 1_000)),
        (vec![(MEMORY, "max"), (VCORES, "max")], (4_096, 64_000)),
        (vec![(MEMORY, "32768")], (4_096, 1_000)),
        (vec![(MEMORY, "32768"), (NORMALISE, "false")], (32_768, 1_000)),
        (vec![(MEMORY, "max"), (NORMALISE, "false")], (4_096, 1_000)),
        (vec![(MEMORY, "300"), (VCORES, "0")], (512, 1_000)),
        (vec![(MEMORY, "0x100"), (VCORES, "0x10")], (256, 16_000)),
        (vec![(MEMORY, "300"), (NORMALISE, "FALSE")], (300, 1_000)),
    ] {
        assert_eq!(size(&keys)?, expected, "{keys:?}");
    }
    for wrong in ["-1", "much", "MAX", "4398046511105", "1.5", ""] {
        assert!(size(&[(MEMORY, wrong)]).is_err(), "{wrong}");
    }
    Ok(())
}
