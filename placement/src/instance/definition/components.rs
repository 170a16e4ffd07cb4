//! Resolves the components of a definition.

use std::collections::{BTreeMap, BTreeSet};

use apportion::preempt::{DisruptionBudget, DisruptionLimit};

use super::error::DefinitionError;
use super::keys::{
    CONTAINER_FAILURES, ConfFile, ESCALATE_SECONDS, HEALTH_DELAY, HEALTH_PERCENT, HEALTH_WINDOW, INSTANCES,
    LABEL, MAX_UNAVAILABLE, MIN_AVAILABLE, NODE_FAILURES, POLICY, PRIORITY, PRIORITY_MAX, UNIQUE_NAMES,
};
use super::master::MASTER;
use super::number::decode;
use super::size::{self, SizeBounds};
use super::tree::ConfTree;
use super::values::Values;
use crate::application::budgets_of;
use crate::component::{ComponentId, ComponentSpec, HealthThreshold, PlacementPolicy};

/// The most instances with unique names: each is a component, which every event reviews.
const UNIQUE_NAMES_MAX: u32 = 10_000;

/// The component of each component id.
type Owners = BTreeMap<u32, String>;

/// Returns the components of `resources.json` in the order of ids.
pub(crate) fn resolve(tree: &ConfTree, bounds: &SizeBounds) -> Result<Vec<ComponentSpec>, DefinitionError> {
    let mut owners = Owners::new();
    let (mut alone, mut groups) = (Vec::new(), Vec::new());
    for name in tree.components.keys().filter(|name| *name != MASTER) {
        let values = Values::component(ConfFile::Resources, tree, name);
        let spec = component(name, &values, bounds)?;
        let ComponentId(priority) = spec.id;
        if let Some(first) = owners.insert(priority, name.clone()) {
            return Err(DefinitionError::DuplicatePriority { priority, first, second: name.clone() });
        }
        let of_its_kind = if values.flag(&UNIQUE_NAMES)? { &mut groups } else { &mut alone };
        of_its_kind.push(spec);
    }
    let mut names: BTreeSet<String> = alone.iter().map(|spec| spec.name.clone()).collect();
    let mut all = alone;
    for group in groups {
        for instance in split(&group, &mut owners)? {
            if !names.insert(instance.name.clone()) {
                let (name, group) = (instance.name, group.name);
                return Err(DefinitionError::DuplicateName { name, group });
            }
            all.push(instance);
        }
    }
    DisruptionBudget::check_all(&budgets_of(all.iter()))
        .map_err(|problem| DefinitionError::InvalidBudgets { problem })?;
    all.sort_by_key(|spec| spec.id);
    Ok(all)
}

fn component(name: &str, values: &Values<'_>, bounds: &SizeBounds) -> Result<ComponentSpec, DefinitionError> {
    if name.is_empty() {
        return Err(DefinitionError::EmptyName);
    }
    if values.text(&PRIORITY).is_empty() {
        return Err(DefinitionError::MissingPriority { component: name.to_owned() });
    }
    let priority = values.unsigned(&PRIORITY)?;
    let size = size::resolve(values, bounds)?;
    let label = values.text(&LABEL);
    Ok(ComponentSpec {
        policy: policy(values)?,
        label: (!label.is_empty()).then(|| label.to_owned()),
        escalate_after_ms: values.seconds_as_ms(&ESCALATE_SECONDS)?,
        node_failure_threshold: u32::try_from(values.number(&NODE_FAILURES)?).ok(),
        container_failure_threshold: u32::try_from(values.number(&CONTAINER_FAILURES)?)
            .ok()
            .filter(|most| *most > 0),
        health: health(values)?,
        disruption: disruption(name, values)?,
        ..ComponentSpec::new(name, priority, values.unsigned(&INSTANCES)?, size)
    })
}

fn policy(values: &Values<'_>) -> Result<PlacementPolicy, DefinitionError> {
    let text = values.text(&POLICY);
    let known = decode(text).and_then(|bits| PlacementPolicy::from_bits(bits).ok());
    known.ok_or_else(|| POLICY.wrong(text, values.place()))
}

/// Returns the health threshold; `None` without a percentage.
fn health(values: &Values<'_>) -> Result<Option<HealthThreshold>, DefinitionError> {
    let percent = u32::try_from(values.number(&HEALTH_PERCENT)?).ok().filter(|percent| *percent > 0);
    let Some(percent) = percent else { return Ok(None) };
    let window_ms = values.seconds_as_ms(&HEALTH_WINDOW)?;
    let initial_delay_ms = values.seconds_as_ms(&HEALTH_DELAY)?;
    Ok(Some(HealthThreshold { percent, window_ms, initial_delay_ms }))
}

/// Returns the part of the instances that preemption leaves available; `None` if both keys are negative.
fn disruption(name: &str, values: &Values<'_>) -> Result<Option<DisruptionLimit>, DefinitionError> {
    let number = |key| Ok(u32::try_from(values.number(key)?).ok());
    let instances = values.unsigned(&INSTANCES)?;
    let component = name.to_owned();
    match (number(&MIN_AVAILABLE)?, number(&MAX_UNAVAILABLE)?) {
        (Some(_), Some(_)) => Err(DefinitionError::TwoBudgets { component }),
        (Some(least), None) if least > instances && instances > 0 => {
            Err(DefinitionError::BudgetNeverMet { component, least, instances })
        }
        (Some(least), None) => Ok(Some(DisruptionLimit::MinAvailable(least))),
        (None, most) => Ok(most.map(DisruptionLimit::MaxUnavailable)),
    }
}

/// Splits a group into a component for each instance. Ids count up from the group's own id. If an id is
/// taken, the next one above the largest is used.
fn split(group: &ComponentSpec, owners: &mut Owners) -> Result<Vec<ComponentSpec>, DefinitionError> {
    if group.desired > UNIQUE_NAMES_MAX {
        let (component, count) = (group.name.clone(), group.desired);
        return Err(DefinitionError::TooManyNames { component, count, most: UNIQUE_NAMES_MAX });
    }
    let mut instances = Vec::new();
    for offset in 0..group.desired {
        let wanted = group.id.0.checked_add(offset);
        let free = wanted.filter(|wanted| offset == 0 || !owners.contains_key(wanted));
        let largest = owners.last_key_value().map_or(0, |(largest, _)| *largest);
        let priority = free.unwrap_or(largest + 1);
        if i64::from(priority) > PRIORITY_MAX {
            let place = super::Place::Component(ConfFile::Resources, group.name.clone());
            return Err(PRIORITY.wrong(&priority.to_string(), &place));
        }
        owners.insert(priority, group.name.clone());
        let name = format!("{}{}", group.name, offset + 1);
        let id = ComponentId(priority);
        instances.push(ComponentSpec { name, id, desired: 1, ..group.clone() });
    }
    Ok(instances)
}
