//! Asks of registered kinds.

use apportion::{ApplicationId, AskId, AskOfKind, AskSpec, Handle};

/// Submits `asks` equal asks by their kind.
pub(super) fn submit_by_kind(
    handle: &Handle,
    application: ApplicationId,
    spec: &AskSpec,
    asks: usize,
) -> Vec<AskId> {
    let kind = handle.register_ask_kind(spec.clone()).unwrap();
    let AskSpec { count, allocation_request_id, .. } = *spec;
    let of_kind = AskOfKind { application, kind, count, allocation_request_id };
    handle.submit_asks_of_kinds(vec![of_kind; asks]).unwrap()
}

/// Submits an ask by its kind if the caller's number is odd.
pub(super) fn submit_either_way(handle: &Handle, application: ApplicationId, spec: &AskSpec) -> AskId {
    match spec.allocation_request_id % 2 {
        0 => handle.submit_ask(application, spec.clone()).unwrap(),
        _ => submit_by_kind(handle, application, spec, 1)[0],
    }
}
