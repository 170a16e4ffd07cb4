//! Checks of task groups and their placeholders.

use super::AuditReport;
use crate::facts::{Facts, TaskGroup};

/// I4: no gang has placeholders before it starts. I5: each placeholder is a container of its group's ask. I12: the
/// list of placeholders is that of the gangs, without started gangs that have neither placeholders nor asks for them.
pub(super) fn check(facts: &Facts, report: &mut AuditReport) {
    let placeholders = &facts.placeholders;
    report.check(placeholders.is_consistent(), "I12", || "placeholders differ from their gangs'".into());
    for (id, gang) in placeholders.gangs() {
        let waits = facts.gangs.contains_key(&id);
        let mut is_spent = true;
        for TaskGroup { name, ask, running, .. } in &gang.groups {
            is_spent &= running.is_empty() && facts.asks.get(*ask).is_none();
            report.check(!waits || running.is_empty(), "I4", || format!("{id} waits, and {name} runs"));
            for container in running {
                let is_its = facts
                    .containers
                    .get(*container)
                    .is_some_and(|known| (known.application, known.ask) == (gang.application, *ask));
                report.check(is_its, "I5", || format!("{container} is not a placeholder of {name} of {id}"));
            }
        }
        report.check(waits || !is_spent, "I12", || format!("{id} is listed without placeholders"));
    }
}
