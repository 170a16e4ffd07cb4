//! Amounts of memory (MiB) and of vcores (thousandths). The workloads have no third type.

pub(super) type Amounts = [i64; 2];

/// The share of a queue that uses exactly its guarantee.
pub(super) const SHARE_ONE: u64 = 1 << 20;

pub(super) fn plus(a: Amounts, b: Amounts) -> Amounts {
    [a[0] + b[0], a[1] + b[1]]
}

pub(super) fn minus(a: Amounts, b: Amounts) -> Amounts {
    [a[0] - b[0], a[1] - b[1]]
}

pub(super) fn most(a: Amounts, b: Amounts) -> Amounts {
    [a[0].max(b[0]), a[1].max(b[1])]
}

/// Whether `need` is within `room`. One test of the signs, without a branch for each type.
pub(super) fn fits(need: Amounts, room: Amounts) -> bool {
    ((room[0] - need[0]) | (room[1] - need[1])) >= 0
}

/// The largest part of `total` that is in use, in steps of 2^-20, rounded down: the engine's dominant share.
pub(super) fn dominant_share(used: Amounts, total: Amounts) -> u64 {
    share(used[0], total[0]).max(share(used[1], total[1]))
}

fn share(used: i64, total: i64) -> u64 {
    // No cluster of a workload has 2^43 units of a type, so the shift does not overflow.
    match (u64::try_from(used), u64::try_from(total)) {
        (Ok(0) | Err(_), _) => 0,
        (_, Ok(0) | Err(_)) => u64::MAX,
        (Ok(used), Ok(total)) => (used << 20) / total,
    }
}
