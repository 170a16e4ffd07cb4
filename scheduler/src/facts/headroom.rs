//! Headroom: the resources that an application may still get.

use super::{Application, Facts, PartitionShare};
use crate::ids::{LeafUserId, PartitionId};
use crate::resource::{RESOURCE_TYPES_MAX, Resources};

impl Facts {
    /// The resources that the user may still get below its user limit; negative where it exceeds the limit.
    pub(crate) fn user_headroom(&self, id: LeafUserId, partition: PartitionId) -> Resources {
        let user = self.user(id);
        let leaf_use = || self.leaf_use(user.leaf, partition, Resources::ZERO);
        self.user_limit(id, PartitionShare::own(partition), &Resources::ZERO, leaf_use)
            - user.used[partition.index()]
    }

    /// The smallest headroom of the application's user, its limit usages and the queues above it, in whole steps; zero
    /// where a limit is exceeded.
    pub(crate) fn headroom(&self, application: &Application, partition: PartitionId) -> Resources {
        let of_user = self.user_headroom(application.user, partition);
        let limit_usages = self.user(application.user).limit_usages.iter().map(|id| self.limit_usage(*id));
        let of_user = limit_usages.fold(of_user, |left, limit_usage| {
            left.min(&(limit_usage.maximum() - limit_usage.used[partition.index()]))
        });
        let path = self.queue(application.leaf).chain.iter().map(|queue| self.queue(*queue).quota(partition));
        let left = path.fold(of_user, |left, quota| left.min(&(quota.maximum - quota.used)));
        let steps = self.config.allocation.minimum;
        Resources::new(&std::array::from_fn::<_, RESOURCE_TYPES_MAX, _>(|i| {
            let left = left[i].max(0);
            left - left % steps[i].max(1)
        }))
    }
}
