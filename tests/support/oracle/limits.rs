//! From configured capacities to amounts: what each queue is guaranteed, may use, and one user may use.

use apportion::RESOURCE_TYPES_MAX;
use apportion::config::{Capacity, Maximum};

use super::amounts::{Amounts, NOTHING, amounts, part, plus, rest};
use super::tree::{Queue, Tree};

/// The limits of one queue in one partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// What it is promised.
    pub guaranteed: Amounts,
    /// What it may use at most.
    pub maximum: Amounts,
    /// What one user may use at most; of leaves.
    pub user: Amounts,
}

/// The limits of all queues in a partition that has `total`.
#[must_use]
pub(super) fn limits(tree: &Tree, total: &Amounts) -> Vec<Limits> {
    let mut all = vec![Limits::default(); tree.queues.len()];
    all[0] = Limits { guaranteed: *total, maximum: *total, user: NOTHING };
    for parent in 0..tree.queues.len() {
        let children = &tree.queues[parent].children;
        let guarantees = guarantees(tree, children, &all[parent].guaranteed);
        for (child, guaranteed) in children.iter().zip(guarantees) {
            let queue = &tree.queues[*child];
            let maximum = maximum(queue, &all[parent].maximum);
            let guaranteed = std::array::from_fn(|i| guaranteed[i].min(maximum[i]));
            all[*child] = Limits { guaranteed, maximum, user: user(queue, &guaranteed, &maximum) };
        }
    }
    all
}

/// What the children are guaranteed of their parent's guarantee, before their maxima cap it.
fn guarantees(tree: &Tree, children: &[usize], parent: &Amounts) -> Vec<Amounts> {
    let capacity = |child: &usize| tree.queues[*child].capacity;
    let absolute = |child: &usize| match capacity(child) {
        Capacity::Absolute(resources) => amounts(&resources),
        _ => NOTHING,
    };
    let wanted = children.iter().map(absolute).fold(NOTHING, |sum, own| plus(&sum, &own));
    let remainder = rest(parent, &wanted);
    let percent = |child: &usize| match capacity(child) {
        Capacity::Percent(p) => scaled(&remainder, i128::from(p.millionths()), 1_000_000),
        _ => NOTHING,
    };
    let percents = children.iter().map(percent).fold(NOTHING, |sum, own| plus(&sum, &own));
    let left = rest(&remainder, &percents);
    let weight = |child: &usize| match capacity(child) {
        Capacity::Weight(weight) => i128::from(weight.milli()),
        _ => 0,
    };
    let weights = children.iter().map(weight).sum();
    let guarantee = |child: &usize| match capacity(child) {
        Capacity::Absolute(_) => shrunk(&absolute(child), parent, &wanted),
        Capacity::Percent(_) => percent(child),
        Capacity::Weight(_) => scaled(&left, weight(child), weights),
    };
    children.iter().map(guarantee).collect()
}

/// Absolute amounts, less where the siblings together want more than there is.
fn shrunk(own: &Amounts, parent: &Amounts, wanted: &Amounts) -> Amounts {
    std::array::from_fn(|i| {
        let is_short = wanted[i] > parent[i];
        if is_short { narrow(part(own[i], i128::from(parent[i]), i128::from(wanted[i]))) } else { own[i] }
    })
}

fn maximum(queue: &Queue, parent: &Amounts) -> Amounts {
    match &queue.maximum {
        Maximum::Percent(p) => scaled(parent, i128::from(p.millionths()), 1_000_000),
        Maximum::Absolute(own) => std::array::from_fn(|i| own[i].map_or(parent[i], |own| own.min(parent[i]))),
    }
}

fn user(queue: &Queue, guaranteed: &Amounts, maximum: &Amounts) -> Amounts {
    let Some(factor) = queue.factor else { return *maximum };
    let mut limit = *maximum;
    for i in 0..RESOURCE_TYPES_MAX {
        if guaranteed[i] > 0 {
            let several = part(guaranteed[i], i128::from(factor.milli()), 1000);
            limit[i] = narrow(several.min(i128::from(maximum[i])));
        }
    }
    limit
}

fn scaled(amounts: &Amounts, numerator: i128, denominator: i128) -> Amounts {
    amounts.map(|amount| narrow(part(amount, numerator, denominator)))
}

fn narrow(amount: i128) -> i64 {
    i64::try_from(amount).expect("a part is no larger than the whole")
}
