//! The vector type of all quantities.

use std::hash::{Hash, Hasher};
use std::ops::{Add, AddAssign, Index, Range, Sub, SubAssign};

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::SmallVec;

/// The most resource types of one engine.
pub const RESOURCE_TYPES_MAX: usize = 8;

/// The largest amount of one type that a node, an ask or a configured limit may carry.
///
/// The engine checks it where amounts enter. With at most 2^20 nodes every sum then stays below 2^62, so the
/// arithmetic cannot overflow.
pub const AMOUNT_MAX: i64 = 1 << 42;

/// The amount that stands for "no limit" in a maximum; larger than any sum of valid amounts.
pub(crate) const UNLIMITED: i64 = 1 << 62;

/// Most engines count two types. Comparisons look at the others only if one of them has an amount.
pub(super) const COMMON_TYPES: usize = 2;

/// An amount of each resource type, in the order of the engine's [`ResourceTypes`](super::ResourceTypes).
///
/// Fixed width, integers only. An owned amount is never negative. A difference may be, such as the free amount of a
/// node that shrank.
#[derive(Clone, Copy, Debug, Default, Eq)]
pub struct Resources([i64; RESOURCE_TYPES_MAX]);

impl Resources {
    /// Zero of every type.
    pub const ZERO: Self = Self([0; RESOURCE_TYPES_MAX]);

    /// The amounts by type index; missing types are zero. [`ResourceTypes::resources`](crate::ResourceTypes::resources)
    /// takes amounts by name and checks them.
    ///
    /// # Panics
    /// If there are more than [`RESOURCE_TYPES_MAX`] amounts.
    #[must_use]
    pub fn new(amounts: &[i64]) -> Self {
        let mut all = [0; RESOURCE_TYPES_MAX];
        all[..amounts.len()].copy_from_slice(amounts);
        Self(all)
    }

    /// The same amount of all [`RESOURCE_TYPES_MAX`] types.
    pub(crate) const fn all(amount: i64) -> Self {
        Self([amount; RESOURCE_TYPES_MAX])
    }

    /// The amounts by type index.
    #[must_use]
    pub const fn amounts(&self) -> &[i64; RESOURCE_TYPES_MAX] {
        &self.0
    }

    pub(crate) fn set(&mut self, type_index: usize, amount: i64) {
        self.0[type_index] = amount;
    }

    /// The amounts up to the last one that is not zero: the serialized form.
    pub(crate) fn without_trailing_zeros(&self) -> &[i64] {
        let length = self.0.iter().rposition(|amount| *amount != 0).map_or(0, |last| last + 1);
        &self.0[..length]
    }

    /// Whether every type is zero.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        // Not as a comparison of arrays, which is a call of `memcmp`.
        self.0.iter().fold(0, |bits, amount| bits | amount) == 0
    }

    /// Whether the amount of each type is at most that of `bound`.
    #[must_use]
    pub fn within(&self, bound: &Self) -> bool {
        let is_within = |i: usize| self.0[i] <= bound.0[i];
        (0..COMMON_TYPES).all(is_within)
            && (!(self.has_rare_types() || bound.has_rare_types()) || RARE_TYPES.into_iter().all(is_within))
    }

    /// Whether `self` plus `more` stays within `bound`, for each type that grows.
    ///
    /// Other types may already exceed a bound that was lowered.
    #[must_use]
    pub fn can_grow(&self, more: &Self, bound: &Self) -> bool {
        let may_grow = |i: usize| more.0[i] <= 0 || self.0[i].wrapping_add(more.0[i]) <= bound.0[i];
        (0..COMMON_TYPES).all(may_grow) && (!more.has_rare_types() || RARE_TYPES.into_iter().all(may_grow))
    }

    /// The smaller amount of each type.
    #[must_use]
    pub fn min(&self, other: &Self) -> Self {
        self.combine_amounts(other, i64::min)
    }

    /// The larger amount of each type.
    #[must_use]
    pub fn max(&self, other: &Self) -> Self {
        self.combine_amounts(other, i64::max)
    }

    /// Raises each type to the amount of `other` if that is larger. No amount is negative.
    pub(crate) fn raise_to(&mut self, other: &Self) {
        for i in other.types() {
            self.0[i] = self.0[i].max(other.0[i]);
        }
    }

    /// The difference to `other`; zero where `other` is larger.
    #[must_use]
    pub fn saturating_sub(&self, other: &Self) -> Self {
        self.combine_amounts(other, |a, b| (a - b).max(0))
    }

    /// Each type times a whole number; saturates.
    #[must_use]
    pub(crate) fn times(&self, factor: i64) -> Self {
        if factor == 1 {
            return *self;
        }
        Self(self.0.map(|amount| amount.saturating_mul(factor)))
    }

    /// Each type times `numerator / denominator`, rounded down.
    #[must_use]
    pub(crate) fn scaled(&self, numerator: u64, denominator: u64) -> Self {
        let scale = |amount: i64| {
            let product = i128::from(amount) * i128::from(numerator) / i128::from(denominator.max(1));
            i64::try_from(product).unwrap_or(UNLIMITED).min(UNLIMITED)
        };
        Self(self.0.map(scale))
    }

    pub(crate) fn combine(&self, other: &Self, each: impl Fn(i64, i64) -> i64) -> Self {
        Self(std::array::from_fn(|i| each(self.0[i], other.0[i])))
    }

    /// The amounts of the types of which `other` has some, and zero of all others.
    pub(crate) fn of_types_in(&self, other: &Self) -> Self {
        self.combine(other, |amount, other| if other > 0 { amount } else { 0 })
    }

    /// As [`combine`](Self::combine), for a function that is 0 for 0 and 0.
    fn combine_amounts(&self, other: &Self, each: impl Fn(i64, i64) -> i64) -> Self {
        let mut combined = Self::ZERO;
        for i in 0..self.types().end.max(other.types().end) {
            combined.0[i] = each(self.0[i], other.0[i]);
        }
        combined
    }

    /// A range of types; all amounts outside it are zero.
    pub(crate) fn types(&self) -> Range<usize> {
        if self.has_rare_types() { 0..RESOURCE_TYPES_MAX } else { 0..COMMON_TYPES }
    }

    /// Whether any type behind the common ones has an amount.
    pub(super) fn has_rare_types(&self) -> bool {
        self.0[COMMON_TYPES..].iter().fold(0, |bits, amount| bits | amount) != 0
    }
}

pub(super) const RARE_TYPES: Range<usize> = COMMON_TYPES..RESOURCE_TYPES_MAX;

impl PartialEq for Resources {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).fold(0, |bits, (a, b)| bits | (a ^ b)) == 0
    }
}

/// Amounts of rare types count only if there are any, so that most vectors are hashed quickly.
impl Hash for Resources {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let counted = if self.has_rare_types() { &self.0[..] } else { &self.0[..COMMON_TYPES] };
        counted.iter().for_each(|amount| state.write_i64(*amount));
    }
}

impl Index<usize> for Resources {
    type Output = i64;
    fn index(&self, type_index: usize) -> &i64 {
        &self.0[type_index]
    }
}

impl Add for Resources {
    type Output = Self;
    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

impl Sub for Resources {
    type Output = Self;
    fn sub(mut self, other: Self) -> Self {
        self -= other;
        self
    }
}

impl AddAssign for Resources {
    fn add_assign(&mut self, other: Self) {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a += b;
        }
    }
}

impl SubAssign for Resources {
    fn sub_assign(&mut self, other: Self) {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a -= b;
        }
    }
}

/// Serializes only the amounts up to the last non-zero one: most engines count two or three types.
impl Serialize for Resources {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.without_trailing_zeros().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Resources {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let amounts = SmallVec::<[i64; RESOURCE_TYPES_MAX]>::deserialize(deserializer)?;
        if amounts.len() > RESOURCE_TYPES_MAX {
            return Err(D::Error::invalid_length(amounts.len(), &"at most eight amounts"));
        }
        Ok(Self::new(&amounts))
    }
}

impl std::iter::Sum for Resources {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_ignores_types_that_do_not_grow() {
        let used = Resources::new(&[10, 5]);
        let limit = Resources::new(&[8, 8]);
        assert!(used.can_grow(&Resources::new(&[0, 3]), &limit), "over in a type that does not grow");
        assert!(!used.can_grow(&Resources::new(&[0, 4]), &limit));
        assert!(!used.can_grow(&Resources::new(&[1, 0]), &limit));
    }

    /// Equals a comparison of each type by itself, also for differences and for [`UNLIMITED`].
    #[test]
    fn comparisons_of_all_types_at_once_equal_those_of_each() {
        let amounts = [0, 1, 2, -1, -2, AMOUNT_MAX, UNLIMITED - AMOUNT_MAX, -AMOUNT_MAX];
        let vector = |amount: i64| Resources::new(&[0, amount]);
        for (a, b) in amounts.iter().flat_map(|a| amounts.map(|b| (*a, b))) {
            assert_eq!(vector(a).within(&vector(b)), a <= b, "{a} within {b}");
            for c in amounts {
                let can_grow = b <= 0 || a + b <= c;
                assert_eq!(vector(a).can_grow(&vector(b), &vector(c)), can_grow, "{a} by {b} up to {c}");
            }
        }
        assert!(vector(-2).within(&vector(i64::MAX)) && vector(0).can_grow(&vector(i64::MIN), &vector(0)));
    }

    #[test]
    fn scaling_rounds_down_and_does_not_overflow() {
        assert_eq!(Resources::new(&[10, 3]).scaled(1, 3), Resources::new(&[3, 1]));
        assert_eq!(Resources::new(&[UNLIMITED]).scaled(4, 1)[0], UNLIMITED);
    }
}
