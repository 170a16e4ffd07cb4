//! The vector type of all quantities.

use std::fmt;
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

/// Most engines count two types. Operations look at the others only if one of them may have an amount.
pub(super) const COMMON_TYPES: usize = 2;
/// An amount of each common type.
pub(crate) type CommonAmounts = [i64; COMMON_TYPES];
pub(super) const RARE_TYPES: Range<usize> = COMMON_TYPES..RESOURCE_TYPES_MAX;

/// An amount of each resource type, in the order of the engine's [`ResourceTypes`](super::ResourceTypes).
///
/// Fixed width, integers only. An owned amount is never negative. A difference may be, such as the free amount of a
/// node that shrank.
#[derive(Clone, Copy, Default, Eq)]
// In this order in memory, so that the amounts of common types are next to the mark that there are no others.
#[repr(C)]
pub struct Resources {
    /// Not zero if a rare type may have an amount; the bits mean nothing else. A `u64`, so that there is no padding to
    /// copy.
    rare_bits: u64,
    amounts: [i64; RESOURCE_TYPES_MAX],
}

impl Resources {
    /// Zero of every type.
    pub const ZERO: Self = Self { rare_bits: 0, amounts: [0; RESOURCE_TYPES_MAX] };

    /// The amounts by type index; missing types are zero. [`ResourceTypes::resources`](crate::ResourceTypes::resources)
    /// takes amounts by name and checks them.
    ///
    /// # Panics
    /// If there are more than [`RESOURCE_TYPES_MAX`] amounts.
    #[must_use]
    pub fn new(amounts: &[i64]) -> Self {
        let mut all = [0; RESOURCE_TYPES_MAX];
        all[..amounts.len()].copy_from_slice(amounts);
        Self::from_all(all)
    }

    fn from_all(amounts: [i64; RESOURCE_TYPES_MAX]) -> Self {
        let bits = amounts[COMMON_TYPES..].iter().fold(0, |bits, amount| bits | amount);
        Self { rare_bits: bits as u64, amounts }
    }

    /// Amounts of common types, and none of the others.
    #[inline]
    pub(crate) fn from_common([first, second]: CommonAmounts) -> Self {
        let mut amounts = [0; RESOURCE_TYPES_MAX];
        (amounts[0], amounts[1]) = (first, second);
        Self { rare_bits: 0, amounts }
    }

    /// The amounts of common types; `None` if another type may have an amount.
    #[inline]
    pub(crate) fn to_common(self) -> Option<CommonAmounts> {
        (self.rare_bits == 0).then_some([self.amounts[0], self.amounts[1]])
    }

    /// The same amount of all [`RESOURCE_TYPES_MAX`] types.
    pub(crate) const fn all(amount: i64) -> Self {
        Self { rare_bits: 1, amounts: [amount; RESOURCE_TYPES_MAX] }
    }

    /// The amounts by type index.
    #[must_use]
    pub const fn amounts(&self) -> &[i64; RESOURCE_TYPES_MAX] {
        &self.amounts
    }

    pub(crate) fn set(&mut self, type_index: usize, amount: i64) {
        self.rare_bits |= u64::from(type_index >= COMMON_TYPES && amount != 0);
        self.amounts[type_index] = amount;
    }

    /// The amounts up to the last one that is not zero: the serialized form.
    pub(crate) fn without_trailing_zeros(&self) -> &[i64] {
        let amounts = &self.amounts[self.types()];
        let length = amounts.iter().rposition(|amount| *amount != 0).map_or(0, |last| last + 1);
        &amounts[..length]
    }

    /// Whether every type is zero.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        // Not as a comparison of arrays, which is a call of `memcmp`.
        let with_bits_of = |bits: i64, i: usize| bits | self.amounts[i];
        let common = (0..COMMON_TYPES).fold(0, with_bits_of);
        (if self.may_have_rare_types() { RARE_TYPES.fold(common, with_bits_of) } else { common }) == 0
    }

    /// Whether the amount of each type is at most that of `bound`.
    #[must_use]
    pub fn within(&self, bound: &Self) -> bool {
        let is_within = |i: usize| self.amounts[i] <= bound.amounts[i];
        (0..COMMON_TYPES).all(is_within)
            && ((self.rare_bits | bound.rare_bits) == 0 || RARE_TYPES.into_iter().all(is_within))
    }

    /// Whether `self` plus `more` stays within `bound`, for each type that grows.
    ///
    /// Other types may already exceed a bound that was lowered.
    #[inline]
    #[must_use]
    pub fn can_grow(&self, more: &Self, bound: &Self) -> bool {
        (0..COMMON_TYPES).all(|i| self.can_type_grow(i, more, bound))
            && (!more.may_have_rare_types() || self.can_rare_types_grow(more, bound))
    }

    #[inline(never)]
    fn can_rare_types_grow(&self, more: &Self, bound: &Self) -> bool {
        RARE_TYPES.into_iter().all(|i| self.can_type_grow(i, more, bound))
    }

    #[inline]
    fn can_type_grow(&self, i: usize, more: &Self, bound: &Self) -> bool {
        let more = more.amounts[i];
        more <= 0 || self.amounts[i].wrapping_add(more) <= bound.amounts[i]
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
        self.rare_bits |= other.rare_bits;
        for i in other.types() {
            self.amounts[i] = self.amounts[i].max(other.amounts[i]);
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
        Self { amounts: self.amounts.map(|amount| amount.saturating_mul(factor)), ..*self }
    }

    /// Each type times `numerator / denominator`, rounded down.
    #[must_use]
    pub(crate) fn scaled(&self, numerator: u64, denominator: u64) -> Self {
        let scale = |amount: i64| {
            let product = i128::from(amount) * i128::from(numerator) / i128::from(denominator.max(1));
            i64::try_from(product).unwrap_or(UNLIMITED).min(UNLIMITED)
        };
        Self { amounts: self.amounts.map(scale), ..*self }
    }

    pub(crate) fn combine(&self, other: &Self, each: impl Fn(i64, i64) -> i64) -> Self {
        Self::from_all(std::array::from_fn(|i| each(self.amounts[i], other.amounts[i])))
    }

    /// The amounts of the types of which `other` has some, and zero of all others.
    pub(crate) fn of_types_in(&self, other: &Self) -> Self {
        self.combine(other, |amount, other| if other > 0 { amount } else { 0 })
    }

    /// As [`combine`](Self::combine), for a function that is 0 for 0 and 0.
    fn combine_amounts(&self, other: &Self, each: impl Fn(i64, i64) -> i64) -> Self {
        let mut combined = Self { rare_bits: self.rare_bits | other.rare_bits, ..Self::ZERO };
        for i in combined.types() {
            combined.amounts[i] = each(self.amounts[i], other.amounts[i]);
        }
        combined
    }

    /// Changes each amount by that of `other`, with a function that changes nothing for 0.
    #[inline]
    fn change_by(&mut self, other: &Self, each: impl Fn(i64, i64) -> i64) {
        for i in 0..COMMON_TYPES {
            self.amounts[i] = each(self.amounts[i], other.amounts[i]);
        }
        if other.may_have_rare_types() {
            self.rare_bits |= other.rare_bits;
            for i in RARE_TYPES {
                self.amounts[i] = each(self.amounts[i], other.amounts[i]);
            }
        }
    }

    /// A range of types; all amounts outside it are zero.
    pub(crate) fn types(&self) -> Range<usize> {
        if self.may_have_rare_types() { 0..RESOURCE_TYPES_MAX } else { 0..COMMON_TYPES }
    }

    /// Whether any type behind the common ones may have an amount.
    pub(super) fn may_have_rare_types(&self) -> bool {
        self.rare_bits != 0
    }
}

impl PartialEq for Resources {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        let differing = |bits: i64, i: usize| bits | (self.amounts[i] ^ other.amounts[i]);
        let common = (0..COMMON_TYPES).fold(0, differing);
        let may_any_be_rare = (self.rare_bits | other.rare_bits) != 0;
        (if may_any_be_rare { RARE_TYPES.fold(common, differing) } else { common }) == 0
    }
}

/// Without the amounts of rare types if they are zero, so that most vectors are hashed quickly.
impl Hash for Resources {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let has_rare =
            self.may_have_rare_types() && self.amounts[RARE_TYPES].iter().any(|amount| *amount != 0);
        let counted = if has_rare { RESOURCE_TYPES_MAX } else { COMMON_TYPES };
        self.amounts[..counted].iter().for_each(|amount| state.write_i64(*amount));
    }
}

impl fmt::Debug for Resources {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Resources").field(&self.amounts).finish()
    }
}

impl Index<usize> for Resources {
    type Output = i64;
    fn index(&self, type_index: usize) -> &i64 {
        &self.amounts[type_index]
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
        self.change_by(&other, |a, b| a + b);
    }
}

impl SubAssign for Resources {
    fn sub_assign(&mut self, other: Self) {
        self.change_by(&other, |a, b| a - b);
    }
}

/// Serializes only the amounts up to the last non-zero one: most engines count two types.
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
    use std::hash::{BuildHasher, BuildHasherDefault};

    use proptest::prelude::*;
    use rustc_hash::FxHasher;

    use super::*;
    use crate::resource::{dominant_share, used_share};

    /// Amounts of two types or of all.
    fn amounts() -> impl Strategy<Value = [i64; RESOURCE_TYPES_MAX]> {
        (prop::array::uniform8(-2..3i64), any::<bool>()).prop_map(|(mut amounts, has_rare)| {
            amounts[RARE_TYPES].iter_mut().for_each(|amount| *amount *= i64::from(has_rare));
            amounts
        })
    }

    fn changed(kind: u8, a: &Resources, b: &Resources) -> Resources {
        let mut changed = *a;
        match kind {
            0 => changed += *b,
            1 => changed -= *b,
            2 => {
                changed = a.max(&Resources::ZERO);
                changed.raise_to(&b.max(&Resources::ZERO));
            }
            3 => changed = a.min(b),
            4 => changed = a.saturating_sub(b),
            5 => changed = a.of_types_in(b),
            6 => changed = a.times(2),
            7 => changed.set(7, b[7]),
            8 => changed = a.combine(b, |a, b| a ^ b),
            9 => changed = a.scaled(3, 2),
            _ => changed = Resources::all(b[7]),
        }
        changed
    }

    fn changed_amount(kind: u8, type_index: usize, a: i64, b: i64) -> i64 {
        match kind {
            0 => a + b,
            1 => a - b,
            2 => a.max(b).max(0),
            3 => a.min(b),
            4 => (a - b).max(0),
            5 => {
                if b > 0 {
                    a
                } else {
                    0
                }
            }
            6 => a * 2,
            7 => {
                if type_index == 7 {
                    b
                } else {
                    a
                }
            }
            8 => a ^ b,
            9 => a * 3 / 2,
            _ => unreachable!("the amount is the same for all types"),
        }
    }

    proptest! {
        /// The mark for rare types changes no result, also after their amounts have come and gone.
        #[test]
        fn operations_equal_those_on_each_type(
            start in prop::array::uniform8(0..3i64),
            steps in prop::collection::vec((0..11u8, amounts()), 1..12),
        ) {
            let (mut now, mut model) = (Resources::new(&start), start);
            for (kind, other) in steps {
                now = changed(kind, &now, &Resources::new(&other));
                model = match kind {
                    10 => [other[7]; RESOURCE_TYPES_MAX],
                    _ => std::array::from_fn(|i| changed_amount(kind, i, model[i], other[i])),
                };
                let (fresh, other) = (Resources::new(&model), Resources::new(&other));
                let hasher = BuildHasherDefault::<FxHasher>::default();
                prop_assert_eq!(now.amounts(), &model);
                prop_assert_eq!(now, fresh);
                prop_assert_eq!(hasher.hash_one(now), hasher.hash_one(fresh));
                prop_assert_eq!(now == other, model == *other.amounts());
                prop_assert_eq!(now.is_zero(), model == [0; RESOURCE_TYPES_MAX]);
                prop_assert_eq!(now.without_trailing_zeros(), fresh.without_trailing_zeros());
                let each = |holds: fn(i64, i64) -> bool| (0..RESOURCE_TYPES_MAX).all(|i| holds(model[i], other[i]));
                prop_assert_eq!(now.within(&other), each(|a, b| a <= b));
                prop_assert_eq!(other.within(&now), each(|a, b| b <= a));
                prop_assert_eq!(dominant_share(&now, &other), dominant_share(&fresh, &other));
                prop_assert_eq!(used_share(&now, &other), used_share(&fresh, &other));
                prop_assert_eq!(other.can_grow(&now, &other), each(|a, _| a <= 0));
                prop_assert_eq!(now.can_grow(&other, &now), each(|_, b| b <= 0));
            }
        }
    }

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
