//! Edits of the whole queue tree.

use apportion::config::{
    ApplicationOrdering, AutoCreation, Capacity, Factor, QueueConfig, QueueState, Share,
};
use apportion::resource::RESOURCE_TYPES_MAX;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::generate_queues::{limit_holders, queue};
use crate::plan::{ClusterPlan, HolderPlan, Operation, Pick, QueuePlan};

/// One edit of a reconfiguration.
#[derive(Clone, Debug)]
pub(crate) enum TreeEdit {
    /// Puts this queue last below a parent, in place of a queue with the same name.
    Put { parent: Pick, name: u8, plan: QueuePlan },
    /// Removes the last queue below a parent.
    Remove(Pick),
    /// Reverses the order of the queues below and changes the ordering of applications.
    Reverse(Pick),
    /// Stops the queue.
    Stop(Pick),
    /// Sets the limits of users and groups in the queue.
    Limit { queue: Pick, plans: Vec<HolderPlan> },
    /// Turns the creation of queues on demand below this queue on or off.
    Make { queue: Pick, plan: QueuePlan, expiry_ms: Option<u64> },
}

/// A reconfiguration with several edits.
pub(crate) fn reconfigure() -> impl Strategy<Value = Operation> {
    let edit = prop_oneof![
        4 => (any::<Pick>(), 0..6u8, queue()).prop_map(|(parent, name, plan)| TreeEdit::Put { parent, name, plan }),
        4 => any::<Pick>().prop_map(TreeEdit::Remove),
        2 => any::<Pick>().prop_map(TreeEdit::Reverse),
        1 => any::<Pick>().prop_map(TreeEdit::Stop),
        2 => (any::<Pick>(), limit_holders()).prop_map(|(queue, plans)| TreeEdit::Limit { queue, plans }),
        4 => (any::<Pick>(), queue(), option::weighted(0.9, prop_oneof![Just(0u64), Just(60), Just(350), Just(2_000)]))
            .prop_map(|(queue, plan, expiry_ms)| TreeEdit::Make { queue, plan, expiry_ms }),
    ];
    vec(edit, 1..=3).prop_map(Operation::Reconfigure)
}

impl ClusterPlan {
    /// Returns the tree after these edits. It may be invalid.
    pub(crate) fn edited(&self, tree: &QueueConfig, edits: &[TreeEdit]) -> QueueConfig {
        let mut tree = tree.clone();
        for edit in edits {
            self.edit(&mut tree, edit);
        }
        tree
    }

    fn auto_creation(&self, plan: &QueuePlan, expiry_ms: Option<u64>) -> AutoCreation {
        let mut template = self.children(std::slice::from_ref(plan), &[]).remove(0);
        template.name.clear();
        template.children.clear();
        if (0..RESOURCE_TYPES_MAX).any(|i| matches!(template.capacity.share(i), Share::Percent(_))) {
            template.capacity = Capacity::Weight(Factor::ONE);
        }
        (template.accessible_partitions, template.default_partition) = (None, None);
        AutoCreation { depth_max: 2, queues_max: 5, expiry_ms, leaf: template.clone(), parent: template }
    }

    fn edit(&self, tree: &mut QueueConfig, edit: &TreeEdit) {
        match edit {
            TreeEdit::Put { parent, name, plan } => {
                let mut child = self.children(std::slice::from_ref(plan), &self.partition_names()).remove(0);
                child.name = format!("q{name}");
                let siblings = &mut nth(tree, *parent).children;
                siblings.retain(|sibling| sibling.name != child.name);
                siblings.push(child);
            }
            TreeEdit::Remove(parent) => {
                let siblings = &mut nth(tree, *parent).children;
                siblings.pop();
            }
            TreeEdit::Reverse(parent) => {
                let parent = nth(tree, *parent);
                parent.children.reverse();
                parent.ordering = match parent.ordering {
                    ApplicationOrdering::Fifo => ApplicationOrdering::Fair,
                    ApplicationOrdering::Fair => ApplicationOrdering::FairBySize,
                    ApplicationOrdering::FairBySize => ApplicationOrdering::Fifo,
                };
            }
            TreeEdit::Stop(queue) => nth(tree, *queue).state = QueueState::Stopped,
            TreeEdit::Limit { queue, plans } => nth(tree, *queue).limits = self.limit_holders(plans),
            TreeEdit::Make { queue, plan, expiry_ms } => {
                let queue = nth(tree, *queue);
                queue.auto_creation = match queue.auto_creation {
                    Some(_) => None,
                    None => Some(Box::new(self.auto_creation(plan, *expiry_ms))),
                };
            }
        }
    }
}

/// The queue at this number, in depth-first order, modulo the number of queues.
fn nth(tree: &mut QueueConfig, pick: Pick) -> &mut QueueConfig {
    fn count(queue: &QueueConfig) -> usize {
        1 + queue.children.iter().map(count).sum::<usize>()
    }
    let mut rest = usize::from(pick) % count(tree);
    let mut queue = tree;
    while rest > 0 {
        rest -= 1;
        let mut below = queue.children.iter_mut();
        queue = below
            .find(|child| {
                let size = count(child);
                if rest < size {
                    return true;
                }
                rest -= size;
                false
            })
            .expect("it is one of those below");
    }
    queue
}
