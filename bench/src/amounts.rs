//! Amounts of resources.

use apportion::Resources;

/// The amount of `count` containers of this size. A product that is too large for its type becomes the largest.
pub(crate) fn multiplied(size: &Resources, count: u64) -> Resources {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    Resources::new(&size.amounts().map(|amount| amount.saturating_mul(count)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_is_at_most_the_largest_amount() {
        let size = Resources::new(&[3, 0]);
        assert_eq!(multiplied(&size, 4_000_000_000), Resources::new(&[12_000_000_000, 0]));
        assert_eq!(multiplied(&size, u64::MAX), Resources::new(&[i64::MAX, 0]));
    }
}
