//! Queues for the engine, as YuniKorn's queues say.

use super::entry::Entry;
use super::property::{self, Sorting};
use super::quantity::{self, Quantities};
use super::tree::Queue;
use crate::config::{Capacity, ConfigFileError, Factor, Maximum, NotCarriedOver, Percent, QueueConfig};
use crate::resource::{ResourceTypes, Resources};

const WAITS: &str = "above it YuniKorn lets applications wait; this engine could only refuse them yet";
const NO_CREATION: &str =
    "this engine does not create queues on demand yet; a queue without queues below it is a leaf";

/// Makes the engine's queues.
#[derive(Debug)]
pub(super) struct Queues<'r> {
    pub(super) types: &'r ResourceTypes,
    pub(super) report: &'r mut Vec<NotCarriedOver>,
}

impl Queues<'_> {
    /// The tree. A queue's guarantee is an amount if YuniKorn has one for it or for any queue below it, since
    /// what is guaranteed below has to be guaranteed above; the others share what is left.
    pub(super) fn root(&mut self, root: &Queue<'_>) -> Result<QueueConfig, ConfigFileError> {
        let mut config = self.queue(root, Sorting::default())?.0;
        (config.capacity, config.maximum) = (Capacity::Percent(Percent::ALL), Maximum::Percent(Percent::ALL));
        Ok(config)
    }

    /// The queue, and what it and those below it are guaranteed.
    fn queue<'n>(
        &mut self,
        queue: &Queue<'n>,
        inherited: Sorting,
    ) -> Result<(QueueConfig, Quantities<'n>), ConfigFileError> {
        let sorting = property::read(queue.entry.get("properties").as_ref(), inherited, self.report)?;
        self.others(queue)?;
        let (mut children, mut sum) = (Vec::new(), Quantities::default());
        for child in &queue.children {
            let (child, guaranteed) = self.queue(child, sorting)?;
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
        let mut config = QueueConfig::leaf(&queue.name, capacity).with_maximum(maximum);
        if children.is_empty() {
            config = config.with_ordering(sorting.ordering).with_user_limit_factor(None);
        }
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

    /// Checks and reports what the engine has nothing for.
    fn others(&mut self, queue: &Queue<'_>) -> Result<(), ConfigFileError> {
        let entry = &queue.entry;
        if queue.max_applications != 0
            && let Some(applications) = entry.get("maxapplications")
        {
            applications.report(WAITS, self.report);
        }
        for acl in ["adminacl", "submitacl"].iter().filter_map(|key| entry.get(key)) {
            if acl.text()?.split_whitespace().count() > 2 {
                return Err(acl.error("expected users, a space and groups, or *"));
            }
            acl.report("access to queues is not checked by this engine yet", self.report);
        }
        if let Some(parent) = entry.get("parent")
            && parent.switch()?
            && queue.children.is_empty()
        {
            parent.report(NO_CREATION, self.report);
        }
        entry.get("childtemplate").map_or(Ok(()), |template| self.template(&template))
    }

    fn template(&mut self, template: &Entry<'_>) -> Result<(), ConfigFileError> {
        template.only(&["maxapplications", "properties", "resources"])?;
        let mut unused = Vec::new();
        property::read(template.get("properties").as_ref(), Sorting::default(), &mut unused)?;
        if let Some(applications) = template.get("maxapplications") {
            applications.count()?;
        }
        if let Some(resources) = template.get("resources") {
            resources.only(&["guaranteed", "max"])?;
            for amounts in ["guaranteed", "max"].iter().filter_map(|key| resources.get(key)) {
                quantity::check(&amounts, self.types, &mut unused)?;
            }
        }
        template.report(NO_CREATION, self.report);
        Ok(())
    }
}
