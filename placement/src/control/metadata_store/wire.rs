//! Writes messages as JSON objects in Samza's form, and checks their bounds.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::message::{HOST_MAX, ID_MAX, MESSAGE_MAX, PARAMETERS_DEPTH_MAX, PARAMETERS_MAX};
use super::message_error::{MessageError, MessageProblem};
use super::status_code::StatusCode;

/// Samza stores times as Java's `long`.
const MS_MAX: u64 = i64::MAX.unsigned_abs();
/// The expected form of a time.
pub(super) const A_TIME: &str = "a whole number of milliseconds, at most 2^63 - 1";

/// A message: the field order and names of the JSON object.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Wire<'a> {
    pub(super) sub_type: &'static str,
    pub(super) uuid: Uuid,
    pub(super) deployment_id: &'a str,
    pub(super) processor_id: &'a str,
    pub(super) destination_host: &'a str,
    pub(super) status_code: StatusCode,
    pub(super) timestamp: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) request_expiry: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) action: Option<&'a str>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(super) parameters: &'a Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) principal: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) response_message: Option<&'a str>,
}

impl Wire<'_> {
    /// Checks the bounds. Reading and writing share this check, so every written message can be read.
    pub(super) fn check(&self) -> Result<(), MessageError> {
        self.problem().map_err(|problem| MessageError { uuid: Some(self.uuid), problem })
    }

    fn problem(&self) -> Result<(), MessageProblem> {
        bounded("deploymentId", self.deployment_id, ID_MAX)?;
        bounded("processorId", self.processor_id, ID_MAX)?;
        bounded("destinationHost", self.destination_host, HOST_MAX)?;
        bounded("action", self.action.unwrap_or_default(), ID_MAX)?;
        bounded("principal", self.principal.unwrap_or_default(), ID_MAX)?;
        bounded_time("timestamp", self.timestamp)?;
        if let Some(expiry) = self.request_expiry {
            bounded_time("requestExpiry", expiry)?;
            if expiry == 0 {
                return Err(MessageProblem::Expiry { found: 0 });
            }
        }
        bounded_parameters(self.parameters)
    }

    pub(super) fn to_bytes(&self) -> Result<Vec<u8>, MessageError> {
        self.check()?;
        let wrong = |problem| MessageError { uuid: Some(self.uuid), problem };
        let bytes = serde_json::to_vec(self).map_err(|error| wrong(not_json(&error)))?;
        if bytes.len() > MESSAGE_MAX {
            return Err(wrong(too_long(bytes.len() as u64)));
        }
        Ok(bytes)
    }
}

fn bounded(field: &'static str, text: &str, max: usize) -> Result<(), MessageProblem> {
    let bytes = text.len();
    if bytes <= max { Ok(()) } else { Err(MessageProblem::TextTooLong { field, bytes, max }) }
}

fn bounded_time(field: &'static str, ms: u64) -> Result<(), MessageProblem> {
    let wrong = || MessageProblem::WrongType { field, expected: A_TIME, found: ms.to_string() };
    if ms <= MS_MAX { Ok(()) } else { Err(wrong()) }
}

fn bounded_parameters(parameters: &Map<String, Value>) -> Result<(), MessageProblem> {
    if parameters.is_empty() {
        return Ok(());
    }
    // Check the depth first: measuring the length recurses as deep as the values do.
    if parameters.values().any(|value| is_deeper(value, PARAMETERS_DEPTH_MAX - 1)) {
        return Err(MessageProblem::TooDeep { max: PARAMETERS_DEPTH_MAX });
    }
    let mut length = Length(0);
    serde_json::to_writer(&mut length, parameters).map_err(|error| not_json(&error))?;
    match length.0 <= PARAMETERS_MAX {
        true => Ok(()),
        false => {
            Err(MessageProblem::TextTooLong { field: "parameters", bytes: length.0, max: PARAMETERS_MAX })
        }
    }
}

fn is_deeper(value: &Value, levels: usize) -> bool {
    // Called only while `levels` > 0.
    let is_inner_deeper = |inner: &Value| is_deeper(inner, levels - 1);
    match value {
        Value::Array(list) => levels == 0 || list.iter().any(is_inner_deeper),
        Value::Object(object) => levels == 0 || object.values().any(is_inner_deeper),
        _ => false,
    }
}

struct Length(usize);

impl Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(super) fn too_long(bytes: u64) -> MessageProblem {
    MessageProblem::MessageTooLong { bytes, max: MESSAGE_MAX }
}

pub(super) fn not_json(error: &serde_json::Error) -> MessageProblem {
    let text = error.to_string();
    // serde_json repeats line and column at the end.
    let reason = text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason).to_owned();
    MessageProblem::NotJson { line: error.line(), column: error.column(), reason }
}
