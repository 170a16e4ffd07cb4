//! The loop on virtual time.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::application::{Application, Placement, REGION_SERVER_SLOTS};
use super::cluster::{Cluster, JOBS};
use super::jobs::{Jobs, slots_of};
use super::plan::{Happening, Plan, YearShape};
use super::tally::{Restart, YearRecord};
use crate::interrupt::Interruption;

/// The part of the cluster that the other jobs keep busy.
const BUSY_PERCENT: i64 = 60;

/// Simulates a year. `progress` receives the time reached, in milliseconds, and may end the year.
///
/// # Errors
/// When the engine wrongly refuses a call, or the service gives up.
pub fn run_year(
    shape: &YearShape,
    placement: Placement,
    seed: u64,
    progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> anyhow::Result<YearRecord> {
    let cluster = Cluster::start(shape)?;
    let busy = Cluster::slots(shape.nodes) * BUSY_PERCENT / 100;
    let jobs = Jobs::start(&cluster.handle, JOBS, busy, seed)?;
    let application = Application::new(&cluster.handle, placement, shape, seed);
    let mut year = Year {
        cluster,
        jobs,
        application,
        now_ms: 0,
        record: YearRecord::default(),
        before: BTreeMap::new(),
        restart: None,
        crashed: Vec::new(),
    };
    year.run_until_idle()?;
    year.application.start(0)?;
    year.run_until_idle()?;
    year.pass(&Plan::draw(shape, seed), progress)?;
    Ok(year.into_record())
}

struct Year {
    cluster: Cluster,
    jobs: Jobs,
    application: Application,
    now_ms: u64,
    record: YearRecord,
    /// Number of region servers on each host when the application was stopped.
    before: BTreeMap<String, u32>,
    /// The restart that is not at full strength yet, with the servers that could return to each host.
    restart: Option<(Restart, BTreeMap<String, u32>)>,
    /// Hosts of crashed region servers that are not replaced yet, with the number there before.
    crashed: Vec<(String, u32)>,
}

impl Year {
    fn pass(&mut self, plan: &Plan, progress: &mut dyn FnMut(u64) -> ControlFlow<()>) -> anyhow::Result<()> {
        let mut happenings = plan.happenings.iter().peekable();
        while self.now_ms < plan.end_ms {
            let next_ms = [
                happenings.peek().map(|(at_ms, _)| *at_ms),
                self.jobs.next_ms(),
                self.application.next_ms(),
                self.cluster.engine.next_timer_ms(),
            ];
            let next_ms = next_ms.into_iter().flatten().min().unwrap_or(plan.end_ms);
            self.now_ms = next_ms.clamp(self.now_ms, plan.end_ms);
            self.cluster.set_time(self.now_ms)?;
            while let Some((_, happening)) = happenings.next_if(|(at_ms, _)| *at_ms <= self.now_ms) {
                self.happen(*happening)?;
            }
            self.jobs.end_until(self.now_ms)?;
            self.run_until_idle()?;
            if progress(self.now_ms).is_break() {
                self.record.interrupted = Some(Interruption::Virtual(self.now_ms));
                return Ok(());
            }
        }
        self.restart_is_over();
        Ok(())
    }

    fn happen(&mut self, happening: Happening) -> anyhow::Result<()> {
        match happening {
            Happening::NodeDown(node) => self.cluster.node_down(node)?,
            Happening::NodeUp(node) => self.cluster.node_up(node)?,
            Happening::Stop => self.stop()?,
            Happening::Start => self.start()?,
            Happening::Crash(which) => self.crash(which)?,
            Happening::Flex(region_servers) => self.application.flex(region_servers, self.now_ms),
        }
        self.run_until_idle()?;
        self.cluster.sample();
        Ok(())
    }

    fn stop(&mut self) -> anyhow::Result<()> {
        self.restart_is_over();
        self.crashed.clear();
        self.before = self.application.hosts();
        self.application.stop(self.now_ms);
        self.run_until_idle()?;
        self.application.finish()?;
        self.record.live.push((self.now_ms, 0));
        Ok(())
    }

    /// Starts the application, and counts the servers that could return. For each host these are as many as were there
    /// and fit now; the configured number limits the total.
    fn start(&mut self) -> anyhow::Result<()> {
        self.cluster.work();
        let size = slots_of(REGION_SERVER_SLOTS);
        let mut left = self.application.region_servers;
        let mut could = BTreeMap::new();
        for (host, count) in std::mem::take(&mut self.before) {
            let room = self.cluster.room(&host, &size).min(count).min(left);
            left -= room;
            could.insert(host, room);
        }
        let restart =
            Restart { started_ms: self.now_ms, could_return: could.values().sum(), ..Restart::default() };
        self.restart = Some((restart, could));
        self.application.start(self.now_ms)
    }

    fn crash(&mut self, which: u32) -> anyhow::Result<()> {
        if !self.application.is_started() {
            return Ok(());
        }
        let hosts = self.application.hosts();
        if let Some(host) = self.application.crash(which)? {
            let count = hosts.get(&host).copied().unwrap_or(0);
            self.crashed.push((host, count));
        }
        Ok(())
    }

    /// Lets cluster, jobs and application work until nothing more happens at this time.
    fn run_until_idle(&mut self) -> anyhow::Result<()> {
        loop {
            self.jobs.poll(self.now_ms)?;
            if self.application.tick(self.now_ms)? {
                self.look();
            }
            if !self.cluster.work() {
                return Ok(());
            }
        }
    }

    /// Records changes of the application.
    fn look(&mut self) {
        self.record.live.push((self.now_ms, self.application.live_region_servers()));
        self.record.anti_affinity_violations += u64::from(self.application.has_masters_together());
        if !self.application.is_at_full_strength() {
            return;
        }
        if let Some((restart, _)) = &mut self.restart {
            restart.full_strength_ms = Some(self.now_ms - restart.started_ms);
        }
        self.restart_is_over();
        let hosts = self.application.hosts();
        for (host, count) in std::mem::take(&mut self.crashed) {
            // If the host went down meanwhile, no server could return.
            if self.cluster.handle.node(&host).is_some() {
                self.record.crashed += 1;
                self.record.crashed_returned += u32::from(hosts.get(&host).is_some_and(|now| *now >= count));
            }
        }
    }

    fn restart_is_over(&mut self) {
        let Some((mut restart, could)) = self.restart.take() else { return };
        let hosts = self.application.hosts();
        let returned = could.iter().map(|(host, could)| hosts.get(host).map_or(0, |now| *now.min(could)));
        restart.returned = returned.sum();
        self.record.restarts.push(restart);
    }

    fn into_record(self) -> YearRecord {
        let mut record = self.record;
        record.jobs_ended = self.jobs.ended;
        record.widened = self.application.widened();
        record.used_part = self.cluster.used_part();
        record.audit_violations = self.cluster.engine.audit().violations.len();
        record
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> YearShape {
        YearShape {
            days: 30,
            nodes: 40,
            region_servers: 10,
            masters: 3,
            restarts: 4,
            crashes: 20,
            outages_per_node: 1,
            flexes: 2,
            ..YearShape::default()
        }
    }

    #[test]
    fn a_month_with_history_brings_servers_back_and_without_it_does_not() -> anyhow::Result<()> {
        let [with, without, strict] = {
            let run = |placement| run_year(&small(), placement, 3, &mut |_| ControlFlow::Continue(()));
            [run(Placement::History)?, run(Placement::NoHistory)?, run(Placement::Strict)?]
        };
        for record in [&with, &without, &strict] {
            assert_eq!(record.restarts.len(), 4);
            assert_eq!((record.anti_affinity_violations, record.audit_violations), (0, 0));
            assert!(record.crashed > 5 && record.jobs_ended > 1_000, "{record:?}");
            assert!((0.4..0.9).contains(&record.used_part), "{}", record.used_part);
        }
        let [with, without, strict] =
            [with, without, strict].map(|year| year.returned_fraction().unwrap_or_default());
        assert!(with >= 0.9 && strict >= 0.9 && without <= 0.6, "{with}, {strict}, {without}");
        Ok(())
    }

    /// An unfinished restart says nothing about returns.
    #[test]
    fn a_year_that_is_stopped_counts_the_restarts_that_are_over() -> anyhow::Result<()> {
        let whole = run_year(&small(), Placement::History, 3, &mut |_| ControlFlow::Continue(()))?;
        let [first, second] = [whole.restarts[0], whole.restarts[1]];
        let stop_at = |end_ms: u64| {
            let progress =
                |now_ms| if now_ms < end_ms { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
            run_year(&small(), Placement::History, 3, &mut { progress })
        };
        let during = stop_at(second.started_ms)?;
        assert_eq!(during.restarts, [first]);
        assert_eq!(during.interrupted, Some(Interruption::Virtual(second.started_ms)));
        assert_eq!(stop_at(first.started_ms)?.restarts, []);
        Ok(())
    }

    #[test]
    fn a_month_is_the_same_every_time() -> anyhow::Result<()> {
        let run = || run_year(&small(), Placement::History, 5, &mut |_| ControlFlow::Continue(()));
        assert_eq!(run()?, run()?);
        Ok(())
    }
}
