//! The commit: each request is checked again, on the facts alone, then applied.

use super::amounts::{Amounts, fits, minus, plus};
use super::committer::{Allocated, Application, Ask, Committer, Container, Quotas};
use super::proposer::Request;
use super::queues::NO_QUEUE;

impl Committer {
    /// Decides all requests of a pass over this partition, and ends the group. The proposer receives ends late, and
    /// knows its own picks at once. So its view never has more room than the facts, and nothing is rejected.
    pub(super) fn commit(&mut self, partition: usize, requests: &mut Vec<Request>) {
        for request in requests.drain(..) {
            match self.accept(partition, request) {
                Some(ask) => self.apply(partition, request, ask),
                None => self.rejected += 1,
            }
        }
        self.log.end_group();
    }

    /// The ask, if the request may be applied.
    fn accept(&self, partition: usize, request: Request) -> Option<Ask> {
        let ask = self.asks.get(request.ask)?;
        let kind = self.kinds[ask.kind as usize];
        let node = &self.nodes[request.node as usize];
        let Application { plan, outstanding, .. } = &self.applications[ask.application as usize];
        let has_room = node.partition == kind.partition && fits(kind.size, node.free);
        let is_within = self.quotas[partition].admits(plan.leaf, plan.user, kind.size);
        (has_room && is_within && *outstanding > 0).then_some(ask)
    }

    fn apply(&mut self, partition: usize, request: Request, ask: Ask) {
        let Request { ask: id, node: number } = request;
        let size = self.kinds[ask.kind as usize].size;
        self.asks.remove(id);
        let container =
            self.containers.insert(Container { application: ask.application, node: number, kind: ask.kind });
        let node = &mut self.nodes[number as usize];
        node.free = minus(node.free, size);
        node.containers.push(container.slot);
        let application = &mut self.applications[ask.application as usize];
        application.used = plus(application.used, size);
        application.outstanding -= 1;
        application.running += 1;
        self.served += 1;
        let plan = &application.plan;
        self.quotas[partition].charge(plan.leaf, plan.user, size, self.served);
        self.log.placed(id, container, number);
        self.events.push(Allocated { ask: id, container, node: number, number: ask.number });
    }
}

impl Quotas {
    /// Whether every limit leaves room for a container of this size.
    fn admits(&self, leaf: u32, user: u32, size: Amounts) -> bool {
        let user = &self.users[user as usize];
        let mut admits = fits(plus(user.used, size), user.maximum);
        let mut at = leaf;
        while at != NO_QUEUE {
            let queue = &self.queues[at as usize];
            admits &= fits(plus(queue.used, size), queue.maximum);
            at = queue.parent;
        }
        admits
    }

    fn charge(&mut self, leaf: u32, user: u32, size: Amounts, served: u64) {
        let user = &mut self.users[user as usize];
        user.used = plus(user.used, size);
        let mut at = leaf;
        while at != NO_QUEUE {
            let queue = &mut self.queues[at as usize];
            queue.used = plus(queue.used, size);
            queue.last_served = served;
            at = queue.parent;
        }
    }

    pub(super) fn release(&mut self, leaf: u32, user: u32, size: Amounts) {
        let user = &mut self.users[user as usize];
        user.used = minus(user.used, size);
        let mut at = leaf;
        while at != NO_QUEUE {
            let queue = &mut self.queues[at as usize];
            queue.used = minus(queue.used, size);
            at = queue.parent;
        }
    }
}
