//! The figures as a few lines of text.

use super::ThroughputReport;
use super::json::Quantiles;
use crate::report::chart::percent;
use crate::report::{count_text, counted, interrupted_line};

impl ThroughputReport {
    /// The most important figures.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut lines = vec![format!(
            "{}{} allocations per second ({}), {} of requests rejected, audit: nothing found",
            interrupted_line(self.interrupted_at_s),
            count_text(self.allocations_per_second as u64),
            if self.repeat == 1 { "one run".to_owned() } else { format!("median of {}", self.repeat) },
            percent(self.rejected_fraction),
        )];
        lines.push(format!(
            "{} of the scarcest resource in use, {} pending",
            percent(self.used_part),
            counted(self.pending, "ask")
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
            lines.push(format!("{ratio:.3} of the stripped yardstick, which makes {limit} per second"));
        }
        if let (Some(cycle), Some(ratio)) = (self.cycle_allocations_per_second, self.ratio_to_cycle) {
            let cycle = count_text(cycle as u64);
            let cpu = self.cpu_ratio_to_cycle;
            let cpu = cpu.map_or_else(String::new, |cpu| format!("; {cpu:.2} times its processor time"));
            lines.push(format!(
                "{ratio:.3} of the full-cycle yardstick, which makes {cycle} per second on one thread{cpu}"
            ));
        }
        lines.join("\n")
    }

    fn lock_text(&self) -> String {
        format!(
            "write lock: {} ns per allocation, {} of the time (median group: {} ns); waiting for it: {} of \
             the time. Proposing: {} ns per allocation, {:.0} in a batch, decided {:.0} us after it began (99 %: {:.0} us)",
            count_text(self.commit_lock_ns_per_allocation as u64),
            percent(self.commit_lock_share),
            count_text(self.commit_lock_ns_per_allocation_median),
            percent(self.commit_lock_wait_share),
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

    /// All figures with their names, for a table.
    pub(super) fn rows(&self) -> Vec<(&'static str, String)> {
        let count = |value: f64| count_text(value as u64);
        let maybe = |value: Option<f64>| value.map_or_else(|| "not known".to_owned(), count);
        let quantiles = |of: &Quantiles| format!("{}, 99 %: {}", count(of.p50), count(of.p99));
        let mut rows = vec![
            ("allocations per second", count(self.allocations_per_second)),
            ("containers placed", count_text(self.placed)),
            ("asks pending at the end", count_text(self.pending)),
            ("of the scarcest resource in use, %", format!("{:.1}", 100.0 * self.used_part)),
            ("requests rejected, %", format!("{:.3}", 100.0 * self.rejected_fraction)),
            ("requests in a batch", format!("{:.1}", self.batch_mean)),
            ("age of proposals, us", quantiles(&self.proposal_age_us)),
            ("processor time per allocation, ns", maybe(self.cpu_ns_per_allocation)),
            ("proposing per allocation, ns", count(self.propose_ns_per_allocation)),
            ("write lock per allocation, ns", count(self.commit_lock_ns_per_allocation)),
            ("the same in the median group, ns", count_text(self.commit_lock_ns_per_allocation_median)),
            ("write lock, % of the time", format!("{:.1}", 100.0 * self.commit_lock_share)),
            ("waiting for it, % of the time", format!("{:.1}", 100.0 * self.commit_lock_wait_share)),
            ("memory per node, bytes", maybe(self.bytes_per_node)),
            ("memory per container, bytes", maybe(self.bytes_per_container)),
            ("audit violations", "0".to_owned()),
        ];
        rows.extend(self.interrupted_at_s.map(|interruption| ("interrupted at", interruption.moment())));
        rows.extend(self.asks.map(|asks| ("asks", count_text(u64::from(asks)))));
        rows.extend(self.rate.map(|rate| ("asks per second", count_text(u64::from(rate)))));
        rows.extend(self.latency_us.as_ref().map(|of| ("from ask to commit, us", quantiles(of))));
        let limit = self.limit_allocations_per_second;
        rows.extend(limit.map(|limit| ("stripped yardstick, allocations per second", count(limit))));
        rows.extend(
            self.ratio_to_limit.map(|ratio| ("part of the stripped yardstick", format!("{ratio:.3}"))),
        );
        let cycle = self.cycle_allocations_per_second;
        rows.extend(cycle.map(|cycle| ("full-cycle yardstick, allocations per second", count(cycle))));
        rows.extend(
            self.ratio_to_cycle.map(|ratio| ("part of the full-cycle yardstick", format!("{ratio:.3}"))),
        );
        let cpu = self.cycle_cpu_ns_per_allocation;
        rows.extend(cpu.map(|ns| ("its processor time per allocation, ns", count(ns))));
        let cpu = self.cpu_ratio_to_cycle;
        rows.extend(cpu.map(|ratio| ("processor time against its", format!("{ratio:.2}"))));
        rows
    }
}
