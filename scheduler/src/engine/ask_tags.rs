//! The check of an ask's tags that needs no state.

use super::submit_error::SubmitError;
use crate::facts::AskTags;

/// Tags have names, and an ask does not keep its own containers from running.
pub(super) fn check_tags(tags: &AskTags) -> Result<(), SubmitError> {
    let AskTags { names, limits } = tags;
    if names.iter().chain(limits.iter().map(|limit| &limit.tag)).any(String::is_empty) {
        return Err(SubmitError::EmptyTag);
    }
    match limits.iter().find(|limit| limit.most == 0 && names.contains(&limit.tag)) {
        Some(limit) => Err(SubmitError::NoneOfOwnTag { tag: limit.tag.clone() }),
        None => Ok(()),
    }
}
