//! Queues with their limits, as the properties of the listed queues say.

use super::known::PREFIX;
use super::property::{Setting, Settings};
use super::sibling::{self, Child};
use super::tree::Listed;
use super::types::Types;
use super::value::{self, Size};
use crate::config::file::excerpt;
use crate::config::{
    ApplicationOrdering, Capacity, ConfigError, ConfigFileError, Factor, Maximum, NotCarriedOver, Percent,
    QueueConfig, QueueOrdering,
};
use crate::nearest::{hint, nearest};

/// Reads the properties of queues.
#[derive(Debug)]
pub(super) struct Queues<'p, 'r> {
    settings: &'r Settings<'p>,
    types: &'r Types,
    report: &'r mut Vec<NotCarriedOver>,
    /// The user limit factor of leaves that have none of their own.
    user_limit_factor: Option<Factor>,
    /// Whether all children of one parent must have their capacities in one form, as YARN demands by default.
    is_uniform: bool,
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

    /// The tree. YARN and this engine alike give the root all there is, whatever the file says.
    pub(super) fn root(&mut self, root: &Listed<'p>) -> Result<QueueConfig, ConfigFileError> {
        for name in ["capacity", "maximum-capacity"] {
            if let Some(setting) = self.settings.get(&root.key(name)) {
                let size = value::size(self.settings.value(&setting)?, self.types);
                if !matches!(size, Ok(Size::Percent(percent)) if percent.percent() == Percent::ALL) {
                    self.note(&setting, "the root has all there is");
                }
            }
        }
        self.queue(root, Capacity::Percent(Percent::ALL), Maximum::Percent(Percent::ALL))
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
        let children = self.capacities(listed, capacity == Capacity::Percent(Percent::default()))?;
        for (child, capacity) in listed.children.iter().zip(children) {
            let maximum = self.maximum(child, &capacity)?;
            queue.children.push(self.queue(child, capacity, maximum)?);
        }
        Ok(queue)
    }

    fn note(&mut self, setting: &Setting<'_>, reason: impl Into<String>) {
        self.report.push(self.settings.not_carried_over(setting, reason));
    }

    /// The guarantees of all children of `parent`, which must go together.
    fn capacities(
        &mut self,
        parent: &Listed<'p>,
        parent_has_nothing: bool,
    ) -> Result<Vec<Capacity>, ConfigFileError> {
        let mut children = Vec::new();
        for listed in &parent.children {
            let setting = self.settings.get(&listed.key("capacity"));
            let setting = setting.ok_or_else(|| self.without_capacity(parent, listed))?;
            let size = value::size(self.settings.value(&setting)?, self.types);
            let size = size.map_err(|problem| self.settings.refused(&setting, problem))?;
            children.push(Child { setting, size });
        }
        let may_be_zero = self.settings.switch(&parent.key("allow-zero-capacity-sum"), false)?;
        sibling::check(&children, self.is_uniform, may_be_zero || parent_has_nothing)
            .map_err(|problem| self.refused_list(parent, &parent.path, problem))?;
        Ok(sibling::capacities(&children, |child, reason| self.note(&child.setting, reason)))
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

    /// The error about `path` where `parent` lists its children.
    fn refused_list(&self, parent: &Listed<'p>, path: &str, problem: String) -> ConfigFileError {
        let place =
            parent.queues.map_or((self.settings.source(), 0), |setting| (setting.source, setting.key_offset));
        place.0.config(place.1, ConfigError::Queue { path: excerpt(path), problem })
    }

    fn maximum(&mut self, listed: &Listed<'p>, capacity: &Capacity) -> Result<Maximum, ConfigFileError> {
        let Some(setting) = self.settings.get(&listed.key("maximum-capacity")) else {
            return Ok(Maximum::Percent(Percent::ALL));
        };
        let text = self.settings.value(&setting)?;
        if value::is_minus_one(text) {
            return Ok(Maximum::Percent(Percent::ALL));
        }
        let refused = |problem: String| self.settings.refused(&setting, problem);
        match value::size(text, self.types).map_err(refused)? {
            Size::Amounts(amounts) => Ok(Maximum::Absolute(amounts)),
            Size::Weight(_) => Err(refused("a maximum is a percentage or amounts, not a weight".to_owned())),
            Size::Percent(number) => {
                let percent = number.percent();
                if matches!(capacity, Capacity::Percent(guaranteed) if *guaranteed > percent) {
                    return Err(refused(format!("{percent} is below the queue's capacity")));
                }
                if let Some(reason) = sibling::rounding(number, percent) {
                    self.note(&setting, reason);
                }
                Ok(Maximum::Percent(percent))
            }
        }
    }

    fn user_limit_factor(&mut self, leaf: &Listed<'p>) -> Result<Option<Factor>, ConfigFileError> {
        match self.settings.get(&leaf.key("user-limit-factor")) {
            Some(setting) => self.limit_factor(&setting),
            None => Ok(self.user_limit_factor),
        }
    }

    fn limit_factor(&mut self, setting: &Setting<'p>) -> Result<Option<Factor>, ConfigFileError> {
        let text = self.settings.value(setting)?;
        if value::is_minus_one(text) {
            return Ok(None);
        }
        let number = value::decimal(text, Factor::MAX);
        let number = number.map_err(|problem| self.settings.refused(setting, problem))?;
        let factor = number.factor();
        if factor.milli() == 0 {
            return Err(self.settings.refused(setting, "must be above 0, or -1 for no limit"));
        }
        if let Some(reason) = sibling::rounding(number, factor) {
            self.note(setting, reason);
        }
        Ok(Some(factor))
    }

    fn application_ordering(&mut self, leaf: &Listed<'p>) -> Result<ApplicationOrdering, ConfigFileError> {
        let Some(setting) = self.settings.get(&leaf.key("ordering-policy")) else {
            return Ok(ApplicationOrdering::default());
        };
        match self.settings.value(&setting)? {
            "fifo" => Ok(ApplicationOrdering::Fifo),
            "fair" => Ok(ApplicationOrdering::Fair),
            text if text.contains('.')
                || ["fifo-with-partitions", "fifo-for-pending-apps"].contains(&text) =>
            {
                self.note(&setting, "not supported by this engine yet, fifo is used");
                Ok(ApplicationOrdering::Fifo)
            }
            text => Err(self.unknown_policy(&setting, text, &["fifo", "fair"])),
        }
    }

    fn priority(&self, listed: &Listed<'p>) -> Result<i32, ConfigFileError> {
        let Some(setting) = self.settings.get(&listed.key("priority")) else { return Ok(0) };
        let text = self.settings.value(&setting)?;
        let refused =
            || self.settings.refused(&setting, format!("`{}` is no whole number of 32 bits", excerpt(text)));
        text.parse().map_err(|_| refused())
    }

    /// The order of a parent's children. What it has of a leaf's properties is reported.
    fn child_ordering(&mut self, parent: &Listed<'p>) -> Result<QueueOrdering, ConfigFileError> {
        if let Some(setting) = self.settings.get(&parent.key("user-limit-factor")) {
            self.limit_factor(&setting)?;
            self.note(&setting, "users are limited in leaves only");
        }
        let Some(setting) = self.settings.get(&parent.key("ordering-policy")) else {
            return Ok(QueueOrdering::default());
        };
        match self.settings.value(&setting)? {
            "utilization" => Ok(QueueOrdering::Utilization),
            "priority-utilization" => Ok(QueueOrdering::PriorityUtilization),
            text if text.contains('.') => {
                self.note(&setting, "not supported by this engine yet, utilization is used");
                Ok(QueueOrdering::Utilization)
            }
            text => Err(self.unknown_policy(&setting, text, &["utilization", "priority-utilization"])),
        }
    }

    fn unknown_policy(&self, setting: &Setting<'p>, text: &str, known: &[&str]) -> ConfigFileError {
        let text = excerpt(text);
        let hint = hint(nearest(&text, known.iter().copied()).as_deref());
        self.settings.refused(setting, format!("`{text}` is none of {}{hint}", known.join(", ")))
    }
}
