//! The store of the control plane: contents, order, refusals, and recovery after its process is killed. Tests of
//! common guarantees run on both stores.

/// The tests of a module, for each store: functions that take a [`Bed`](support::Bed).
macro_rules! with_both_stores {
    ($($name:ident),+ $(,)?) => {
        mod in_memory {
            $(#[test]
            fn $name() -> crate::support::TestResult {
                super::$name(&crate::support::Bed::memory())
            })+
        }
        mod in_a_file {
            $(#[test]
            fn $name() -> crate::support::TestResult {
                super::$name(&crate::support::Bed::redb()?)
            })+
        }
    };
}

mod any_changes;
mod bad_values;
mod clients;
mod files;
mod keeping;
mod killed;
mod messages;
mod paging;
mod refusals;
mod support;
mod waiting;
