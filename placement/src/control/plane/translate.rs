//! From a message to what is asked of a job (`samza.md` 1.2, and the actions that Samza never shipped).

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use apportion::{AMOUNT_MAX, RESOURCE_TYPES_MAX, Resources};
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use crate::application::ComponentChange;
use crate::control::action::{Destination, JobAction, JobRequest, Pace, RollingRestart};
use crate::control::metadata_store::{ID_MAX, PlacementRequest};
use crate::control::processor::ProcessorId;

/// The actions that a message can ask for, by name; without a name it is `MOVE`.
pub const ACTIONS: [&str; 11] = [
    "MOVE",
    "RESTART",
    "FORCE_RESTART",
    "MOVE_TO_STANDBY",
    "START_STANDBY",
    "STOP_STANDBY",
    "DRAIN_HOST",
    "READMIT_HOST",
    "RELIEVE_HOST",
    "ROLLING_RESTART",
    "CANCEL",
];

/// What a message may say besides where.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Parameters {
    at_once: Option<NonZeroU32>,
    disruption_budget: Option<NonZeroU32>,
    retries: u32,
    containers: Option<u32>,
    processors: Option<BTreeSet<ProcessorId>>,
    canaries: u32,
    canary_wait_ms: u64,
    stops_first: bool,
    version: Option<String>,
    size: Option<Vec<i64>>,
    request: Option<Uuid>,
}

/// How often one container may be tried again.
const RETRIES_MAX: u32 = 100;

/// What a message asks of its job.
///
/// # Errors
/// In words, when it asks for nothing that there is.
pub(super) fn translate(message: &PlacementRequest) -> Result<JobRequest, String> {
    let given: Parameters = serde_json::from_value(Value::Object(message.parameters.clone()))
        .map_err(|error| format!("parameters: {error}"))?;
    if given.retries > RETRIES_MAX {
        return Err(format!("parameters: retries is {}, and may be at most {RETRIES_MAX}", given.retries));
    }
    let retries = given.retries;
    let action = action(message, given)?;
    let expires_after_ms = message.request_expiry_ms.unwrap_or(JobRequest::EXPIRES_AFTER_MS);
    Ok(JobRequest { action, expires_after_ms, retries })
}

fn action(message: &PlacementRequest, given: Parameters) -> Result<JobAction, String> {
    let place = |destination| Ok(JobAction::Place { processor: processor(message)?, destination });
    let pace = Pace {
        at_once: given.at_once.unwrap_or(NonZeroU32::MIN),
        disruption_budget: given.disruption_budget.unwrap_or(NonZeroU32::MIN),
    };
    match message.action.as_deref().unwrap_or("MOVE") {
        "MOVE" => place(destination(&message.destination_host)?),
        "RESTART" => place(Destination::LastSeen),
        "FORCE_RESTART" => place(Destination::ForceRestartLastSeen),
        "MOVE_TO_STANDBY" => place(Destination::Standby),
        "START_STANDBY" => Ok(JobAction::StartStandby { processor: processor(message)? }),
        "STOP_STANDBY" => Ok(JobAction::StopStandby { standby: processor(message)? }),
        "DRAIN_HOST" => Ok(JobAction::DrainHost { host: host(message)?.into(), pace }),
        "READMIT_HOST" => Ok(JobAction::ReadmitHost { host: host(message)?.into() }),
        "RELIEVE_HOST" => {
            let containers =
                given.containers.ok_or("parameters: containers is missing: how many are to leave")?;
            Ok(JobAction::RelieveHost { host: host(message)?.into(), containers, pace })
        }
        "ROLLING_RESTART" => Ok(JobAction::RollingRestart(rolling_restart(given, pace)?)),
        "CANCEL" => {
            let request =
                given.request.ok_or("parameters: request is missing: the uuid of what is to be cancelled")?;
            Ok(JobAction::Cancel { request })
        }
        other => Err(format!(
            "there is no action `{}`; there are {}",
            other.chars().take(64).collect::<String>(),
            ACTIONS.join(", ")
        )),
    }
}

fn rolling_restart(given: Parameters, pace: Pace) -> Result<RollingRestart, String> {
    let size = given.size.map(|amounts| match amounts.len() {
        1..=RESOURCE_TYPES_MAX if amounts.iter().all(|amount| (0..=AMOUNT_MAX).contains(amount)) => {
            Ok(Resources::new(&amounts))
        }
        _ => Err(format!(
            "parameters: size has to be a list of 1 to {RESOURCE_TYPES_MAX} amounts from 0 to {AMOUNT_MAX}, memory in MiB first"
        )),
    });
    let bytes = given.version.as_ref().map_or(0, String::len);
    if bytes > ID_MAX {
        return Err(format!("parameters: version has {bytes} bytes; {ID_MAX} are allowed"));
    }
    Ok(RollingRestart {
        processors: given.processors,
        pace,
        canaries: given.canaries,
        canary_wait_ms: given.canary_wait_ms,
        stops_first: given.stops_first,
        change: ComponentChange { version: given.version, size: size.transpose()? },
    })
}

fn processor(message: &PlacementRequest) -> Result<ProcessorId, String> {
    message.processor_id.parse().map_err(|error| format!("processorId: {error}"))
}

fn host(message: &PlacementRequest) -> Result<&str, String> {
    let host = message.destination_host.as_str();
    if host.is_empty() {
        Err("destinationHost is empty: the host's name is expected".to_owned())
    } else {
        Ok(host)
    }
}

fn destination(word: &str) -> Result<Destination, String> {
    match word {
        "" => Err("destinationHost is empty: a host's name, ANY_HOST, LAST_SEEN, FORCE_RESTART_LAST_SEEN or STANDBY is \
                   expected"
            .to_owned()),
        "ANY_HOST" => Ok(Destination::AnyHost),
        "LAST_SEEN" => Ok(Destination::LastSeen),
        "FORCE_RESTART_LAST_SEEN" => Ok(Destination::ForceRestartLastSeen),
        "STANDBY" => Ok(Destination::Standby),
        host => Ok(Destination::Host(host.into())),
    }
}
