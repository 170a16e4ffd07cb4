//! Batches that are dropped before the committer decides them: what they hold is taken back.

use super::message::Message;
use super::shared::Shared;
use crate::propose::{BatchOwner, GangSearch, ProposalBatch, Work};

impl BatchOwner for Shared {
    fn undo(&self, batch: &mut ProposalBatch) {
        let mut state = self.state.write();
        if batch.is_in_flight() {
            state.undo(batch);
            state.seek_reservations();
        }
        // Taking the set cleared its bit. Publish it as wanted before it returns to the pool, or the engine would
        // look quiet.
        self.publish_wanted(&state);
        drop(state);
        let work = std::mem::take(&mut batch.work);
        self.round.record_lost_batch();
        match work {
            Work::Pass(set) => self.leases.give_back(set),
            Work::GangSearch(GangSearch { memory, found }) => {
                self.leases.want_gangs();
                // The places that it found are lost, so the gangs are looked for again.
                let is_decided = found.gatherings.is_empty();
                self.leases.give_back_gang_search(if is_decided { memory } else { Box::default() });
            }
            Work::Round(_) => self.round.record_lost_round(),
            Work::Unleased => {}
        }
        self.work.raise(self.workers_wanted());
        // The committer decides whether the engine is quiet now; if its inbox is full, it looks anyway.
        self.outbox.offer(Message::LookAgain);
    }
}
