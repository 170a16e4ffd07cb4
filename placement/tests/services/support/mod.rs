//! What the scenarios stand on.

mod bed;
mod manager;

pub(crate) use bed::{Bed, Call, Cluster, cancels, component, host, named, releases, requests, roles};
pub(crate) use manager::{EngineCluster, Manager};

/// A test on the engine and on the fake alike.
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
