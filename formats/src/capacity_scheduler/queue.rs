//! Reads the properties of the listed queues.

use apportion::config::{
    ApplicationOrdering, Capacity, ConfigError, Factor, Maximum, Percent, QueueConfig, QueueOrdering,
};
use apportion::nearest::{hint, nearest};

use super::known::PREFIX;
use super::labels;
use super::number;
use super::property::{Setting, Settings};
use super::sibling::{self, Allowed, Child};
use super::tree::Listed;
use super::types::Types;
use super::value::{self, Size};
use crate::file::excerpt;
use crate::{ConfigFileError, NotCarriedOver};

const SIZE_BASED_WEIGHT: &str = "ordering-policy.fair.enable-size-based-weight";

/// Reads the properties of queues.
#[derive(Debug)]
pub(super) struct Queues<'p, 'r> {
    pub(super) settings: &'r Settings<'p>,
    pub(super) types: &'r Types,
    report: &'r mut Vec<NotCarriedOver>,
    /// The user limit factor of leaves without their own.
    user_limit_factor: Option<Factor>,
    /// Whether all children of one parent must use one form of capacity, as YARN demands by default.
    pub(super) is_uniform: bool,
}

impl<'p, 'r> Queues<'p, 'r> {
    pub(super) fn new(
        settings: &'r Settings<'p>,
        types: &'r Types,
        report: &'r mut Vec<NotCarriedOver>,
    ) -> Result<Self, ConfigFileError> {
        let is_uniform = settings.switch(&format!("{PREFIX}legacy-queue-mode.enabled"), true)?;
        let mut queues = Self { settings, types, report, user_limit_factor: Some(Factor::ONE), is_uniform };
        if let Some(setting) = settings.get(&format!("{PREFIX}user-limit-factor")) {
            queues.user_limit_factor = queues.limit_factor(&setting)?;
        }
        Ok(queues)
    }

    /// The tree, for a cluster with these labels. The root has the whole cluster; other sizes are reported.
    pub(super) fn root(
        &mut self,
        root: &Listed<'p>,
        labels: &[String],
    ) -> Result<QueueConfig, ConfigFileError> {
        for label in std::iter::once(None).chain(labels.iter().map(|label| Some(label.as_str()))) {
            self.check_root(root, label)?;
        }
        let mut tree = self.queue(root, Capacity::Percent(Percent::ALL), Maximum::Percent(Percent::ALL))?;
        labels::read(self, root, &mut tree, labels)?;
        Ok(tree)
    }

    /// Reports sizes of the root other than the whole.
    fn check_root(&mut self, root: &Listed<'p>, label: Option<&str>) -> Result<(), ConfigFileError> {
        for name in ["capacity", "maximum-capacity"] {
            if let Some(setting) = self.settings.get(&root.key(&labels::name_in(label, name))) {
                let size = value::size(self.settings.value(&setting)?, self.types);
                if !matches!(size, Ok(Size::Percent(percent)) if percent.percent() == Percent::ALL) {
                    self.record(&setting, "the root always has the whole cluster");
                }
            }
        }
        Ok(())
    }

    fn queue(
        &mut self,
        listed: &Listed<'p>,
        capacity: Capacity,
        maximum: Maximum,
    ) -> Result<QueueConfig, ConfigFileError> {
        let mut queue = QueueConfig::leaf(listed.name, capacity).with_maximum(maximum);
        queue.priority = self.priority(listed)?;
        if listed.children.is_empty() {
            queue.ordering = self.application_ordering(listed)?;
            queue.user_limit_factor = self.user_limit_factor(listed)?;
            return Ok(queue);
        }
        queue.child_ordering = self.child_ordering(listed)?;
        let has_nothing = capacity == Capacity::Percent(Percent::NONE);
        let children: Vec<_> = listed.children.iter().collect();
        let children = self.capacities(listed, &children, None, has_nothing)?;
        for (child, capacity) in listed.children.iter().zip(children) {
            let capacity = capacity.ok_or_else(|| self.without_capacity(listed, child))?;
            let maximum = self.maximum(child, None, &capacity)?;
            let maximum = maximum.unwrap_or(Maximum::Percent(Percent::ALL));
            queue.children.push(self.queue(child, capacity, maximum)?);
        }
        Ok(queue)
    }

    pub(super) fn record(&mut self, setting: &Setting<'_>, reason: impl Into<String>) {
        self.report.push(self.settings.not_carried_over(setting, reason));
    }

    /// The guarantees of these children of `parent`, for a label or for nodes without one, if the file gives any.
    /// They must fit together.
    pub(super) fn capacities(
        &mut self,
        parent: &Listed<'p>,
        children: &[&Listed<'p>],
        label: Option<&str>,
        parent_has_nothing: bool,
    ) -> Result<Vec<Option<Capacity>>, ConfigFileError> {
        let name = labels::name_in(label, "capacity");
        let (mut given, mut positions) = (Vec::new(), Vec::new());
        for (position, listed) in children.iter().enumerate() {
            let Some(setting) = self.settings.get(&listed.key(&name)) else { continue };
            let size = value::size(self.settings.value(&setting)?, self.types);
            let size = size.map_err(|problem| self.settings.refused(&setting, problem))?;
            given.push(Child { setting, size });
            positions.push(position);
        }
        let may_be_zero = self.settings.switch(&parent.key("allow-zero-capacity-sum"), false)?;
        let allowed = Allowed { mixture: !self.is_uniform, zero_sum: may_be_zero || parent_has_nothing };
        sibling::check(&given, self.types.engine(), allowed).map_err(|problem| {
            let place = label.map_or(String::new(), |label| format!("for label `{}` ", excerpt(label)));
            self.refused_list(parent, &parent.path, format!("{place}{problem}"))
        })?;
        self.check_amounts(parent, &given, label)?;
        let capacities = sibling::capacities(&given, |child, reason| self.record(&child.setting, reason));
        let mut all = vec![None; children.len()];
        positions.into_iter().zip(capacities).for_each(|(position, own)| all[position] = Some(own));
        Ok(all)
    }

    fn without_capacity(&self, parent: &Listed<'p>, child: &Listed<'p>) -> ConfigFileError {
        let key = child.key("capacity");
        let problem = if child.name == parent.name {
            format!("`{}` lists itself: there is no `{}`", excerpt(&parent.path), excerpt(&key))
        } else {
            format!("is listed, but there is no `{}`", excerpt(&key))
        };
        self.refused_list(parent, &child.path, problem)
    }

    /// An error about `path`, at the place where `parent` lists its children.
    pub(super) fn refused_list(&self, parent: &Listed<'p>, path: &str, problem: String) -> ConfigFileError {
        let place =
            parent.queues.map_or((self.settings.source(), 0), |setting| (setting.source, setting.key_offset));
        place.0.config(place.1, ConfigError::queue(excerpt(path), problem))
    }

    /// The maximum beside a capacity, if the file sets one.
    pub(super) fn maximum(
        &mut self,
        listed: &Listed<'p>,
        label: Option<&str>,
        capacity: &Capacity,
    ) -> Result<Option<Maximum>, ConfigFileError> {
        let name = labels::name_in(label, "maximum-capacity");
        let Some(setting) = self.settings.get(&listed.key(&name)) else { return Ok(None) };
        let text = self.settings.value(&setting)?;
        if value::is_minus_one(text) {
            return Ok(None);
        }
        let refused = |problem: String| self.settings.refused(&setting, problem);
        let size = value::size(text, self.types).map_err(refused)?;
        if size.is_mixed() && self.is_uniform {
            return Err(refused(
                "YARN takes shares of single resources only with \
                 `yarn.scheduler.capacity.legacy-queue-mode.enabled` = false"
                    .to_owned(),
            ));
        }
        if let (Size::Percent(number), Capacity::Percent(guaranteed)) = (size, capacity)
            && number.percent() < *guaranteed
        {
            return Err(refused(format!("{} is below the queue's capacity", number.percent())));
        }
        let not_a_weight = || refused("a maximum is a percentage or amounts, not a weight".to_owned());
        let note = |reason: String| self.report.push(self.settings.not_carried_over(&setting, reason));
        let maximum = sibling::maximum(&size, note).ok_or_else(not_a_weight)?;
        self.check_maximum(listed, &setting, &size, label)?;
        Ok(Some(maximum))
    }

    fn user_limit_factor(&mut self, leaf: &Listed<'p>) -> Result<Option<Factor>, ConfigFileError> {
        match self.settings.get(&leaf.key("user-limit-factor")) {
            Some(setting) => self.limit_factor(&setting),
            None => Ok(self.user_limit_factor),
        }
    }

    fn limit_factor(&mut self, setting: &Setting<'p>) -> Result<Option<Factor>, ConfigFileError> {
        number::user_limit_factor(self.settings, setting, self.report)
    }

    fn application_ordering(&mut self, leaf: &Listed<'p>) -> Result<ApplicationOrdering, ConfigFileError> {
        let Some(setting) = self.settings.get(&leaf.key("ordering-policy")) else {
            return Ok(ApplicationOrdering::default());
        };
        match self.settings.value(&setting)? {
            "fifo" => Ok(ApplicationOrdering::Fifo),
            "fair" if self.settings.switch(&leaf.key(SIZE_BASED_WEIGHT), false)? => {
                Ok(ApplicationOrdering::FairBySize)
            }
            "fair" => Ok(ApplicationOrdering::Fair),
            text if text.contains('.')
                || ["fifo-with-partitions", "fifo-for-pending-apps"].contains(&text) =>
            {
                self.record(&setting, "not supported by this engine yet, fifo is used");
                Ok(ApplicationOrdering::Fifo)
            }
            text => Err(self.unknown_policy(&setting, text, &["fifo", "fair"])),
        }
    }

    fn priority(&self, listed: &Listed<'p>) -> Result<i32, ConfigFileError> {
        let Some(setting) = self.settings.get(&listed.key("priority")) else { return Ok(0) };
        let text = self.settings.value(&setting)?;
        let refused = || {
            self.settings.refused(&setting, format!("`{}` is not a whole number of 32 bits", excerpt(text)))
        };
        text.parse().map_err(|_| refused())
    }

    /// The order of a parent's children. Properties that only leaves have are reported.
    fn child_ordering(&mut self, parent: &Listed<'p>) -> Result<QueueOrdering, ConfigFileError> {
        if let Some(setting) = self.settings.get(&parent.key("user-limit-factor")) {
            self.limit_factor(&setting)?;
            self.record(&setting, "users are limited in leaves only");
        }
        let Some(setting) = self.settings.get(&parent.key("ordering-policy")) else {
            return Ok(QueueOrdering::default());
        };
        match self.settings.value(&setting)? {
            "utilization" => Ok(QueueOrdering::Utilization),
            "priority-utilization" => Ok(QueueOrdering::PriorityUtilization),
            text if text.contains('.') => {
                self.record(&setting, "not supported by this engine yet, utilization is used");
                Ok(QueueOrdering::Utilization)
            }
            text => Err(self.unknown_policy(&setting, text, &["utilization", "priority-utilization"])),
        }
    }

    fn unknown_policy(&self, setting: &Setting<'p>, text: &str, known: &[&str]) -> ConfigFileError {
        let text = excerpt(text);
        let hint = hint(nearest(&text, known.iter().copied()).as_deref());
        self.settings.refused(setting, format!("`{text}` is not one of {}{hint}", known.join(", ")))
    }
}
