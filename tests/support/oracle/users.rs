//! User limits of a leaf, which depend on the demand of the leaf's other users.

use std::collections::BTreeSet;

use apportion::config::{Percent, Semantics};

use super::amounts::{Amounts, NOTHING, amounts, minus, plus};
use super::{Books, Oracle};

/// The inputs of user limits in one leaf and partition, at one moment.
#[derive(Clone, Debug)]
pub(super) struct Contest {
    guaranteed: Amounts,
    ceiling: Amounts,
    minimum: Percent,
    leaf_used: Amounts,
    /// The use of users with something pending, and the sum of their weights.
    active_used: Amounts,
    weights: i128,
    /// In YARN mode, the user limit factor in thousandths and the steps of sizes.
    yarn: Option<(Option<i128>, Amounts)>,
    maximum: Amounts,
}

impl Oracle {
    pub(super) fn contest(&self, books: &Books, partition: usize, leaf: usize) -> Contest {
        let names = self.wanting(leaf);
        let book = &books.queues[partition][leaf];
        Contest {
            guaranteed: book.limits.guaranteed,
            ceiling: book.limits.user,
            minimum: self.tree.queues[leaf].config.user_limit_minimum,
            leaf_used: book.used,
            active_used: names
                .iter()
                .fold(NOTHING, |sum, name| plus(&sum, &books.user(partition, leaf, name))),
            yarn: (self.config.semantics == Semantics::YarnCompatible).then(|| {
                let factor =
                    self.tree.queues[leaf].config.user_limit_factor.map(|factor| i128::from(factor.milli()));
                (factor, amounts(&self.config.allocation.minimum))
            }),
            maximum: book.limits.maximum,
            weights: names.iter().map(|name| self.tree.weight(leaf, name)).sum(),
        }
    }
}

impl Oracle {
    /// The number of users of a leaf that want something.
    #[must_use]
    pub fn wanting_of(&self, path: &str) -> u32 {
        self.tree.named(path).map_or(0, |leaf| self.wanting(leaf).len() as u32)
    }

    /// Whether the user limit of the ask depends on other users.
    #[must_use]
    pub fn compete(&self, ask: &super::Ask) -> bool {
        self.compete_in(self.applications[&ask.application].leaf)
    }

    /// Whether any queue's user limits depend on other users.
    #[must_use]
    pub fn users_compete(&self) -> bool {
        (0..self.tree.queues.len()).any(|queue| self.compete_in(queue))
    }

    fn compete_in(&self, queue: usize) -> bool {
        let minimum = self.tree.queues[queue].config.user_limit_minimum;
        self.config.semantics == Semantics::YarnCompatible || minimum < Percent::ALL
    }

    /// The users of the leaf with pending asks or inactive applications.
    pub(super) fn wanting(&self, leaf: usize) -> BTreeSet<&str> {
        let asking = self.asks.values().map(|ask| &self.applications[&ask.application]);
        let waiting = self.applications.values().filter(|application| !application.is_active);
        let in_leaf = asking.chain(waiting).filter(|application| application.leaf == leaf);
        in_leaf.map(|application| application.spec.user.as_str()).collect()
    }
}

impl Contest {
    /// The same for borrowed containers, whose limits are the partition's total.
    pub(super) fn of_borrowed(self, total: &Amounts) -> Self {
        let yarn = self.yarn.map(|(_, steps)| (None, steps));
        Self { ceiling: *total, maximum: *total, yarn, ..self }
    }

    /// Whether a user of this weight, who uses `used`, may use `more`; types with a negative amount are not checked.
    /// The last container of `more` has size `last`.
    pub(super) fn allows(&self, weight: i128, used: &Amounts, more: &Amounts, last: &Amounts) -> bool {
        let before = minus(more, last);
        let at_last = Self {
            leaf_used: plus(&self.leaf_used, &before),
            active_used: plus(&self.active_used, &before),
            ..self.clone()
        };
        let used = plus(used, &before);
        let may_have = |i: usize| match self.yarn {
            // The last container may exceed the limit, an earlier one may not.
            Some(_) => i128::from(used[i]) <= at_last.yarn_limit(i, weight),
            None => i128::from(used[i] + last[i]) <= at_last.limit(i, weight, last[i]),
        };
        (0..more.len()).all(|i| more[i] <= 0 || may_have(i))
    }

    fn yarn_limit(&self, i: usize, weight: i128) -> i128 {
        let (factor, steps) = self.yarn.as_ref().expect("asked for in that mode only");
        let step = i128::from(steps[i]).max(1);
        let up = |amount: i128| (amount + step - 1) / step * step;
        let promised = i128::from(self.guaranteed[i]).max(step);
        let in_use = i128::from(self.leaf_used[i]);
        let now = if in_use >= promised { in_use + step } else { promised };
        let by_percent = now * i128::from(self.minimum.millionths()) / 1_000_000;
        let equal = (i128::from(self.active_used[i]) + step) * 1000 / self.weights.max(weight);
        let ceiling = factor.map_or(i128::from(self.maximum[i]), |milli| promised * milli / 1000);
        up(by_percent.max(equal).min(ceiling)) * weight / 1000 / step * step
    }

    fn limit(&self, i: usize, weight: i128, more: i64) -> i128 {
        let weighted = |amount: i128| amount * weight / 1000;
        let ceiling = weighted(i128::from(self.ceiling[i]));
        if self.minimum == Percent::ALL || self.guaranteed[i] == 0 {
            return ceiling;
        }
        let part_of =
            |amount: i64| i128::from(amount) * i128::from(self.minimum.millionths()) * weight / 1_000_000_000;
        let (promised, at_most) = (part_of(self.guaranteed[i]), part_of(self.maximum[i]));
        let with_one_more = part_of(self.leaf_used[i]) + i128::from(more);
        let of_capacity = promised.max(with_one_more.min(at_most));
        let equal = i128::from(self.active_used[i]) * weight / self.weights.max(weight) + i128::from(more);
        ceiling.min(of_capacity.max(equal))
    }
}
