//! What the system says about this process; nothing where it says nothing.

use std::fs;

/// Nanoseconds that all threads alive have run. Threads that have ended are not counted, so it is asked before an
/// engine is shut down.
#[must_use]
pub fn cpu_ns() -> Option<u64> {
    let tasks = fs::read_dir("/proc/self/task").ok()?;
    let ran_ns = tasks.flatten().filter_map(|task| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    Some(ran_ns.sum())
}

/// Resident memory now.
#[must_use]
pub fn resident_bytes() -> Option<u64> {
    status_bytes("VmRSS:")
}

/// The largest resident memory so far.
#[must_use]
pub fn peak_resident_bytes() -> Option<u64> {
    status_bytes("VmHWM:")
}

fn status_bytes(key: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn memory_in_use_is_seen() {
        let before = resident_bytes().unwrap();
        let block = vec![1_u8; 64 << 20];
        let after = resident_bytes().unwrap();
        assert!(after >= before + (32 << 20), "{} bytes: {before}, then {after}", block.len());
        assert!(peak_resident_bytes().unwrap() >= after);
        assert!(cpu_ns().unwrap() > 0);
    }
}
