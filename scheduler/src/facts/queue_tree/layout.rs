//! The layout of the queue tree: at the start, and its changes while the engine runs.
//!
//! A path has one identifier for the engine's life: a removed queue keeps its place, and gets it back if it is
//! configured again. So a parent always has a smaller number than its children, and amounts in flight for a removed
//! queue are still taken back from it.
//!
//! The layout also computes the partitions that a queue may use, and the partition of asks that name none. In a
//! partition that a queue may not use, its maximum is zero. So only the check of new asks looks at access. The queues'
//! configuration is in the facts; after a change, the configuration from the engine's start no longer describes them.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::demand_priority::NOTHING_PENDING;
use super::{ActiveUsers, PendingPriorities, Queue, QueueTree, Quota};
use crate::config::{QueueConfig, QueueOrdering, QueueUpdate};
use crate::ids::{PartitionId, QueueId};
use crate::resource::Resources;

impl QueueTree {
    /// The queue with this path.
    pub(crate) fn queue_named(&self, path: &str) -> Option<QueueId> {
        self.ids.get(path).copied().filter(|id| self.queue(*id).is_present)
    }

    /// The queue with this name, if exactly one has it.
    pub(crate) fn only_queue_called(&self, name: &str) -> Option<QueueId> {
        let queues = self.queues.iter().enumerate();
        let mut called = queues.filter(|(_, queue)| queue.is_present && queue.config.name == name);
        let (index, _) = called.next()?;
        called.next().is_none().then_some(QueueId(index as u32))
    }

    /// The present configuration of all queues, without auto-created ones.
    pub(crate) fn configuration(&self) -> QueueConfig {
        self.tree_below(QueueId::ROOT)
    }

    fn tree_below(&self, id: QueueId) -> QueueConfig {
        let queue = self.queue(id);
        let configured = queue.children.iter().filter(|child| !self.queue(**child).is_auto_created);
        let children = configured.map(|child| self.tree_below(*child));
        queue.config.clone().with_children(children)
    }

    /// Gives the queues this configuration. Removes queues that it does not name, which must have no applications.
    /// Auto-created queues stay if a queue above still creates them.
    pub(crate) fn lay_out_queues(&mut self, root: &QueueConfig, now_ms: u64) {
        let created: Vec<(QueueId, bool)> = (0..self.queues.len() as u32)
            .map(QueueId)
            .filter(|id| self.queue(*id).is_present && self.queue(*id).is_auto_created)
            .map(|id| (id, self.queue(id).is_leaf))
            .collect();
        for queue in &mut self.queues {
            (queue.is_present, queue.is_auto_created, queue.is_leaf) = (false, false, false);
            queue.children.clear();
        }
        self.lay_out(root, None, now_ms);
        created.into_iter().for_each(|(id, is_leaf)| self.keep_created(id, is_leaf, now_ms));
        for queue in self.queues.iter_mut().filter(|queue| !queue.is_present) {
            queue.quota.fill(Quota::default());
        }
        for index in 0..self.queues.len() {
            self.recount_users(QueueId(index as u32));
        }
        self.recount_limit_usages();
        self.recount_active_by_user();
        self.update_priorities();
    }

    /// Updates settings of one queue.
    pub(crate) fn update_queue(&mut self, id: QueueId, update: &QueueUpdate) {
        let queue = &mut self.queues[id.index()];
        queue.config = update.applied_to(&queue.config);
        self.recount_users(id);
        if update.parallel.is_some() {
            self.recount_active_by_user();
        }
    }

    fn lay_out(&mut self, config: &QueueConfig, parent: Option<QueueId>, now_ms: u64) {
        let id = self.place_queue(config, parent, config.is_leaf(), now_ms);
        config.children.iter().for_each(|child| self.lay_out(child, Some(id), now_ms));
    }

    /// Puts an auto-created queue back, with the present template of its creator. The caller goes through parents
    /// first.
    fn keep_created(&mut self, id: QueueId, is_leaf: bool, now_ms: u64) {
        let queue = self.queue(id);
        let Some(parent) = queue.parent.filter(|parent| self.queue(*parent).is_present && !queue.is_present)
        else {
            return;
        };
        let Some((_, creation)) = self.auto_creation_at(parent) else { return };
        let template = if is_leaf { &creation.leaf } else { &creation.parent };
        let config = QueueConfig { name: queue.config.name.clone(), ..template.clone() };
        self.place_queue(&config, Some(parent), is_leaf, now_ms);
        self.queues[id.index()].is_auto_created = true;
    }

    /// Puts a queue in its place in the tree, last among its siblings.
    pub(super) fn place_queue(
        &mut self,
        config: &QueueConfig,
        parent: Option<QueueId>,
        is_leaf: bool,
        now_ms: u64,
    ) -> QueueId {
        let id = self.place_for(config, parent, now_ms);
        let above = parent.map(|parent| self.queue(parent));
        let last = above.and_then(|above| above.children.last()).map(|last| self.queue(*last).position);
        let ranked_by = above.map_or_else(QueueOrdering::default, |above| above.config.child_ordering);
        let position = last.map_or(0, |last| last + 1);
        let partitions = self.partitions_for(config, parent);
        let default_partition = self.default_partition_for(config, parent, partitions);
        let queue = &mut self.queues[id.index()];
        (queue.is_present, queue.is_leaf) = (true, is_leaf);
        (queue.position, queue.ranked_by) = (position, ranked_by);
        (queue.partitions, queue.default_partition) = (partitions, default_partition);
        queue.config = config.without_children();
        if let Some(parent) = parent {
            self.queues[parent.index()].children.push(id);
        }
        id
    }

    /// The partitions that the queue may use, one bit each.
    fn partitions_for(&self, config: &QueueConfig, parent: Option<QueueId>) -> u64 {
        let above = parent.map_or(u64::MAX, |parent| self.queue(parent).partitions);
        let Some(access) = &config.accessible_partitions else { return above };
        let all = self.config.partition_names().enumerate();
        let accessible = all.filter(|(_, name)| access.includes(name));
        above & accessible.map(|(number, _)| 1 << number).sum::<u64>()
    }

    /// The queue's own default partition, or else its parent's; the default partition if the queue may not use that.
    fn default_partition_for(
        &self,
        config: &QueueConfig,
        parent: Option<QueueId>,
        partitions: u64,
    ) -> PartitionId {
        let own = config.default_partition.as_ref();
        let place = own.and_then(|own| self.config.partition_names().position(|name| name == own));
        let above = || parent.map_or(PartitionId::DEFAULT, |parent| self.queue(parent).default_partition);
        let wanted = place.map_or_else(above, |place| PartitionId(place as u32));
        if partitions >> wanted.index() & 1 == 1 { wanted } else { PartitionId::DEFAULT }
    }

    /// The present or former place of the queue, or a new one.
    fn place_for(&mut self, config: &QueueConfig, parent: Option<QueueId>, now_ms: u64) -> QueueId {
        let above = parent.map(|parent| self.queue(parent));
        let path =
            above.map_or_else(|| config.name.clone(), |above| format!("{}.{}", above.path, config.name));
        if let Some(&id) = self.ids.get(path.as_str()) {
            return id;
        }
        let id = QueueId(self.queues.len() as u32);
        let mut chain = above.map_or_else(SmallVec::new, |above| above.chain.clone());
        chain.push(id);
        let path: Arc<str> = path.into();
        self.ids.insert(Arc::clone(&path), id);
        self.queues.push(Queue {
            path,
            parent,
            children: Vec::new(),
            chain,
            is_present: true,
            is_leaf: false,
            is_auto_created: false,
            idle_since_ms: now_ms,
            position: 0,
            config: config.without_children(),
            partitions: 0,
            default_partition: PartitionId::DEFAULT,
            ranked_by: QueueOrdering::default(),
            demand: PendingPriorities::default(),
            demand_priority: NOTHING_PENDING,
            semantics: self.config.semantics,
            active: ActiveUsers::default(),
            quota: vec![Quota::default(); self.partitions.len()],
            users: BTreeMap::new(),
            applications: 0,
            inactive: 0,
            active_by_user: FxHashMap::default(),
            masters: vec![Resources::ZERO; self.partitions.len()],
        });
        id
    }
}
