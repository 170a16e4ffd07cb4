//! The proposing side: take a lease, take the guard, run a pass, drop the guard, send.

use std::sync::Arc;

use super::shared::{Message, Shared};
use crate::place::PlacementSet;
use crate::propose::{BatchHome, ProposalBatch, Scratch, run_pass};

/// What one proposing thread does until the engine is shut down. `start` spreads the threads over the sets.
pub(super) fn run_proposer(shared: &Arc<Shared>, start: u32) {
    let mut scratch = Scratch::default();
    let mut next_start = start;
    while let Some(seen) = shared.work.observe() {
        match shared.leases.take_wanted(next_start) {
            Some(set) => {
                next_start = set.id().number() + 1;
                let batch = propose(shared, set, &mut scratch);
                // Without a committer the batch comes back, and dropping it gives everything back.
                drop(shared.outbox.send(Message::Batch(batch)));
            }
            None => shared.work.wait(seen),
        }
    }
}

/// One pass under the read guard. The batch owns the lease from here on.
pub(super) fn propose(
    shared: &Arc<Shared>,
    set: Box<PlacementSet>,
    scratch: &mut Scratch,
) -> Box<ProposalBatch> {
    // Declared before the guard, so that unwinding drops the guard first.
    let home: Arc<dyn BatchHome> = Arc::clone(shared) as Arc<dyn BatchHome>;
    let mut batch = Box::new(ProposalBatch::new(set, home));
    let state = shared.state.read();
    let ProposalBatch { proposals, set, .. } = &mut *batch;
    if let Some(set) = set {
        run_pass(&state, set, scratch, &shared.pass_limits, proposals);
    }
    drop(state);
    batch
}
