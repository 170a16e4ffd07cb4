//! The fair division: a weighted max-min division of a cluster over a queue tree, computed without the engine.
//!
//! Every parent divides its share among its children in proportion to their guarantees. No child gets more than it may
//! or can use; the other children divide the remainder in the same way. A queue is measured by the resource type of
//! which it uses the largest part (its dominant share). The divided type is the one that runs out first, so queues
//! differ in how much of that type comes with their dominant share.
//!
//! All amounts are parts of the partition.

/// A queue with demand.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DividedQueue {
    /// The queue's weight among its siblings.
    pub(super) guaranteed: f64,
    /// Its maximum.
    pub(super) maximum: f64,
    /// The use of the scarce type per unit of its dominant share.
    pub(super) scarce_per_unit: f64,
    pub(super) below: Below,
}

/// The children of a queue.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Below {
    Queues(Vec<DividedQueue>),
    Users(Vec<UserDemand>),
}

/// The demand of one user of a leaf, including running containers, and its limit, for the leaf's dominant type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct UserDemand {
    pub(super) wanted: f64,
    pub(super) limit: f64,
}

impl DividedQueue {
    /// The most that the queue may and can use.
    fn most(&self) -> f64 {
        let below = match &self.below {
            Below::Queues(queues) => {
                let scarce: f64 = queues.iter().map(|queue| queue.most() * queue.scarce_per_unit).sum();
                scarce / self.scarce_per_unit
            }
            Below::Users(users) => users.iter().map(|user| user.wanted.min(user.limit)).sum(),
        };
        below.min(self.maximum)
    }
}

/// The fair dominant share of each leaf, in the order of the tree. `scarce` is the available amount of the type that
/// runs out first.
pub(super) fn water_fill(queue: &DividedQueue, scarce: f64) -> Vec<f64> {
    match &queue.below {
        Below::Users(_) => vec![(scarce / queue.scarce_per_unit).min(queue.most())],
        Below::Queues(queues) => {
            let shares = divide(queues, scarce);
            let below = queues.iter().zip(shares);
            below.flat_map(|(queue, share)| water_fill(queue, share * queue.scarce_per_unit)).collect()
        }
    }
}

/// Raises the level of all queues together; a queue that can have no more stops at its amount.
fn divide(queues: &[DividedQueue], scarce: f64) -> Vec<f64> {
    let mosts: Vec<f64> = queues.iter().map(DividedQueue::most).collect();
    let stops_at = |place: usize| mosts[place] / queues[place].guaranteed;
    let mut order: Vec<usize> = (0..queues.len()).collect();
    order.sort_by(|a, b| stops_at(*a).total_cmp(&stops_at(*b)));
    let mut shares = vec![0.0; queues.len()];
    let mut left = scarce;
    let mut per_level: f64 = queues.iter().map(|queue| queue.guaranteed * queue.scarce_per_unit).sum();
    for place in order {
        let DividedQueue { guaranteed, scarce_per_unit, .. } = queues[place];
        shares[place] = mosts[place].min(left / per_level * guaranteed);
        left -= shares[place] * scarce_per_unit;
        per_level -= guaranteed * scarce_per_unit;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(guaranteed: f64, maximum: f64, users: &[[f64; 2]]) -> DividedQueue {
        let user_demand = |[wanted, limit]: &[f64; 2]| UserDemand { wanted: *wanted, limit: *limit };
        DividedQueue {
            guaranteed,
            maximum,
            scarce_per_unit: 1.0,
            below: Below::Users(users.iter().map(user_demand).collect()),
        }
    }

    fn greedy(guaranteed: f64) -> DividedQueue {
        leaf(guaranteed, 100.0, &[[1_000.0, 1_000.0]])
    }

    fn parent(guaranteed: f64, maximum: f64, queues: Vec<DividedQueue>) -> DividedQueue {
        DividedQueue { guaranteed, maximum, scarce_per_unit: 1.0, below: Below::Queues(queues) }
    }

    fn filled(queues: Vec<DividedQueue>) -> Vec<f64> {
        let shares = water_fill(&parent(100.0, 100.0, queues), 100.0);
        shares.iter().map(|share| (share * 1e6).round() / 1e6).collect()
    }

    #[test]
    fn queues_with_more_demand_share_by_guarantee() {
        assert_eq!(filled(vec![greedy(10.0), greedy(30.0)]), [25.0, 75.0]);
    }

    #[test]
    fn an_unwanted_share_goes_to_the_other_queues() {
        let modest = leaf(50.0, 100.0, &[[20.0, 100.0]]);
        assert_eq!(filled(vec![modest, greedy(10.0), greedy(30.0)]), [20.0, 20.0, 60.0]);
        let idle = leaf(50.0, 100.0, &[]);
        assert_eq!(filled(vec![idle.clone(), idle, greedy(1.0)]), [0.0, 0.0, 100.0]);
    }

    #[test]
    fn no_queue_gets_more_than_its_maximum() {
        let capped = leaf(10.0, 15.0, &[[1_000.0, 1_000.0]]);
        assert_eq!(filled(vec![capped.clone(), greedy(10.0)]), [15.0, 85.0]);
        assert_eq!(filled(vec![capped.clone(), capped]), [15.0, 15.0]);
    }

    #[test]
    fn a_user_gets_no_more_than_the_user_limit() {
        let one_greedy_user = leaf(50.0, 100.0, &[[1_000.0, 20.0], [5.0, 20.0]]);
        assert_eq!(filled(vec![one_greedy_user, greedy(50.0)]), [25.0, 75.0]);
    }

    /// A parent passes on its share, and a limit far below holds back all queues above it.
    #[test]
    fn levels_share_among_themselves() {
        let team = parent(60.0, 100.0, vec![greedy(20.0), greedy(40.0)]);
        assert_eq!(filled(vec![team, greedy(40.0)]), [20.0, 40.0, 40.0]);
        let modest = leaf(30.0, 100.0, &[[6.0, 100.0]]);
        let team = parent(60.0, 100.0, vec![modest.clone(), modest]);
        assert_eq!(filled(vec![team, greedy(20.0), greedy(20.0)]), [6.0, 6.0, 44.0, 44.0]);
        let capped = parent(60.0, 30.0, vec![greedy(20.0), greedy(40.0)]);
        assert_eq!(filled(vec![capped, greedy(40.0)]), [10.0, 20.0, 70.0]);
    }

    /// A queue that mostly needs another type gets as much of that type as the others get of the scarce one.
    #[test]
    fn shares_are_those_of_the_dominant_type() {
        let other = DividedQueue { scarce_per_unit: 0.5, ..greedy(50.0) };
        let shares = filled(vec![other, greedy(50.0)]);
        assert_eq!(shares, [66.666667, 66.666667]);
        assert!((shares[0] * 0.5 + shares[1] - 100.0).abs() < 1e-5);
    }
}
