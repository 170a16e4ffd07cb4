//! Requests that end at once and may unblock others, such as a cancel. The control plane reads them even if
//! it has its most open requests.

use uuid::Uuid;

use super::ControlPlane;
use super::intake::PAGE;
use crate::control::metadata_store::ControlStoreError;

/// How far the search for such requests has read the store.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Urgent {
    /// The last request read, in the order of timestamps.
    pub(super) looked_at: Option<(u64, Uuid)>,
    /// The last request read in the second search. A request that is written later may have an earlier
    /// timestamp by its writer's clock.
    looked_again: Option<(u64, Uuid)>,
}

impl ControlPlane {
    /// Accepts such requests among the unread ones. Stores the answers of each page before it reads the
    /// next.
    pub(super) fn take_in_urgent(&mut self, now_ms: u64) -> Result<(), ControlStoreError> {
        loop {
            let page = self.store.requests(self.urgent.looked_at, PAGE)?;
            let last = page.requests.last().map(|request| (request.timestamp_ms, request.uuid));
            let is_last = page.next.is_none();
            self.urgent.looked_at = self.urgent.looked_at.max(last);
            self.take_page(page, now_ms)?;
            self.save_answers(now_ms)?;
            if is_last {
                return Ok(());
            }
        }
    }

    /// Reads one page again from the beginning; the next call continues after it.
    pub(super) fn look_again_for_urgent(&mut self, now_ms: u64) -> Result<(), ControlStoreError> {
        let page = self.store.requests(self.urgent.looked_again, PAGE)?;
        self.urgent.looked_again = page.next;
        self.take_page(page, now_ms)
    }
}
