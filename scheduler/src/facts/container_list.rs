//! The containers of an application.

use super::ask::Container;
use super::table::Table;
use crate::ids::ContainerId;

/// Running containers, and for a while ended ones: an identifier that is no longer valid counts as gone.
///
/// The end of a container changes a number only. Its entry in the list, which is hardly ever in a cache, is not
/// touched.
#[derive(Clone, Debug, Default)]
pub(crate) struct ContainerList {
    listed: Vec<ContainerId>,
    running: usize,
}

/// The list may have so many entries for each running container, and some more. Compacting looks each of them up. The
/// longer the list, the less often that is.
const LISTED_PER_RUNNING_MAX: usize = 4;
const LISTED_MORE_MAX: usize = 32;

impl ContainerList {
    /// The number of running containers.
    pub(crate) fn running(&self) -> usize {
        self.running
    }

    /// The running containers in the order in which they were placed. A replay relies on this order: in it the
    /// containers end with their application and give back their identifiers.
    pub(crate) fn iter(
        &self,
        containers: &Table<ContainerId, Container>,
    ) -> impl DoubleEndedIterator<Item = ContainerId> {
        self.listed.iter().copied().filter(|id| containers.get(*id).is_some())
    }

    pub(super) fn add(&mut self, id: ContainerId) {
        self.listed.push(id);
        self.running += 1;
    }

    /// Counts the end of a container, which the caller has removed from the table.
    pub(super) fn record_end(&mut self, containers: &Table<ContainerId, Container>) {
        self.running -= 1;
        if self.listed.len() > LISTED_PER_RUNNING_MAX * self.running + LISTED_MORE_MAX {
            self.listed.retain(|id| containers.get(*id).is_some());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{ApplicationId, AskId, NodeId, ShapeId, SlotId};
    use crate::resource::DeviceMask;

    #[test]
    fn ended_containers_are_neither_seen_nor_kept_for_long() {
        let container = Container {
            application: ApplicationId::new(0, 0),
            ask: AskId::new(0, 0),
            node: NodeId::new(0, 0),
            shape: ShapeId(0),
            devices: DeviceMask::default(),
            priority: 0,
            allocation_request_id: 0,
            is_recovered: false,
        };
        for staying in [0, 10] {
            let (mut list, mut table) = (ContainerList::default(), Table::new());
            let start = |list: &mut ContainerList, table: &mut Table<_, _>, slot, generation| {
                let id = ContainerId::new(slot, generation);
                table.insert(id, container.clone());
                list.add(id);
                id
            };
            let stayed: Vec<_> = (1..=staying).map(|slot| start(&mut list, &mut table, slot, 0)).collect();
            for generation in 0..1_000 {
                let id = start(&mut list, &mut table, 0, generation);
                assert!(list.iter(&table).eq(stayed.iter().copied().chain([id])));
                table.remove(id);
                list.record_end(&table);
                assert_eq!(list.running(), stayed.len());
                assert!(list.iter(&table).eq(stayed.iter().copied()));
                assert!(list.listed.len() <= 4 * stayed.len() + 32, "{} are listed", list.listed.len());
            }
        }
    }
}
