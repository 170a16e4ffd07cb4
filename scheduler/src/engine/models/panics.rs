//! A panic of a closure that reads the state.
//!
//! These models leave out panics of a proposer. A proposer's batch is given back while its thread unwinds, which
//! takes locks, so the checker lets other threads work meanwhile. The checker runs all threads on one operating
//! system thread, which is then panicking. So a guard that another thread took earlier and drops now poisons its
//! lock, and loom cannot take a poisoned lock. `tests/faults.rs` beside this room tests such panics on the shipped
//! locks.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use loom::thread;

use super::{Bound, Cluster, model};

/// A closure that reads the state panics while the committer wants to write. The bug: a guard that a panic does not
/// release.
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
