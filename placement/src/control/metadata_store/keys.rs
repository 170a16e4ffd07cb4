//! The keys of messages in the store, as other programs see them.

use uuid::Uuid;

use super::message::{REQUEST_SUB_TYPE, RESPONSE_SUB_TYPE};

/// The namespace of the store; the name is Samza's.
pub const NAMESPACE: &str = "samza-place-container-v1";

/// Returns the key of a request: `<uuid>.ContainerPlacementRequestMessage`, the uuid in lower case with
/// hyphens.
#[must_use]
pub fn request_key(uuid: Uuid) -> String {
    format!("{uuid}.{REQUEST_SUB_TYPE}")
}

/// Returns the key of a response: `<uuid>.ContainerPlacementResponseMessage`, the uuid in lower case with
/// hyphens.
#[must_use]
pub fn response_key(uuid: Uuid) -> String {
    format!("{uuid}.{RESPONSE_SUB_TYPE}")
}

/// Returns the uuid in a request's key. A uuid in any other spelling makes a key that no request has.
pub(super) fn uuid_of_request_key(key: &str) -> Option<Uuid> {
    let (text, kind) = key.split_once('.')?;
    let uuid = Uuid::try_parse(text).ok()?;
    (kind == REQUEST_SUB_TYPE && key == request_key(uuid)).then_some(uuid)
}
