//! Queues for the engine, as YuniKorn's queues say.

use super::entry::Entry;
use super::property::{self, Sorting};
use super::quantity::{self, Quantities};
use super::tree::Queue;
use crate::config::{
    AutoCreation, Capacity, ConfigFileError, Factor, Maximum, NotCarriedOver, Percent, QueueConfig,
};
use crate::resource::{ResourceTypes, Resources};

const NO_CREATION: &str = "no placement rule creates queues; a queue without queues below it is a leaf";
/// Rules lead this deep below the queues of a file: a user's queue below that of a namespace, or of a group.
const DEPTH_MAX: u32 = 3;
/// YuniKorn knows no bound.
const QUEUES_MAX: u32 = 10_000;
/// How often YuniKorn looks for queues that are empty.
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
    /// The tree. A queue's guarantee is an amount if YuniKorn has one for it or for any queue below it, since
    /// what is guaranteed below has to be guaranteed above; the others share what is left.
    pub(super) fn root(&mut self, root: &Queue<'_>) -> Result<QueueConfig, ConfigFileError> {
        let plain = AutoCreation::default().leaf;
        let mut config = self.queue(root, Sorting::default(), &plain)?.0;
        (config.capacity, config.maximum) = (Capacity::Percent(Percent::ALL), Maximum::Percent(Percent::ALL));
        Ok(config)
    }

    /// The queue, and what it and those below it are guaranteed.
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
        let guaranteed = self.counted(queue, "guaranteed", &queue.guaranteed)?.or(&sum);
        let max = self.counted(queue, "max", &queue.max)?;
        let amounts = guaranteed.amounts(self.types);
        let capacity = if amounts.iter().flatten().all(|amount| *amount == 0) {
            Capacity::Weight(Factor::ONE)
        } else {
            Capacity::Absolute(Resources::new(&amounts.map(|amount| amount.unwrap_or(0))))
        };
        let maximum = match max.amounts(self.types) {
            none if none.iter().all(Option::is_none) => Maximum::Percent(Percent::ALL),
            amounts => Maximum::Absolute(amounts),
        };
        let (offset, is_fence) = property::priority(queue.entry.get("properties").as_ref())?;
        let mut config = QueueConfig::leaf(&queue.name, capacity)
            .with_maximum(maximum)
            .with_priority_offset(offset, is_fence);
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
        // Above it YuniKorn lets applications wait.
        let running = u32::try_from(queue.max_applications).unwrap_or(u32::MAX);
        config.parallel.total = Some(running).filter(|running| *running > 0);
        Ok((config.with_children(children), guaranteed))
    }

    /// The quota under `key`, of which YuniKorn passes over one that is all zero.
    fn counted<'n>(
        &mut self,
        queue: &Queue<'n>,
        key: &str,
        quota: &Quantities<'n>,
    ) -> Result<Quantities<'n>, ConfigFileError> {
        let Some(entry) = queue.entry.get("resources").and_then(|resources| resources.get(key)) else {
            return Ok(Quantities::default());
        };
        if quota.is_zero() {
            entry.report("YuniKorn passes over amounts that are all zero", self.report);
            return Ok(Quantities::default());
        }
        quantity::check(&entry, self.types, self.report)?;
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

    /// What leaves say that are created below.
    fn template(&mut self, template: &Entry<'_>, above: Sorting) -> Result<QueueConfig, ConfigFileError> {
        template.only(&["maxapplications", "properties", "resources"])?;
        let mut unused = Vec::new();
        let report = if self.creates { &mut *self.report } else { &mut unused };
        let sorting = property::read(template.get("properties").as_ref(), above, report)?;
        let (offset, is_fence) = property::priority(template.get("properties").as_ref())?;
        let mut queue = AutoCreation::default()
            .leaf
            .with_ordering(sorting.ordering)
            .with_priority_offset(offset, is_fence);
        if let Some(applications) = template.get("maxapplications") {
            let running = u32::try_from(applications.count()?).unwrap_or(u32::MAX);
            queue.parallel.total = Some(running).filter(|running| *running > 0);
        }
        if let Some(resources) = template.get("resources") {
            resources.only(&["guaranteed", "max"])?;
            let mut amounts = |key| {
                let Some(entry) = resources.get(key) else { return Ok(None) };
                quantity::check(&entry, self.types, report)?;
                Ok(Some(Quantities::read(Some(&entry))?.amounts(self.types)))
            };
            if let Some(most) = amounts("max")?.filter(|most| most.iter().any(Option::is_some)) {
                queue.maximum = Maximum::Absolute(most);
            }
            if let Some(own) = amounts("guaranteed")?.map(|own| own.map(|amount| amount.unwrap_or(0))) {
                queue.capacity = Capacity::Absolute(Resources::new(&own));
            }
        }
        if !self.creates {
            template.report(NO_CREATION, self.report);
        }
        Ok(queue)
    }
}
