//! Queues whose guarantees exceed those of their parent.

use apportion::ResourceTypes;
use apportion::config::Share;

use super::tree::{Row, Tree};

/// A queue that cannot provide the guarantees below it.
#[derive(Debug)]
pub(super) struct Scaled<'t> {
    pub(super) row: &'t Row<'t>,
    pub(super) partition: &'t str,
    pub(super) resource: &'t str,
    /// The configured guarantees of its children, in total.
    pub(super) guaranteed: i64,
    /// Its own guarantee in the cluster.
    pub(super) has: i64,
    /// The children's guarantees in the cluster, in percent of the configured ones.
    pub(super) percent: f64,
}

impl Tree<'_> {
    /// All such queues by partition and type; none without a cluster.
    pub(super) fn scaled<'t>(&'t self, types: &'t ResourceTypes) -> Vec<Scaled<'t>> {
        let mut scaled = Vec::new();
        let rows = self.rows.iter().enumerate().filter(|_| self.whole.is_none());
        for (number, row) in rows {
            let below = self.rows[number + 1..].iter().take_while(|below| below.depth > row.depth);
            let children: Vec<&Row<'_>> = below.filter(|below| below.depth == row.depth + 1).collect();
            for place in 0..row.effective.len() {
                let of_type = |index| scaled_at(row, &children, place, index, types);
                scaled.extend((0..types.len()).filter_map(of_type));
            }
        }
        scaled
    }
}

/// A queue in its partition at `place`, for one type, if its guarantees are scaled down.
fn scaled_at<'t>(
    row: &'t Row<'t>,
    children: &[&Row<'_>],
    place: usize,
    index: usize,
    types: &'t ResourceTypes,
) -> Option<Scaled<'t>> {
    let (partition, own, _) = row.effective.get(place)?;
    let (mut guaranteed, mut effective) = (0_i64, 0_i64);
    for child in children {
        if let Share::Amount(amount) = child.queue.capacity_in(partition).share(index) {
            guaranteed = guaranteed.saturating_add(amount);
            effective = effective.saturating_add(child.effective.get(place)?.1[index]);
        }
    }
    let percent = (1_000.0 * effective as f64 / guaranteed as f64).round() / 10.0;
    let resource = &types.names()[index];
    let scaled = Scaled { row, partition, resource, guaranteed, has: own[index], percent };
    (guaranteed > own[index] && effective < guaranteed).then_some(scaled)
}
