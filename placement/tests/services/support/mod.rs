//! Test beds for the scenarios.

mod bed;
mod manager;

pub(crate) use bed::{Bed, Call, Cluster, cancels, component, host, named, releases, requests, roles};
pub(crate) use manager::{EngineCluster, Manager};

/// Defines a test for the engine and for the fake.
macro_rules! on_both {
    ($(#[$attribute:meta])* $name:ident) => {
        mod $name {
            $(#[$attribute])*
            #[test]
            fn on_the_engine() {
                super::$name::<$crate::support::EngineCluster>();
            }

            $(#[$attribute])*
            #[test]
            fn on_the_fake() {
                super::$name::<apportion_placement::FakeCluster>();
            }
        }
    };
}
pub(crate) use on_both;
