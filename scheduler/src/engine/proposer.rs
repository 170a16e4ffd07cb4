//! The proposing side: take a lease, take the guard, run a pass, drop the guard, send.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::shared::{Message, Shared};
use crate::place::PlacementSet;
use crate::propose::{BatchHome, ProposalBatch, Scratch, run_pass};
use crate::sync::Ordering;

/// A thread that panics this often without having sent a batch between is not started again.
const PANICS_MAX: u32 = 100;

/// What one proposing thread does until the engine is shut down. `start` spreads the threads over the sets. A
/// panic is counted and the work goes on: unwinding gave the batch back.
pub(super) fn run_proposer(shared: &Arc<Shared>, start: u32) {
    let mut panics = 0;
    while panics < PANICS_MAX {
        let mut has_sent = false;
        let work = || propose_until_closed(shared, start, &mut has_sent);
        if catch_unwind(AssertUnwindSafe(work)).is_ok() {
            return;
        }
        panics = if has_sent { 1 } else { panics + 1 };
        shared.proposer_panics.fetch_add(1, Ordering::Relaxed);
    }
}

fn propose_until_closed(shared: &Arc<Shared>, start: u32, has_sent: &mut bool) {
    let mut scratch = Scratch::default();
    let mut next_start = start;
    while let Some(seen) = shared.work.observe() {
        match shared.leases.take_wanted(next_start) {
            Some(set) => {
                next_start = set.id().number() + 1;
                let batch = propose(shared, set, &mut scratch);
                // Without a committer the batch comes back, and dropping it gives everything back.
                if shared.outbox.send(Message::Batch(batch)).is_err() {
                    return;
                }
                *has_sent = true;
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
