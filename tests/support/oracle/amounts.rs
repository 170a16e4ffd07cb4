//! Plain vectors of amounts, with arithmetic of their own that the engine does not share.

use apportion::Resources;
use apportion::resource::RESOURCE_TYPES_MAX;

/// An amount of each resource type.
pub type Amounts = [i64; RESOURCE_TYPES_MAX];

/// Nothing of any type.
pub const NOTHING: Amounts = [0; RESOURCE_TYPES_MAX];

/// 1.0 in the fixed point of shares.
pub(super) const ONE: i128 = 1 << 20;

/// An infinite share: the use of a type whose base is zero.
pub(super) const ENDLESS: i128 = i128::MAX;

/// The amounts of an engine's vector.
#[must_use]
pub fn amounts(resources: &Resources) -> Amounts {
    *resources.amounts()
}

/// `each` applied type by type.
#[must_use]
pub(super) fn each(a: &Amounts, b: &Amounts, each: impl Fn(i64, i64) -> i64) -> Amounts {
    std::array::from_fn(|i| each(a[i], b[i]))
}

/// The sum.
#[must_use]
pub fn plus(a: &Amounts, b: &Amounts) -> Amounts {
    each(a, b, |a, b| a + b)
}

/// The difference; may be negative.
#[must_use]
pub(super) fn minus(a: &Amounts, b: &Amounts) -> Amounts {
    each(a, b, |a, b| a - b)
}

/// Every amount multiplied by `count`.
#[must_use]
pub fn times(a: &Amounts, count: u32) -> Amounts {
    a.map(|amount| amount * i64::from(count))
}

/// `amount * numerator / denominator`, rounded down; 0 if the denominator is 0.
#[must_use]
pub(super) fn part(amount: i64, numerator: i128, denominator: i128) -> i128 {
    if denominator == 0 { 0 } else { i128::from(amount) * numerator / denominator }
}

/// The largest `used[i] / base[i]` in steps of 2^-20, rounded down.
#[must_use]
pub(super) fn share(used: &Amounts, base: &Amounts) -> i128 {
    let of_type = |(used, base): (&i64, &i64)| match (*used, *base) {
        (0, _) => 0,
        (_, 0) => ENDLESS,
        (used, base) => i128::from(used) * ONE / i128::from(base),
    };
    used.iter().zip(base).map(of_type).max().unwrap_or(0)
}

/// Whether every type that `more` needs stays within `bound` when `more` is added to `used`.
#[must_use]
pub(super) fn may_add(used: &Amounts, more: &Amounts, bound: &Amounts) -> bool {
    (0..RESOURCE_TYPES_MAX).all(|i| more[i] == 0 || used[i] + more[i] <= bound[i])
}
