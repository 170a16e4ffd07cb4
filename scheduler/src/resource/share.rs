//! Dominant shares in fixed-point integers, so that equal states have the same order on every machine.

use super::vector::{COMMON_TYPES, CommonAmounts, RARE_TYPES};
use super::{RESOURCE_TYPES_MAX, Resources};

/// The whole in fixed point: the share of a queue that uses exactly its guarantee.
pub const SHARE_ONE: u64 = 1 << 20;

/// The dominant share of `used` in `total`: the largest `used[i] / total[i]` in steps of 2^-20, rounded down. Use of a
/// type that `total` lacks gives `u64::MAX`.
#[must_use]
pub fn dominant_share(used: &Resources, total: &Resources) -> u64 {
    let larger = |most: u64, i: usize| if used[i] > 0 { most.max(share(used[i], total[i])) } else { most };
    let common = (0..COMMON_TYPES).fold(0, larger);
    if used.may_have_rare_types() { RARE_TYPES.fold(common, larger) } else { common }
}

/// The dominant share of a node's used resources in its capacity.
#[must_use]
pub(crate) fn used_share(free: &Resources, capacity: &Resources) -> u64 {
    largest_used_share(free.amounts(), capacity.amounts())
}

/// The same for a node that has only common types.
#[inline]
pub(crate) fn common_used_share(free: CommonAmounts, capacity: CommonAmounts) -> u64 {
    largest_used_share(&free, &capacity)
}

#[inline]
fn largest_used_share<const TYPES: usize>(free: &[i64; TYPES], capacity: &[i64; TYPES]) -> u64 {
    (0..TYPES).fold(0, |most, i| {
        let used = capacity[i] - free[i];
        if used > 0 { most.max(share(used, capacity[i])) } else { most }
    })
}

/// The part of `need` that exceeds the free amount.
pub(crate) fn missing(need: &Resources, free: &Resources) -> Resources {
    need.combine(free, |need, free| if need > 0 { (need - free).max(0) } else { 0 })
}

/// The missing part of a need: the largest `missing[i] / needed[i]` in steps of 2^-20.
#[must_use]
pub(crate) fn missing_share(need: &Resources, free: &Resources) -> i128 {
    let shares = (0..RESOURCE_TYPES_MAX).filter(|i| need[*i] > 0).map(|i| {
        let missing = (need[i] - free[i]).max(0);
        i128::from(missing) * i128::from(SHARE_ONE) / i128::from(need[i])
    });
    shares.max().unwrap_or(0)
}

/// The share of one type that is in use.
fn share(used: i64, total: i64) -> u64 {
    let used = used.unsigned_abs();
    match u64::try_from(total) {
        Ok(0) | Err(_) => u64::MAX,
        // Below 2^43 the shift cannot overflow; the wide division is several times slower.
        Ok(total) if used < 1 << 43 => (used << 20) / total,
        Ok(total) => u64::try_from((u128::from(used) << 20) / u128::from(total)).unwrap_or(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_of_common_types_has_the_same_share() {
        for [free, capacity] in
            [[[5, 100], [10, 100]], [[10, 7], [10, 100]], [[-3, 0], [0, 0]], [[9, 9], [5, 5]]]
        {
            let whole = used_share(&Resources::new(&free), &Resources::new(&capacity));
            assert_eq!(common_used_share(free, capacity), whole);
        }
    }

    #[test]
    fn the_largest_share_dominates() {
        let total = Resources::new(&[100, 1000]);
        assert_eq!(dominant_share(&Resources::new(&[50, 100]), &total), SHARE_ONE / 2);
        assert_eq!(dominant_share(&Resources::new(&[10, 1000]), &total), SHARE_ONE);
        assert_eq!(dominant_share(&Resources::ZERO, &Resources::ZERO), 0);
        assert_eq!(dominant_share(&Resources::new(&[0, 1]), &Resources::new(&[5, 0])), u64::MAX);
    }

    #[test]
    fn the_largest_missing_part_counts() {
        let need = Resources::new(&[100, 10, 0]);
        assert_eq!(missing_share(&need, &Resources::new(&[75, 5, -9])), i128::from(SHARE_ONE) / 2);
        assert_eq!(missing_share(&need, &Resources::new(&[100, 11, -9])), 0);
    }

    #[test]
    fn wide_amounts_agree_with_narrow_ones() {
        let wide = 1i64 << 50;
        assert_eq!(share(wide, wide * 3), share(1 << 20, (1 << 20) * 3));
    }
}
