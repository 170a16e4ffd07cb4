//! Sizes of containers and nodes, as in `docs/workloads.md`.

use apportion::Resources;
use rand::RngExt;

/// A container size with its frequency: vcores, GiB, weight in percent.
pub type SizeWeight = (i64, i64, u32);

/// Container sizes S1 of `docs/workloads.md`.
pub const CONTAINER_SIZES: [SizeWeight; 7] =
    [(1, 2, 30), (1, 4, 25), (2, 8, 20), (4, 16, 10), (4, 8, 8), (8, 32, 5), (16, 64, 2)];

/// Mean vcores of sizes whose weights sum to 100.
#[must_use]
pub fn mean_vcores(sizes: &[SizeWeight]) -> f64 {
    sizes.iter().map(|(vcores, _, weight)| *vcores as f64 * f64::from(*weight)).sum::<f64>() / 100.0
}

/// Mean MiB and thousandths of a vcore of sizes whose weights sum to 100.
#[must_use]
pub fn mean_size(sizes: &[SizeWeight]) -> [f64; 2] {
    let gib = sizes.iter().map(|(_, gib, weight)| *gib as f64 * f64::from(*weight)).sum::<f64>() / 100.0;
    [gib * 1_024.0, mean_vcores(sizes) * 1_000.0]
}

/// Draws one of these sizes, whose weights sum to 100, in MiB and thousandths of a vcore.
pub fn draw_size(sizes: &[SizeWeight], random: &mut impl RngExt) -> Resources {
    let mut point = random.random_range(0..100);
    for &(vcores, gib, weight) in sizes {
        if point < weight {
            return Resources::new(&[gib * 1024, vcores * 1000]);
        }
        point -= weight;
    }
    unreachable!("the weights sum to 100")
}

/// The vcores of a node, with 4 GiB for each, as in W1 of `docs/workloads.md`. Six nodes of ten have 32, three have
/// 64, one has 96.
#[must_use]
pub fn node_vcores(number: usize) -> i64 {
    match number % 10 {
        0..6 => 32,
        6..9 => 64,
        _ => 96,
    }
}
