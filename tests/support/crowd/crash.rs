//! Crashes: another engine goes on from a log that was cut anywhere.

use std::sync::Arc;

use apportion::log::SharedLog;
use apportion::{CommitSeq, Engine, ManualClock};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg32;

use super::trouble::{TroubledClock, TroubledSink};
use super::{Crowd, Testimony};

/// More events than all applications of the former life get.
const EVENTS_MAX: usize = 1 << 16;

impl Crowd {
    /// Cuts the log at a random byte, recovers an engine from it, and lets other callers use it. The applications from
    /// before the crash have one reader. Returns the number of changes followed on the model: all before the crash, and
    /// all after it.
    pub(super) fn crash_and_go_on(&self, crash: u32, log: &[u8], said: &Testimony) -> u64 {
        let mut random = Pcg32::seed_from_u64(self.seed ^ (u64::from(crash) << 32));
        let (bytes, clock) = (&log[..random.random_range(log.len() / 8..=log.len())], ManualClock::new());
        let log = SharedLog::of(bytes);
        let sink = TroubledSink::new(log.clone(), self.pause, None);
        let troubled = Arc::new(TroubledClock::new(clock.clone(), self.pause));
        let recovered = Engine::recover_parts(bytes, self.proposers.max(1), troubled, Some(Box::new(sink)));
        let (engine, mut parts, recovered) = recovered.unwrap();
        let engine = Arc::new(engine);

        let mut checker = self.checker(&engine);
        let said = said.until(CommitSeq(recovered.end.last));
        checker.check_recovered_crowd(&engine, &log.bytes(), said.events, &said.by_hand);
        let old = engine.handle().event_stream(EVENTS_MAX);
        for application in engine.read(|view| view.applications().map(|(id, _)| id).collect::<Vec<_>>()) {
            let ticket = engine.handle().attach(application, &old).unwrap();
            while parts.committer.step() == apportion::engine::Step::Worked {}
            ticket.try_take().unwrap().unwrap();
        }

        let workers = self.start_parts(parts);
        let callers = self.call(&engine, &clock, &format!("again{crash}-"));
        engine.run_until_quiet();
        self.check_end(&engine);
        let mut said = Testimony::of(callers);
        said.expect_nothing_lost(&log.bytes());
        old.drain_into(&mut said.events).unwrap();
        let changes = checker.check_crowd(&engine, &log.bytes(), said.events, &said.by_hand);
        engine.shutdown();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        changes
    }
}
