use super::{Checkout, Leases, NodeShards};
use crate::config::NodeOrderKind;
use crate::ids::{NodeId, PartitionId, SetId, SlotId};

/// Both partitions want every set. Starts count through the sets of the first one, then of the second, and begin
/// anew behind the last.
#[test]
fn the_first_set_to_be_taken_is_the_start_th_of_all() {
    for (start, partition, number) in [(0, 0, 0), (3, 0, 3), (63, 0, 63), (64, 1, 0), (69, 1, 5), (130, 0, 2)]
    {
        let leases = Leases::new(2, NodeOrderKind::First);
        [0, 1].iter().for_each(|number| leases.publish_wanted(PartitionId(*number), u64::MAX));
        let Checkout::Taken(set) = leases.take_wanted(start) else { panic!("a set is wanted") };
        assert_eq!(set.id(), SetId::new(PartitionId(partition), number), "from {start}");
    }
}

#[test]
fn the_latest_gains_are_remembered_and_the_others_are_known_to_be_forgotten() {
    let mut shards = NodeShards::new(1, 1);
    let mut gain = |version: u64| {
        shards.record_gain(NodeId::new(version as u32, 0), PartitionId::DEFAULT, version);
        let counted = |seen| shards.gained_since(PartitionId::DEFAULT, seen).map(Iterator::count);
        [0, 1].map(counted)
    };
    assert_eq!((1..=1_024).map(&mut gain).last(), Some([Some(1_024), Some(1_023)]));
    assert_eq!(gain(1_025), [None, Some(1_024)], "the first one is forgotten");
}
