//! Checks one model in this process.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::checker;
use super::order::{self, Place};

/// The environment variable with the name of the model whose recorded order is replayed.
pub(super) const REPLAY: &str = "APPORTION_REPLAY";

/// The scheduler of a model's steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Checker {
    /// Every order up to a bound of preemptions: builds with `--cfg apportion_loom`.
    Loom,
    /// Random orders: builds with `--cfg apportion_shuttle`.
    Shuttle,
    /// Real threads, once: all other builds.
    Once,
}

impl Checker {
    /// The checker that this program was built for.
    pub const BUILT: Self = checker::CHECKER;

    /// The name, as in options: `loom`, `shuttle` or `once`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Loom => "loom",
            Self::Shuttle => "shuttle",
            Self::Once => "once",
        }
    }
}

impl fmt::Display for Checker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A model that held in every order tried. `Display` writes it as a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Report {
    /// The model's name.
    pub model: String,
    /// The checker that chose the orders.
    pub checker: Checker,
    /// The number of orders run.
    pub orders: u64,
    /// The number of the replayed order, which had failed in an earlier run.
    pub replayed: Option<u64>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { model, checker, orders, replayed } = self;
        match (replayed, checker) {
            (Some(order), _) => write!(f, "{model}: order {order} holds under {checker}; it failed before"),
            (None, Checker::Once) => write!(f, "{model}: holds in 1 order, on real threads"),
            (None, _) if *orders == 1 => {
                write!(f, "{model}: holds in 1 order under {checker}; nothing races in this model")
            }
            (None, _) => write!(f, "{model}: holds in {orders} orders under {checker}"),
        }
    }
}

/// Runs `body` in the orders that the build's checker chooses, and prints and returns their number.
///
/// A failing order is recorded in the folder `orders` of the target folder. With `APPORTION_REPLAY=<name>` in the
/// environment only the recorded order of this model is run. `LOOM_MAX_PREEMPTIONS` bounds loom's orders (default
/// 2), and `APPORTION_SCHEDULES` is the number of shuttle's orders (default 1,000).
///
/// # Panics
/// If `body` panics in any order, or the order to replay is not recorded.
pub fn check(name: &str, body: impl Fn() + Send + Sync + 'static) -> Report {
    let place = Place::of(name);
    let is_replay =
        checker::CHECKER != Checker::Once && std::env::var(REPLAY).is_ok_and(|model| model == name);
    let failing = is_replay.then(|| place.recorded().unwrap_or_else(|error| panic!("{error}")));
    order::begin(name, &place, failing);
    let counted = move || {
        order::next();
        body();
    };
    match failing {
        Some(order) => checker::replay(&place, order, counted),
        None => checker::explore(&place, counted),
    }
    let orders = order::end();
    let replayed = failing.map(|order| order.number);
    let report = Report { model: name.to_owned(), checker: checker::CHECKER, orders, replayed };
    println!("{report}");
    report
}
