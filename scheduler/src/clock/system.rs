//! The machine's clock.
#![expect(clippy::disallowed_types, reason = "this clock is where the engine's time comes from")]

use std::time::{Duration, Instant, SystemTime};

use super::Clock;

/// Real time, in milliseconds since the beginning of 1970. It reads the machine's clock once, when it is made. From
/// then on it counts the time that passes. So it never runs backwards, and follows no correction of that clock.
///
/// An engine that [recovers](crate::Engine::recover) with this clock counts the time since the crash: heartbeats may be
/// overdue at once. With its next heartbeat a node takes containers again.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    made: Instant,
    made_at: Duration,
}

impl SystemClock {
    /// A clock that begins with the machine's present time.
    #[must_use]
    pub fn new() -> Self {
        Self::beginning(SystemTime::now())
    }

    fn beginning(now: SystemTime) -> Self {
        // A machine without a set clock may be before 1970.
        let made_at = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self { made: Instant::now(), made_at }
    }

    fn now(&self) -> Duration {
        self.made_at + self.made.elapsed()
    }

    /// The time at which this clock reads `at_ms`, for people.
    #[must_use]
    pub fn time(at_ms: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(at_ms)
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        self.now().as_millis() as u64
    }

    fn until(&self, at_ms: u64) -> Option<Duration> {
        Some(Duration::from_millis(at_ms).saturating_sub(self.now()))
    }

    fn measured_ns(&self) -> u64 {
        self.made.elapsed().as_nanos() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_with_the_machines_time_and_goes_on() {
        let an_hour = SystemTime::UNIX_EPOCH + Duration::from_secs(3_600);
        let clock = SystemClock::beginning(an_hour);
        let (first, measured) = (clock.now_ms(), clock.measured_ns());
        assert!(first >= 3_600_000, "{first}");
        assert_eq!(SystemClock::time(3_600_000), an_hour);
        while clock.now_ms() == first {}
        assert!(clock.measured_ns() > measured);
    }

    /// The engine waits for this long and then has to find the timer due.
    #[test]
    fn after_the_time_until_a_moment_it_reads_that_moment() {
        let clock = SystemClock::new();
        let at_ms = clock.now_ms() + 3;
        let left = clock.until(at_ms).unwrap();
        assert!(left <= Duration::from_millis(3));
        let begun = Instant::now();
        while begun.elapsed() < left {}
        assert!(clock.now_ms() >= at_ms);
        assert_eq!(clock.until(at_ms), Some(Duration::ZERO));
    }

    #[test]
    fn a_machine_without_a_set_clock_begins_at_zero() {
        let clock = SystemClock::beginning(SystemTime::UNIX_EPOCH - Duration::from_secs(1));
        assert!(clock.now_ms() < 1_000_000);
    }
}
