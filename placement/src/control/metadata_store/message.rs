//! The messages of the control plane: requests and responses.

use serde_json::{Map, Value};
use uuid::Uuid;

use super::fields::Fields;
use super::message_error::{MessageError, MessageProblem};
use super::status_code::StatusCode;
use super::wire::Wire;
use crate::control::action::ActionName;

/// `subType` of a request.
pub const REQUEST_SUB_TYPE: &str = "ContainerPlacementRequestMessage";
/// `subType` of a response.
pub const RESPONSE_SUB_TYPE: &str = "ContainerPlacementResponseMessage";
/// The most bytes of a message.
pub const MESSAGE_MAX: usize = 64 * 1024;
/// The most bytes of a host name, as in DNS.
pub const HOST_MAX: usize = 253;
/// The most bytes of a deployment id, a processor id, an action name or a principal.
pub const ID_MAX: usize = 256;
/// The most bytes of all parameters of a message together, as JSON.
pub const PARAMETERS_MAX: usize = 16 * 1024;
/// The most levels of objects and lists in parameters, the outermost included.
pub const PARAMETERS_DEPTH_MAX: usize = 32;
/// The most bytes of an explanation that [`PlacementRequest::answer`] keeps. As JSON, one byte may become
/// six.
pub const EXPLANATION_MAX: usize = 4 * 1024;

/// A request about the placement of containers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacementRequest {
    /// Identifies the request; its response has the same uuid.
    pub uuid: Uuid,
    /// The deployment that it addresses: one run of one job. At most [`ID_MAX`] bytes, like all texts but
    /// the host.
    pub deployment_id: String,
    /// The processor or standby concerned; empty if the action names none.
    pub processor_id: String,
    /// The host concerned, the destination of the container, or a word of Samza's such as `ANY_HOST`. At
    /// most [`HOST_MAX`] bytes.
    pub destination_host: String,
    /// Time limit in milliseconds for finding a place, and for waiting for each container concerned. At
    /// least 1; 5,000 if absent.
    pub request_expiry_ms: Option<u64>,
    /// The time at which it was written, in milliseconds since the epoch; at most 2^63 - 1.
    pub timestamp_ms: u64,
    /// The action, such as `DRAIN_HOST`. If absent, `destination_host` decides, as in Samza.
    pub action: Option<String>,
    /// Parameters of the action; at most [`PARAMETERS_MAX`] bytes and [`PARAMETERS_DEPTH_MAX`] levels.
    /// Absent parameters equal an empty object.
    pub parameters: Map<String, Value>,
    /// The principal that asks.
    pub principal: Option<String>,
}

/// The progress of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacementResponse {
    /// The request's uuid.
    pub uuid: Uuid,
    /// The request's deployment id.
    pub deployment_id: String,
    /// The request's processor id.
    pub processor_id: String,
    /// The request's destination host.
    pub destination_host: String,
    /// The request's expiry, in milliseconds.
    pub request_expiry_ms: Option<u64>,
    /// The time at which the response was written, in milliseconds since the epoch; at most 2^63 - 1.
    pub timestamp_ms: u64,
    /// The request's action.
    pub action: Option<String>,
    /// The request's parameters.
    pub parameters: Map<String, Value>,
    /// The request's principal.
    pub principal: Option<String>,
    /// The status.
    pub status_code: StatusCode,
    /// The reason, for people.
    pub response_message: String,
}

impl PlacementRequest {
    /// Creates a request for this deployment's job, without processor or host. `now_ms` is the time since
    /// the epoch.
    #[must_use]
    pub fn new(deployment_id: impl Into<String>, action: ActionName, now_ms: u64) -> Self {
        Self {
            uuid: Uuid::new_v4(),
            deployment_id: deployment_id.into(),
            processor_id: String::new(),
            destination_host: String::new(),
            request_expiry_ms: None,
            timestamp_ms: now_ms,
            // A plain move has no action field, so that clients of Samza can read it too.
            action: (action != ActionName::Move).then(|| action.as_str().to_owned()),
            parameters: Map::new(),
            principal: None,
        }
    }

    /// Sets the processor or standby concerned.
    #[must_use]
    pub fn about(mut self, processor_id: impl Into<String>) -> Self {
        self.processor_id = processor_id.into();
        self
    }

    /// Sets the host concerned, or the destination.
    #[must_use]
    pub fn on_host(mut self, host: impl Into<String>) -> Self {
        self.destination_host = host.into();
        self
    }

    /// Sets the time limit for finding a place, and for waiting for each container.
    #[must_use]
    pub fn expiring_after_ms(mut self, request_expiry_ms: u64) -> Self {
        self.request_expiry_ms = Some(request_expiry_ms);
        self
    }

    /// Adds a parameter.
    #[must_use]
    pub fn with(mut self, parameter: impl Into<String>, value: impl Into<Value>) -> Self {
        self.parameters.insert(parameter.into(), value.into());
        self
    }

    /// Sets the principal that asks.
    #[must_use]
    pub fn asked_by(mut self, principal: impl Into<String>) -> Self {
        self.principal = Some(principal.into());
        self
    }

    /// Reads a request from a message. Unknown fields are ignored, as is `statusCode`: the request is new
    /// in any case. Null counts as absent where a field is optional.
    ///
    /// # Errors
    /// If it is not a request or breaks a bound. The error has the request's uuid if that could be read.
    pub fn read(bytes: &[u8]) -> Result<Self, MessageError> {
        let (mut fields, uuid) = Fields::of(bytes, REQUEST_SUB_TYPE)?;
        let request =
            Self::of(&mut fields, uuid).map_err(|problem| MessageError { uuid: Some(uuid), problem })?;
        request.wire().check()?;
        Ok(request)
    }

    fn of(fields: &mut Fields, uuid: Uuid) -> Result<Self, MessageProblem> {
        Ok(Self {
            uuid,
            deployment_id: fields.text("deploymentId")?,
            processor_id: fields.text("processorId")?,
            destination_host: fields.text("destinationHost")?,
            request_expiry_ms: fields.expiry()?,
            timestamp_ms: fields.timestamp()?,
            action: fields.given_text("action")?,
            parameters: fields.parameters()?,
            principal: fields.given_text("principal")?,
        })
    }

    /// Writes the message, with the status `CREATED`. [`read`](Self::read) returns an equal request from
    /// it.
    ///
    /// # Errors
    /// If it breaks a bound.
    pub fn write(&self) -> Result<Vec<u8>, MessageError> {
        self.wire().to_bytes()
    }

    /// Creates a response to this request. Keeps the first [`EXPLANATION_MAX`] bytes of the explanation, so
    /// that an answer can always be written if its request could.
    #[must_use]
    pub fn answer(&self, status_code: StatusCode, explanation: &str, now_ms: u64) -> PlacementResponse {
        let end = explanation.floor_char_boundary(EXPLANATION_MAX);
        PlacementResponse {
            uuid: self.uuid,
            deployment_id: self.deployment_id.clone(),
            processor_id: self.processor_id.clone(),
            destination_host: self.destination_host.clone(),
            request_expiry_ms: self.request_expiry_ms,
            timestamp_ms: now_ms,
            action: self.action.clone(),
            parameters: self.parameters.clone(),
            principal: self.principal.clone(),
            status_code,
            response_message: explanation[..end].to_owned(),
        }
    }

    fn wire(&self) -> Wire<'_> {
        Wire {
            sub_type: REQUEST_SUB_TYPE,
            uuid: self.uuid,
            deployment_id: &self.deployment_id,
            processor_id: &self.processor_id,
            destination_host: &self.destination_host,
            status_code: StatusCode::Created,
            timestamp: self.timestamp_ms,
            request_expiry: self.request_expiry_ms,
            action: self.action.as_deref(),
            parameters: &self.parameters,
            principal: self.principal.as_deref(),
            response_message: None,
        }
    }
}

impl PlacementResponse {
    /// Reads a response from a message. Unknown fields are ignored.
    ///
    /// # Errors
    /// If it is not a response or breaks a bound. The error has its uuid if that could be read.
    pub fn read(bytes: &[u8]) -> Result<Self, MessageError> {
        let (mut fields, uuid) = Fields::of(bytes, RESPONSE_SUB_TYPE)?;
        let response =
            Self::of(&mut fields, uuid).map_err(|problem| MessageError { uuid: Some(uuid), problem })?;
        response.wire().check()?;
        Ok(response)
    }

    fn of(fields: &mut Fields, uuid: Uuid) -> Result<Self, MessageProblem> {
        Ok(Self {
            uuid,
            deployment_id: fields.text("deploymentId")?,
            processor_id: fields.text("processorId")?,
            destination_host: fields.text("destinationHost")?,
            request_expiry_ms: fields.expiry()?,
            timestamp_ms: fields.timestamp()?,
            action: fields.given_text("action")?,
            parameters: fields.parameters()?,
            principal: fields.given_text("principal")?,
            status_code: fields.status_code()?,
            response_message: fields.text("responseMessage")?,
        })
    }

    /// Writes the message. [`read`](Self::read) returns an equal response from it.
    ///
    /// # Errors
    /// If it breaks a bound.
    pub fn write(&self) -> Result<Vec<u8>, MessageError> {
        self.wire().to_bytes()
    }

    fn wire(&self) -> Wire<'_> {
        Wire {
            sub_type: RESPONSE_SUB_TYPE,
            uuid: self.uuid,
            deployment_id: &self.deployment_id,
            processor_id: &self.processor_id,
            destination_host: &self.destination_host,
            status_code: self.status_code,
            timestamp: self.timestamp_ms,
            request_expiry: self.request_expiry_ms,
            action: self.action.as_deref(),
            parameters: &self.parameters,
            principal: self.principal.as_deref(),
            response_message: Some(&self.response_message),
        }
    }
}
