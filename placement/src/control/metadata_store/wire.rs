//! Messages as bytes: JSON objects in Samza's form.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::message::{HOST_MAX, ID_MAX, MESSAGE_MAX, PARAMETERS_DEPTH_MAX, PARAMETERS_MAX};
use super::message_error::{MessageError, MessageProblem, excerpt};
use super::status_code::StatusCode;

/// Samza's times are Java's `long`.
const MS_MAX: u64 = i64::MAX.unsigned_abs();
const A_TEXT: &str = "a text";
const A_UUID: &str = "a UUID of 32 hexadecimal digits in five groups with hyphens";
const A_TIME: &str = "a whole number of milliseconds, at most 2^63 - 1";
const AN_OBJECT: &str = "a JSON object";

/// A message in the order and with the names of its fields.
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
    /// What is written can be read: both come through here.
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
    // The depth comes first: measuring the length goes as deep as the values do.
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
    let is_deeper = |inner: &Value| levels == 0 || is_deeper(inner, levels - 1);
    match value {
        Value::Array(list) => levels == 0 || list.iter().any(is_deeper),
        Value::Object(object) => levels == 0 || object.values().any(is_deeper),
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

fn not_json(error: &serde_json::Error) -> MessageProblem {
    let text = error.to_string();
    // serde_json repeats the place at the end.
    let reason = text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason).to_owned();
    MessageProblem::NotJson { line: error.line(), column: error.column(), reason }
}

/// A message's fields as they are taken out one by one.
pub(super) struct Fields {
    object: Map<String, Value>,
}

impl Fields {
    /// The fields of a message of this kind, and its uuid.
    pub(super) fn of(bytes: &[u8], sub_type: &'static str) -> Result<(Self, Uuid), MessageError> {
        let object = object(bytes).map_err(|problem| MessageError { uuid: None, problem })?;
        let mut fields = Self { object };
        let uuid = fields.uuid();
        let wrong = |problem| MessageError { uuid: uuid.as_ref().ok().copied(), problem };
        let found = fields.text("subType").map_err(wrong)?;
        if found != sub_type {
            let problem = MessageProblem::UnknownSubType { found: excerpt(&found), expected: sub_type };
            return Err(wrong(problem));
        }
        let uuid = uuid.map_err(|problem| MessageError { uuid: None, problem })?;
        Ok((fields, uuid))
    }

    fn uuid(&mut self) -> Result<Uuid, MessageProblem> {
        let value = self.needed("uuid", A_UUID)?;
        let text = value.as_str().filter(|text| text.len() == 36);
        text.and_then(|text| Uuid::try_parse(text).ok()).ok_or_else(|| wrong_type("uuid", A_UUID, &value))
    }

    /// A field of which null is nothing.
    fn given(&mut self, field: &'static str) -> Option<Value> {
        self.object.remove(field).filter(|value| !value.is_null())
    }

    fn needed(&mut self, field: &'static str, expected: &'static str) -> Result<Value, MessageProblem> {
        self.object.remove(field).ok_or(MessageProblem::Missing { field, expected })
    }

    pub(super) fn text(&mut self, field: &'static str) -> Result<String, MessageProblem> {
        text(field, self.needed(field, A_TEXT)?)
    }

    pub(super) fn given_text(&mut self, field: &'static str) -> Result<Option<String>, MessageProblem> {
        self.given(field).map(|value| text(field, value)).transpose()
    }

    pub(super) fn timestamp(&mut self) -> Result<u64, MessageProblem> {
        let value = self.needed("timestamp", A_TIME)?;
        time("timestamp", &value, |found| MessageProblem::Timestamp { found })
    }

    pub(super) fn expiry(&mut self) -> Result<Option<u64>, MessageProblem> {
        let value = self.given("requestExpiry");
        let read = |value| time("requestExpiry", &value, |found| MessageProblem::Expiry { found });
        value.map(read).transpose()
    }

    pub(super) fn parameters(&mut self) -> Result<Map<String, Value>, MessageProblem> {
        match self.given("parameters") {
            None => Ok(Map::new()),
            Some(Value::Object(object)) => Ok(object),
            Some(value) => Err(wrong_type("parameters", AN_OBJECT, &value)),
        }
    }

    pub(super) fn status_code(&mut self) -> Result<StatusCode, MessageProblem> {
        const EXPECTED: &str = "one of Samza's words, such as ACCEPTED or SUCCEEDED";
        let value = self.needed("statusCode", EXPECTED)?;
        let code = value.as_str().and_then(|word| word.parse().ok());
        code.ok_or_else(|| wrong_type("statusCode", EXPECTED, &value))
    }
}

fn object(bytes: &[u8]) -> Result<Map<String, Value>, MessageProblem> {
    if bytes.len() > MESSAGE_MAX {
        return Err(too_long(bytes.len() as u64));
    }
    let text =
        std::str::from_utf8(bytes).map_err(|error| MessageProblem::NotUtf8 { byte: error.valid_up_to() })?;
    match serde_json::from_str(text).map_err(|error| not_json(&error))? {
        Value::Object(object) => Ok(object),
        other => Err(MessageProblem::NotAnObject { found: kind(&other) }),
    }
}

fn text(field: &'static str, value: Value) -> Result<String, MessageProblem> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(wrong_type(field, A_TEXT, &other)),
    }
}

fn time(
    field: &'static str,
    value: &Value,
    negative: impl Fn(i64) -> MessageProblem,
) -> Result<u64, MessageProblem> {
    match (value.as_u64(), value.as_i64()) {
        (Some(ms), _) => Ok(ms),
        (None, Some(found)) => Err(negative(found)),
        (None, None) => Err(wrong_type(field, A_TIME, value)),
    }
}

fn wrong_type(field: &'static str, expected: &'static str, value: &Value) -> MessageProblem {
    let found = match value {
        Value::String(text) => format!("the text `{}`", excerpt(text)),
        Value::Number(number) => format!("the number {number}"),
        other => kind(other).to_owned(),
    };
    MessageProblem::WrongType { field, expected, found }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => AN_OBJECT,
    }
}
