//! Queue trees, and the owners of applications.

use apportion::ApplicationSpec;
use apportion::config::{ApplicationOrdering, Capacity, Factor, Maximum, Percent, QueueConfig};
use rand::SeedableRng;
use rand_distr::{Distribution, Zipf};
use rand_pcg::Pcg64Mcg;

use crate::cluster::ClusterShape;

pub(crate) const USERS_PER_LEAF: usize = 10;
const ORGANISATIONS: usize = 4;
/// A leaf's maximum, in percent of its organisation: in force, but above the needs of any run.
const MAXIMUM_PERCENT: u32 = 90;
/// Queues below each queue of the wide tree.
const BRANCHES: usize = 10;
/// Zipf exponents of the weights of siblings in the wide tree, and of a leaf's users.
const SIBLINGS_EXPONENT: f64 = 1.1;
const USERS_EXPONENT: f64 = 0.8;
/// The maximum of a queue in the wide tree, as a multiple of its part of its parent.
const MAXIMUM_TIMES: f64 = 4.0;

/// The shape of the queue tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tree {
    /// Four organisations with leaves of equal weight; the applications of ten users in each leaf take turns.
    Organisations,
    /// W3 of `docs/workloads.md`: three levels of ten queues each. Siblings' weights and users follow Zipf's law, the
    /// maximum is four times the guarantee, and every second leaf is fair.
    Wide,
}

impl Tree {
    pub(crate) fn root(self, leaves: usize) -> QueueConfig {
        match self {
            Self::Organisations => organisations(leaves),
            Self::Wide => QueueConfig::root(siblings(leaves.div_ceil(BRANCHES * BRANCHES), |first| {
                siblings(below(leaves, BRANCHES, first), |second| {
                    siblings(below(leaves, 1, first * BRANCHES + second), |_| Vec::new())
                })
            })),
        }
    }

    /// The full path of the leaf with this number.
    pub(crate) fn leaf_path(self, leaf: usize, leaves: usize) -> String {
        match self {
            Self::Organisations => {
                format!("root.organisation-{}.leaf-{leaf}", leaf % ORGANISATIONS.min(leaves))
            }
            Self::Wide => format!(
                "root.q{}.q{}.q{}",
                leaf / (BRANCHES * BRANCHES),
                leaf / BRANCHES % BRANCHES,
                leaf % BRANCHES
            ),
        }
    }

    /// This many applications, evenly over the leaves.
    pub(crate) fn applications(
        self,
        shape: ClusterShape,
        priorities: u32,
        seed: u64,
    ) -> Vec<ApplicationSpec> {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let by_rank = Zipf::new(USERS_PER_LEAF as f64, USERS_EXPONENT).expect("both are positive");
        let application = |number: usize| {
            let user = match self {
                Self::Organisations => number / shape.leaves % USERS_PER_LEAF,
                Self::Wide => by_rank.sample(&mut random) as usize - 1,
            };
            let path = self.leaf_path(number % shape.leaves, shape.leaves);
            ApplicationSpec::new(format!("application-{number}"), path, format!("user-{user}"))
                .with_priority(number as u32 % priorities)
        };
        (0..shape.applications).map(application).collect()
    }
}

/// Queues of equal weight with maxima and user limits.
fn organisations(leaves: usize) -> QueueConfig {
    let organisations = ORGANISATIONS.min(leaves);
    let leaves_of = |organisation: usize| {
        (organisation..leaves).step_by(organisations).map(|leaf| {
            QueueConfig::leaf(format!("leaf-{leaf}"), Capacity::Weight(Factor::ONE))
                .with_maximum(Maximum::Percent(Percent::whole(MAXIMUM_PERCENT)))
                .with_user_limit_factor(Some(Factor::ONE))
        })
    };
    let organisation = |number: usize| {
        QueueConfig::leaf(format!("organisation-{number}"), Capacity::Weight(Factor::ONE))
            .with_children(leaves_of(number))
    };
    QueueConfig::root((0..organisations).map(organisation))
}

/// Number of children of the queue with this number on its level, if each child covers `leaves_each` leaves.
fn below(leaves: usize, leaves_each: usize, number: usize) -> usize {
    (leaves - number * BRANCHES * leaves_each).div_ceil(leaves_each).min(BRANCHES)
}

fn siblings(count: usize, mut children: impl FnMut(usize) -> Vec<QueueConfig>) -> Vec<QueueConfig> {
    let weight = |place: usize| (1e3 / (place as f64 + 1.0).powf(SIBLINGS_EXPONENT)).round();
    let sum: f64 = (0..count).map(weight).sum();
    let queue = |place: usize| {
        let maximum = (weight(place) / sum * MAXIMUM_TIMES * 100.0).ceil().min(100.0);
        let ordering =
            if place.is_multiple_of(2) { ApplicationOrdering::Fifo } else { ApplicationOrdering::Fair };
        QueueConfig::leaf(format!("q{place}"), Capacity::Weight(Factor::whole(weight(place) as u64)))
            .with_maximum(Maximum::Percent(Percent::whole(maximum as u32)))
            .with_ordering(ordering)
            .with_user_limit_factor(Some(Factor::ONE))
            .with_children(children(place))
    };
    (0..count).map(queue).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(queue: &QueueConfig, path: &str, found: &mut Vec<String>) {
        if queue.children.is_empty() {
            found.push(path.to_owned());
        }
        for child in &queue.children {
            paths(child, &format!("{path}.{}", child.name), found);
        }
    }

    #[test]
    fn leaves_are_where_their_numbers_say() {
        for tree in [Tree::Organisations, Tree::Wide] {
            for leaves in [1, 3, 10, 11, 100, 234, 1_000] {
                let (root, mut found) = (tree.root(leaves), Vec::new());
                paths(&root, "root", &mut found);
                let mut said: Vec<String> = (0..leaves).map(|leaf| tree.leaf_path(leaf, leaves)).collect();
                found.sort();
                said.sort();
                assert_eq!(found, said);
            }
        }
    }

    #[test]
    fn the_first_users_of_a_wide_leaf_have_most_applications() {
        let shape = ClusterShape { nodes: 10, leaves: 1, applications: 10_000 };
        let specs = Tree::Wide.applications(shape, 3, 1);
        let of = |user: &str| specs.iter().filter(|spec| spec.user == user).count();
        assert!(of("user-0") > of("user-3") && of("user-3") > of("user-9") && of("user-9") > 0);
    }
}
