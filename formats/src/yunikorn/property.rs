//! The properties of queues that YuniKorn knows, and their use in the engine.

use apportion::config::{ApplicationOrdering, QueueOrdering};
use apportion::nearest::nearest;

use super::entry::Entry;
use crate::file::excerpt;
use crate::{ConfigFileError, NotCarriedOver};

const NOT_YET: &str = "not supported by this engine yet";

/// Every property that YuniKorn knows.
const KEYS: [&str; 9] = [
    "application.sort.policy",
    "application.sort.priority",
    "application.unschedasks.backoff",
    "application.unschedasks.backoff.delay",
    "priority.policy",
    "priority.offset",
    "preemption.policy",
    "preemption.delay",
    "quota.preemption.delay",
];

pub(super) const PREEMPTION_POLICIES: [&str; 4] = ["default", "fence", "disabled", ""];

/// Units of durations in milliseconds.
const UNITS: [(&str, f64); 6] =
    [("ns", 1e-6), ("us", 1e-3), ("ms", 1.0), ("s", 1e3), ("m", 6e4), ("h", 3.6e6)];

/// The order of applications; a queue without its own has its parent's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sorting {
    pub(super) ordering: ApplicationOrdering,
    /// Whether priority comes first.
    has_priority: bool,
}

impl Sorting {
    /// The order of the queues below a parent.
    pub(super) fn child_ordering(self) -> QueueOrdering {
        if self.has_priority { QueueOrdering::DemandPriority } else { QueueOrdering::UtilizationThenDemand }
    }
}

impl Default for Sorting {
    fn default() -> Self {
        Self { ordering: ApplicationOrdering::Fifo, has_priority: true }
    }
}

/// Reads a queue's properties. The order of applications applies to the queue and to all queues below it.
pub(super) fn read(
    properties: Option<&Entry<'_>>,
    inherited: Sorting,
    report: &mut Vec<NotCarriedOver>,
) -> Result<Sorting, ConfigFileError> {
    let Some(properties) = properties else { return Ok(inherited) };
    let mut sorting = inherited;
    for property in properties.entries()? {
        match property.key {
            "application.sort.policy" => sorting.ordering = ordering(&property, report)?,
            "application.sort.priority" => {
                sorting.has_priority = property.word(&["enabled", "disabled", ""])? != "disabled";
            }
            _ => other(&property, report)?,
        }
    }
    check_priority(properties, sorting, report);
    Ok(sorting)
}

/// The priority offset of a queue, and whether the queue is a fence. Neither is inherited.
pub(super) fn priority(properties: Option<&Entry<'_>>) -> Result<(i32, bool), ConfigFileError> {
    let property = |key| properties.and_then(|properties| properties.get(key));
    let offset = property("priority.offset").map_or(Ok(0), |property| {
        let text = property.text()?;
        let refused = |_| property.error(format!("`{}` is not a whole number of 32 bits", excerpt(text)));
        text.parse::<i32>().map_err(refused)
    })?;
    let policy = property("priority.policy");
    let policy = policy.map_or(Ok("default"), |property| property.word(&["default", "fence", ""]))?;
    Ok((offset, policy == "fence"))
}

fn ordering(
    property: &Entry<'_>,
    report: &mut Vec<NotCarriedOver>,
) -> Result<ApplicationOrdering, ConfigFileError> {
    match property.word(&["fifo", "fair", "stateaware", ""])? {
        "fair" => Ok(ApplicationOrdering::Fair),
        "stateaware" => {
            property.report("deprecated; YuniKorn treats it as fifo, and so does this engine", report);
            Ok(ApplicationOrdering::Fifo)
        }
        _ => Ok(ApplicationOrdering::Fifo),
    }
}

/// In the engine priority comes first with fifo, and second with fair.
fn check_priority(properties: &Entry<'_>, sorting: Sorting, report: &mut Vec<NotCarriedOver>) {
    let Some(written) =
        properties.get("application.sort.priority").or_else(|| properties.get("application.sort.policy"))
    else {
        return;
    };
    match (sorting.ordering, sorting.has_priority) {
        (ApplicationOrdering::Fair, true) => {
            written.report("this engine's fair order looks at shares before priorities", report);
        }
        (ApplicationOrdering::Fifo, false) => {
            written.report("this engine's fifo order looks at priorities before times", report);
        }
        _ => {}
    }
}

fn other(property: &Entry<'_>, report: &mut Vec<NotCarriedOver>) -> Result<(), ConfigFileError> {
    let is_default = match property.key {
        "priority.policy" | "priority.offset" => true,
        "preemption.policy" => {
            property.word(&PREEMPTION_POLICIES)?;
            true
        }
        "preemption.delay" => {
            duration(property)?;
            true
        }
        "application.unschedasks.backoff" => property.count()? == 0,
        "application.unschedasks.backoff.delay" | "quota.preemption.delay" => {
            duration(property)?;
            false
        }
        _ => return unknown(property, report),
    };
    if !is_default {
        property.report(NOT_YET, report);
    }
    Ok(())
}

/// YuniKorn ignores unknown properties. A property that looks misspelled is refused.
fn unknown(property: &Entry<'_>, report: &mut Vec<NotCarriedOver>) -> Result<(), ConfigFileError> {
    match nearest(property.key, KEYS) {
        Some(nearest) => Err(property.unknown(Some(nearest))),
        None => {
            property.report("YuniKorn does not know this property either and ignores it", report);
            Ok(())
        }
    }
}

/// A duration like `1m30s` in milliseconds, or `None` for a plain number, which YuniKorn accepts in some places.
pub(super) fn duration(property: &Entry<'_>) -> Result<Option<u64>, ConfigFileError> {
    let text = property.text()?;
    let refused = || property.error(format!("`{}` is not a duration like 30s or 1m30s", excerpt(text)));
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return Ok(None);
    }
    let (mut rest, mut duration_ms) = (text, 0.0);
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
        let letters = rest[digits..].bytes().take_while(u8::is_ascii_alphabetic).count();
        let unit = UNITS.iter().find(|(name, _)| *name == &rest[digits..digits + letters]);
        let number = rest[..digits].parse::<f64>();
        let (Some((_, unit_ms)), Ok(number)) = (unit, number) else { return Err(refused()) };
        duration_ms += number * unit_ms;
        rest = &rest[digits + letters..];
    }
    // Below one millisecond counts as one; the cast saturates.
    if text.is_empty() { Err(refused()) } else { Ok(Some(duration_ms.ceil() as u64)) }
}
