//! The varied parameters.

use std::fmt;
use std::sync::Arc;

use apportion::config::{ApplicationOrdering, EngineConfig, NodeOrderKind, QueueConfig};

use super::point::SweepPoint;

/// The varied policies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The name of the queues: one of [`Subject::variants`](super::Subject::variants).
    pub queues: Option<Arc<str>>,
    /// Which of the fitting nodes comes first.
    pub node_order: NodeOrderKind,
    /// The order in which every leaf serves its applications; `None`: as the queues are configured.
    pub application_order: Option<ApplicationOrdering>,
    /// Whether the engine preempts; `None`: as configured.
    pub preemption: Option<Preemption>,
}

/// Whether the engine makes rounds of preemption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preemption {
    /// As configured, or with YARN's defaults if the configuration has no preemption.
    On,
    /// Never.
    Off,
}

impl Preemption {
    /// Sets preemption in a configuration.
    pub fn apply_to(self, config: &mut EngineConfig) {
        match self {
            Self::On => {
                config.preemption.get_or_insert_default();
            }
            Self::Off => config.preemption = None,
        }
    }
}

/// One simulation of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The policies.
    pub policy: Policy,
    /// The factor on the number of nodes and on the frequency of arrivals.
    pub size: f64,
    /// The additional divisor of submission times.
    pub compress: f64,
    /// The seed of all random values.
    pub seed: u64,
}

/// Lists of parameters; every combination is a case.
#[derive(Clone, Debug)]
pub struct Grid {
    /// See [`Case::policy`].
    pub policies: Vec<Policy>,
    /// See [`Case::size`].
    pub sizes: Vec<f64>,
    /// See [`Case::compress`].
    pub compressions: Vec<f64>,
    /// See [`Case::seed`].
    pub seeds: Vec<u64>,
}

impl Policy {
    /// The configuration with this policy applied.
    #[must_use]
    pub fn applied_to(&self, mut config: EngineConfig) -> EngineConfig {
        config.node_order = self.node_order;
        if let Some(ordering) = self.application_order {
            set_ordering(&mut config.root, ordering);
        }
        if let Some(preemption) = self.preemption {
            preemption.apply_to(&mut config);
        }
        config
    }

    /// The name of the node order, as in the option.
    #[must_use]
    pub fn node_order_name(&self) -> &'static str {
        match self.node_order {
            NodeOrderKind::Spread => "spread",
            NodeOrderKind::Pack => "pack",
            NodeOrderKind::First => "first",
        }
    }

    /// The name of the application order, if one is given.
    #[must_use]
    pub fn application_order_name(&self) -> Option<&'static str> {
        self.application_order.map(|order| match order {
            ApplicationOrdering::Fifo => "fifo",
            ApplicationOrdering::Fair => "fair",
            ApplicationOrdering::FairBySize => "fair_by_size",
        })
    }
}

impl Policy {
    /// Whether the engine preempts, as in the option, if it is given.
    #[must_use]
    pub fn preemption_name(&self) -> Option<&'static str> {
        self.preemption.map(|preemption| match preemption {
            Preemption::On => "on",
            Preemption::Off => "off",
        })
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let preemption = self.preemption.map(|preemption| match preemption {
            Preemption::On => "preemption",
            Preemption::Off => "no preemption",
        });
        let orders = [Some(self.node_order_name()), self.application_order_name()];
        let all = [self.queues.as_deref()].into_iter().chain(orders).chain([preemption]);
        f.write_str(&all.flatten().collect::<Vec<_>>().join(", "))
    }
}

fn set_ordering(queue: &mut QueueConfig, ordering: ApplicationOrdering) {
    queue.ordering = ordering;
    queue.children.iter_mut().for_each(|child| set_ordering(child, ordering));
}

impl Grid {
    /// All cases; cases that differ only in the seed are adjacent.
    #[must_use]
    pub fn cases(&self) -> Vec<Case> {
        let mut cases = Vec::new();
        for policy in &self.policies {
            for &size in &self.sizes {
                for &compress in &self.compressions {
                    let case = |&seed: &u64| Case { policy: policy.clone(), size, compress, seed };
                    cases.extend(self.seeds.iter().map(case));
                }
            }
        }
        cases
    }

    /// The points without a finished simulation, named by their varied settings.
    #[must_use]
    pub fn none_ended(&self, ended: &[SweepPoint]) -> Vec<String> {
        let is_of = |case: &Case, point: &SweepPoint| {
            (&case.policy, case.size, case.compress) == (&point.policy, point.size, point.compress)
        };
        let first_of_point = self.cases().into_iter().step_by(self.seeds.len().max(1));
        let missing = first_of_point.filter(|case| !ended.iter().any(|point| is_of(case, point)));
        missing.map(|case| self.name(&case)).collect()
    }

    fn name(&self, case: &Case) -> String {
        let parts = [
            (self.policies.len(), case.policy.to_string()),
            (self.sizes.len(), format!("size {}", case.size)),
            (self.compressions.len(), format!("compress {}", case.compress)),
        ];
        let varied = parts.into_iter().filter(|(values, _)| *values > 1).map(|(_, name)| name);
        varied.collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use apportion::config::PreemptionRounds;

    use super::*;

    #[test]
    fn points_without_a_result_are_named_by_their_varied_settings() {
        let policy = Policy {
            queues: None,
            node_order: NodeOrderKind::Pack,
            application_order: None,
            preemption: None,
        };
        let sizes = vec![0.5, 1.0, 4.0];
        let mut grid =
            Grid { policies: vec![policy.clone()], sizes, compressions: vec![1.0], seeds: vec![1, 2] };
        let ended = [0.5, 1.0].map(|size| SweepPoint {
            policy: policy.clone(),
            size,
            compress: 1.0,
            figures: Vec::new(),
        });
        assert_eq!(grid.none_ended(&ended), ["size 4"]);
        grid.policies.push(Policy { node_order: NodeOrderKind::Spread, ..policy });
        grid.sizes = vec![0.5];
        assert_eq!(grid.none_ended(&ended), ["spread"]);
    }

    #[test]
    fn a_policy_reaches_every_leaf() {
        let config = EngineConfig::new(
            apportion::ResourceTypes::memory_and_vcores(),
            QueueConfig::root([QueueConfig::single_leaf().children.remove(0)]),
        );
        let policy = Policy {
            queues: None,
            node_order: NodeOrderKind::Pack,
            application_order: Some(ApplicationOrdering::Fair),
            preemption: None,
        };
        let applied = policy.applied_to(config);
        assert_eq!(applied.node_order, NodeOrderKind::Pack);
        assert_eq!(applied.root.children[0].ordering, ApplicationOrdering::Fair);
        assert_eq!(policy.to_string(), "pack, fair");
        let policy = Policy { queues: Some("a.xml".into()), preemption: Some(Preemption::On), ..policy };
        assert_eq!(policy.to_string(), "a.xml, pack, fair, preemption");
        assert_eq!(policy.applied_to(applied).preemption, Some(PreemptionRounds::default()));
    }
}
