//! Signals, leases and counters on their own.

use std::sync::Arc;

use loom::thread;

use super::{Bound, model, one};
use crate::config::NodeOrderKind;
use crate::ids::{PartitionId, SetId};
use crate::place::Leases;
use crate::resource::Resources;
use crate::sync::{AtomicU64, InFlightResources, InFlightUnits, Ordering, Signal};

/// I13. The bug: a sleeper that reads the count when it falls asleep instead of before it looks for work.
#[test]
fn a_raise_between_look_and_sleep_wakes() {
    model(Bound::None, || {
        let (signal, work) = (Arc::new(Signal::default()), Arc::new(AtomicU64::new(0)));
        let (their_signal, their_work) = (Arc::clone(&signal), Arc::clone(&work));
        let sleeper = thread::spawn(move || {
            while let Some(seen) = their_signal.observe() {
                if their_work.load(Ordering::Acquire) == 1 {
                    return;
                }
                their_signal.wait(seen);
            }
        });
        work.store(1, Ordering::Release);
        signal.raise(9);
        sleeper.join().unwrap();
    });
}

/// I13, I14. A close between the observation and the sleep. The bug: a close that does not wake.
#[test]
fn a_close_ends_every_sleep() {
    model(Bound::None, || {
        let signal = Arc::new(Signal::default());
        let theirs = Arc::clone(&signal);
        let sleeper = thread::spawn(move || {
            while let Some(seen) = theirs.observe() {
                theirs.wait(seen);
            }
        });
        signal.close();
        sleeper.join().unwrap();
    });
}

/// I13. Two sleepers and one raise. The bug: a raise that wakes only one, or that counts sleepers that are awake
/// but have not left yet.
#[test]
fn one_raise_wakes_every_sleeper() {
    model(Bound::None, || {
        let signal = Arc::new(Signal::default());
        let seen = signal.observe().expect("it is open");
        let sleepers = [0, 1].map(|_| {
            let theirs = Arc::clone(&signal);
            thread::spawn(move || theirs.wait(seen))
        });
        signal.raise(9);
        sleepers.into_iter().for_each(|sleeper| sleeper.join().unwrap());
    });
}

/// Two threads take one lease. The bug: a lease that is tested and taken in two steps.
#[test]
fn a_lease_is_held_by_one() {
    model(Bound::None, || {
        let leases = Arc::new(Leases::new(1, NodeOrderKind::Spread));
        let held = Arc::new(AtomicU64::new(0));
        let work = |leases: Arc<Leases>, held: Arc<AtomicU64>| {
            move || {
                if let Some(set) = leases.try_take(SetId::new(PartitionId::DEFAULT, 0)) {
                    assert_eq!(held.fetch_add(1, Ordering::Relaxed), 0, "two hold one lease");
                    held.fetch_sub(1, Ordering::Relaxed);
                    leases.give_back(set);
                }
            }
        };
        let other = thread::spawn(work(Arc::clone(&leases), Arc::clone(&held)));
        work(Arc::clone(&leases), held)();
        other.join().unwrap();
        assert!(leases.all_in_pool());
    });
}

/// A set comes back while its next holder learns that it is worth a pass. The bug: a slot that opens before the set
/// is in it. The next holder then starts with an empty view for no reason, or two values of one set exist.
#[test]
fn a_set_that_comes_back_is_the_one_that_is_taken_next() {
    model(Bound::None, || {
        let leases = Arc::new(Leases::new(1, NodeOrderKind::Spread));
        let set = leases.try_take(SetId::new(PartitionId::DEFAULT, 0)).expect("it is in the pool");
        let place = std::ptr::from_ref(&*set).addr();
        let theirs = Arc::clone(&leases);
        let other = thread::spawn(move || theirs.give_back(set));
        leases.publish_wanted(PartitionId::DEFAULT, 1);
        let taken = leases.take_wanted(0).taken();
        other.join().unwrap();
        assert_eq!(leases.all_in_pool(), taken.is_none());
        let taken = taken.or_else(|| leases.take_wanted(0).taken()).expect("it is in the pool by now");
        assert_eq!(std::ptr::from_ref(&*taken).addr(), place);
    });
}

/// I4. Two threads take the last unit. The bug: a bound that is checked before the addition and not with it.
#[test]
fn units_in_flight_never_exceed_what_is_outstanding() {
    model(Bound::None, || {
        let units = Arc::new(InFlightUnits::default());
        let theirs = Arc::clone(&units);
        let other = thread::spawn(move || usize::from(theirs.try_add(1)));
        let own = usize::from(units.try_add(1));
        assert_eq!(own + other.join().unwrap(), 1);
        assert_eq!(units.load(), 1);
    });
}

/// I9. Two proposers add to one counter. The bug: an addition in two steps, of which one is lost.
#[test]
fn amounts_in_flight_add_up() {
    model(Bound::None, || {
        let mut amounts = Arc::new(InFlightResources::default());
        let theirs = Arc::clone(&amounts);
        let other = thread::spawn(move || theirs.add(&one()));
        amounts.add(&one());
        other.join().unwrap();
        assert_eq!(amounts.load(), one() + one());
        // Exclusive access, as the committer has.
        let amounts = Arc::get_mut(&mut amounts).expect("the other one is gone");
        amounts.give_back(&(one() + one()));
        assert_eq!(amounts.load(), Resources::ZERO);
    });
}
