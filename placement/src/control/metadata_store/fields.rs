//! Reads messages field by field, so that an error names the wrong field.

use serde_json::{Map, Value};
use uuid::Uuid;

use super::message::{ID_MAX, MESSAGE_MAX};
use super::message_error::{MessageError, MessageProblem, excerpt};
use super::status_code::StatusCode;
use super::wire::{A_TIME, not_json, too_long};

const A_TEXT: &str = "a text";
const A_UUID: &str = "a UUID of 32 hexadecimal digits in five groups with hyphens";
const AN_OBJECT: &str = "a JSON object";

/// The fields of a message that are not yet taken.
pub(super) struct Fields {
    object: Map<String, Value>,
}

/// Reads these text fields from a message that cannot be read as a whole. A field is empty if it is
/// unreadable or longer than an id may be.
pub(super) fn readable_ids<const N: usize>(bytes: &[u8], fields: [&str; N]) -> [String; N] {
    let object = object(bytes).unwrap_or_default();
    fields.map(|field| {
        let text = object.get(field).and_then(Value::as_str).filter(|text| text.len() <= ID_MAX);
        text.unwrap_or_default().to_owned()
    })
}

impl Fields {
    /// Returns the fields of a message of this kind, and its uuid.
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

    /// Takes an optional field; null counts as absent.
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
