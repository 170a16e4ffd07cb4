//! Requests that need no room, because they are over at once and may be what others wait for: they are looked for
//! though as many are open as may be.

use uuid::Uuid;

use super::ControlPlane;
use super::intake::PAGE;
use crate::control::metadata_store::ControlStoreError;

/// How far the requests that wait have been looked at for them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Urgent {
    /// Nothing behind this request, in the order of their times, has been looked at.
    pub(super) looked_at: Option<(u64, Uuid)>,
    /// Up to which of those before it they have been looked at once more: one that was written later may be older by
    /// its writer's clock.
    looked_again: Option<(u64, Uuid)>,
}

impl ControlPlane {
    /// Takes on those among the requests that were not looked at yet. What is said of a page is saved before the next
    /// is read.
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

    /// Looks at one page of those before, and at the next one when this is called again.
    pub(super) fn look_again_for_urgent(&mut self, now_ms: u64) -> Result<(), ControlStoreError> {
        let page = self.store.requests(self.urgent.looked_again, PAGE)?;
        self.urgent.looked_again = page.next;
        self.take_page(page, now_ms)
    }
}
