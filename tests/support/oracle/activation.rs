//! Activation: which applications may be served, and which wait until others have ended.

use std::cmp::Reverse;

use apportion::event::EventKind;
use apportion::{ApplicationId, Master};

use super::amounts::{Amounts, NOTHING, amounts, plus};
use super::{Application, Books, Effect, Oracle};

impl Oracle {
    /// Activates applications in turn, as long as limits allow. The application `new`, just submitted, gets no event.
    pub(super) fn activate_all(&mut self, new: Option<ApplicationId>, effects: &mut Vec<Effect>) {
        while let Some(next) = self.next_active() {
            self.applications.get_mut(&next).expect("it waits").is_active = true;
            if new != Some(next) {
                effects.push((next, EventKind::ApplicationActivated));
            }
        }
    }

    /// The first waiting application that may be active.
    pub(super) fn next_active(&self) -> Option<ApplicationId> {
        let waiting = self
            .applications
            .iter()
            .filter(|(_, application)| !application.is_active && application.ending.is_none());
        let mut waiting: Vec<_> = waiting.collect();
        if waiting.is_empty() {
            return None;
        }
        waiting.sort_by_key(|(_, application)| (Reverse(application.priority), application.order));
        let books = self.books();
        let may_be = |application: &Application| {
            self.may_run_beside_others(application)
                && self.holders_may_run(application)
                && self.has_room_for_master(&books, application)
        };
        waiting.into_iter().find(|(_, application)| may_be(application)).map(|(id, _)| *id)
    }

    /// Whether every queue up to the root may have one more active application, also of this user.
    fn may_run_beside_others(&self, application: &Application) -> bool {
        self.tree.chain(application.leaf).into_iter().all(|queue| {
            let active = self.applications.values().filter(|other| other.is_active);
            let below: Vec<_> = active.filter(|other| self.tree.chain(other.leaf).contains(&queue)).collect();
            let user = &application.spec.user;
            let own = below.iter().filter(|other| other.spec.user == *user).count();
            let limits = &self.tree.queues[queue].config.parallel;
            let own_limit = limits.by_user.get(user).copied().or(limits.per_user);
            let is_below =
                |count: usize, limit: Option<u32>| limit.is_none_or(|limit| count < limit as usize);
            is_below(below.len(), limits.total) && is_below(own, own_limit)
        })
    }

    fn has_room_for_master(&self, books: &Books, application: &Application) -> bool {
        let queue = &self.tree.queues[application.leaf].config;
        let (Some(Master { size, partition }), Some(share)) = (application.spec.master, queue.master_share)
        else {
            return true;
        };
        let needed_by = |user: Option<&str>| {
            let others = self.applications.values().filter(|other| {
                let is_its = user.is_none_or(|user| other.spec.user == user);
                other.is_active && other.leaf == application.leaf && is_its
            });
            let masters = others.filter_map(|other| other.spec.master);
            let there = masters.filter(|master| master.partition == partition);
            there.fold(NOTHING, |sum, master| plus(&sum, &amounts(&master.size)))
        };
        let in_leaf = needed_by(None);
        if in_leaf == NOTHING {
            return true;
        }
        let guaranteed = books.queues[self.partition(partition)][application.leaf].limits.guaranteed;
        let share = i128::from(share.millionths());
        let limit = self.in_steps(&guaranteed, share, 1_000_000);
        let (part, whole) = self.part_of_user(application);
        let own_limit = self.in_steps(&guaranteed, share * part, 1_000_000 * whole);
        let own = needed_by(Some(&application.spec.user));
        let size = amounts(&size);
        (0..size.len())
            .filter(|i| size[*i] > 0)
            .all(|i| in_leaf[i] + size[i] <= limit[i] && own[i] + size[i] <= limit[i].min(own_limit[i]))
    }

    /// The fraction of the masters' share that one user may have.
    fn part_of_user(&self, application: &Application) -> (i128, i128) {
        let queue = &self.tree.queues[application.leaf].config;
        let users = self.wanting(application.leaf).len().max(1) as i128;
        let minimum = i128::from(queue.user_limit_minimum.millionths());
        let (part, whole) = if minimum * users > 1_000_000 { (minimum, 1_000_000) } else { (1, users) };
        let (part, whole) = (part * self.tree.weight(application.leaf, &application.spec.user), whole * 1000);
        let (part, whole) = if part > whole { (1, 1) } else { (part, whole) };
        let factor = queue.user_limit_factor.map_or(1000, |factor| i128::from(factor.milli()));
        (part * factor, whole * 1000)
    }

    /// A fraction of the amounts, rounded up to whole steps of container sizes.
    fn in_steps(&self, of: &Amounts, part: i128, whole: i128) -> Amounts {
        let steps = self.config.allocation.minimum;
        std::array::from_fn(|i| {
            let step = i128::from(steps[i]).max(1);
            let exact = i128::from(of[i]) * part;
            let steps = exact / (whole * step) + i128::from(exact % (whole * step) != 0);
            i64::try_from(steps * step).unwrap_or(i64::MAX)
        })
    }
}
