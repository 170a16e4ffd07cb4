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
/// How many bytes a message may have.
pub const MESSAGE_MAX: usize = 64 * 1024;
/// How many bytes the name of a host may have, as in DNS.
pub const HOST_MAX: usize = 253;
/// How many bytes the ids of a deployment or processor, the name of an action and a principal may have.
pub const ID_MAX: usize = 256;
/// How many bytes all parameters of a message may have together, as JSON.
pub const PARAMETERS_MAX: usize = 16 * 1024;
/// How many levels of objects and lists parameters may have, themselves included.
pub const PARAMETERS_DEPTH_MAX: usize = 32;
/// How many bytes of an explanation [`PlacementRequest::answer`] keeps. Written as JSON a byte may become six.
pub const EXPLANATION_MAX: usize = 4 * 1024;

/// A request about a container's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacementRequest {
    /// By which request and response find each other.
    pub uuid: Uuid,
    /// The deployment it is meant for: one run of one job. At most [`ID_MAX`] bytes, as all texts but the host.
    pub deployment_id: String,
    /// The processor or standby that it is about; empty if the action names none.
    pub processor_id: String,
    /// The host that it is about or where the container is to go, or one of Samza's words such as `ANY_HOST`. At most
    /// [`HOST_MAX`] bytes.
    pub destination_host: String,
    /// How long a place may be looked for, and each of the containers concerned waited for, in milliseconds, from 1 on;
    /// 5,000 if there is none.
    pub request_expiry_ms: Option<u64>,
    /// When it was written, in milliseconds since the epoch; at most 2^63 - 1.
    pub timestamp_ms: u64,
    /// What is wanted, such as `DRAIN_HOST`; without one, what `destination_host` means to Samza.
    pub action: Option<String>,
    /// Whatever else the action asks for; at most [`PARAMETERS_MAX`] bytes, [`PARAMETERS_DEPTH_MAX`] levels. None is
    /// the same as an empty object.
    pub parameters: Map<String, Value>,
    /// Who asks.
    pub principal: Option<String>,
}

/// How far a request has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacementResponse {
    /// The request's.
    pub uuid: Uuid,
    /// The request's.
    pub deployment_id: String,
    /// The request's.
    pub processor_id: String,
    /// The request's.
    pub destination_host: String,
    /// The request's, in milliseconds.
    pub request_expiry_ms: Option<u64>,
    /// When the response was written, in milliseconds since the epoch; at most 2^63 - 1.
    pub timestamp_ms: u64,
    /// The request's.
    pub action: Option<String>,
    /// The request's.
    pub parameters: Map<String, Value>,
    /// The request's.
    pub principal: Option<String>,
    /// How far it has come.
    pub status_code: StatusCode,
    /// Why, for people.
    pub response_message: String,
}

impl PlacementRequest {
    /// A new request of this deployment's job, about nothing in particular yet. `now_ms` is the time since the epoch.
    #[must_use]
    pub fn new(deployment_id: impl Into<String>, action: ActionName, now_ms: u64) -> Self {
        Self {
            uuid: Uuid::new_v4(),
            deployment_id: deployment_id.into(),
            processor_id: String::new(),
            destination_host: String::new(),
            request_expiry_ms: None,
            timestamp_ms: now_ms,
            // Samza's own needs no name, and is read by those who know no other.
            action: (action != ActionName::Move).then(|| action.as_str().to_owned()),
            parameters: Map::new(),
            principal: None,
        }
    }

    /// The same about this processor or standby.
    #[must_use]
    pub fn about(mut self, processor_id: impl Into<String>) -> Self {
        self.processor_id = processor_id.into();
        self
    }

    /// The same about this host, or to it.
    #[must_use]
    pub fn on_host(mut self, host: impl Into<String>) -> Self {
        self.destination_host = host.into();
        self
    }

    /// The same with this time for a place to be found, and for each container to be waited for.
    #[must_use]
    pub fn expiring_after_ms(mut self, request_expiry_ms: u64) -> Self {
        self.request_expiry_ms = Some(request_expiry_ms);
        self
    }

    /// The same with one parameter more.
    #[must_use]
    pub fn with(mut self, parameter: impl Into<String>, value: impl Into<Value>) -> Self {
        self.parameters.insert(parameter.into(), value.into());
        self
    }

    /// The same, asked by this principal.
    #[must_use]
    pub fn asked_by(mut self, principal: impl Into<String>) -> Self {
        self.principal = Some(principal.into());
        self
    }

    /// The request in a message. Fields that are unknown are passed over, `statusCode` too: whatever it says, the
    /// request is new. Null is the same as nothing where nothing is allowed.
    ///
    /// # Errors
    /// If it is no request or breaks a bound; with the request's uuid if that could be read.
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

    /// The message that [`read`](Self::read) makes the same request of, with the status `CREATED`.
    ///
    /// # Errors
    /// If it breaks a bound.
    pub fn write(&self) -> Result<Vec<u8>, MessageError> {
        self.wire().to_bytes()
    }

    /// The response to this request. Of an explanation that is too long the first [`EXPLANATION_MAX`] bytes are kept,
    /// so that an answer can always be written if its request could.
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
    /// The response in a message. Fields that are unknown are passed over.
    ///
    /// # Errors
    /// If it is no response or breaks a bound; with its uuid if that could be read.
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

    /// The message that [`read`](Self::read) makes the same response of.
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
