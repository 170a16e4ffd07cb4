//! `flex`: changes numbers of instances.

use apportion::nearest::nearest;

use super::answer::{ActionAnswer, AnswerDetail};
use super::error::ActionError;
use super::{InstanceClient, Target};
use crate::instance::definition::{Definition, INSTANCES_MAX, MASTER, ResolvedDefinition, decode};
use crate::instance::host::HostError;
use crate::instance::locks::LockKind;
use crate::instance::name::InstanceName;
use crate::instance::report::ApplicationReport;

const INSTANCES: &str = "yarn.component.instances";

/// A requested number of instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Count {
    Absolute(i64),
    /// Relative to the present number.
    Relative(i64),
}

impl Count {
    fn parse(text: &str) -> Option<Self> {
        let number = decode(text)?;
        let is_relative = text.trim().starts_with(['+', '-']);
        Some(if is_relative { Self::Relative(number) } else { Self::Absolute(number) })
    }

    fn from(self, now: i64) -> i64 {
        match self {
            Self::Absolute(count) => count,
            Self::Relative(more) => now.saturating_add(more),
        }
    }
}

impl InstanceClient {
    /// Saves new numbers of instances, and passes them to the application if it runs. `3` sets three, `+2`
    /// adds two and `-1` removes one, relative to the definition.
    ///
    /// The answer tells whether anything changed. It is negative if the instance never ran.
    ///
    /// # Errors
    /// If a component or a number is wrong; then nothing is saved. If the application has ended or cannot
    /// be reached; then the definition is saved.
    pub fn flex(&self, name: &str, counts: &[(&str, &str)]) -> Result<ActionAnswer, ActionError> {
        let target = self.target(name)?;
        if counts.is_empty() {
            return Err(ActionError::Usage("flex needs a component and a number of instances".to_owned()));
        }
        let _lock = self.lock(&target, LockKind::Write)?;
        let before = target.definition()?;
        let mut after = before.clone();
        for (position, (component, text)) in counts.iter().enumerate() {
            if counts[..position].iter().any(|(earlier, _)| earlier == component) {
                return Err(ActionError::Argument(format!("flex names component `{component}` twice")));
            }
            let count = Count::parse(text).ok_or_else(|| not_a_count(component, text))?;
            set(&mut after, &target.name, component, count)?;
        }
        let resolved = self.resolved(&after)?;
        target.directory.save_resources(&after)?;
        self.tell(&target, &resolved, before != after)
    }

    /// Looks the application up again: it may have ended since the lock was taken.
    fn tell(
        &self,
        target: &Target,
        resolved: &ResolvedDefinition,
        is_saved_anew: bool,
    ) -> Result<ActionAnswer, ActionError> {
        let target = self.look_at(target.name.clone());
        let name = &target.name;
        let Some(report) = &target.report else {
            let answer = ActionAnswer::no(format!("`{name}` is saved, and does not run"));
            return Ok(answer.with(AnswerDetail::Changed(is_saved_anew)));
        };
        if report.state.is_final() {
            return Err(not_told(name, report, None));
        }
        let flexed = self.host.flex(report.id, &resolved.components);
        let is_changed = flexed.map_err(|error| not_told(name, report, Some(error)))?;
        let what = if is_changed { "is flexed" } else { "is as it was" };
        let answer = ActionAnswer::success(format!("`{name}` {what}"));
        Ok(answer.with(AnswerDetail::Changed(is_changed)))
    }
}

fn not_told(name: &InstanceName, report: &ApplicationReport, error: Option<HostError>) -> ActionError {
    let over = HostError::NotLive { app: report.id, state: report.state };
    ActionError::Host { name: name.clone(), error: error.unwrap_or(over), is_saved: true }
}

fn not_a_count(component: &str, text: &str) -> ActionError {
    ActionError::Argument(format!(
        "component `{component}`: `{text}` is not a number of instances; give `3`, `+1` or `-1`"
    ))
}

fn set(
    definition: &mut Definition,
    name: &InstanceName,
    component: &str,
    count: Count,
) -> Result<(), ActionError> {
    let tree = &mut definition.resources;
    let names = tree.components.keys().map(String::as_str).filter(|known| *known != MASTER);
    let nearest = nearest(component, names);
    let inherited = tree.global.get(INSTANCES).cloned();
    let options = tree.components.get_mut(component).filter(|_| component != MASTER);
    let Some(options) = options else {
        let component = component.to_owned();
        return Err(ActionError::UnknownComponent { name: name.clone(), component, nearest });
    };
    let own = options.get(INSTANCES).or(inherited.as_ref());
    let now = own.and_then(|text| decode(text)).unwrap_or(0);
    let wanted = count.from(now);
    if !(0..=INSTANCES_MAX).contains(&wanted) {
        return Err(ActionError::Argument(format!(
            "component `{component}` would have {wanted} instances; there are {now}, and may be 0 to {INSTANCES_MAX}"
        )));
    }
    if wanted != now || own.is_none() {
        options.insert(INSTANCES.to_owned(), wanted.to_string());
    }
    Ok(())
}
