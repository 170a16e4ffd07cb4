//! The table `engine.preemption`.

use std::collections::BTreeSet;

use apportion::config::{
    Percent, PreemptionPolicy, PreemptionRounds, WithinQueueOrder, WithinQueuePolicy, quoted_text,
};

use super::table::Section;
use super::write::{Writer, list};
use crate::ConfigFileError;

const KEYS: &[&str] = &[
    "interval_ms",
    "max_wait_before_kill_ms",
    "observe_only",
    "dead_zone",
    "natural_termination",
    "per_round",
    "exempt",
    "exempt_applications",
    "exempt_tags",
    "balances",
    "within_queue",
];

/// The word for the order within a queue.
fn order_word(order: WithinQueueOrder) -> &'static str {
    match order {
        WithinQueueOrder::PriorityFirst => "priority_first",
        _ => "user_limit_first",
    }
}

/// Reads the table; without it the engine does not preempt.
pub(super) fn read(engine: &Section<'_>) -> Result<Option<PreemptionRounds>, ConfigFileError> {
    let section = engine.section("preemption", KEYS)?;
    if !section.is_given() {
        return Ok(None);
    }
    let defaults = PreemptionRounds::default();
    let whole = |key, default| Ok(section.read(key, |entry| entry.whole())?.unwrap_or(default));
    Ok(Some(PreemptionRounds {
        policy: policy(&section)?,
        interval_ms: whole("interval_ms", defaults.interval_ms)?,
        max_wait_before_kill_ms: whole("max_wait_before_kill_ms", defaults.max_wait_before_kill_ms)?,
        observe_only: section.read("observe_only", |entry| entry.switch())?.unwrap_or(false),
    }))
}

fn policy(section: &Section<'_>) -> Result<PreemptionPolicy, ConfigFileError> {
    let defaults = PreemptionPolicy::default();
    Ok(PreemptionPolicy {
        dead_zone: percent(section, "dead_zone", defaults.dead_zone)?,
        natural_termination: percent(section, "natural_termination", defaults.natural_termination)?,
        per_round: percent(section, "per_round", defaults.per_round)?,
        exempt: names(section, "exempt")?,
        exempt_applications: names(section, "exempt_applications")?,
        exempt_tags: names(section, "exempt_tags")?,
        balances: section.read("balances", |entry| entry.switch())?.unwrap_or(false),
        within_queue: within_queue(section)?,
    })
}

fn within_queue(section: &Section<'_>) -> Result<Option<WithinQueuePolicy>, ConfigFileError> {
    let within = section.section("within_queue", &["order", "minimum_use", "max_part", "exempt"])?;
    if !within.is_given() {
        return Ok(None);
    }
    let defaults = WithinQueuePolicy::default();
    let orders = [WithinQueueOrder::UserLimitFirst, WithinQueueOrder::PriorityFirst];
    let order = within.read("order", |entry| entry.word(&orders, order_word))?;
    Ok(Some(WithinQueuePolicy {
        order: order.unwrap_or(defaults.order),
        minimum_use: percent(&within, "minimum_use", defaults.minimum_use)?,
        max_part: percent(&within, "max_part", defaults.max_part)?,
        exempt: names(&within, "exempt")?,
    }))
}

fn percent(section: &Section<'_>, key: &str, default: Percent) -> Result<Percent, ConfigFileError> {
    Ok(section.read(key, |entry| entry.percent())?.unwrap_or(default))
}

fn names(section: &Section<'_>, key: &str) -> Result<BTreeSet<String>, ConfigFileError> {
    Ok(section.read(key, |entry| entry.texts())?.unwrap_or_default().into_iter().collect())
}

/// Writes the table, if the engine preempts.
pub(super) fn write(file: &mut Writer, rounds: Option<&PreemptionRounds>) {
    let Some(PreemptionRounds { policy, interval_ms, max_wait_before_kill_ms, observe_only }) = rounds else {
        return;
    };
    file.table("engine.preemption");
    file.line("interval_ms", interval_ms);
    file.line("max_wait_before_kill_ms", max_wait_before_kill_ms);
    file.line_if("observe_only", observe_only.then_some(true));
    file.line("dead_zone", quoted_text(&policy.dead_zone.to_string()));
    file.line("natural_termination", quoted_text(&policy.natural_termination.to_string()));
    file.line("per_round", quoted_text(&policy.per_round.to_string()));
    write_names(file, "exempt", &policy.exempt);
    write_names(file, "exempt_applications", &policy.exempt_applications);
    write_names(file, "exempt_tags", &policy.exempt_tags);
    file.line_if("balances", policy.balances.then_some(true));
    let Some(WithinQueuePolicy { order, minimum_use, max_part, exempt }) = &policy.within_queue else {
        return;
    };
    file.table("engine.preemption.within_queue");
    file.line("order", quoted_text(order_word(*order)));
    file.line("minimum_use", quoted_text(&minimum_use.to_string()));
    file.line("max_part", quoted_text(&max_part.to_string()));
    write_names(file, "exempt", exempt);
}

fn write_names(file: &mut Writer, key: &str, names: &BTreeSet<String>) {
    file.line_if(key, (!names.is_empty()).then(|| list(names)));
}
