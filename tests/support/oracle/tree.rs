//! The queue tree of the model, and which changes of its limits are valid.

use std::collections::BTreeMap;

use apportion::config::{
    ApplicationLimits, ApplicationOrdering, Capacity, Factor, Maximum, Percent, QueueConfig, QueueOrdering,
    QueueState, QueueUpdate,
};
use apportion::{AMOUNT_MAX, QueueId};

use super::amounts::{NOTHING, amounts, plus};

/// A queue; its place in [`Tree::queues`] is its depth-first index.
#[derive(Clone, Debug)]
pub struct Queue {
    /// Full path.
    pub path: String,
    /// The queue above.
    pub parent: Option<usize>,
    /// The queues below, in configured order.
    pub children: Vec<usize>,
    /// Configured guarantee.
    pub capacity: Capacity,
    /// Configured maximum.
    pub maximum: Maximum,
    /// Order of applications.
    pub ordering: ApplicationOrdering,
    /// Order of the queues below.
    pub child_ordering: QueueOrdering,
    /// Priority among its siblings.
    pub priority: i32,
    /// Whether it takes new applications.
    pub state: QueueState,
    /// How many it takes.
    pub applications: ApplicationLimits,
    /// What part each of several users may have.
    pub user_minimum: Percent,
    /// By how much users count.
    pub user_weights: BTreeMap<String, Factor>,
    /// User limit factor.
    pub factor: Option<Factor>,
}

/// All queues, depth first.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The queues; the root is number 0.
    pub queues: Vec<Queue>,
    numbers: BTreeMap<QueueId, usize>,
}

impl Tree {
    /// The configured tree; `id_of` says under which identifier the engine knows a path.
    pub fn new(root: &QueueConfig, id_of: impl Fn(&str) -> QueueId) -> Self {
        let mut tree = Self { queues: Vec::new(), numbers: BTreeMap::new() };
        tree.add(root, None);
        let numbers = tree.queues.iter().enumerate().map(|(number, queue)| (id_of(&queue.path), number));
        tree.numbers = numbers.collect();
        assert_eq!(tree.numbers.len(), tree.queues.len(), "two queues have one identifier");
        tree
    }

    fn add(&mut self, config: &QueueConfig, parent: Option<usize>) -> usize {
        let path = parent.map_or(config.name.clone(), |p| format!("{}.{}", self.queues[p].path, config.name));
        let number = self.queues.len();
        self.queues.push(Queue {
            path,
            parent,
            children: Vec::new(),
            capacity: config.capacity,
            maximum: config.maximum,
            ordering: config.ordering,
            child_ordering: config.child_ordering,
            priority: config.priority,
            user_minimum: config.user_limit_minimum,
            user_weights: config.user_weights.clone(),
            state: config.state,
            applications: config.applications,
            factor: config.user_limit_factor,
        });
        let children = config.children.iter().map(|child| self.add(child, Some(number))).collect();
        self.queues[number].children = children;
        number
    }

    /// The number of the queue that the engine knows under this identifier.
    #[must_use]
    pub fn number(&self, id: QueueId) -> usize {
        self.numbers[&id]
    }

    /// Whether applications can be in the queue.
    #[must_use]
    pub fn is_leaf(&self, queue: usize) -> bool {
        self.queues[queue].children.is_empty()
    }

    /// The queue and everything above it, up to the root.
    #[must_use]
    pub fn chain(&self, queue: usize) -> Vec<usize> {
        std::iter::successors(Some(queue), |queue| self.queues[*queue].parent).collect()
    }

    /// By how much, in thousandths, the user counts in the leaf: the nearest queue that names the user says it.
    #[must_use]
    pub fn weight(&self, leaf: usize, user: &str) -> i128 {
        let said = self.chain(leaf).into_iter().find_map(|queue| self.queues[queue].user_weights.get(user));
        said.map_or(1000, |weight| i128::from(weight.milli()))
    }

    /// Whether the queue may get these limits. The root's are the cluster's.
    #[must_use]
    pub fn accepts(&self, queue: usize, update: &QueueUpdate) -> bool {
        let is_root = self.queues[queue].parent.is_none();
        if is_root && (update.capacity.is_some() || update.maximum.is_some()) {
            return false;
        }
        let mut changed = self.clone();
        changed.update(queue, update);
        let queue = &changed.queues[queue];
        let siblings = queue.parent.map_or(&[][..], |parent| &changed.queues[parent].children);
        let capacities = || siblings.iter().map(|sibling| &changed.queues[*sibling].capacity);
        is_sound(queue) && do_fit(capacities())
    }

    /// Gives the queue these limits.
    pub fn update(&mut self, queue: usize, update: &QueueUpdate) {
        let queue = &mut self.queues[queue];
        queue.capacity = update.capacity.unwrap_or(queue.capacity);
        queue.maximum = update.maximum.unwrap_or(queue.maximum);
        queue.factor = update.user_limit_factor.unwrap_or(queue.factor);
        queue.priority = update.priority.unwrap_or(queue.priority);
        queue.user_minimum = update.user_limit_minimum.unwrap_or(queue.user_minimum);
        queue.state = update.state.unwrap_or(queue.state);
        queue.applications = update.applications.unwrap_or(queue.applications);
    }
}

/// Whether the queue's own limits make sense together.
fn is_sound(queue: &Queue) -> bool {
    let in_range = |amount: i64| (0..=AMOUNT_MAX).contains(&amount);
    if queue.factor.is_some_and(|factor| factor.milli() == 0) {
        return false;
    }
    if let Capacity::Absolute(capacity) = &queue.capacity
        && !capacity.amounts().iter().all(|amount| in_range(*amount))
    {
        return false;
    }
    let Maximum::Absolute(maximum) = &queue.maximum else { return true };
    if !maximum.iter().flatten().all(|amount| in_range(*amount)) {
        return false;
    }
    let Capacity::Absolute(capacity) = &queue.capacity else { return true };
    maximum.iter().zip(capacity.amounts()).all(|(maximum, capacity)| maximum.is_none_or(|m| m >= *capacity))
}

/// Whether the guarantees of siblings can be met together.
fn do_fit<'a>(capacities: impl Iterator<Item = &'a Capacity>) -> bool {
    let (mut millionths, mut absolute, mut weights_are_positive) = (0u64, NOTHING, true);
    for capacity in capacities {
        match capacity {
            Capacity::Percent(percent) => millionths += u64::from(percent.millionths()),
            Capacity::Weight(weight) => weights_are_positive &= weight.milli() > 0,
            Capacity::Absolute(own) => absolute = plus(&absolute, &amounts(own)),
        }
    }
    let is_countable = absolute.iter().all(|amount| *amount <= AMOUNT_MAX);
    millionths <= 1_000_000 && weights_are_positive && is_countable
}
