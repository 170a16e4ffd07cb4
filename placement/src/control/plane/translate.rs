//! From a message to what is asked of a job (`samza.md` 1.2, and the actions that Samza never shipped).

use super::parameters::Parameters;
use crate::application::ComponentChange;
use crate::control::action::{Destination, JobAction, JobRequest, RollingRestart};
use crate::control::metadata_store::PlacementRequest;
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

/// What a message asks of its job.
///
/// # Errors
/// In words, when it asks for nothing that there is.
pub(super) fn translate(message: &PlacementRequest) -> Result<JobRequest, String> {
    let name = message.action.as_deref().unwrap_or("MOVE");
    if !ACTIONS.contains(&name) {
        let shown: String = name.chars().take(64).collect();
        return Err(format!("there is no action `{shown}`; there are {}", ACTIONS.join(", ")));
    }
    let mut given = Parameters::of(&message.parameters);
    let action = action(name, message, &mut given)?;
    let retries = if action.may_be_tried_again() { given.retries()? } else { 0 };
    given.end(name)?;
    let expires_after_ms = message.request_expiry_ms.unwrap_or(JobRequest::EXPIRES_AFTER_MS);
    Ok(JobRequest { action, expires_after_ms, retries })
}

fn action(name: &str, message: &PlacementRequest, given: &mut Parameters) -> Result<JobAction, String> {
    let place = |destination| Ok(JobAction::Place { processor: processor(message)?, destination });
    match name {
        "RESTART" => place(Destination::LastSeen),
        "FORCE_RESTART" => place(Destination::ForceRestartLastSeen),
        "MOVE_TO_STANDBY" => place(Destination::Standby),
        "START_STANDBY" => Ok(JobAction::StartStandby { processor: processor(message)? }),
        "STOP_STANDBY" => Ok(JobAction::StopStandby { standby: processor(message)? }),
        "DRAIN_HOST" => Ok(JobAction::DrainHost { host: host(message)?.into(), pace: given.pace()? }),
        "READMIT_HOST" => Ok(JobAction::ReadmitHost { host: host(message)?.into() }),
        "RELIEVE_HOST" => {
            let containers = given.number("containers")?;
            let containers = containers.ok_or("parameters: containers is missing: how many are to leave")?;
            Ok(JobAction::RelieveHost { host: host(message)?.into(), containers, pace: given.pace()? })
        }
        "ROLLING_RESTART" => Ok(JobAction::RollingRestart(rolling_restart(given)?)),
        "CANCEL" => Ok(JobAction::Cancel { request: given.request()? }),
        _ => place(destination(&message.destination_host)?),
    }
}

fn rolling_restart(given: &mut Parameters) -> Result<RollingRestart, String> {
    Ok(RollingRestart {
        processors: given.processors()?,
        pace: given.pace()?,
        canaries: given.number("canaries")?.unwrap_or(0),
        canary_wait_ms: given.milliseconds("canaryWaitMs")?,
        stops_first: given.flag("stopsFirst")?,
        change: ComponentChange { version: given.version()?, size: given.size()? },
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
