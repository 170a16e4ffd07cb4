//! The exact policy: the container that is placed next, and its node.

use std::cmp::Reverse;

use apportion::config::{ApplicationOrdering, QueueOrdering};
use apportion::{ApplicationId, AskId, NodeId};

use super::amounts::{Amounts, ENDLESS, NOTHING, amounts, plus, share, times};
use super::blocked_headroom::Blocked;
use super::{Books, Oracle, QueueBook};

impl Oracle {
    /// The next container that the engine has to place, partition by partition; `None` if nothing is feasible. Only
    /// for asks without locality preferences and engines without reservations.
    #[must_use]
    pub fn next_placement(&self) -> Option<(AskId, NodeId)> {
        let books = self.books();
        self.first_placement(&books, |ask, node| {
            !self.is_headroom_blocked_on(&books, ask, node, Blocked::AtMost)
        })
    }

    /// The reason why this is not the next container: it is not feasible, its room is blocked for others, or another
    /// one comes first. Same conditions as [`next_placement`](Self::next_placement).
    #[must_use]
    ///
    /// With `in_partition`, asks for other partitions may come first.
    pub fn objection_to(&self, ask: AskId, node: NodeId, in_partition: bool) -> Option<String> {
        let books = self.books();
        let is_it = |other, on| (other, on) == (ask, node);
        let first = self.first_placement(&books, |other, on| {
            let is_considered = !in_partition || self.nodes[&on].partition == self.nodes[&node].partition;
            is_it(other, on)
                || is_considered && !self.is_headroom_blocked_on(&books, other, on, Blocked::AtMost)
        });
        match first {
            None => Some("there is no room for it".to_owned()),
            Some((first, on)) if !is_it(first, on) => Some(format!("{first} on {on} comes first")),
            Some(_) if self.is_headroom_blocked_on(&books, ask, node, Blocked::AtLeast) => {
                Some("the headroom is blocked for others".to_owned())
            }
            Some(_) => None,
        }
    }

    /// Whether headroom on the node is blocked for the ask. It never is for borrowed containers.
    fn is_headroom_blocked_on(&self, books: &Books, ask: AskId, node: NodeId, which: Blocked) -> bool {
        !self.is_borrowed(&self.asks[&ask], node) && self.is_headroom_blocked(books, ask, which)
    }

    /// The first feasible container in order that `will_do` accepts.
    fn first_placement(
        &self,
        books: &Books,
        will_do: impl Fn(AskId, NodeId) -> bool,
    ) -> Option<(AskId, NodeId)> {
        // An ask borrows a node only after it has found none in the default partition, which is the first.
        (0..self.partitions.len()).find_map(|partition| {
            let borrowed = || self.next_below(books, (partition, true), 0, &will_do);
            let lent = self.lends(self.partitions[partition]).then_some(());
            self.next_below(books, (partition, false), 0, &will_do).or_else(|| lent.and_then(|()| borrowed()))
        })
    }

    /// The next container below a queue in a partition, either on its own nodes or on borrowed ones.
    fn next_below(
        &self,
        books: &Books,
        on: (usize, bool),
        queue: usize,
        will_do: &dyn Fn(AskId, NodeId) -> bool,
    ) -> Option<(AskId, NodeId)> {
        if self.tree.is_leaf(queue) {
            return self.next_in_leaf(books, on, queue, will_do);
        }
        let children = self.in_order(books, on.0, queue);
        children.into_iter().find_map(|child| self.next_below(books, on, child, will_do))
    }

    /// The queue's children, the most deserving first.
    pub(super) fn in_order(&self, books: &Books, partition: usize, queue: usize) -> Vec<usize> {
        // The sort is stable, so the configured order decides between children never served.
        let mut children = self.tree.queues[queue].children.clone();
        let ordering = self.tree.queues[queue].config.child_ordering;
        children.sort_by_key(|child| {
            let book = &books.queues[partition][*child];
            let rank = match ordering {
                QueueOrdering::Utilization | QueueOrdering::UtilizationThenDemand => (false, Reverse(0)),
                QueueOrdering::PriorityUtilization => {
                    (has_its_guarantee(book), Reverse(self.tree.queues[*child].config.priority))
                }
                QueueOrdering::DemandPriority => (false, Reverse(self.computed_demand_priority(*child))),
            };
            let urgency = match ordering {
                QueueOrdering::UtilizationThenDemand => self.computed_demand_priority(*child),
                _ => 0,
            };
            let served = self.queues_served.get(&(partition, *child)).copied();
            (rank, book.limits.guaranteed == NOTHING, share(&book.used, &book.base), Reverse(urgency), served)
        });
        children
    }

    /// Records that the ask got a container or reservation on the node: among equals its queues and application now
    /// come last.
    pub(super) fn record_served(&mut self, ask: AskId, node: NodeId) {
        let id = self.asks[&ask].application;
        let partition = self.partition(self.nodes[&node].partition);
        self.served += 1;
        for queue in self.tree.chain(self.applications[&id].leaf) {
            self.queues_served.insert((partition, queue), self.served);
        }
        self.applications_served.insert(id, self.served);
    }

    /// Forgets removed queues, so that they count as never served if they come again.
    pub(super) fn forget_served(&mut self) {
        let tree = &self.tree;
        self.queues_served.retain(|(_, queue), _| tree.queues[*queue].is_present);
    }

    /// The priority of the pending asks in the queue and below.
    #[must_use]
    pub fn computed_demand_priority(&self, queue: usize) -> i32 {
        let is_asking = |id: &ApplicationId| self.asks.values().any(|ask| ask.application == *id);
        let own = self.applications.iter().filter(|(id, own)| own.leaf == queue && is_asking(id));
        let own = own.map(|(_, own)| i32::try_from(own.priority).unwrap_or(i32::MAX));
        let below =
            self.tree.queues[queue].children.iter().map(|child| self.computed_demand_priority(*child));
        let inside = own.chain(below).max().unwrap_or(i32::MIN);
        let config = &self.tree.queues[queue].config;
        match inside {
            i32::MIN => i32::MIN,
            _ if config.priority_fence => config.priority_offset.max(i32::MIN + 1),
            _ => (i64::from(inside) + i64::from(config.priority_offset))
                .clamp(i64::from(i32::MIN) + 1, i64::from(i32::MAX)) as i32,
        }
    }

    fn next_in_leaf(
        &self,
        books: &Books,
        on: (usize, bool),
        leaf: usize,
        will_do: &dyn Fn(AskId, NodeId) -> bool,
    ) -> Option<(AskId, NodeId)> {
        let total = books.totals.iter().fold(NOTHING, |sum, own| plus(&sum, own));
        let in_leaf = self
            .applications
            .iter()
            .filter(|(_, application)| application.leaf == leaf && application.is_active);
        let mut applications: Vec<ApplicationId> = in_leaf.map(|(id, _)| *id).collect();
        applications.sort_by_key(|id| self.application_key(books, &total, *id));
        applications.into_iter().find_map(|id| self.next_of(books, on, id, will_do))
    }

    fn application_key(
        &self,
        books: &Books,
        total: &Amounts,
        id: ApplicationId,
    ) -> (i128, Reverse<u32>, Option<u64>, u64) {
        let application = &self.applications[&id];
        let is_fifo = self.tree.queues[application.leaf].config.ordering == ApplicationOrdering::Fifo;
        let served = self.applications_served.get(&id).copied().filter(|_| !is_fifo);
        let fairness = match self.tree.queues[application.leaf].config.ordering {
            ApplicationOrdering::Fifo => 0,
            ApplicationOrdering::Fair => share(&books.applications[&id], total),
            ApplicationOrdering::FairBySize => {
                let weight = match share(&self.wanted_by(id), total) {
                    // As for the largest possible share.
                    ENDLESS => 64.0,
                    wanted => (1.0 + wanted as f64).log2(),
                };
                let weight = ((weight * 1024.0).floor() as i128).max(1);
                match share(&books.applications[&id], total) {
                    ENDLESS => ENDLESS,
                    used => used * 1024 * 1024 / weight,
                }
            }
        };
        (fairness, Reverse(application.priority), served, application.order)
    }

    /// The amounts that the application runs and asks for.
    fn wanted_by(&self, id: ApplicationId) -> Amounts {
        let running = self.containers.values().filter(|container| container.application == id);
        let running = running.fold(NOTHING, |sum, container| plus(&sum, &container.size));
        let asks = self.asks.values().filter(|ask| ask.application == id);
        asks.fold(running, |sum, ask| plus(&sum, &times(&amounts(&ask.spec.size), ask.outstanding)))
    }

    fn next_of(
        &self,
        books: &Books,
        on: (usize, bool),
        id: ApplicationId,
        will_do: &dyn Fn(AskId, NodeId) -> bool,
    ) -> Option<(AskId, NodeId)> {
        let (partition, is_borrowed) = on;
        let of_application = |ask: &&AskId| {
            let ask = &self.asks[ask];
            ask.application == id && (is_borrowed || self.partition(ask.partition) == partition)
        };
        let mut asks: Vec<AskId> = self.asks.keys().filter(of_application).copied().collect();
        asks.sort_by_key(|ask| (self.asks[ask].spec.priority, self.asks[ask].order));
        let placed = |ask| {
            Some((ask, self.best_node(books, ask, partition)?)).filter(|(ask, node)| will_do(*ask, *node))
        };
        asks.into_iter().find_map(placed)
    }

    fn best_node(&self, books: &Books, ask: AskId, partition: usize) -> Option<NodeId> {
        let known = &self.asks[&ask];
        let may_have = match known.partition == self.partitions[partition] {
            true => self.limits_allow(books, ask) == (true, true),
            false => self.borrowed_limits_allow(books, known, partition),
        };
        if may_have { self.roomiest(books, ask, partition) } else { None }
    }

    /// The first of the partition's nodes in node order that have room, whatever the limits say.
    pub(super) fn roomiest(&self, books: &Books, ask: AskId, partition: usize) -> Option<NodeId> {
        let will_do = |id: &&NodeId| {
            self.nodes[id].partition == self.partitions[partition]
                && self.may_be_on(&self.asks[&ask], **id)
                && self.is_open_to(**id, ask)
                && self.takes_now(books, ask, **id)
        };
        self.nodes.keys().filter(will_do).min_by_key(|id| self.step(books, **id)).copied()
    }

    /// The last node in order that the ask could reserve.
    #[must_use]
    pub fn last_reservable(&self, id: AskId) -> Option<NodeId> {
        let (books, ask) = (self.books(), &self.asks[&id]);
        let is_reservable = |node: &&NodeId| {
            let known = &self.nodes[node];
            known.is_candidate()
                && !self.reservations.contains_key(node)
                && known.could_hold(&ask.spec)
                && known.partition == ask.partition
                && ask.accepts(**node, known)
                && !self.shuns(ask, known)
                && self.keeps_tag_limits(ask, **node)
        };
        self.nodes.keys().filter(is_reservable).max_by_key(|node| self.step(&books, **node)).copied()
    }

    /// Whether the node's state and reservation let it take containers of the ask.
    #[must_use]
    pub fn is_open_to(&self, id: NodeId, ask: AskId) -> bool {
        self.nodes[&id].is_candidate()
            && self.reservations.get(&id).is_none_or(|reservation| reservation.ask == ask)
    }
}

/// Whether the queue has reached its guarantee in some type; without a guarantee, whether it uses anything.
fn has_its_guarantee(book: &QueueBook) -> bool {
    let is_reached = |i: usize| book.used[i] > 0 && book.used[i] >= book.base[i];
    let is_used = book.used.iter().any(|amount| *amount > 0);
    let without_guarantee = book.limits.guaranteed == NOTHING;
    if without_guarantee { is_used } else { (0..book.used.len()).any(is_reached) }
}
