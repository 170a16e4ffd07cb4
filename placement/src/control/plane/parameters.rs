//! The parameters of a message. Each action takes the parameters that it knows; any other parameter is an
//! error.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use apportion::Resources;
use apportion::resource::{AMOUNT_MAX, RESOURCE_TYPES_MAX};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::control::action::Pace;
use crate::control::metadata_store::ID_MAX;
use crate::control::processor::ProcessorId;

/// The most retries of one step.
const RETRIES_MAX: u32 = 100;
/// The longest time limit or wait that a request may ask for: a day.
pub(super) const MILLISECONDS_MAX: u64 = 86_400_000;
/// The most characters of a wrong value that an error shows.
const SHOWN_MAX: usize = 64;

/// The parameters that are not yet taken, and the names that the action knows.
pub(super) struct Parameters {
    left: Map<String, Value>,
    taken: Vec<&'static str>,
}

impl Parameters {
    pub(super) fn of(given: &Map<String, Value>) -> Self {
        Self { left: given.clone(), taken: Vec::new() }
    }

    fn take<T: DeserializeOwned>(&mut self, name: &'static str, expected: &str) -> Result<Option<T>, String> {
        self.taken.push(name);
        let Some(value) = self.left.remove(name).filter(|value| !value.is_null()) else { return Ok(None) };
        serde_json::from_value(value.clone()).map(Some).map_err(|_| {
            let shown: String = value.to_string().chars().take(SHOWN_MAX).collect();
            format!("parameters: {name} is {shown}; {expected} is expected")
        })
    }

    pub(super) fn pace(&mut self) -> Result<Pace, String> {
        let at_once: Option<NonZeroU32> = self.take("atOnce", "a number from 1 on")?;
        let budget: Option<NonZeroU32> = self.take("disruptionBudget", "a number from 1 on")?;
        Ok(Pace {
            at_once: at_once.unwrap_or(NonZeroU32::MIN),
            disruption_budget: budget.unwrap_or(NonZeroU32::MIN),
        })
    }

    pub(super) fn retries(&mut self) -> Result<u32, String> {
        let retries = self.number("retries")?.unwrap_or(0);
        if retries <= RETRIES_MAX {
            return Ok(retries);
        }
        Err(format!("parameters: retries is {retries}, and may be at most {RETRIES_MAX}"))
    }

    pub(super) fn number(&mut self, name: &'static str) -> Result<Option<u32>, String> {
        self.take(name, "a number from 0 to 4294967295")
    }

    pub(super) fn milliseconds(&mut self, name: &'static str) -> Result<u64, String> {
        let given: u64 = self.take(name, "a number of milliseconds")?.unwrap_or(0);
        if given <= MILLISECONDS_MAX {
            return Ok(given);
        }
        Err(format!("parameters: {name} is {given}; at most {MILLISECONDS_MAX} milliseconds are allowed"))
    }

    pub(super) fn flag(&mut self, name: &'static str) -> Result<bool, String> {
        Ok(self.take(name, "true or false")?.unwrap_or(false))
    }

    pub(super) fn request(&mut self) -> Result<Uuid, String> {
        let request = self.take("request", "a request's uuid")?;
        request.ok_or_else(|| "parameters: request is missing: the uuid of the request to cancel".to_owned())
    }

    pub(super) fn processors(&mut self) -> Result<Option<BTreeSet<ProcessorId>>, String> {
        self.take("processors", "a list of processors such as [\"0\", \"1-0\"]")
    }

    pub(super) fn version(&mut self) -> Result<Option<String>, String> {
        let version: Option<String> = self.take("version", "a text")?;
        match version.as_ref().map(String::len) {
            Some(bytes) if bytes > ID_MAX => {
                Err(format!("parameters: version has {bytes} bytes; {ID_MAX} are allowed"))
            }
            _ => Ok(version),
        }
    }

    pub(super) fn size(&mut self) -> Result<Option<Resources>, String> {
        let expected = format!(
            "a list of 1 to {RESOURCE_TYPES_MAX} amounts from 0 to {AMOUNT_MAX}, memory in MiB first,"
        );
        let Some(amounts) = self.take::<Vec<i64>>("size", &expected)? else { return Ok(None) };
        let is_within = amounts.iter().all(|amount| (0..=AMOUNT_MAX).contains(amount));
        match amounts.len() {
            1..=RESOURCE_TYPES_MAX if amounts.iter().all(|amount| *amount == 0) => {
                Err("parameters: size is 0 in every amount".to_owned())
            }
            1..=RESOURCE_TYPES_MAX if is_within => Ok(Some(Resources::new(&amounts))),
            _ => {
                let shown: String = format!("{amounts:?}").chars().take(SHOWN_MAX).collect();
                Err(format!("parameters: size is {shown}; {expected} is expected"))
            }
        }
    }

    /// Fails if a parameter is left that the action did not take.
    pub(super) fn end(self, action: &str) -> Result<(), String> {
        let Some(name) = self.left.keys().next() else { return Ok(()) };
        let name: String = name.chars().take(SHOWN_MAX).collect();
        let known = if self.taken.is_empty() { "none".to_owned() } else { self.taken.join(", ") };
        Err(format!("parameters: {action} takes no `{name}`; it takes {known}"))
    }
}
