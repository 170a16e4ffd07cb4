//! How many nodes an ask may reserve.
//!
//! By default it reserves no more nodes than it has outstanding units. In the compatible mode, an ask may reserve more
//! nodes after enough passes over its reserved nodes without success, as in YARN.

use super::{Ask, Facts};
use crate::config::AllocationSizes;
use crate::ids::{AskId, NodeId, PartitionId, ReservationId};
use crate::resource::{RESOURCE_TYPES_MAX, Resources, SHARE_ONE, dominant_share};

impl Facts {
    /// The most nodes of the partition that may be reserved at a time.
    pub(crate) fn reserved_nodes_max(&self, partition: PartitionId) -> usize {
        let nodes = self.tree.partitions[partition.index()].nodes as u64;
        let part = u64::from(self.config.reservations.nodes.millionths());
        usize::try_from(nodes * part / 1_000_000).unwrap_or(usize::MAX).max(1)
    }

    /// The most nodes that the ask may reserve in all, with this many reservations and re-reservations.
    pub(crate) fn reservations_max(
        &self,
        ask: &Ask,
        outstanding: u32,
        reservations: usize,
        re_reservations: u32,
    ) -> u64 {
        let may_have_extra = re_reservations > 0 && reservations > 0 && outstanding > 0;
        u64::from(outstanding)
            + if may_have_extra { self.extra_reservations(ask, reservations, re_reservations) } else { 0 }
    }

    /// Whether the ask may reserve one more node, even if it has a node for each outstanding unit.
    #[cold]
    pub(crate) fn may_reserve_more(&self, ask: &Ask) -> bool {
        let reservations = ask.reservations().len();
        (reservations as u64)
            < self.reservations_max(ask, ask.outstanding(), reservations, ask.extras().re_reservations)
    }

    /// Whether the ask may get a container or reserve a node, and keep all of its reservations.
    pub(crate) fn has_unreserved_unit(&self, ask: &Ask, in_flight: u32) -> bool {
        let is_available = in_flight as usize + ask.reservations().len() < ask.outstanding() as usize;
        // One at a time: a further reservation resets the count.
        is_available || ask.extras().re_reservations > 0 && in_flight == 0 && self.may_reserve_more(ask)
    }

    /// The number of nodes that it may reserve beyond its outstanding units. Zero except in the compatible mode.
    #[cold]
    fn extra_reservations(&self, ask: &Ask, reservations: usize, re_reservations: u32) -> u64 {
        let size = &self.shapes.at(ask.shape).need.resources;
        let counts = u64::from(re_reservations) * (SHARE_ONE - bias(&self.config.allocation, size));
        counts / (SHARE_ONE * reservations as u64)
    }

    /// The number of reservations beyond the outstanding units, which end. In the compatible mode all stay until no
    /// unit is outstanding.
    pub(crate) fn surplus_reservations(&self, outstanding: u32, reservations: usize) -> usize {
        if outstanding > 0 && self.config.semantics.keeps_surplus_reservations() {
            return 0;
        }
        reservations.saturating_sub(outstanding as usize)
    }

    /// Whether re-reservations count.
    pub(crate) fn counts_re_reservations(&self) -> bool {
        self.config.semantics.counts_re_reservations()
    }

    /// The reservation of the ask on the node.
    pub(crate) fn reservation_of(&self, ask: AskId, node: NodeId) -> Option<ReservationId> {
        let reservation = self.nodes.get(node)?.reservation?;
        (self.reservations.at(reservation).ask == ask).then_some(reservation)
    }

    /// Counts a pass without success over a reserved node of the ask. The count is reset when the ask reserves
    /// another node or a reservation ends.
    pub(crate) fn reserve_again(&mut self, ask: AskId) {
        let re_reservations = &mut self.asks.at_mut(ask).extras_mut().re_reservations;
        *re_reservations = re_reservations.saturating_add(1);
    }
}

/// The bias against large containers: their share of the maximum size, at most the share that the minimum size leaves.
/// Types without a maximum size do not count.
fn bias(allocation: &AllocationSizes, size: &Resources) -> u64 {
    let (mut part, mut spare, mut largest) = (Resources::ZERO, Resources::ZERO, Resources::ZERO);
    for i in 0..RESOURCE_TYPES_MAX {
        if let Some(maximum) = allocation.maximum[i] {
            part.set(i, size[i]);
            spare.set(i, maximum - allocation.minimum[i]);
            largest.set(i, maximum);
        }
    }
    dominant_share(&part, &largest).min(dominant_share(&spare, &largest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_containers_are_biased_against_but_never_wholly() {
        let mut allocation = AllocationSizes { minimum: Resources::new(&[2]), ..AllocationSizes::default() };
        assert_eq!(bias(&allocation, &Resources::new(&[8])), 0, "no largest one");
        allocation.maximum[0] = Some(16);
        let biases = [2, 4, 14, 16].map(|size| bias(&allocation, &Resources::new(&[size, 99])));
        assert_eq!(biases, [1, 2, 7, 7].map(|eighths| SHARE_ONE / 8 * eighths));
    }
}
