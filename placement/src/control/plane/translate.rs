//! Translates a message into a job's action (`samza.md` 1.2, and the actions that Samza never shipped).

use super::parameters::{MILLISECONDS_MAX, Parameters};
use crate::application::ComponentChange;
use crate::control::action::{ActionName, Destination, JobAction, JobRequest, RollingRestart};
use crate::control::metadata_store::PlacementRequest;
use crate::control::processor::ProcessorId;

/// Returns the action that a message asks for.
///
/// # Errors
/// Why the message is invalid, in words.
pub(super) fn translate(message: &PlacementRequest) -> Result<JobRequest, String> {
    let name = match message.action.as_deref() {
        None => ActionName::Move,
        Some(text) => named(text)?,
    };
    let mut given = Parameters::of(&message.parameters);
    let action = action(name, message, &mut given)?;
    let retries = if action.makes_room() { 0 } else { given.retries()? };
    given.end(name.as_str())?;
    let expires_after_ms = message.request_expiry_ms.unwrap_or(JobRequest::EXPIRES_AFTER_MS);
    if expires_after_ms > MILLISECONDS_MAX {
        return Err(format!(
            "requestExpiry is {expires_after_ms}; at most {MILLISECONDS_MAX} milliseconds are allowed"
        ));
    }
    check_unused(name, message)?;
    Ok(JobRequest { action, expires_after_ms, retries })
}

/// Rejects a field that the action does not use: the sender probably meant another action.
fn check_unused(name: ActionName, message: &PlacementRequest) -> Result<(), String> {
    let is_unused = |field, text: &str| match text {
        "" => Ok(()),
        _ => Err(format!("{field}: {name} asks for none; it has to be empty")),
    };
    if name.is_about_many() {
        is_unused("processorId", &message.processor_id)?;
    }
    if name.names_host() { Ok(()) } else { is_unused("destinationHost", &message.destination_host) }
}

fn named(text: &str) -> Result<ActionName, String> {
    let found = ActionName::ALL.into_iter().find(|name| name.as_str() == text);
    found.ok_or_else(|| {
        let shown: String = text.chars().take(64).collect();
        let names = ActionName::ALL.map(ActionName::as_str).join(", ");
        format!("there is no action `{shown}`; there are {names}")
    })
}

fn action(name: ActionName, message: &PlacementRequest, given: &mut Parameters) -> Result<JobAction, String> {
    let place = |destination| Ok(JobAction::Place { processor: processor(message)?, destination });
    match name {
        ActionName::Move => place(destination(&message.destination_host)?),
        ActionName::Restart => place(Destination::LastSeen),
        ActionName::ForceRestart => place(Destination::ForceRestartLastSeen),
        ActionName::MoveToStandby => place(Destination::Standby),
        ActionName::StartStandby => Ok(JobAction::StartStandby { processor: processor(message)? }),
        ActionName::StopStandby => Ok(JobAction::StopStandby { standby: processor(message)? }),
        ActionName::DrainHost => {
            Ok(JobAction::DrainHost { host: host(message)?.into(), pace: given.pace()? })
        }
        ActionName::ReadmitHost => Ok(JobAction::ReadmitHost { host: host(message)?.into() }),
        ActionName::RelieveHost => {
            let containers = given.number("containers")?;
            let containers = containers.ok_or("parameters: containers is missing: how many are to leave")?;
            Ok(JobAction::RelieveHost { host: host(message)?.into(), containers, pace: given.pace()? })
        }
        ActionName::RollingRestart => Ok(JobAction::RollingRestart(rolling_restart(given)?)),
        ActionName::Cancel => Ok(JobAction::Cancel { request: given.request()? }),
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
