//! Preemption by YARN's scheduling monitor (`capacity-scheduler.md` 1.5 and 2.11).

use std::collections::BTreeSet;

use apportion::config::{Percent, PreemptionPolicy, PreemptionRounds, WithinQueueOrder, WithinQueuePolicy};
use apportion::nearest::{hint, nearest};

use super::auto_creation;
use super::known::{PREEMPTION_PREFIX, PREFIX};
use super::property::{Setting, Settings};
use super::scheduler::whole;
use super::tree::{Listed, queue_key};
use super::value;
use crate::exempt::Switched;
use crate::file::excerpt;
use crate::{ConfigFileError, NotCarriedOver};

const SWITCH: &str = "yarn.resourcemanager.scheduler.monitor.enable";
const POLICIES: &str = "yarn.resourcemanager.scheduler.monitor.policies";
const POLICY: &str = "ProportionalCapacityPreemptionPolicy";

/// Switches of queues: for preemption between queues, and within one.
const DISABLE: &str = "disable_preemption";
const DISABLE_WITHIN: &str = "intra-queue-preemption.disable_preemption";

/// YARN's wait for victims that are taken only for balance.
const BALANCE_WAIT_MS: u64 = 300_000;

const OFF: &str = "YARN preempts only if yarn.resourcemanager.scheduler.monitor.enable is true and its policies \
                   include preemption";
const TAKES_NOTHING: &str = "with 0 a round takes nothing, so the engine makes no rounds";
const TAKES_NOTHING_WITHIN: &str = "with 0 a round takes nothing within queues, so the engine does not try";
const OFF_WITHIN: &str = "YARN preempts within queues only if intra-queue-preemption.enabled is true";
const ONE_POLICY: &str = "of the monitor's policies this engine has preemption alone";
const ONE_WAIT: &str = "all victims have the time of max_wait_before_kill, also those of balance";
const TYPE_BY_TYPE: &str = "amounts are compared type by type, and the room of each victim is used";

/// Keys for behaviour that this engine always has: the key, YARN's value for it (`None`: no value), and the reason.
const ALWAYS: [(&str, Option<bool>, &str); 4] = [
    (
        "select_based_on_reserved_containers",
        Some(true),
        "a node that is reserved for the beneficiary is always cleared first",
    ),
    (
        "additional_res_balance_based_on_reserved_containers",
        Some(true),
        "asks with reservations always count as waiting",
    ),
    ("conservative-drf", None, TYPE_BY_TYPE),
    ("intra-queue-preemption.conservative-drf", None, TYPE_BY_TYPE),
];
const LAZY: &str = "lazy-preemption-enabled";
const ALWAYS_LAZY: &str =
    "a victim always ends only together with the start of the container that needs its room";

/// Reads the rounds of preemption; `None` if the files do not switch them on. The other settings are checked anyway.
pub(super) fn read(
    settings: &Settings<'_>,
    root: &Listed<'_>,
    report: &mut Vec<NotCarriedOver>,
) -> Result<Option<PreemptionRounds>, ConfigFileError> {
    let mut preemption = Preemption { settings, root, notes: Vec::new() };
    let rounds = preemption.rounds()?;
    let notes = preemption.notes;
    if is_on(settings, report)? {
        report.extend(notes);
        let Some(setting) = takes_nothing(settings, &rounds.policy) else { return Ok(Some(rounds)) };
        report.push(settings.not_carried_over(&setting, TAKES_NOTHING));
        return Ok(None);
    }
    let of_queues: BTreeSet<_> =
        root.walk().iter().flat_map(|queue| [queue.key(DISABLE), queue.key(DISABLE_WITHIN)]).collect();
    let lazy = format!("{PREFIX}{LAZY}");
    let is_unused = |key: &str| key.starts_with(PREEMPTION_PREFIX) || key == lazy || of_queues.contains(key);
    let unused = settings.in_order().into_iter().filter(|setting| is_unused(setting.key));
    report.extend(unused.map(|setting| settings.not_carried_over(&setting, OFF)));
    Ok(None)
}

/// The setting with which no round takes anything, if there is one.
fn takes_nothing<'p>(settings: &Settings<'p>, policy: &PreemptionPolicy) -> Option<Setting<'p>> {
    let is_none = |part: Percent| part == Percent::NONE;
    let of_queues = is_none(policy.natural_termination) && policy.within_queue.is_none();
    let names = [
        ("total_preemption_per_round", is_none(policy.per_round)),
        ("natural_termination_factor", of_queues),
    ];
    names
        .into_iter()
        .find(|(_, takes_nothing)| *takes_nothing)
        .and_then(|(name, _)| settings.get(&full(name)))
}

/// Whether the monitor runs, with preemption among its policies. Preemption is the default policy.
fn is_on(settings: &Settings<'_>, report: &mut Vec<NotCarriedOver>) -> Result<bool, ConfigFileError> {
    if !settings.switch(SWITCH, false)? {
        return Ok(false);
    }
    let Some(setting) = settings.get(POLICIES) else { return Ok(true) };
    let classes = settings.value(&setting)?.split(',').map(str::trim).filter(|class| !class.is_empty());
    let (preemption, others): (Vec<_>, Vec<_>) =
        classes.partition(|class| class.rsplit('.').next() == Some(POLICY));
    if !others.is_empty() {
        report.push(settings.not_carried_over(&setting, ONE_POLICY));
    }
    Ok(!preemption.is_empty())
}

struct Preemption<'p, 't> {
    settings: &'t Settings<'p>,
    root: &'t Listed<'p>,
    notes: Vec<NotCarriedOver>,
}

impl Preemption<'_, '_> {
    fn rounds(&mut self) -> Result<PreemptionRounds, ConfigFileError> {
        let defaults = PreemptionRounds::default();
        let interval_ms = self.time("monitoring_interval", 1, defaults.interval_ms)?;
        let max_wait_before_kill_ms =
            self.time("max_wait_before_kill", 0, defaults.max_wait_before_kill_ms)?;
        let balances = self.balances(max_wait_before_kill_ms)?;
        let of = PreemptionPolicy::default();
        let policy = PreemptionPolicy {
            dead_zone: self.part("max_ignored_over_capacity", of.dead_zone)?,
            natural_termination: self.part("natural_termination_factor", of.natural_termination)?,
            per_round: self.part("total_preemption_per_round", of.per_round)?,
            exempt: self.exempt(DISABLE)?,
            exempt_applications: BTreeSet::new(),
            exempt_tags: BTreeSet::new(),
            balances,
            within_queue: self.within_queue()?,
        };
        self.report_fixed_values()?;
        let observe_only = self.switch("observe_only")?;
        Ok(PreemptionRounds { policy, interval_ms, max_wait_before_kill_ms, observe_only })
    }

    /// Whether preemption goes on for balance. YARN gives victims of balance a time of their own.
    fn balances(&mut self, wait_ms: u64) -> Result<bool, ConfigFileError> {
        let key = |name| format!("preemption-to-balance-queue-after-satisfied.{name}");
        let balances = self.switch(&key("enabled"))?;
        let own_wait_ms = self.time(&key("max-wait-before-kill"), 0, BALANCE_WAIT_MS)?;
        if own_wait_ms != wait_ms {
            let given =
                if balances { &["max-wait-before-kill", "enabled"][..] } else { &["max-wait-before-kill"] };
            let setting = given.iter().find_map(|name| self.settings.get(&full(&key(name))));
            self.notes.extend(setting.map(|setting| self.settings.not_carried_over(&setting, ONE_WAIT)));
        }
        Ok(balances)
    }

    fn within_queue(&mut self) -> Result<Option<WithinQueuePolicy>, ConfigFileError> {
        let of = WithinQueuePolicy::default();
        let key = |name| format!("intra-queue-preemption.{name}");
        let known = self.notes.len();
        let policy = WithinQueuePolicy {
            order: self.order(&key("preemption-order-policy"))?,
            minimum_use: self.part(&key("minimum-threshold"), of.minimum_use)?,
            max_part: self.part(&key("max-allowable-limit"), of.max_part)?,
            exempt: self.exempt(DISABLE_WITHIN)?,
        };
        if self.switch(&key("enabled"))? {
            let part = self.settings.get(&full(&key("max-allowable-limit")));
            let Some(part) = part.filter(|_| policy.max_part == Percent::NONE) else {
                return Ok(Some(policy));
            };
            self.notes.push(self.settings.not_carried_over(&part, TAKES_NOTHING_WITHIN));
            return Ok(None);
        }
        self.notes.truncate(known);
        let own = ["preemption-order-policy", "minimum-threshold", "max-allowable-limit"].map(key);
        let own = own.iter().map(|name| full(name));
        let of_queues = self.root.walk().into_iter().map(|queue| queue.key(DISABLE_WITHIN));
        let unused = own.chain(of_queues).filter_map(|key| self.settings.get(&key));
        let notes = unused.map(|setting| self.settings.not_carried_over(&setting, OFF_WITHIN));
        self.notes.extend(notes);
        Ok(None)
    }

    fn order(&self, name: &str) -> Result<WithinQueueOrder, ConfigFileError> {
        let Some(setting) = self.settings.get(&full(name)) else { return Ok(WithinQueueOrder::default()) };
        let text = self.settings.value(&setting)?.to_ascii_lowercase();
        match text.as_str() {
            "userlimit_first" => Ok(WithinQueueOrder::UserLimitFirst),
            "priority_first" => Ok(WithinQueueOrder::PriorityFirst),
            _ => {
                let text = excerpt(&text);
                let known = ["userlimit_first", "priority_first"];
                let hint = hint(nearest(&text, known).as_deref());
                Err(self
                    .settings
                    .refused(&setting, format!("`{text}` is not one of {}{hint}", known.join(", "))))
            }
        }
    }

    /// The queues that a switch exempts. A queue without its own switch has that of the queue above.
    fn exempt(&mut self, switch: &str) -> Result<BTreeSet<String>, ConfigFileError> {
        let switched = self.switched(self.root, switch, false)?;
        let (exempt, without) = switched.paths();
        for path in without {
            let above = path.match_indices('.').rev().map(|(dot, _)| &path[..dot]);
            let setting = std::iter::once(path)
                .chain(above)
                .find_map(|path| self.settings.get(&queue_key(path, switch)));
            let path = excerpt(path);
            let reason = format!(
                "queues that are made on demand below `{path}` are not exempt, since another queue below it is not"
            );
            self.notes.extend(setting.map(|setting| self.settings.not_carried_over(&setting, reason)));
        }
        Ok(exempt)
    }

    fn switched(&self, queue: &Listed<'_>, name: &str, above: bool) -> Result<Switched, ConfigFileError> {
        let is_exempt = self.settings.switch(&queue.key(name), above)?;
        let creates = self.settings.switch(&queue.key(&format!("{}.enabled", auto_creation::KEY)), false)?;
        let children = queue.children.iter().map(|child| self.switched(child, name, is_exempt));
        Ok(Switched {
            path: queue.path.clone(),
            is_exempt,
            creates,
            children: children.collect::<Result<_, _>>()?,
        })
    }

    /// Reports settings that differ from the behaviour that this engine always has.
    fn report_fixed_values(&mut self) -> Result<(), ConfigFileError> {
        let others = ALWAYS.map(|(name, always, reason)| (full(name), always, reason));
        let lazy = (format!("{PREFIX}{LAZY}"), Some(true), ALWAYS_LAZY);
        for (key, always, reason) in others.into_iter().chain([lazy]) {
            let wanted = self.settings.switch(&key, false)?;
            if let Some(setting) = self.settings.get(&key).filter(|_| always != Some(wanted)) {
                self.notes.push(self.settings.not_carried_over(&setting, reason));
            }
        }
        Ok(())
    }

    fn switch(&self, name: &str) -> Result<bool, ConfigFileError> {
        self.settings.switch(&full(name), false)
    }

    fn time(&self, name: &str, least: u8, default: u64) -> Result<u64, ConfigFileError> {
        let setting = self.settings.get(&full(name));
        setting.map_or(Ok(default), |setting| whole(self.settings, &setting, least))
    }

    /// YARN writes 10 percent as 0.1.
    fn part(&mut self, name: &str, default: Percent) -> Result<Percent, ConfigFileError> {
        let Some(setting) = self.settings.get(&full(name)) else { return Ok(default) };
        let number = value::decimal(self.settings.value(&setting)?, 1_000_000);
        let part = number.map_err(|problem| self.settings.refused(&setting, problem))?.part();
        if part.is_none() {
            self.notes
                .push(self.settings.not_carried_over(&setting, "at most 100 % is possible, which is used"));
        }
        Ok(part.unwrap_or(Percent::ALL))
    }
}

fn full(name: &str) -> String {
    format!("{PREEMPTION_PREFIX}{name}")
}
