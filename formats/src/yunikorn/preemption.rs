//! Preemption: the partition's switch, and the properties of queues about it (`peers.md` 1.1).
//!
//! YuniKorn preempts for asks within the guarantee of their queue, once they have waited for a delay. It ends the
//! victims at once. Here the delay is the time between two rounds.

use std::collections::BTreeMap;

use apportion::config::{Capacity, Percent, PreemptionPolicy, PreemptionRounds, QueueConfig};

use super::entry::Entry;
use super::property::{PREEMPTION_POLICIES, duration};
use super::tree::Queue;
use crate::exempt::Switched;
use crate::file::excerpt;
use crate::{ConfigFileError, NotCarriedOver};

const POLICY: &str = "preemption.policy";
const DELAY: &str = "preemption.delay";
const DELAY_MS_DEFAULT: u64 = 30_000;

const QUOTA: &str = "a queue above a lowered maximum gets nothing more, but its containers are not ended";
const FENCE: &str =
    "this engine has no fences for preemption: asks below this queue may take from all queues";
const OF_CREATED: &str = "queues made on demand have the setting of the queue above";
const NO_DELAY: &str = "YuniKorn uses 30s, because the delay has no unit or is 0";
const SHORTEST: &str =
    "a round serves all queues, so the shortest delay of a queue is the time between rounds";

/// Reads the rounds of preemption. `None` if the partition switches preemption off, or if no queue of `config` has a
/// guarantee: YuniKorn then preempts nothing.
pub(super) fn read(
    partition: &Entry<'_>,
    root: &Queue<'_>,
    config: &QueueConfig,
    report: &mut Vec<NotCarriedOver>,
) -> Result<Option<PreemptionRounds>, ConfigFileError> {
    if !is_on(partition, report)? || !has_guarantee(config) {
        return Ok(None);
    }
    let mut queues = Queues { report, policies: BTreeMap::new(), delays: Vec::new() };
    let switched = queues.read(root, config, &Inherited::default())?;
    let interval_ms = queues.shortest_delay();
    let (exempt, without) = switched.paths();
    queues.report_created_below(&without);
    report_weights(root, config, report);
    let policy = PreemptionPolicy {
        dead_zone: Percent::NONE,
        natural_termination: Percent::ALL,
        per_round: Percent::ALL,
        exempt,
        ..PreemptionPolicy::default()
    };
    Ok(Some(PreemptionRounds { policy, interval_ms, max_wait_before_kill_ms: 0, observe_only: false }))
}

fn is_on(partition: &Entry<'_>, report: &mut Vec<NotCarriedOver>) -> Result<bool, ConfigFileError> {
    let Some(preemption) = partition.get("preemption") else { return Ok(true) };
    preemption.only(&["enabled", "quotapreemptionenabled"])?;
    if let Some(quota) = preemption.get("quotapreemptionenabled")
        && quota.switch()?
    {
        quota.report(QUOTA, report);
    }
    preemption.get("enabled").map_or(Ok(true), |enabled| enabled.switch())
}

fn has_guarantee(queue: &QueueConfig) -> bool {
    let is_amount = |queue: &QueueConfig| matches!(queue.capacity, Capacity::Absolute(_));
    let of_created = queue.auto_creation.as_ref().is_some_and(|creation| is_amount(&creation.leaf));
    of_created || queue.children.iter().any(|child| is_amount(child) || has_guarantee(child))
}

/// Reports, once, that queues without a guarantee are owed more than in YuniKorn.
fn report_weights(root: &Queue<'_>, config: &QueueConfig, report: &mut Vec<NotCarriedOver>) {
    let mut weighted = Vec::new();
    list_weighted(root, config, &mut weighted);
    let names: Vec<_> = weighted.iter().filter_map(|queue| queue.entry.get("name")).collect();
    if let Some((first, others)) = names.split_first() {
        let others = match others.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let reason = format!(
            "without a guarantee YuniKorn preempts nothing for this queue{others}; here a queue is owed its part by weight"
        );
        first.report(&reason, report);
    }
}

/// The leaves that share the cluster by weights. Below a guarantee the weights divide it, as in YuniKorn.
fn list_weighted<'t, 'n>(queue: &'t Queue<'n>, config: &QueueConfig, weighted: &mut Vec<&'t Queue<'n>>) {
    for (queue, config) in queue.children.iter().zip(&config.children) {
        if !matches!(config.capacity, Capacity::Weight(_)) {
            continue;
        }
        if config.is_leaf() {
            weighted.push(queue);
        }
        list_weighted(queue, config, weighted);
    }
}

/// The settings that a queue has from the queue above.
#[derive(Clone)]
struct Inherited<'n> {
    is_exempt: bool,
    delay_ms: u64,
    /// The property with the delay; none for the default.
    delay: Option<Entry<'n>>,
}

impl Default for Inherited<'_> {
    fn default() -> Self {
        Self { is_exempt: false, delay_ms: DELAY_MS_DEFAULT, delay: None }
    }
}

struct Queues<'n, 'r> {
    report: &'r mut Vec<NotCarriedOver>,
    /// The properties that exempt queues, by path.
    policies: BTreeMap<String, Entry<'n>>,
    /// The delays of queues with applications, now or later.
    delays: Vec<(u64, Option<Entry<'n>>)>,
}

impl<'n> Queues<'n, '_> {
    fn read(
        &mut self,
        queue: &Queue<'n>,
        config: &QueueConfig,
        above: &Inherited<'n>,
    ) -> Result<Switched, ConfigFileError> {
        let own = self.own(queue, above)?;
        let creates = config.auto_creation.is_some();
        if creates || config.is_leaf() {
            self.delays.push((own.delay_ms, own.delay.clone()));
        }
        if let Some(template) = queue.entry.get("childtemplate").filter(|_| creates) {
            self.template(&template, &own)?;
        }
        let children = queue.children.iter().zip(&config.children);
        let children = children.map(|(queue, config)| self.read(queue, config, &own));
        Ok(Switched {
            path: queue.path().to_owned(),
            is_exempt: own.is_exempt,
            creates,
            children: children.collect::<Result<_, _>>()?,
        })
    }

    /// The settings of a queue: its own, otherwise those of the queue above.
    fn own(&mut self, queue: &Queue<'n>, above: &Inherited<'n>) -> Result<Inherited<'n>, ConfigFileError> {
        let mut own = above.clone();
        let Some(properties) = queue.entry.get("properties") else { return Ok(own) };
        if let Some(policy) = properties.get(POLICY) {
            let word = policy.word(&PREEMPTION_POLICIES)?;
            own.is_exempt = word == "disabled";
            if word == "fence" && queue.path() != "root" {
                policy.report(FENCE, self.report);
            }
            self.policies.insert(queue.path().to_owned(), policy);
        }
        if let Some(delay) = properties.get(DELAY) {
            let given_ms = duration(&delay)?.filter(|delay_ms| *delay_ms > 0);
            own.delay_ms = given_ms.unwrap_or(DELAY_MS_DEFAULT);
            match given_ms {
                Some(_) => own.delay = Some(delay),
                None => delay.report(NO_DELAY, self.report),
            }
        }
        Ok(own)
    }

    /// Reports settings for created queues that differ from those of the queue above them.
    fn template(&mut self, template: &Entry<'n>, own: &Inherited<'n>) -> Result<(), ConfigFileError> {
        let Some(properties) = template.get("properties") else { return Ok(()) };
        if let Some(policy) = properties.get(POLICY) {
            let word = policy.word(&PREEMPTION_POLICIES)?;
            if word == "fence" || (word == "disabled") != own.is_exempt {
                policy.report(OF_CREATED, self.report);
            }
        }
        if let Some(delay) = properties.get(DELAY)
            && duration(&delay)? != Some(own.delay_ms)
        {
            delay.report(OF_CREATED, self.report);
        }
        Ok(())
    }

    /// The time between rounds. If delays differ, each delay in the file is reported once.
    fn shortest_delay(&mut self) -> u64 {
        let shortest_ms = self.delays.iter().map(|(delay_ms, _)| *delay_ms).min().unwrap_or(DELAY_MS_DEFAULT);
        if self.delays.iter().any(|(delay_ms, _)| *delay_ms > shortest_ms) {
            let written = self.delays.iter().filter_map(|(_, delay)| delay.as_ref());
            let written: BTreeMap<_, _> = written.map(|delay| (&delay.path, delay)).collect();
            written.values().for_each(|delay| delay.report(SHORTEST, self.report));
        }
        shortest_ms
    }

    fn report_created_below(&mut self, paths: &[&str]) {
        for path in paths {
            let above = path.match_indices('.').rev().map(|(dot, _)| &path[..dot]);
            let policy = std::iter::once(*path).chain(above).find_map(|path| self.policies.get(path));
            let reason = format!(
                "queues that are made on demand below `{}` are not exempt, since another queue below it is not",
                excerpt(path)
            );
            if let Some(policy) = policy {
                policy.report(&reason, self.report);
            }
        }
    }
}
