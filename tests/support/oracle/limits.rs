//! Converts configured capacities to amounts: the guarantee and maximum of each queue, and the limit of one user.

use apportion::config::{Bound, Maximum, Share};
use apportion::resource::RESOURCE_TYPES_MAX;

use super::amounts::{Amounts, NOTHING, part};
use super::tree::{Queue, Tree};

/// The limits of one queue in one partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The guaranteed amounts.
    pub guaranteed: Amounts,
    /// The maximum use.
    pub maximum: Amounts,
    /// The maximum use of one user, in a leaf.
    pub user: Amounts,
}

/// The limits of all queues in the partition with this name and total.
#[must_use]
pub(super) fn limits(tree: &Tree, partition: &str, total: &Amounts) -> Vec<Limits> {
    let mut all = vec![Limits::default(); tree.queues.len()];
    let root = if tree.may_use(0, partition) { *total } else { NOTHING };
    all[0] = Limits { guaranteed: root, maximum: root, user: NOTHING };
    for parent in 0..tree.queues.len() {
        let children = &tree.queues[parent].children;
        let guarantees = guarantees(tree, partition, children, &all[parent].guaranteed);
        for (child, guaranteed) in children.iter().zip(guarantees) {
            let queue = &tree.queues[*child];
            let maximum = match tree.may_use(*child, partition) {
                true => maximum(&queue.config.maximum_in(partition), &all[parent].maximum),
                false => NOTHING,
            };
            let guaranteed = std::array::from_fn(|i| guaranteed[i].min(maximum[i]));
            all[*child] = Limits { guaranteed, maximum, user: user(queue, &guaranteed, &maximum) };
        }
    }
    all
}

/// The children's parts of their parent's guarantee, before their maxima cap them.
fn guarantees(tree: &Tree, partition: &str, children: &[usize], parent: &Amounts) -> Vec<Amounts> {
    let mut guarantees = vec![NOTHING; children.len()];
    for (i, parent) in parent.iter().enumerate() {
        let share = |child: &usize| match tree.may_use(*child, partition) {
            true => tree.queues[*child].config.capacity_in(partition).share(i),
            false => Share::NONE,
        };
        let shares = children.iter().map(share);
        let own = guarantees_of_type(&shares.collect::<Vec<_>>(), *parent);
        guarantees.iter_mut().zip(own).for_each(|(guarantee, own)| guarantee[i] = own);
    }
    guarantees
}

/// The guarantees of siblings in one type.
fn guarantees_of_type(shares: &[Share], parent: i64) -> Vec<i64> {
    let amount = |share: &Share| if let Share::Amount(amount) = share { *amount } else { 0 };
    let wanted: i64 = shares.iter().map(amount).sum();
    let remainder = (parent - wanted).max(0);
    let percent = |share: &Share| match share {
        Share::Percent(p) => scaled(remainder, i128::from(p.millionths()), 1_000_000),
        _ => 0,
    };
    let left = (remainder - shares.iter().map(percent).sum::<i64>()).max(0);
    let weight = |share: &Share| match share {
        Share::Weight(weight) => i128::from(weight.milli()),
        _ => 0,
    };
    let weights = shares.iter().map(weight).sum();
    let guarantee = |share: &Share| match share {
        // Scaled down where the siblings together want more than the parent has.
        Share::Amount(own) if wanted > parent => scaled(*own, i128::from(parent), i128::from(wanted)),
        Share::Amount(own) => *own,
        Share::Percent(_) => percent(share),
        Share::Weight(_) => scaled(left, weight(share), weights),
    };
    shares.iter().map(guarantee).collect()
}

fn maximum(maximum: &Maximum, parent: &Amounts) -> Amounts {
    std::array::from_fn(|i| match maximum.bound(i) {
        Bound::Percent(p) => scaled(parent[i], i128::from(p.millionths()), 1_000_000),
        Bound::Amount(own) => own.min(parent[i]),
    })
}

fn user(queue: &Queue, guaranteed: &Amounts, maximum: &Amounts) -> Amounts {
    let Some(factor) = queue.config.user_limit_factor else { return *maximum };
    let mut limit = *maximum;
    for i in 0..RESOURCE_TYPES_MAX {
        if guaranteed[i] > 0 {
            let several = part(guaranteed[i], i128::from(factor.milli()), 1000);
            limit[i] = narrow(several.min(i128::from(maximum[i])));
        }
    }
    limit
}

fn scaled(amount: i64, numerator: i128, denominator: i128) -> i64 {
    narrow(part(amount, numerator, denominator))
}

fn narrow(amount: i128) -> i64 {
    i64::try_from(amount).expect("a part is no larger than the whole")
}
