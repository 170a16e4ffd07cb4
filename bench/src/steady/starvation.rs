//! Starvation: how long large containers wait in a full cluster where small ones take every gap.

use std::ops::ControlFlow;

use apportion::Resources;
use apportion::config::ReservationPolicy;
use apportion_load::Setup;
use hdrhistogram::Histogram;

use super::driver::Steady;
use super::heads::Heads;
use crate::interrupt::Interruption;

/// Mean life of a container, as in W2 of `docs/workloads.md`.
pub const MEAN_LIFE_MS: u64 = 120_000;
/// Nothing is recorded before this virtual time: two mean lives.
pub const WARM_UP_MS: u64 = 2 * MEAN_LIFE_MS;
/// The interval between readings of the use.
const LOOK_MS: u64 = 1_000;

/// The waiting times of large containers in one run.
#[derive(Clone, Debug)]
pub struct Starvation {
    /// Whether asks that fit nowhere reserved nodes.
    pub reservations: bool,
    /// Virtual time at the end.
    pub end_ms: u64,
    /// The point at which `progress` ended the run early.
    pub interrupted: Option<Interruption>,
    /// Containers placed.
    pub placed: u64,
    /// Virtual time from being first in the queue's order to placement. It covers large containers that got no room at
    /// the time at which they came first.
    pub first_to_placed_ms: Histogram<u64>,
    /// How long they were first themselves. Asks that still wait count with their time so far.
    pub at_head_ms: Histogram<u64>,
    /// Large containers that were placed without waiting at the head of their queue.
    pub placed_at_once: u64,
    /// Large containers that had been first in their queue and were not placed at the end.
    pub still_waiting: u64,
    /// How long ago the earliest of those was first.
    pub longest_still_waiting_ms: u64,
    /// Mean part of the vcores in use; `None` before [`WARM_UP_MS`].
    pub used_part: Option<f64>,
    /// Mean part of the vcores that was free on reserved nodes; `None` before [`WARM_UP_MS`].
    pub kept_free_part: Option<f64>,
}

/// Lets applications ask for far more than fits, and again for each container that ends. Follows the
/// large asks until virtual time `end_ms`, or until `progress` ends the run.
///
/// # Errors
/// When the engine does not start or ends early, or the audit finds a violation.
pub fn measure_starvation(
    setup: &Setup,
    containers: usize,
    reservations: bool,
    end_ms: u64,
    progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> anyhow::Result<Starvation> {
    let mut config = setup.config();
    if !reservations {
        config.reservations = ReservationPolicy { delay_ms: None, ..config.reservations };
    }
    let mut heads = Heads::new(&setup.applications(), WARM_UP_MS)?;
    let mut steady = Steady::start(setup, config, containers, MEAN_LIFE_MS, &mut heads)?;
    let (mut looks, mut used, mut kept_free) = (0.0, 0.0, 0.0);
    let mut interrupted = None;
    while steady.now_ms < end_ms {
        if steady.run_until(steady.now_ms + LOOK_MS, &mut heads, progress)?.is_break() {
            interrupted = Some(Interruption::Virtual(steady.now_ms));
            break;
        }
        if steady.now_ms >= WARM_UP_MS {
            let now = Look::at(&steady);
            looks += 1.0;
            used += now.used_part;
            kept_free += now.kept_free_part;
        }
    }
    steady.cluster.expect_sound()?;
    let (still_waiting, longest_still_waiting_ms) = heads.end(steady.now_ms);
    Ok(Starvation {
        reservations,
        end_ms: steady.now_ms,
        interrupted,
        placed: steady.cluster.engine.stats().allocated,
        still_waiting,
        longest_still_waiting_ms,
        first_to_placed_ms: heads.first_to_placed_ms,
        at_head_ms: heads.at_head_ms,
        placed_at_once: heads.placed_at_once,
        used_part: (looks > 0.0).then(|| used / looks),
        kept_free_part: (looks > 0.0).then(|| kept_free / looks),
    })
}

/// A reading of the use, as parts of the cluster's vcores.
struct Look {
    used_part: f64,
    kept_free_part: f64,
}

impl Look {
    fn at(steady: &Steady) -> Self {
        steady.cluster.engine.read(|view| {
            let [mut all, mut used, mut kept_free] = [Resources::ZERO; 3];
            for node in view.nodes() {
                all += node.capacity();
                used += node.allocated();
                if node.is_reserved() {
                    kept_free += node.free();
                }
            }
            let part = |amount: Resources| amount[1] as f64 / all[1] as f64;
            Self { used_part: part(used), kept_free_part: part(kept_free) }
        })
    }
}

#[cfg(test)]
mod tests {
    use apportion::Mode;

    use super::*;
    use apportion_load::{ClusterShape, Profile};

    #[test]
    fn large_containers_wait_and_are_counted_once() {
        let shape = ClusterShape { nodes: 50, leaves: 4, applications: 40 };
        let containers = 8_000;
        let setup = Setup { profile: Profile::backlog_s(containers), ..Setup::new(shape, Mode::Serial) };
        let measure = |reservations| {
            measure_starvation(&setup, containers, reservations, 3 * MEAN_LIFE_MS, &mut |_| {
                ControlFlow::Continue(())
            })
            .unwrap()
        };
        let (with, without) = (measure(true), measure(false));
        assert!(with.used_part > Some(0.9) && without.used_part > Some(0.99), "{with:?} {without:?}");
        assert!(with.kept_free_part > Some(0.0) && without.kept_free_part == Some(0.0));
        for one in [&with, &without] {
            let waited = one.first_to_placed_ms.len() + one.still_waiting;
            assert!(waited > 0, "large ones wait");
            assert_eq!(waited, one.at_head_ms.len(), "each is counted once");
        }
    }
}
