//! The operating system's figures about this process; `None` where it reports none.

use std::fs;

/// Nanoseconds of processor time of all living threads. Threads that have ended are not counted, so it is read before
/// an engine is shut down.
#[must_use]
pub fn cpu_ns() -> Option<u64> {
    let tasks = fs::read_dir("/proc/self/task").ok()?;
    let ran_ns = tasks.flatten().filter_map(|task| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    Some(ran_ns.sum())
}

/// Nanoseconds that the calling thread has run.
#[must_use]
pub fn thread_cpu_ns() -> Option<u64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
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

/// Whether the process was started to ignore a signal.
#[must_use]
pub fn is_ignored(signal: i32) -> bool {
    let mask = status("SigIgn:").and_then(|mask| u64::from_str_radix(&mask, 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

fn status_bytes(key: &str) -> Option<u64> {
    let kib: u64 = status(key)?.parse().ok()?;
    Some(kib * 1024)
}

/// The first word of a line of the process's status.
fn status(key: &str) -> Option<String> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_whitespace().next().map(str::to_owned)
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
