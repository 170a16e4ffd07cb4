//! Processor time that this process has used.

use std::fs;

/// Nanoseconds that all threads alive have run; `None` where the system does not say. Threads that have ended are not
/// counted, so it is asked before an engine is shut down.
pub(super) fn process_cpu_ns() -> Option<u64> {
    let tasks = fs::read_dir("/proc/self/task").ok()?;
    let ran_ns = tasks.flatten().filter_map(|task| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    Some(ran_ns.sum())
}
