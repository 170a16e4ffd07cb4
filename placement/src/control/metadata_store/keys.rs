//! The names under which messages are known outside.

use uuid::Uuid;

use super::message::{REQUEST_SUB_TYPE, RESPONSE_SUB_TYPE};

/// The namespace of the store, as Samza calls it.
pub const NAMESPACE: &str = "samza-place-container-v1";

/// The key of a request: `<uuid>.ContainerPlacementRequestMessage`, the uuid in small letters with hyphens.
#[must_use]
pub fn request_key(uuid: Uuid) -> String {
    format!("{uuid}.{REQUEST_SUB_TYPE}")
}

/// The key of a response: `<uuid>.ContainerPlacementResponseMessage`, the uuid in small letters with hyphens.
#[must_use]
pub fn response_key(uuid: Uuid) -> String {
    format!("{uuid}.{RESPONSE_SUB_TYPE}")
}

/// The uuid in a request's key. Written in another way it is another key, which is nobody's.
pub(super) fn uuid_of_request_key(key: &str) -> Option<Uuid> {
    let (text, kind) = key.split_once('.')?;
    let uuid = Uuid::try_parse(text).ok()?;
    (kind == REQUEST_SUB_TYPE && key == request_key(uuid)).then_some(uuid)
}
