//! Checks amounts against those of the queues above, as YARN does (`ParentQueue.setChildQueues`,
//! `AbstractCSQueue`).

use super::known::PREFIX;
use super::labels::name_in;
use super::property::{Setting, Settings};
use super::queue::Queues;
use super::sibling::Child;
use super::tree::{Listed, queue_key};
use super::value::{self, Figure, Size};
use crate::ConfigFileError;
use crate::file::excerpt;

const REFUSED: &str = "YARN refuses that";

impl<'p> Queues<'p, '_> {
    /// Checks that the amounts of a parent's children sum to at most its own. An excess that YARN accepts is
    /// reported.
    pub(super) fn check_amounts(
        &mut self,
        parent: &Listed<'p>,
        children: &[Child<'p>],
        label: Option<&str>,
    ) -> Result<(), ConfigFileError> {
        // The engine gives the root the whole cluster, and scales down where YARN's newer mode does.
        if !self.is_uniform || parent.path == "root" {
            return Ok(());
        }
        let Some((setting, own)) = self.size_of(&parent.path, label, "capacity")? else { return Ok(()) };
        let place = label.map_or(String::new(), |label| format!("for label `{}` ", excerpt(label)));
        for (i, name) in self.types.engine().names().to_vec().iter().enumerate() {
            let sum: i64 = children.iter().filter_map(|child| amount(&child.size, i)).sum();
            let Some(own) = amount(&own, i).filter(|own| sum > *own) else { continue };
            let problem =
                format!("{place}the amounts of {name} below it sum to {sum}, more than its own {own}");
            if self.compares(i)? {
                return Err(self.refused_list(parent, &parent.path, format!("{problem}; {REFUSED}")));
            }
            self.record(&setting, format!("{problem}; they shrink together"));
        }
        Ok(())
    }

    /// Checks the amounts of a queue's maximum against the maximum of the queues above.
    pub(super) fn check_maximum(
        &mut self,
        listed: &Listed<'p>,
        setting: &Setting<'p>,
        size: &Size,
        label: Option<&str>,
    ) -> Result<(), ConfigFileError> {
        let above = std::iter::successors(parent_of(&listed.path), |path| parent_of(path));
        for path in above.filter(|path| *path != "root") {
            let Some((_, maximum)) = self.size_of(path, label, "maximum-capacity")? else { continue };
            for (i, name) in self.types.engine().names().to_vec().iter().enumerate() {
                let (Some(own), Some(most)) = (amount(size, i), amount(&maximum, i)) else { continue };
                if own <= most {
                    continue;
                }
                let problem = format!("{own} of {name} is above the maximum of `{}`, {most}", excerpt(path));
                if self.compares(i)? {
                    return Err(self.settings.refused(setting, format!("{problem}; {REFUSED}")));
                }
                self.record(setting, format!("{problem}, which holds"));
            }
            break;
        }
        Ok(())
    }

    /// The size in a property of a queue.
    fn size_of(
        &self,
        path: &str,
        label: Option<&str>,
        name: &str,
    ) -> Result<Option<(Setting<'p>, Size)>, ConfigFileError> {
        let Some(setting) = self.settings.get(&queue_key(path, &name_in(label, name))) else {
            return Ok(None);
        };
        let text = self.settings.value(&setting)?;
        if value::is_minus_one(text) {
            return Ok(None);
        }
        let size =
            value::size(text, self.types).map_err(|problem| self.settings.refused(&setting, problem))?;
        Ok(Some((setting, size)))
    }

    /// Whether YARN compares this type: its default calculator compares memory alone.
    fn compares(&self, resource: usize) -> Result<bool, ConfigFileError> {
        Ok(is_dominant(self.settings)? || self.types.memory().is_ok_and(|memory| memory == resource))
    }
}

fn is_dominant(settings: &Settings<'_>) -> Result<bool, ConfigFileError> {
    let setting = settings.get(&format!("{PREFIX}resource-calculator"));
    setting.map_or(Ok(false), |setting| Ok(settings.value(&setting)?.ends_with("DominantResourceCalculator")))
}

fn parent_of(path: &str) -> Option<&str> {
    path.rsplit_once('.').map(|(parent, _)| parent)
}

fn amount(size: &Size, resource: usize) -> Option<i64> {
    match size.figure(resource) {
        Some(Figure::Amount(amount)) => Some(amount),
        _ => None,
    }
}
