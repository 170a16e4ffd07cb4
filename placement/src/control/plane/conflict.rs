//! Conflicts between a request and the open requests.

use super::validate::Taken;
use super::{ConflictPolicy, Deployed};
use crate::control::action::JobAction;

/// Returns why a request conflicts with the open requests; `None` if it can be accepted.
pub(super) fn conflict(
    deployed: &Deployed,
    deployment: &str,
    action: &JobAction,
    taken: &Taken,
) -> Option<String> {
    let job = &deployed.job;
    let batches = job.batch_count() + taken.batches.get(deployment).copied().unwrap_or(0);
    let Some(group) = action.processor().map(|processor| processor.active()) else {
        let all = job.request_count() + taken.all.get(deployment).copied().unwrap_or(0);
        return match deployed.conflicts {
            ConflictPolicy::Refuse if all > 0 => {
                Some(format!("requests of the job that are not over: {all}"))
            }
            ConflictPolicy::Queue { most } if batches > most => {
                Some(format!("requests about many containers of the job that wait already: {batches}"))
            }
            ConflictPolicy::Refuse | ConflictPolicy::Queue { .. } => None,
        };
    };
    let key = (deployment.to_owned(), group.clone());
    let before = job.requests_for(&group) + taken.groups.get(&key).copied().unwrap_or(0);
    match deployed.conflicts {
        ConflictPolicy::Refuse if before > 0 => {
            Some(format!("another request for processor `{group}` or its standbys is not over"))
        }
        ConflictPolicy::Refuse if batches > 0 => {
            Some("a request about many containers of the job is not over".to_owned())
        }
        ConflictPolicy::Queue { most } if before > most => {
            Some(format!("requests for processor `{group}` and its standbys that wait already: {before}"))
        }
        ConflictPolicy::Refuse | ConflictPolicy::Queue { .. } => None,
    }
}
