//! The figures as a few lines of text.

use super::ThroughputReport;
use crate::report::count_text;

impl ThroughputReport {
    /// What people look for first.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut lines = vec![format!(
            "{} allocations per second (median of {}), {:.3} % of requests rejected, audit: nothing found",
            count_text(self.allocations_per_second as u64),
            self.repeat,
            100.0 * self.rejected_fraction,
        )];
        lines.push(format!(
            "{:.1} % of the vcores in use, {} asks pending",
            100.0 * self.used_part,
            count_text(self.pending)
        ));
        if let Some(ns) = self.cpu_ns_per_allocation {
            lines.push(format!("{} ns of processor time per allocation", count_text(ns as u64)));
        }
        lines.push(self.lock_text());
        lines.extend(self.memory_text());
        if let Some(latency) = &self.latency_us {
            lines.push(format!("from ask to commit: {:.0} us, 99 %: {:.0} us", latency.p50, latency.p99));
        }
        if let (Some(limit), Some(ratio)) = (self.limit_allocations_per_second, self.ratio_to_limit) {
            let limit = count_text(limit as u64);
            lines.push(format!("{ratio:.3} of the yardstick, which makes {limit} per second"));
        }
        lines.join("\n")
    }

    fn lock_text(&self) -> String {
        format!(
            "write lock: {} ns per allocation, {:.0} % of the time (median group: {} ns); proposing: {} ns per allocation, \
             {:.0} in a batch, decided {:.0} us after it began (99 %: {:.0} us)",
            count_text(self.commit_lock_ns_per_allocation as u64),
            100.0 * self.commit_lock_share,
            count_text(self.commit_lock_ns_per_allocation_median),
            count_text(self.propose_ns_per_allocation as u64),
            self.batch_mean,
            self.proposal_age_us.p50,
            self.proposal_age_us.p99,
        )
    }

    fn memory_text(&self) -> Option<String> {
        Some(format!(
            "memory: {} bytes per node, {} bytes per container, at most {} MiB",
            count_text(self.bytes_per_node? as u64),
            count_text(self.bytes_per_container? as u64),
            count_text(self.peak_rss_bytes? >> 20),
        ))
    }
}
