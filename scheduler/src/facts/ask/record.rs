//! An ask as it is written. The order of the fields is part of the format of snapshots and of the digest.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use thin_vec::ThinVec;

use super::{Ask, AskExtras, LocalityPreference};
use crate::facts::image::unknown_shape;
use crate::ids::{ApplicationId, ReservationId};

#[derive(Serialize, Deserialize)]
pub(super) struct AskRecord {
    application: ApplicationId,
    number: u64,
    priority: u32,
    preference: LocalityPreference,
    asked: NonZeroU32,
    allocated: u32,
    cancelled: u32,
    reservations: ThinVec<ReservationId>,
    pending_since_ms: u64,
    missed: u32,
    allocation_request_id: u64,
    re_reservations: u32,
}

impl From<Ask> for AskRecord {
    fn from(ask: Ask) -> Self {
        let AskExtras { preference, cancelled, reservations, missed, re_reservations } =
            ask.extras.map_or(AskExtras::DEFAULT, |extras| *extras);
        Self {
            application: ask.application,
            number: ask.number,
            priority: ask.priority,
            preference,
            asked: ask.asked,
            allocated: ask.allocated,
            cancelled,
            reservations,
            pending_since_ms: ask.pending_since_ms,
            missed,
            allocation_request_id: ask.allocation_request_id,
            re_reservations,
        }
    }
}

/// The shape stays unknown until the image's list of shapes is read.
impl From<AskRecord> for Ask {
    fn from(record: AskRecord) -> Self {
        let AskRecord { preference, cancelled, reservations, missed, re_reservations, .. } = record;
        let extras = AskExtras { preference, cancelled, reservations, missed, re_reservations };
        Self {
            application: record.application,
            number: record.number,
            priority: record.priority,
            shape: unknown_shape(),
            asked: record.asked,
            allocated: record.allocated,
            pending_since_ms: record.pending_since_ms,
            allocation_request_id: record.allocation_request_id,
            extras: (extras != AskExtras::DEFAULT).then(|| Box::new(extras)),
        }
    }
}
