//! The queue tree of the model, and the validity of changes to it.

use std::collections::BTreeSet;

use apportion::QueueId;
use apportion::config::{
    AccessList, AutoCreation, Bound, Capacity, Lifetimes, Maximum, PartitionAccess, QueueConfig, QueueState,
    QueueUpdate, Share,
};
use apportion::resource::{AMOUNT_MAX, RESOURCE_TYPES_MAX};

/// A queue that exists or once existed.
#[derive(Clone, Debug)]
pub struct Queue {
    /// Full path.
    pub path: String,
    /// The parent.
    pub parent: Option<usize>,
    /// The children, in configured order.
    pub children: Vec<usize>,
    /// Whether it exists.
    pub is_present: bool,
    /// Whether it takes applications.
    pub is_leaf: bool,
    /// For an auto-created queue, the time since which it is idle.
    pub made: Option<u64>,
    /// The configuration, without children.
    pub config: QueueConfig,
}

/// All queues; the root is number 0, and parents come before their children.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The queues, in the order of their creation.
    pub queues: Vec<Queue>,
}

impl Tree {
    /// Creates the configured tree and checks the engine's identifier of each path with `id_of`.
    pub fn new(root: &QueueConfig, id_of: impl Fn(&str) -> QueueId) -> Self {
        let mut tree = Self { queues: Vec::new() };
        tree.replace(root);
        for (number, queue) in tree.queues.iter().enumerate() {
            assert_eq!(number_of(id_of(&queue.path)), number, "{}", queue.path);
        }
        tree
    }

    /// Replaces the configuration. Queues that it does not name are removed, except auto-created queues that still
    /// could be created.
    pub fn replace(&mut self, root: &QueueConfig) {
        let before = self.queues.clone();
        for queue in &mut self.queues {
            queue.is_present = false;
            queue.children.clear();
        }
        self.add(root, None);
        for queue in before.iter().filter(|queue| queue.is_present && queue.made.is_some()) {
            let above = queue.parent.expect("the root is configured");
            if self.named(&queue.path).is_none() && self.maker(above).is_some() {
                self.make_one(above, &queue.config.name, queue.is_leaf, queue.made.expect("it was made"));
            }
        }
    }

    fn add(&mut self, config: &QueueConfig, parent: Option<usize>) {
        let is_leaf = config.children.is_empty() && config.auto_creation.is_none();
        let number = self.put(config, parent, is_leaf, None);
        config.children.iter().for_each(|child| self.add(child, Some(number)));
    }

    fn put(
        &mut self,
        config: &QueueConfig,
        parent: Option<usize>,
        is_leaf: bool,
        made: Option<u64>,
    ) -> usize {
        let path = parent.map_or(config.name.clone(), |p| format!("{}.{}", self.queues[p].path, config.name));
        let config = QueueConfig { children: Vec::new(), ..config.clone() };
        let number = self.queues.iter().position(|known| known.path == path).unwrap_or(self.queues.len());
        let queue = Queue { path, parent, children: Vec::new(), is_present: true, is_leaf, made, config };
        if number == self.queues.len() {
            self.queues.push(queue);
        } else {
            self.queues[number] = queue;
        }
        parent.into_iter().for_each(|parent| self.queues[parent].children.push(number));
        number
    }

    /// The queue whose configuration governs auto-creation at or below this queue, and that configuration.
    fn maker(&self, queue: usize) -> Option<(usize, AutoCreation)> {
        let maker = self.chain(queue).into_iter().find(|level| self.queues[*level].made.is_none())?;
        let creation = self.queues[maker].config.auto_creation.as_deref()?;
        self.queues[maker].is_present.then(|| (maker, creation.clone()))
    }

    /// The leaf for an application; or the queue below which to create queues, and the missing names.
    #[must_use]
    pub fn destination<'a>(&self, path: &'a str) -> Option<(usize, Vec<&'a str>)> {
        let names: Vec<&str> = path.split('.').collect();
        let depth = (1..=names.len()).rev().find(|depth| self.named(&names[..*depth].join(".")).is_some())?;
        let (nearest, missing) = (self.named(&names[..depth].join("."))?, &names[depth..]);
        if missing.is_empty() || self.is_leaf(nearest) {
            return (missing.is_empty() && self.is_leaf(nearest)).then_some((nearest, Vec::new()));
        }
        let (maker, creation) = self.maker(nearest)?;
        let levels = self.queues[maker].path.split('.').count();
        let is_below = |queue: &&Queue| queue.path.starts_with(&format!("{}.", self.queues[maker].path));
        let made = self.queues.iter().filter(|queue| queue.is_present && queue.made.is_some());
        let own = |queue: &&Queue| {
            let number = self.named(&queue.path).expect("it is there");
            self.maker(number).is_some_and(|(its_maker, _)| its_maker == maker)
        };
        let count = made.filter(is_below).filter(own).count() + missing.len();
        let fits =
            names.len() - levels <= creation.depth_max as usize && count <= creation.queues_max as usize;
        fits.then(|| (nearest, missing.to_vec()))
    }

    /// Creates the queues that an application needs; returns its leaf.
    pub fn make(&mut self, path: &str, now_ms: u64) -> usize {
        let (mut queue, missing) = self.destination(path).expect("checked before");
        for (place, name) in missing.iter().enumerate() {
            queue = self.make_one(queue, name, place + 1 == missing.len(), now_ms);
        }
        queue
    }

    fn make_one(&mut self, above: usize, name: &str, is_leaf: bool, made_ms: u64) -> usize {
        let (_, creation) = self.maker(above).expect("checked before");
        let template = if is_leaf { creation.leaf } else { creation.parent };
        self.put(&QueueConfig { name: name.to_owned(), ..template }, Some(above), is_leaf, Some(made_ms))
    }

    /// The time at which an idle auto-created queue expires. Queues in `busy` have applications.
    #[must_use]
    pub fn expires_ms(&self, queue: usize, busy: &BTreeSet<usize>) -> Option<u64> {
        let own = &self.queues[queue];
        let is_idle = own.is_present && own.children.is_empty() && !busy.contains(&queue);
        let (_, creation) = self.maker(queue)?;
        Some(own.made.filter(|_| is_idle)?.saturating_add(creation.expiry_ms?))
    }

    /// Removes the queue; its parent may have become idle.
    pub fn remove(&mut self, queue: usize, now_ms: u64) {
        self.queues[queue].is_present = false;
        let above = self.queues[queue].parent.expect("the root stays");
        self.queues[above].children.retain(|child| *child != queue);
        self.record_idle(above, now_ms);
    }

    /// Records that an application or a queue below the queue is gone.
    pub fn record_idle(&mut self, queue: usize, now_ms: u64) {
        self.queues[queue].made = self.queues[queue].made.map(|_| now_ms);
    }

    /// The configuration of all queues, without those made on demand.
    #[must_use]
    pub fn config(&self, queue: usize) -> QueueConfig {
        let queue = &self.queues[queue];
        let children = queue.children.iter().filter(|child| self.queues[**child].made.is_none());
        queue.config.clone().with_children(children.map(|child| self.config(*child)))
    }

    /// The number of the queue with this path, if it exists.
    #[must_use]
    pub fn named(&self, path: &str) -> Option<usize> {
        self.queues.iter().position(|queue| queue.is_present && queue.path == path)
    }

    /// The number of the queue with this identifier, if it exists.
    #[must_use]
    pub fn number(&self, id: QueueId) -> Option<usize> {
        let number = number_of(id);
        self.queues.get(number).is_some_and(|queue| queue.is_present).then_some(number)
    }

    /// Whether the queue can have applications.
    #[must_use]
    pub fn is_leaf(&self, queue: usize) -> bool {
        self.queues[queue].is_present && self.queues[queue].is_leaf
    }

    /// The queue and its ancestors up to the root.
    #[must_use]
    pub fn chain(&self, queue: usize) -> Vec<usize> {
        std::iter::successors(Some(queue), |queue| self.queues[*queue].parent).collect()
    }

    /// The user's weight in the leaf, in thousandths, from the nearest queue that names the user.
    #[must_use]
    pub fn weight(&self, leaf: usize, user: &str) -> i128 {
        let chain = self.chain(leaf).into_iter();
        let said =
            chain.map(|queue| &self.queues[queue].config).find_map(|queue| queue.user_weights.get(user));
        said.map_or(1000, |weight| i128::from(weight.milli()))
    }

    /// Whether an access list of the leaf or an ancestor lets the user submit. Without a list of submitters every user
    /// may.
    #[must_use]
    pub fn may_submit(&self, leaf: usize, user: &str, groups: &[String]) -> bool {
        let chain = self.chain(leaf);
        let names_user = |list: &AccessList| match list {
            AccessList::Everybody => true,
            AccessList::Named { users, groups: named } => {
                users.contains(user) || groups.iter().any(|group| named.contains(group))
            }
        };
        let configs = || chain.iter().map(|queue| &self.queues[*queue].config);
        let is_restricted = configs().any(|queue| queue.submitters.is_some());
        let lists = configs().flat_map(|queue| queue.submitters.iter().chain(&queue.administrators));
        !is_restricted || lists.into_iter().any(names_user)
    }

    /// Whether the queue may use the partition with this name: no queue up to the root excludes it.
    #[must_use]
    pub fn may_use(&self, queue: usize, partition: &str) -> bool {
        let includes = |queue: &usize| match &self.queues[*queue].config.accessible_partitions {
            Some(PartitionAccess::Only(names)) => partition.is_empty() || names.contains(partition),
            Some(PartitionAccess::All) | None => true,
        };
        self.chain(queue).iter().all(includes)
    }

    /// The partition of asks that name none, resolved from the root down: each queue's own setting, or else its
    /// parent's.
    #[must_use]
    pub fn default_partition(&self, leaf: usize) -> &str {
        self.chain(leaf).into_iter().rev().fold("", |above, queue| {
            let wanted = self.queues[queue].config.default_partition.as_deref().unwrap_or(above);
            if self.may_use(queue, wanted) { wanted } else { "" }
        })
    }

    /// Whether the update of the queue is valid. The root's capacity and maximum are fixed.
    #[must_use]
    pub fn accepts(&self, queue: usize, update: &QueueUpdate) -> bool {
        let is_root = self.queues[queue].parent.is_none();
        if is_root && (update.capacity.is_some() || update.maximum.is_some()) {
            return false;
        }
        let mut changed = self.clone();
        changed.update(queue, update);
        let siblings =
            changed.queues[queue].parent.map_or(&[][..], |parent| &changed.queues[parent].children);
        let siblings: Vec<_> = siblings.iter().map(|sibling| &changed.queues[*sibling].config).collect();
        is_sound(&changed.queues[queue].config) && do_fit(&siblings)
    }

    /// Whether a reconfiguration to this tree is valid while the leaves in `busy` have applications.
    #[must_use]
    pub fn accepts_tree(&self, root: &QueueConfig, busy: &BTreeSet<usize>) -> bool {
        let mut changed = self.clone();
        changed.replace(root);
        let is_free = |leaf: usize| {
            let is_stopped = |queue: &usize| self.queues[*queue].config.state == QueueState::Stopped;
            let may_go = self.queues[leaf].made.is_some() || self.chain(leaf).iter().any(is_stopped);
            !busy.contains(&leaf) && may_go
        };
        let mut leaves = (0..self.queues.len()).filter(|queue| self.is_leaf(*queue));
        (!root.children.is_empty() || root.auto_creation.is_some())
            && root.partitions.is_empty()
            && are_sound(root, &|_| true)
            && leaves.all(|leaf| changed.is_leaf(leaf) || is_free(leaf))
    }

    /// Updates the queue.
    pub fn update(&mut self, queue: usize, update: &QueueUpdate) {
        let queue = &mut self.queues[queue].config;
        queue.capacity = update.capacity.unwrap_or(queue.capacity);
        queue.maximum = update.maximum.unwrap_or(queue.maximum);
        queue.user_limit_factor = update.user_limit_factor.unwrap_or(queue.user_limit_factor);
        queue.priority = update.priority.unwrap_or(queue.priority);
        queue.user_limit_minimum = update.user_limit_minimum.unwrap_or(queue.user_limit_minimum);
        queue.state = update.state.unwrap_or(queue.state);
        queue.applications = update.applications.unwrap_or(queue.applications);
        queue.parallel = update.parallel.clone().unwrap_or_else(|| queue.parallel.clone());
        queue.master_share = update.master_share.unwrap_or(queue.master_share);
    }
}

/// The queue's number, from its identifier: queues are numbered in the order of creation.
fn number_of(id: QueueId) -> usize {
    id.to_string().strip_prefix("queue-").and_then(|number| number.parse().ok()).expect("a number")
}

/// Whether a whole tree is valid. `above` tells which partitions the parent may use.
fn are_sound(queue: &QueueConfig, above: &dyn Fn(&str) -> bool) -> bool {
    let own = |partition: &str| match &queue.accessible_partitions {
        Some(PartitionAccess::Only(names)) => partition.is_empty() || names.contains(partition),
        Some(PartitionAccess::All) => true,
        None => above(partition),
    };
    let asks_for_no_more = match &queue.accessible_partitions {
        Some(PartitionAccess::Only(names)) => names.iter().all(|name| above(name)),
        // `All` exceeds any list, even a list of all partitions that exist.
        Some(PartitionAccess::All) => above(ANY),
        None => true,
    };
    let children: Vec<&QueueConfig> = queue.children.iter().collect();
    let names: BTreeSet<&str> = children.iter().map(|child| child.name.as_str()).collect();
    is_sound(queue)
        && asks_for_no_more
        && queue.partitions.keys().all(|name| own(name))
        && queue.default_partition.as_deref().is_none_or(own)
        && names.len() == children.len()
        && do_fit(&children)
        && children.into_iter().all(|child| are_sound(child, &own))
}

/// A partition name that no list contains, so that only a queue with access to all partitions may use it.
const ANY: &str = "*";

/// Whether the queue's own limits are consistent.
fn is_sound(queue: &QueueConfig) -> bool {
    let Lifetimes { default_ms, maximum_ms } = queue.lifetimes;
    if maximum_ms.is_some_and(|maximum_ms| default_ms.is_some_and(|default_ms| default_ms > maximum_ms)) {
        return false;
    }
    if let Some(creation) = &queue.auto_creation {
        let can_be_made = |template: &QueueConfig| {
            (0..RESOURCE_TYPES_MAX).all(|i| match template.capacity.share(i) {
                Share::Percent(_) => false,
                Share::Weight(weight) => weight.milli() > 0,
                Share::Amount(own) => own <= AMOUNT_MAX / i64::from(creation.queues_max),
            })
        };
        let templates = [&creation.leaf, &creation.parent];
        if !templates.into_iter().all(|template| can_be_made(template) && is_sound(template)) {
            return false;
        }
    }
    if queue.user_limit_factor.is_some_and(|factor| factor.milli() == 0) {
        return false;
    }
    let names = queue.partitions.keys().map(String::as_str).chain([""]);
    names.into_iter().all(|name| go_together(&queue.capacity_in(name), &queue.maximum_in(name)))
}

fn go_together(capacity: &Capacity, maximum: &Maximum) -> bool {
    let in_range = |amount: i64| (0..=AMOUNT_MAX).contains(&amount);
    let is_weightless = |share: Share| matches!(share, Share::Weight(weight) if weight.milli() == 0);
    (0..RESOURCE_TYPES_MAX).all(|i| {
        let share = capacity.share(i);
        let least = if let Share::Amount(amount) = share { amount } else { 0 };
        let most = if let Bound::Amount(amount) = maximum.bound(i) { amount } else { AMOUNT_MAX };
        in_range(least) && in_range(most) && most >= least && !is_weightless(share)
    })
}

/// Whether the guarantees of siblings can be met together, in each partition.
fn do_fit(siblings: &[&QueueConfig]) -> bool {
    let names: BTreeSet<&str> = siblings
        .iter()
        .flat_map(|sibling| sibling.partitions.keys().map(String::as_str))
        .chain([""])
        .collect();
    names.into_iter().all(|name| {
        let may_use = |sibling: &&&QueueConfig| {
            sibling.accessible_partitions.as_ref().is_none_or(|access| access.includes(name))
        };
        let there = siblings.iter().filter(may_use);
        fit_together(&there.map(|sibling| sibling.capacity_in(name)).collect::<Vec<_>>())
    })
}

fn fit_together(capacities: &[Capacity]) -> bool {
    (0..RESOURCE_TYPES_MAX).all(|i| {
        let (mut millionths, mut amounts) = (0u64, 0i64);
        for capacity in capacities {
            match capacity.share(i) {
                Share::Percent(percent) => millionths += u64::from(percent.millionths()),
                Share::Weight(_) => {}
                Share::Amount(own) => amounts += own,
            }
        }
        millionths <= 1_000_000 && amounts <= AMOUNT_MAX
    })
}
