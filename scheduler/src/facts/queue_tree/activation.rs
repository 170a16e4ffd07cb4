//! Activation: which applications may be served. The others wait in line until a limit allows them.
//!
//! Limits bound the number of active applications and the resources of their masters. A change that may let a
//! waiting application become active makes activation due. The same change then activates all applications that the
//! limits allow. So between two changes no application waits that could be active.
//!
//! The asks of an inactive application are in no lane, but still count as pending. An active application stays active.
//! Activation follows from the facts, so the log has no change for it. Limits are computed first. Then the first
//! application in order is activated, again and again, until limits hold back all others. So the audit can check in any
//! state whether an application waits that could be active.
//!
//! Inactive applications wait in lines of one leaf, one user and one master. A limit that holds back one application of
//! a line holds back the whole line, so one check per line is enough. A check reads one count at each queue from the
//! root to the leaf: queues that limit applications by user count them by user.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::QueueTree;
use crate::config::{Factor, Percent};
use crate::facts::{Application, LeafUser, Master, Table};
use crate::ids::{ApplicationId, LeafUserId, LimitUsageId, PartitionId, QueueId};
use crate::resource::{RESOURCE_TYPES_MAX, Resources, UNLIMITED};

/// The applications that wait for activation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inactive {
    lines: BTreeMap<Line, BTreeSet<Rank>>,
    /// Whether a change may have made an activation possible.
    is_due: bool,
}

/// The line that an application waits in. A limit that holds back one of its applications holds back all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Line {
    leaf: QueueId,
    user: LeafUserId,
    master: Option<(PartitionId, [i64; RESOURCE_TYPES_MAX])>,
}

/// Orders by priority, the highest first, then by submission.
type Rank = (Reverse<u32>, u64, ApplicationId);

/// The limit that holds an application back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeldBack {
    /// The queue has its maximum of active applications.
    Applications { queue: QueueId, maximum: u32 },
    /// The user has its maximum of active applications in the queue.
    UserApplications { queue: QueueId, maximum: u32 },
    /// The limit usage has its maximum of active applications.
    LimitUsage { limit_usage: LimitUsageId, maximum: u32 },
    /// The masters in the leaf would need more than this.
    MasterShare { limit: Resources },
    /// The user's masters would need more than this.
    UserMasterShare { limit: Resources },
}

impl Line {
    fn of(application: &Application) -> Self {
        let Application { leaf, user, master, .. } = *application;
        Self { leaf, user, master: master.map(|master| (master.partition, *master.size.amounts())) }
    }
}

fn rank(id: ApplicationId, application: &Application) -> Rank {
    (Reverse(application.priority), application.submitted, id)
}

impl Inactive {
    pub(in crate::facts) fn add(&mut self, id: ApplicationId, application: &Application) {
        self.lines.entry(Line::of(application)).or_default().insert(rank(id, application));
        self.is_due = true;
    }

    pub(in crate::facts) fn remove(&mut self, id: ApplicationId, application: &Application) {
        let line = Line::of(application);
        let waiting = self.lines.get_mut(&line).expect("an inactive application stands in its line");
        waiting.remove(&rank(id, application));
        if waiting.is_empty() {
            self.lines.remove(&line);
        }
    }

    /// Makes activation due after a change on which it may depend.
    pub(crate) fn record_change(&mut self) {
        self.is_due |= !self.lines.is_empty();
    }

    /// Returns whether activation is due, and resets that.
    pub(crate) fn take_due(&mut self) -> bool {
        std::mem::take(&mut self.is_due)
    }

    /// Whether activation is due.
    pub(crate) fn is_due(&self) -> bool {
        self.is_due
    }

    /// All applications that wait.
    pub(crate) fn iter(&self) -> impl Iterator<Item = ApplicationId> {
        self.lines.values().flatten().map(|(.., id)| *id)
    }
}

impl QueueTree {
    /// The first waiting application in order that may be activated. Where masters count, limits must be computed.
    pub(crate) fn next_to_activate(
        &self,
        applications: &Table<ApplicationId, Application>,
    ) -> Option<ApplicationId> {
        // Ending applications hold back no other application, and are not activated.
        let stays = |(.., id): &&Rank| applications.at(*id).ending.is_none();
        let firsts = self.inactive.lines.values().filter_map(|line| line.iter().find(stays));
        let may_be = firsts.filter(|(.., id)| self.held_back(applications.at(*id)).is_none());
        may_be.min().map(|(.., id)| *id)
    }

    /// Whether activation depends on guarantees.
    pub(crate) fn activation_needs_limits(&self) -> bool {
        let needs =
            |line: &Line| line.master.is_some() && self.queue(line.leaf).config.master_share.is_some();
        self.inactive.lines.keys().any(needs)
    }

    /// The first limit that holds the application back, from the root to the leaf.
    pub(crate) fn held_back(&self, application: &Application) -> Option<HeldBack> {
        let user = &self.user(application.user).name;
        for &id in &self.queue(application.leaf).chain {
            let queue = self.queue(id);
            let parallel = &queue.config.parallel;
            if let Some(maximum) = parallel.total.filter(|maximum| queue.active_applications() >= *maximum) {
                return Some(HeldBack::Applications { queue: id, maximum });
            }
            let active = || queue.active_by_user.get(user).copied().unwrap_or_default();
            if let Some(maximum) = parallel.of_user(user).filter(|maximum| active() >= *maximum) {
                return Some(HeldBack::UserApplications { queue: id, maximum });
            }
        }
        let mut limit_usages = self.user(application.user).limit_usages.iter().copied();
        let reached = limit_usages
            .find_map(|limit_usage| Some((limit_usage, self.limit_usage(limit_usage).reached()?)));
        if let Some((limit_usage, maximum)) = reached {
            return Some(HeldBack::LimitUsage { limit_usage, maximum });
        }
        self.held_back_by_masters(application.leaf, application.user, application.master?)
    }

    /// Adds to the user's active applications in each queue from the root to its leaf that limits them.
    pub(in crate::facts) fn count_active_by_user(&mut self, user: LeafUserId, count: i32) {
        let LeafUser { leaf, name, .. } = &self.users[user.index()];
        for level in &self.queues[leaf.index()].chain.clone() {
            let queue = &mut self.queues[level.index()];
            if queue.config.parallel.limits_users() {
                let active = queue.active_by_user.entry(Arc::clone(name)).or_default();
                *active = active.wrapping_add_signed(count);
                debug_assert!(*active < u32::MAX / 2, "{name} has no such application");
                if *active == 0 {
                    queue.active_by_user.remove(name);
                }
            }
        }
    }

    /// Counts the active applications of users again, after the configuration changed which queues limit them.
    pub(crate) fn recount_active_by_user(&mut self) {
        self.queues.iter_mut().for_each(|queue| queue.active_by_user.clear());
        for index in 0..self.users.len() {
            let active = self.users[index].applications - self.users[index].inactive;
            if active > 0 {
                self.count_active_by_user(LeafUserId(index as u32), active as i32);
            }
        }
    }

    fn held_back_by_masters(&self, leaf: QueueId, user: LeafUserId, master: Master) -> Option<HeldBack> {
        let Master { size, partition } = master;
        let used = &self.queue(leaf).masters[partition.index()];
        if used.is_zero() {
            // One master may start, however small the share is.
            return None;
        }
        let limit = self.master_limit(leaf, partition);
        if !used.can_grow(&size, &limit) {
            return Some(HeldBack::MasterShare { limit });
        }
        let limit = self.user_master_limit(user, partition).min(&limit);
        let used = &self.user(user).masters[partition.index()];
        (!used.can_grow(&size, &limit)).then_some(HeldBack::UserMasterShare { limit })
    }

    /// The limit for masters of the leaf.
    pub(crate) fn master_limit(&self, leaf: QueueId, partition: PartitionId) -> Resources {
        let part = |share: Percent| (i128::from(share.millionths()), 1_000_000);
        self.part_of_guarantee(leaf, partition, self.queue(leaf).config.master_share.map(part))
    }

    /// The limit for the masters of one user: an equal share among active users, times weight and factor. The user
    /// limit minimum replaces a smaller share.
    fn user_master_limit(&self, id: LeafUserId, partition: PartitionId) -> Resources {
        let user = self.user(id);
        let queue = self.queue(user.leaf);
        let users = i128::from(queue.active.users.max(1));
        let minimum = i128::from(queue.config.user_limit_minimum.millionths());
        let (share, whole) = if minimum * users >= 1_000_000 { (minimum, 1_000_000) } else { (1, users) };
        let weighted = (share * i128::from(user.weight.milli()), whole * 1_000);
        let (share, whole) = if weighted.0 > weighted.1 { (1, 1) } else { weighted };
        let factor = i128::from(queue.config.user_limit_factor.unwrap_or(Factor::ONE).milli());
        let part = |of_leaf: Percent| {
            let share = share.saturating_mul(factor).saturating_mul(i128::from(of_leaf.millionths()));
            (share, whole * 1_000_000_000)
        };
        self.part_of_guarantee(user.leaf, partition, queue.config.master_share.map(part))
    }

    /// A part of the leaf's guarantee, rounded up to the next step of container sizes.
    fn part_of_guarantee(
        &self,
        leaf: QueueId,
        partition: PartitionId,
        part: Option<(i128, i128)>,
    ) -> Resources {
        let Some((share, whole)) = part else { return Resources::all(UNLIMITED) };
        let guaranteed = &self.queue(leaf).quota(partition).guaranteed;
        let of_type = |i: usize| {
            let step = whole * i128::from(self.config.allocation.minimum[i].max(1));
            let steps = i128::from(guaranteed[i]).saturating_mul(share).saturating_add(step - 1) / step;
            let amount = steps.saturating_mul(i128::from(self.config.allocation.minimum[i].max(1)));
            i64::try_from(amount).unwrap_or(UNLIMITED).min(UNLIMITED)
        };
        Resources::new(&std::array::from_fn::<_, RESOURCE_TYPES_MAX, _>(of_type))
    }
}
