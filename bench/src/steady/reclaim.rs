//! Reclaiming: leaves without demand return to a cluster that others have filled. How soon do they have their fair
//! shares?

mod observer;

use std::ops::ControlFlow;

use apportion::config::PreemptionRounds;
use apportion_load::Setup;

use self::observer::Observer;
use super::driver::Steady;
use crate::interrupt::Interruption;

/// The interval between readings of the shares around the return, and at other times.
const LOOK_MS: u64 = 1_000;
const DISTANT_LOOK_MS: u64 = 10_000;
/// The readings are close together from this long before the return to this long after it.
const CLOSE_MS: u64 = 180_000;
const BEFORE_MS: u64 = 10_000;
/// The returning leaves have converged when they miss at most this part of their fair shares,
const TOLERANCE: f64 = 0.05;
/// for this long.
const HOLDS_MS: u64 = 60_000;

/// The run: its end, its load, and the rounds of preemption.
#[derive(Clone, Debug)]
pub struct ReclaimPlan {
    /// Containers that the applications ask for, again and again.
    pub containers: usize,
    /// Mean life of a container.
    pub mean_life_ms: u64,
    /// The leaves leave after a third of this time, and return after two thirds.
    pub end_ms: u64,
    /// The rounds; `None` without preemption.
    pub preemption: Option<PreemptionRounds>,
}

/// One run.
#[derive(Clone, Debug, Default)]
pub struct Reclaim {
    /// Virtual time at which the leaves lost their demand, and at which they had it again.
    pub leave_ms: u64,
    /// See [`leave_ms`](Self::leave_ms).
    pub return_ms: u64,
    /// Virtual time at the end.
    pub end_ms: u64,
    /// The point at which `progress` ended the run early.
    pub interrupted: Option<Interruption>,
    /// Containers placed.
    pub placed: u64,
    /// Rounds of preemption.
    pub rounds: u64,
    /// Containers preempted; each of them was asked for again, and started again from zero.
    pub preempted: u64,
    /// How long these had run, all together.
    pub lost_container_ms: u64,
    /// The part of the work since the return that was lost since then: run time multiplied by size, of the type that
    /// runs out first.
    pub lost_part: f64,
    /// Containers of the returning leaves that completed after the return.
    pub completed_of_returning: u64,
    /// Containers of the other leaves that completed after the return.
    pub completed_of_others: u64,
    /// Readings, by time.
    pub looks: Vec<Look>,
    /// The leaves that return.
    pub returning: Vec<ReturningLeaf>,
    /// The leaves from which something was taken.
    pub taken_from: Vec<TakenFrom>,
}

/// A reading. All amounts are parts of the cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Look {
    /// When it was taken.
    pub at_ms: u64,
    /// What all leaves miss of their fair shares.
    pub owed: f64,
    /// What preemption has taken since the start.
    pub taken: f64,
    /// What the returning leaves miss of their fair shares.
    pub returning_owed: f64,
    /// What the returning leaves use.
    pub returning_share: f64,
    /// The fair shares of the returning leaves. A leaf without demand has none.
    pub returning_fair: f64,
    /// What the returning leaves miss of their guarantees.
    pub returning_owed_guarantee: f64,
    /// The guarantees of the returning leaves, or their fair shares where these are less.
    pub returning_guaranteed: f64,
}

/// A leaf that returns. Its values are parts of the cluster, one for each reading.
#[derive(Clone, Debug)]
pub struct ReturningLeaf {
    /// Its path.
    pub path: String,
    /// What it misses of its fair share.
    pub owed: Vec<f64>,
    /// What it uses.
    pub share: Vec<f64>,
}

/// A leaf from which something was taken.
#[derive(Clone, Debug)]
pub struct TakenFrom {
    /// Its path.
    pub path: String,
    /// Its preempted containers.
    pub containers: u64,
    /// Their sizes, as a part of the cluster.
    pub part: f64,
}

impl Reclaim {
    /// Whether no returning leaf had a fair share after the return: the run ended before it, or asked for too little.
    #[must_use]
    pub fn has_not_returned(&self) -> bool {
        self.looks.iter().all(|look| look.at_ms < self.return_ms || look.returning_fair == 0.0)
    }

    /// The guarantees of the returning leaves, or their fair shares where these are less, at the last reading.
    #[must_use]
    pub fn guaranteed_at_end(&self) -> f64 {
        self.looks.last().map_or(0.0, |look| look.returning_guaranteed)
    }

    /// The fair shares of the returning leaves at the last reading, as a part of the cluster.
    #[must_use]
    pub fn fair_at_end(&self) -> f64 {
        self.looks.last().map_or(0.0, |look| look.returning_fair)
    }

    /// How long after the return the leaves had converged. From then on, for a minute at least, they missed no more
    /// than 5 % of their fair shares together. The surplus of one leaf does not make up for what another one
    /// misses.
    #[must_use]
    pub fn converged_ms(&self) -> Option<u64> {
        self.first_lasting_ms(|look| look.returning_owed > TOLERANCE * look.returning_fair)
    }

    /// The same for their guarantees. Preemption takes no more than these, unless it balances.
    #[must_use]
    pub fn guaranteed_ms(&self) -> Option<u64> {
        self.first_lasting_ms(|look| look.returning_owed_guarantee > TOLERANCE * look.returning_guaranteed)
    }

    /// How long after the return a minute began in which the leaves did not miss much at any time.
    fn first_lasting_ms(&self, misses_much: fn(&Look) -> bool) -> Option<u64> {
        let mut since_return = self.looks.iter().filter(|look| look.at_ms >= self.return_ms);
        let mut from_ms = since_return.next().filter(|look| !misses_much(look)).map(|look| look.at_ms);
        for look in since_return {
            if from_ms.is_some_and(|from_ms| look.at_ms >= from_ms + HOLDS_MS) {
                break;
            }
            from_ms = if misses_much(look) { None } else { from_ms.or(Some(look.at_ms)) };
        }
        let has_held = |from_ms: &u64| self.end_ms >= from_ms + HOLDS_MS;
        Some(from_ms.filter(has_held)? - self.return_ms)
    }
}

/// Lets the applications of a tree ask for more than fits. A tenth of the leaves lose their demand and return. Reads
/// the shares until the end, or until `progress` ends the run.
///
/// # Errors
/// When the engine does not start or ends early, or the audit finds a violation.
pub fn measure_reclaim(
    setup: &Setup,
    plan: &ReclaimPlan,
    progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> anyhow::Result<Reclaim> {
    let applications = setup.applications();
    let mut config = setup.config();
    config.preemption.clone_from(&plan.preemption);
    let root = config.root.clone();
    let (leave_ms, return_ms) = (plan.end_ms / 3, plan.end_ms * 2 / 3);
    let mut observer = Observer::new(setup, &applications, return_ms);
    let mut steady = Steady::start(setup, config, plan.containers, plan.mean_life_ms, &mut observer)?;
    let mut interrupted = None;
    observer.look(&steady, &root);
    while steady.now_ms < plan.end_ms {
        let is_close = steady.now_ms + BEFORE_MS >= return_ms && steady.now_ms < return_ms + CLOSE_MS;
        let step_ms = if is_close { LOOK_MS } else { DISTANT_LOOK_MS };
        let stops = [leave_ms, return_ms, return_ms.saturating_sub(BEFORE_MS), plan.end_ms];
        let stops = stops.into_iter().filter(|stop_ms| *stop_ms > steady.now_ms);
        let until_ms = stops.chain([steady.now_ms + step_ms]).min().unwrap_or(plan.end_ms);
        if steady.run_until(until_ms, &mut observer, progress)?.is_break() {
            interrupted = Some(Interruption::Virtual(steady.now_ms));
            break;
        }
        // Time passes in ticks, so a stop may be passed.
        if !observer.has_left && steady.now_ms >= leave_ms {
            let returning = observer.is_returning.clone();
            observer.has_left = true;
            steady.leave(|application| returning[application % returning.len()], &mut observer)?;
        }
        if !observer.has_returned && steady.now_ms >= return_ms {
            observer.has_returned = true;
            steady.come_back(&mut observer)?;
        }
        observer.look(&steady, &root);
    }
    steady.cluster.expect_sound()?;
    let stats = steady.cluster.engine.stats();
    Ok(Reclaim {
        leave_ms,
        return_ms,
        end_ms: steady.now_ms,
        interrupted,
        placed: stats.allocated,
        rounds: stats.preemption_rounds,
        ..observer.finish(&steady)
    })
}

#[cfg(test)]
mod tests;
