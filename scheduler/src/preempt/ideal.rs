//! The fair amount of each queue, as YARN's preemption policy computes it.

use std::cmp::Reverse;

use super::tree::Branch;
use crate::ids::QueueId;
use crate::resource::{RESOURCE_TYPES_MAX, Resources};

/// The share of a queue that uses just its guarantee.
const SHARE_ONE: u64 = 1 << SHARE_BITS;
const SHARE_BITS: u32 = 32;

/// What leaves accept above their guarantees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Surplus {
    /// No more than they use.
    Kept,
    /// As much as they demand.
    Balanced,
}

/// What the guarantee of a queue covers before the queue's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Covered {
    Use,
    /// Use and pending asks.
    Demand,
}

/// Computes the fair amounts of all queues, top down. The root's is its guarantee.
pub(super) fn assign(branches: &mut [Branch], surplus: Surplus) {
    let Some(root) = branches.first_mut() else { return };
    root.ideal = root.guaranteed;
    // A parent comes before its children.
    for parent in 0..branches.len() {
        assign_children(branches, parent, surplus);
    }
}

/// Divides the parent's fair amount: guarantees first, then the rest among those that want more.
fn assign_children(branches: &mut [Branch], parent: usize, surplus: Surplus) {
    let children = branches[parent].children.clone();
    let covered = match surplus {
        Surplus::Balanced if guarantees_fit(branches, parent) => Covered::Demand,
        _ => Covered::Use,
    };
    let mut available = branches[parent].ideal;
    for child in &children {
        let branch = &mut branches[child.index()];
        branch.ideal = initial_amount(branch, covered);
        available = available.saturating_sub(&branch.ideal);
    }
    // Queues without a guarantee share what the others leave.
    let (with, without): (Vec<_>, Vec<_>) =
        children.into_iter().partition(|child| !branches[child.index()].guaranteed.is_zero());
    for group in [with, without] {
        divide(branches, &group, &mut available, surplus);
    }
}

/// Whether the parent has enough for the guarantees of all children, as far as they want them.
fn guarantees_fit(branches: &[Branch], parent: usize) -> bool {
    let children = branches[parent]
        .children
        .iter()
        .map(|child| initial_amount(&branches[child.index()], Covered::Demand));
    children.sum::<Resources>().within(&branches[parent].ideal)
}

/// The amount that the queue gets before its turn. In YARN that is its use up to its guarantee. Offers are rounded
/// up, so fair amounts then depend on the use. With balance, two queues could take from each other in circles. Their
/// demand stays the same when they do.
fn initial_amount(branch: &Branch, covered: Covered) -> Resources {
    let amount = match covered {
        Covered::Use => branch.used,
        Covered::Demand => branch.demand(),
    };
    amount.min(&branch.guaranteed) + branch.untouchable
}

/// A queue that may accept more, and its turn.
struct Candidate {
    queue: QueueId,
    turn: Turn,
}

/// The turn of a queue among its siblings; the smallest is served first. Queues below their guarantees come first, of
/// these the ones of highest priority, then those with the smallest fair amount in proportion to the guarantee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    is_satisfied: bool,
    priority: Reverse<i32>,
    share: u64,
}

impl Turn {
    fn of(branch: &Branch) -> Self {
        let share = share(&branch.ideal, &branch.guaranteed);
        Self { is_satisfied: share >= SHARE_ONE, priority: Reverse(branch.priority), share }
    }
}

/// Offers the available amount to the queues of the group in rounds. Each round serves the queues whose turn it is. A
/// queue that accepts nothing leaves.
fn divide(branches: &mut [Branch], group: &[QueueId], available: &mut Resources, surplus: Surplus) {
    let candidate = |queue: &QueueId| Candidate { queue: *queue, turn: Turn::of(&branches[queue.index()]) };
    let mut candidates: Vec<Candidate> = group.iter().map(candidate).collect();
    let guaranteed_to = |queue: QueueId, branches: &[Branch]| branches[queue.index()].guaranteed;
    let mut guaranteed: Resources = group.iter().map(|queue| guaranteed_to(*queue, branches)).sum();
    while !available.is_zero() && !candidates.is_empty() {
        let least = candidates.iter().map(|candidate| candidate.turn).min();
        let (offered_from, size, all) = (*available, candidates.len() as u64, guaranteed);
        candidates.retain_mut(|candidate| {
            if Some(candidate.turn) != least {
                return true;
            }
            let branch = &mut branches[candidate.queue.index()];
            let offer = offer(&offered_from, &branch.guaranteed, &all, size).min(available);
            let accepted = accepted(branch, &offer, surplus);
            branch.ideal += accepted;
            *available -= accepted;
            if accepted.is_zero() {
                guaranteed -= branch.guaranteed;
                return false;
            }
            candidate.turn = Turn::of(branch);
            true
        });
    }
}

/// The amount in proportion to the guarantee, by its largest type, in 2^-32. The greatest number without any guarantee.
pub(super) fn share(amount: &Resources, guaranteed: &Resources) -> u64 {
    let ratio = |index: usize| {
        let (amount, guaranteed) = (amount[index].max(0), guaranteed[index]);
        (guaranteed > 0).then(|| ((i128::from(amount) << SHARE_BITS) / i128::from(guaranteed)) as u64)
    };
    guaranteed.types().filter_map(ratio).max().unwrap_or(u64::MAX)
}

/// The queue's part by weight of each type, rounded up. Where the group has no guarantee, the parts are equal.
fn offer(available: &Resources, own: &Resources, all: &Resources, size: u64) -> Resources {
    let mut offer = Resources::ZERO;
    for index in (0..RESOURCE_TYPES_MAX).filter(|index| available[*index] > 0) {
        let (amount, own, all) =
            (i128::from(available[index]), i128::from(own[index]), i128::from(all[index]));
        let (weight, whole) = if all > 0 { (own, all) } else { (1, i128::from(size)) };
        offer.set(index, ((amount * weight + whole - 1) / whole) as i64);
    }
    offer
}

/// How much of the offer the queue can use. Unless queues are balanced above their guarantees, a leaf accepts no more
/// than it has or is guaranteed.
fn accepted(branch: &Branch, offer: &Resources, surplus: Surplus) -> Resources {
    let mut bound = branch.maximum.min(&branch.demand());
    if branch.is_leaf() && surplus == Surplus::Kept {
        bound = bound.min(&branch.guaranteed.max(&branch.used));
    }
    offer.min(&bound.saturating_sub(&branch.ideal))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 14 units, `c` uses 5 units and `p` 4, or the other way round. Both states have the same demand. If their fair
    /// amounts differed, `c` would lose a unit to `p` in the one and get it back in the other.
    #[test]
    fn with_balance_fair_amounts_do_not_follow_the_use() {
        let fair_amounts = |used_by_p: i64, used_by_c: i64| {
            let branch = |guaranteed: i64, used: i64, demand: i64| Branch {
                guaranteed: Resources::new(&[guaranteed]),
                maximum: Resources::new(&[14]),
                used: Resources::new(&[used]),
                pending: Resources::new(&[demand - used]),
                ..Branch::default()
            };
            let children = vec![QueueId(1), QueueId(2)];
            let root = Branch { children, ..branch(14, used_by_p + used_by_c, 23) };
            let mut branches = [root, branch(8, used_by_p, 14), branch(4, used_by_c, 9)];
            assign(&mut branches, Surplus::Balanced);
            [branches[1].ideal[0], branches[2].ideal[0]]
        };
        assert_eq!(fair_amounts(4, 5), fair_amounts(5, 4));
    }
}
