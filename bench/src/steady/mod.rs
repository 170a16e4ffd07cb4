//! Overloaded clusters on virtual time, which ask again for every container that ends. They answer two questions: how
//! fairly are resources divided, and how long do large containers wait?

mod demands;
mod driver;
mod fairness;
mod heads;
mod starvation;
mod water_fill;

pub use fairness::{Fairness, LeafShare, Shares, measure_fairness};
pub use starvation::{MEAN_LIFE_MS, Starvation, WARM_UP_MS, measure_starvation};
