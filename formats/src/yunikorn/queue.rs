//! Turns YuniKorn's queues into the engine's.

use apportion::config::{AutoCreation, Capacity, Factor, Maximum, Percent, QueueConfig};
use apportion::{ResourceTypes, Resources};

use super::entry::Entry;
use super::property::{self, Sorting};
use super::quantity::{self, Quantities};
use super::tree::Queue;
use crate::{ConfigFileError, NotCarriedOver};

const NO_CREATION: &str = "no placement rule creates queues; a queue without queues below it is a leaf";
/// How deep placement rules lead below the queues of a file: for example namespace or group, then user.
const DEPTH_MAX: u32 = 3;
/// YuniKorn has no limit.
const QUEUES_MAX: u32 = 10_000;
/// YuniKorn's interval for removing empty queues.
const EXPIRY_MS: u64 = 10_000;

/// Makes the engine's queues.
#[derive(Debug)]
pub(super) struct Queues<'r> {
    pub(super) types: &'r ResourceTypes,
    pub(super) report: &'r mut Vec<NotCarriedOver>,
    /// Whether placement rules create queues.
    pub(super) creates: bool,
}

impl Queues<'_> {
    /// Makes the tree. A queue's guarantee is an amount if it or any queue below it has one, because a guarantee
    /// below must be guaranteed above. The other queues share the rest.
    pub(super) fn root(&mut self, root: &Queue<'_>) -> Result<QueueConfig, ConfigFileError> {
        let plain = AutoCreation::default().leaf;
        let mut config = self.queue(root, Sorting::default(), &plain)?.0;
        (config.capacity, config.maximum) = (Capacity::Percent(Percent::ALL), Maximum::Percent(Percent::ALL));
        Ok(config)
    }

    /// Makes the queue; returns it with its guarantee, which covers the queues below it.
    fn queue<'n>(
        &mut self,
        queue: &Queue<'n>,
        inherited: Sorting,
        template: &QueueConfig,
    ) -> Result<(QueueConfig, Quantities<'n>), ConfigFileError> {
        let sorting = property::read(queue.entry.get("properties").as_ref(), inherited, self.report)?;
        let template = match queue.entry.get("childtemplate") {
            Some(own) => self.template(&own, sorting)?,
            None => template.clone().with_ordering(sorting.ordering),
        };
        let is_parent = self.is_parent(queue)?;
        let (mut children, mut sum) = (Vec::new(), Quantities::default());
        for child in &queue.children {
            let (child, guaranteed) = self.queue(child, sorting, &template)?;
            children.push(child);
            sum.add(&guaranteed);
        }
        let quota = |key| queue.entry.get("resources").and_then(|resources| resources.get(key));
        let guaranteed = self.counted(quota("guaranteed").as_ref(), &queue.guaranteed)?.or(&sum);
        let max = self.counted(quota("max").as_ref(), &queue.max)?;
        let (offset, is_fence) = property::priority(queue.entry.get("properties").as_ref())?;
        let mut config = QueueConfig::leaf(&queue.name, capacity_of(&guaranteed, self.types))
            .with_maximum(maximum_of(&max, self.types));
        (config.priority_offset, config.priority_fence) = (offset, is_fence);
        if self.creates && is_parent {
            let parent = AutoCreation::default().parent.with_child_ordering(sorting.child_ordering());
            config = config.with_auto_creation(AutoCreation {
                depth_max: DEPTH_MAX,
                queues_max: QUEUES_MAX,
                expiry_ms: Some(EXPIRY_MS),
                leaf: template,
                parent,
            });
        } else if children.is_empty() {
            config = config.with_ordering(sorting.ordering).with_user_limit_factor(None);
        }
        if is_parent || !children.is_empty() {
            config = config.with_child_ordering(sorting.child_ordering());
        }
        config.parallel.total = running(queue.max_applications);
        Ok((config.with_children(children), guaranteed))
    }

    /// Reports parts of a quota that the engine does not count. YuniKorn ignores a quota that is all zero.
    fn counted<'n>(
        &mut self,
        entry: Option<&Entry<'_>>,
        quota: &Quantities<'n>,
    ) -> Result<Quantities<'n>, ConfigFileError> {
        let Some(entry) = entry else { return Ok(Quantities::default()) };
        if quota.is_zero() {
            entry.report("YuniKorn ignores amounts that are all zero", self.report);
            return Ok(Quantities::default());
        }
        quantity::check(entry, self.types, self.report)?;
        Ok(quota.clone())
    }

    /// Whether it has queues below it, or may get some.
    fn is_parent(&mut self, queue: &Queue<'_>) -> Result<bool, ConfigFileError> {
        let says_so = queue.entry.get("parent");
        let is_said = says_so.as_ref().map_or(Ok(false), Entry::switch)?;
        if let (true, true, false, Some(parent)) =
            (is_said, queue.children.is_empty(), self.creates, &says_so)
        {
            parent.report(NO_CREATION, self.report);
        }
        Ok(is_said || !queue.children.is_empty())
    }

    /// Reads the template for auto-created leaves. Without auto-creation it is checked, then reported as not
    /// carried over.
    fn template(&mut self, entry: &Entry<'_>, above: Sorting) -> Result<QueueConfig, ConfigFileError> {
        if self.creates {
            return self.leaves_below(entry, above);
        }
        entry.report(NO_CREATION, self.report);
        let mut passed_over = Vec::new();
        Queues { types: self.types, report: &mut passed_over, creates: false }.leaves_below(entry, above)
    }

    fn leaves_below(&mut self, entry: &Entry<'_>, above: Sorting) -> Result<QueueConfig, ConfigFileError> {
        entry.only(&["maxapplications", "properties", "resources"])?;
        let sorting = property::read(entry.get("properties").as_ref(), above, self.report)?;
        let (offset, is_fence) = property::priority(entry.get("properties").as_ref())?;
        let mut leaf = AutoCreation::default().leaf.with_ordering(sorting.ordering);
        (leaf.priority_offset, leaf.priority_fence) = (offset, is_fence);
        if let Some(applications) = entry.get("maxapplications") {
            leaf.parallel.total = running(applications.count()?);
        }
        if let Some(resources) = entry.get("resources") {
            resources.only(&["guaranteed", "max"])?;
            let mut quota = |key| {
                let amounts = resources.get(key);
                self.counted(amounts.as_ref(), &Quantities::read(amounts.as_ref())?)
            };
            let (max, guaranteed) = (quota("max")?, quota("guaranteed")?);
            leaf.maximum = maximum_of(&max, self.types);
            leaf.capacity = capacity_of(&guaranteed, self.types);
        }
        Ok(leaf)
    }
}

/// The capacity: the guaranteed amounts, or the weight 1 without a guarantee.
fn capacity_of(guaranteed: &Quantities<'_>, types: &ResourceTypes) -> Capacity {
    let amounts = guaranteed.amounts(types);
    if amounts.iter().flatten().all(|amount| *amount == 0) {
        return Capacity::Weight(Factor::ONE);
    }
    Capacity::Absolute(Resources::new(&amounts.map(|amount| amount.unwrap_or(0))))
}

fn maximum_of(max: &Quantities<'_>, types: &ResourceTypes) -> Maximum {
    match max.amounts(types) {
        none if none.iter().all(Option::is_none) => Maximum::Percent(Percent::ALL),
        amounts => Maximum::Absolute(amounts),
    }
}

/// The limit on running applications, above which YuniKorn lets them wait; 0 means no limit.
fn running(applications: u64) -> Option<u32> {
    Some(u32::try_from(applications).unwrap_or(u32::MAX)).filter(|running| *running > 0)
}
