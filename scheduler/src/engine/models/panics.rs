//! A panic of a closure that looks at the state.
//!
//! Panics of a proposer are not modelled: a batch is given back while its thread unwinds, and giving back takes
//! locks, so the checker lets other threads work meanwhile. It runs all of them on one thread of the system, which
//! is panicking then; so a guard that another thread took before and drops now poisons its lock, and loom's locks
//! cannot be taken once they are poisoned. `tests/faults.rs` beside this room has these panics, on the shipped locks.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use loom::thread;

use super::{Bound, Cluster, model};

/// A closure that looks at the state panics while the committer wants to write. The bug: a guard that a panic does not
/// give back.
#[test]
fn a_panic_while_the_state_is_looked_at() {
    model(Bound::None, || {
        let cluster = Cluster::serial(1);
        let engine = Arc::clone(&cluster.engine);
        let other = thread::spawn(move || {
            let look = || engine.read(|_| -> usize { panic!("a panic that a test asked for") });
            assert!(catch_unwind(AssertUnwindSafe(look)).is_err());
        });
        cluster.ask(1);
        cluster.commit();
        other.join().unwrap();
        cluster.engine.run_until_quiet();
        assert_eq!(cluster.containers(), 1);
        cluster.expect_sound();
    });
}
