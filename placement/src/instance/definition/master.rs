//! The service's master in the definition: Slider's files have a section for it.

use super::error::{DefinitionError, Place};
use super::keys::{Key, POLICY, PRIORITY};
use super::number::decode;

/// The master's name among the components. It is not a component: there is always one, and it is not flexed.
pub const MASTER: &str = "slider-appmaster";

/// Slider's policy number for a component that is not flexed.
const NOT_FLEXED: i64 = 16;

/// Returns whether the value is one that only the master's section may have.
pub(crate) fn is_master_only(key: &Key, value: &str, place: &Place) -> Result<bool, DefinitionError> {
    let is_master = matches!(place, Place::Component(_, name) if name == MASTER);
    if !is_master {
        return Ok(false);
    }
    let expected = match key.name {
        name if name == POLICY.name => NOT_FLEXED,
        name if name == PRIORITY.name => 0,
        _ => return Ok(false),
    };
    if decode(value) == Some(expected) {
        return Ok(true);
    }
    let expected = format!("{expected}: the master is placed by the cluster manager");
    Err(DefinitionError::BadValue { place: place.clone(), key: key.name, value: value.to_owned(), expected })
}
