//! Blocked headroom: room that queues leave to an earlier queue whose ask waits at a limit.

use apportion::AskId;
use apportion::config::Percent;

use super::amounts::{Amounts, NOTHING, amounts, may_add, plus};
use super::{Books, Oracle};

/// How much headroom is blocked. The engine learns that an ask waits only in a pass, and skips passes if no node has
/// room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blocked {
    /// For every ask that a pass may find at the limit, or found there before something else blocked it too.
    AtMost,
    /// For every ask that passes find at a limit until the engine is quiet.
    WhenQuiet,
    /// For the asks that passes find with certainty.
    AtLeast,
}

impl Oracle {
    /// Whether all headroom of the ask's queues is blocked for other asks.
    pub(super) fn is_headroom_blocked(&self, books: &Books, id: AskId, which: Blocked) -> bool {
        let ask = &self.asks[&id];
        let partition = self.partition(ask.partition);
        let awaited = self.awaited(books, partition, which);
        let chain = self.tree.chain(self.applications[&ask.application].leaf);
        let mut blocked = NOTHING;
        chain.windows(2).any(|pair| {
            let (below, above) = (pair[0], pair[1]);
            let siblings = self.in_order(books, partition, above);
            for sibling in siblings.into_iter().take_while(|sibling| *sibling != below) {
                blocked = plus(&blocked, &awaited[sibling]);
            }
            let book = &books.queues[partition][above];
            !may_add(&plus(&book.used, &blocked), &amounts(&ask.spec.size), &book.limits.maximum)
        })
    }

    /// Whether headroom is blocked for any ask, which may then borrow a node.
    #[must_use]
    pub fn has_blocked_headroom(&self) -> bool {
        if self.config.non_exclusive_partitions.is_empty() {
            return false;
        }
        let books = self.books();
        self.asks.keys().any(|ask| self.is_headroom_blocked(&books, *ask, Blocked::AtMost))
    }

    /// The amount that each queue waits for at limits above it: one container for each kind of ask at a limit.
    fn awaited(&self, books: &Books, partition: usize, which: Blocked) -> Vec<Amounts> {
        let mut awaited = vec![NOTHING; self.tree.queues.len()];
        let mut counted = Vec::new();
        for (id, ask) in self.asks.iter().filter(|(_, ask)| self.partition(ask.partition) == partition) {
            let application = &self.applications[&ask.application];
            let (size, leaf) = (amounts(&ask.spec.size), application.leaf);
            let chain = self.tree.chain(leaf);
            let queue = |queue: usize| &books.queues[partition][queue];
            let is_full = |q: &usize| !may_add(&queue(*q).used, &size, &queue(*q).limits.maximum);
            let could = chain.iter().all(|q| may_add(&NOTHING, &size, &queue(*q).limits.maximum));
            let Some(limited) = chain.iter().copied().find(is_full).filter(|_| could) else { continue };
            let kind = (leaf, application.spec.user.clone(), size);
            let counts = match which {
                Blocked::AtMost => true,
                Blocked::WhenQuiet => self.limits_allow(books, *id).1,
                Blocked::AtLeast => !counted.contains(&kind) && self.is_certain_to_wait(books, *id),
            };
            if !counts {
                continue;
            }
            counted.push(kind);
            for queue in chain.into_iter().take_while(|queue| *queue != limited) {
                awaited[queue] = plus(&awaited[queue], &size);
            }
        }
        awaited
    }

    fn is_certain_to_wait(&self, books: &Books, ask: AskId) -> bool {
        let application = &self.applications[&self.asks[&ask].application];
        let has_shares = self.tree.queues[application.leaf].config.user_limit_minimum < Percent::whole(100);
        let (_, user_may) = self.limits_allow(books, ask);
        let partition = self.partition(self.asks[&ask].partition);
        application.is_active && !has_shares && user_may && self.roomiest(books, ask, partition).is_some()
    }
}
