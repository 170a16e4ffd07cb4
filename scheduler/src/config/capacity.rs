//! Guarantees and maxima of queues, as configured.

use serde::{Deserialize, Serialize};

use super::{Factor, Percent};
use crate::resource::{RESOURCE_TYPES_MAX, Resources};

/// The guarantee of a queue, as a part of its parent's guarantee, in each partition.
///
/// Among siblings, absolute amounts are taken out first, percentages apply to the rest, and weights share the
/// remainder. Each resource type is divided separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Capacity {
    /// A percentage; siblings' percentages sum to at most 100.
    Percent(Percent),
    /// Absolute amounts. If the amounts of siblings exceed the parent's, all shrink in proportion.
    Absolute(Resources),
    /// A part of the remainder, in proportion to the weights of the siblings.
    Weight(Factor),
    /// A separate share for each type.
    Mixed([Share; RESOURCE_TYPES_MAX]),
}

/// The guarantee of a queue for one resource type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Share {
    /// A percentage of what remains after the amounts of siblings.
    Percent(Percent),
    /// An amount in the type's unit.
    Amount(i64),
    /// A part of what remains after all amounts and percentages.
    Weight(Factor),
}

impl Share {
    /// A guarantee of zero.
    pub const NONE: Self = Self::Amount(0);
}

impl Capacity {
    /// A share for each of the first types, and zero of further types. Amounts alone give [`Capacity::Absolute`].
    ///
    /// # Panics
    /// If there are more than [`RESOURCE_TYPES_MAX`] shares.
    #[must_use]
    pub fn mixed(shares: &[Share]) -> Self {
        let mut all = [Share::NONE; RESOURCE_TYPES_MAX];
        all[..shares.len()].copy_from_slice(shares);
        let amount = |share: &Share| if let Share::Amount(amount) = share { Some(*amount) } else { None };
        match all.iter().map(amount).collect::<Option<Vec<_>>>() {
            Some(amounts) => Self::Absolute(Resources::new(&amounts)),
            None => Self::Mixed(all),
        }
    }

    /// The share of one resource type.
    #[must_use]
    pub fn share(&self, resource: usize) -> Share {
        match self {
            Self::Percent(percent) => Share::Percent(*percent),
            Self::Absolute(amounts) => Share::Amount(amounts[resource]),
            Self::Weight(weight) => Share::Weight(*weight),
            Self::Mixed(shares) => shares[resource],
        }
    }

    /// The absolute amounts; zero for types with a percentage or a weight.
    #[must_use]
    pub fn amounts(&self) -> Resources {
        let amount = |share| if let Share::Amount(amount) = share { amount } else { 0 };
        Resources::new(&std::array::from_fn::<_, RESOURCE_TYPES_MAX, _>(|i| amount(self.share(i))))
    }
}

/// The maximum of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Maximum {
    /// A percentage of the parent's maximum.
    Percent(Percent),
    /// These amounts; `None` stands for a type without a limit of its own.
    Absolute([Option<i64>; RESOURCE_TYPES_MAX]),
    /// A separate bound for each type.
    Mixed([Bound; RESOURCE_TYPES_MAX]),
}

/// The maximum of a queue for one resource type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bound {
    /// A percentage of the parent's maximum; 100 % means no bound of its own.
    Percent(Percent),
    /// An amount in the type's unit.
    Amount(i64),
}

impl Bound {
    /// No bound but the parent's.
    pub const NONE: Self = Self::Percent(Percent::ALL);

    fn as_amount(self) -> Option<i64> {
        if let Self::Amount(amount) = self { Some(amount) } else { None }
    }
}

impl Maximum {
    /// A maximum in absolute amounts of the first types; further types have no limit of their own.
    #[must_use]
    pub fn absolute(amounts: &[i64]) -> Self {
        let mut all = [None; RESOURCE_TYPES_MAX];
        for (slot, amount) in all.iter_mut().zip(amounts) {
            *slot = Some(*amount);
        }
        Self::Absolute(all)
    }

    /// A bound for each of the first types; further types have no bound of their own. Amounts alone give
    /// [`Maximum::Absolute`].
    ///
    /// # Panics
    /// If there are more than [`RESOURCE_TYPES_MAX`] bounds.
    #[must_use]
    pub fn mixed(bounds: &[Bound]) -> Self {
        let mut all = [Bound::NONE; RESOURCE_TYPES_MAX];
        all[..bounds.len()].copy_from_slice(bounds);
        let is_absolute = |bound: &Bound| *bound == Bound::NONE || bound.as_amount().is_some();
        if all.iter().all(is_absolute) { Self::Absolute(all.map(Bound::as_amount)) } else { Self::Mixed(all) }
    }

    /// The bound of one resource type.
    #[must_use]
    pub fn bound(&self, resource: usize) -> Bound {
        match self {
            Self::Percent(percent) => Bound::Percent(*percent),
            Self::Absolute(amounts) => amounts[resource].map_or(Bound::NONE, Bound::Amount),
            Self::Mixed(bounds) => bounds[resource],
        }
    }

    /// The absolute amounts; `None` for types without one.
    #[must_use]
    pub fn amounts(&self) -> [Option<i64>; RESOURCE_TYPES_MAX] {
        std::array::from_fn(|i| self.bound(i).as_amount())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_alone_are_absolute() {
        let half = Percent::whole(50);
        assert_eq!(
            Capacity::mixed(&[Share::Amount(1), Share::Amount(2)]),
            Capacity::Absolute(Resources::new(&[1, 2]))
        );
        let mixed = Capacity::mixed(&[Share::Amount(1), Share::Percent(half)]);
        assert_eq!([0, 1, 2].map(|i| mixed.share(i)), [Share::Amount(1), Share::Percent(half), Share::NONE]);
        assert_eq!(mixed.amounts(), Resources::new(&[1]));
        assert_eq!(Maximum::mixed(&[Bound::Amount(1), Bound::NONE]), Maximum::absolute(&[1]));
        let mixed = Maximum::mixed(&[Bound::Amount(1), Bound::Percent(half)]);
        assert_eq!([0, 1, 2].map(|i| mixed.bound(i)), [Bound::Amount(1), Bound::Percent(half), Bound::NONE]);
    }
}
