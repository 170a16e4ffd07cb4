//! Overloaded clusters on virtual time, which ask again for every container that ends. They answer three questions:
//! How fairly are resources divided? How long do large containers wait? How soon has a returning leaf its share?

mod demands;
mod driver;
mod fairness;
mod heads;
mod reclaim;
mod starvation;
mod water_fill;

pub use fairness::{Fairness, LeafShare, Shares, measure_fairness};
pub use reclaim::{Look, Reclaim, ReclaimPlan, ReturningLeaf, TakenFrom, measure_reclaim};
pub use starvation::{MEAN_LIFE_MS, Starvation, WARM_UP_MS, measure_starvation};
