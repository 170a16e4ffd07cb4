//! I1 to I6 of `samza.md` 1.13, and that a crash loses nothing. Requests, callbacks and failures are random, and the
//! coordinator crashes between any two writes of the store.

use std::collections::BTreeMap;

use apportion::Resources;
use apportion_placement::control::{
    ConflictPolicy, ControlSettings, ControlStore, JobSpec, PlacementResponse, ProcessorId, StatusCode,
};
use apportion_placement::{ContainerExit, FakeCluster, Fault, FaultDomain};
use proptest::prelude::*;
use serde_json::json;
use uuid::Uuid;

use super::bed::{job_of, processor};
use super::plane_bed::PlaneBed;
use crate::support::host;

const HOSTS: usize = 5;
const PROCESSORS: usize = 3;
/// More requests than are ever open.
const MANY: usize = 10_000;

#[derive(Clone, Debug)]
enum Step {
    /// A request; `kind` selects it.
    Ask {
        kind: u8,
        processor: usize,
        host: usize,
        expiry_ms: Option<u64>,
    },
    /// One turn of the control plane.
    Turn,
    Pass {
        by_ms: u64,
    },
    /// A container ends by itself.
    End {
        which: usize,
        exit: i32,
    },
    Lose {
        host: usize,
    },
    Bring {
        host: usize,
    },
    Inject {
        fault: Fault,
    },
    CaughtUp {
        processor: usize,
    },
    /// The process ends at one of its next writes, before or after the write is made.
    CrashAt {
        writes: u32,
        is_made: bool,
    },
    /// One of the next writes fails, before or after it is made; the process goes on.
    FailAt {
        writes: u32,
        is_made: bool,
    },
    /// The coordinator is restarted now. The next one gets the job as the store has it, or as it was first
    /// configured.
    Restart {
        is_restored: bool,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let host = 0..HOSTS;
    let processor = 0..PROCESSORS;
    let fault = prop::sample::select(vec![
        Fault::RefuseRequest,
        Fault::FailStart,
        Fault::FailStop,
        Fault::RepeatCallback,
        Fault::DelayCallback,
    ]);
    let expiry = prop::option::of(prop::sample::select(vec![1_u64, 1_000, 60_000]));
    prop_oneof![
        8 => (0..14_u8, processor.clone(), host.clone(), expiry)
            .prop_map(|(kind, processor, host, expiry_ms)| Step::Ask { kind, processor, host, expiry_ms }),
        12 => Just(Step::Turn),
        3 => prop::sample::select(vec![1, 1_001, 5_001, 61_000]).prop_map(|by_ms| Step::Pass { by_ms }),
        2 => (0..8_usize, prop::sample::select(vec![0, 1, -100])).prop_map(|(which, exit)| Step::End { which, exit }),
        1 => host.clone().prop_map(|host| Step::Lose { host }),
        2 => host.prop_map(|host| Step::Bring { host }),
        3 => fault.prop_map(|fault| Step::Inject { fault }),
        1 => processor.prop_map(|processor| Step::CaughtUp { processor }),
        1 => (0..4_u32, any::<bool>()).prop_map(|(writes, is_made)| Step::CrashAt { writes, is_made }),
        1 => (0..4_u32, any::<bool>()).prop_map(|(writes, is_made)| Step::FailAt { writes, is_made }),
        1 => any::<bool>().prop_map(|is_restored| Step::Restart { is_restored }),
    ]
}

fn spec(domain: FaultDomain) -> JobSpec {
    let mut spec = JobSpec { standby_domain: domain, failures_max: None, ..job_of(PROCESSORS) };
    spec.processors[0].standbys = [0].into();
    spec.processors[0].is_stateful = true;
    spec.processors[2].is_stateful = true;
    spec
}

fn capacity() -> Resources {
    Resources::new(&[4])
}

fn add(manager: &mut FakeCluster, number: usize) {
    manager.add_node_in(&host(number), &format!("rack{}", number % 3), "", capacity());
}

struct World {
    bed: Option<PlaneBed<FakeCluster>>,
    spec: JobSpec,
    /// Whether the process survives the store's next error.
    goes_on: bool,
    submitted: Vec<Uuid>,
    ended: BTreeMap<Uuid, PlacementResponse>,
}

impl World {
    /// At most this many requests may be open at the same time.
    fn new(domain: FaultDomain, accepted_max: usize) -> Self {
        let mut manager = FakeCluster::new();
        for number in 0..HOSTS {
            add(&mut manager, number);
        }
        let spec = spec(domain);
        let settings = ControlSettings { accepted_max, ..ControlSettings::default() };
        let bed = PlaneBed::with(spec.clone(), manager, settings, ConflictPolicy::default());
        Self { bed: Some(bed), spec, goes_on: false, submitted: Vec::new(), ended: BTreeMap::new() }
    }

    fn bed(&mut self) -> &mut PlaneBed<FakeCluster> {
        self.bed.as_mut().unwrap_or_else(|| panic!("no coordinator runs"))
    }

    fn restart(&mut self, is_restored: bool) {
        let Some(bed) = self.bed.take() else { return };
        // Changes of the job that the next coordinator does not get are undone: standbys without a processor are
        // released.
        let spec = if is_restored { bed.restored(&self.spec) } else { self.spec.clone() };
        self.begin_again(bed, spec);
    }

    fn begin_again(&mut self, bed: PlaneBed<FakeCluster>, spec: JobSpec) {
        self.bed = Some(bed.crash(spec));
    }

    fn ask(&mut self, kind: u8, number: usize, at: usize, expiry_ms: Option<u64>) {
        let last = self.submitted.last().copied().unwrap_or_default();
        let bed = self.bed();
        if bed.store.is_dead() {
            return;
        }
        let (name, at) = (number.to_string(), host(at));
        let pace = json!({"atOnce": 2, "disruptionBudget": 2});
        let (action, processor, destination, parameters) = match kind {
            0 | 1 => ("MOVE", name, at, json!({})),
            2 => ("MOVE", name, "ANY_HOST".to_owned(), json!({"retries": 1})),
            3 => ("RESTART", name, String::new(), json!({})),
            4 => ("FORCE_RESTART", name, String::new(), json!({})),
            5 => ("MOVE", "0-0".to_owned(), "ANY_HOST".to_owned(), json!({})),
            6 => ("MOVE_TO_STANDBY", "0".to_owned(), String::new(), json!({})),
            7 => ("START_STANDBY", name, String::new(), json!({})),
            8 => ("STOP_STANDBY", format!("{name}-0"), String::new(), json!({})),
            9 => ("DRAIN_HOST", String::new(), at, pace),
            10 => ("READMIT_HOST", String::new(), at, json!({})),
            11 => (
                "ROLLING_RESTART",
                String::new(),
                String::new(),
                json!({"version": "v2", "canaries": 1, "canaryWaitMs": 500}),
            ),
            12 => ("CANCEL", String::new(), String::new(), json!({"request": last})),
            _ => ("MOVE", "9".to_owned(), at, json!({})),
        };
        let message = apportion_placement::control::PlacementRequest {
            action: Some(action.to_owned()),
            parameters: parameters.as_object().cloned().unwrap_or_default(),
            request_expiry_ms: expiry_ms,
            ..bed.message(&processor, &destination)
        };
        let uuid = bed.submit(message);
        self.submitted.push(uuid);
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Ask { kind, processor, host, expiry_ms } => self.ask(kind, processor, host, expiry_ms),
            Step::Turn => {
                self.bed().turn();
                self.check_records();
            }
            Step::Pass { by_ms } => {
                self.bed().now_ms += by_ms;
                self.bed().turn();
            }
            Step::CrashAt { writes, is_made } => {
                self.goes_on = false;
                self.bed().store.ends_after(writes, is_made);
            }
            Step::FailAt { writes, is_made } => {
                self.goes_on = true;
                self.bed().store.ends_after(writes, is_made);
            }
            Step::Restart { is_restored } => self.restart(is_restored),
            _ => self.disturb(step),
        }
        match (self.bed().store.is_dead(), self.goes_on) {
            (true, true) => self.bed().store.reopen(),
            (true, false) => self.restart(true),
            (false, _) => {}
        }
        self.check();
    }

    fn disturb(&mut self, step: &Step) {
        let bed = self.bed();
        let now_ms = bed.now_ms;
        let mut job = bed.job.lock();
        if let Step::CaughtUp { processor: number } = step {
            job.report_caught_up(&processor(&format!("{number}-0")), now_ms);
            return;
        }
        let manager = job.client_mut();
        match step {
            Step::End { which, exit } => {
                let running: Vec<_> = manager.launched().map(|(container, ..)| container).collect();
                if let Some(which) = which.checked_rem(running.len()) {
                    assert_eq!(manager.complete(running[which], ContainerExit::of(*exit)), Ok(()));
                }
            }
            Step::Lose { host: number } => manager.lose_node(&host(*number)),
            Step::Bring { host: number } => add(manager, *number),
            Step::Inject { fault } => manager.inject(*fault),
            _ => {}
        }
    }

    /// The store records changes of the job together with the last words of their requests.
    fn check_records(&mut self) {
        let configured = self.spec.clone();
        let bed = self.bed();
        if !bed.store.is_dead() {
            assert_eq!(bed.restored(&configured), *bed.job.lock().spec());
        }
    }

    /// Checks the invariants.
    fn check(&mut self) {
        let submitted = self.submitted.clone();
        let mut ended = std::mem::take(&mut self.ended);
        let bed = self.bed();
        for uuid in submitted {
            let answer = bed.answer(uuid);
            let waits = bed.store.request(uuid).is_ok_and(|request| request.is_some());
            assert!(waits || answer.is_some(), "a crash loses nothing: {uuid}");
            assert!(!(waits && answer.is_some()), "an answered request leaves the store: {uuid}");
            if let Some(before) = ended.get(&uuid) {
                assert_eq!(answer.as_ref(), Some(before), "the last word stays (I5)");
            } else if let Some(answer) = answer.filter(|answer| answer.status_code.is_terminal()) {
                ended.insert(uuid, answer);
            }
        }
        let job = bed.job.lock();
        let mut launched: BTreeMap<&str, usize> = BTreeMap::new();
        for (_, _, launch) in job.service().client().launched() {
            *launched.entry(launch.component.as_str()).or_default() += 1;
        }
        let twice: Vec<_> = launched.iter().filter(|(_, count)| **count > 1).collect();
        assert!(twice.is_empty(), "one running instance each (I6): {twice:?}");
        let mut active: BTreeMap<ProcessorId, usize> = BTreeMap::new();
        for component in job.service().state().components() {
            let actions = job.service().state().actions_on(component.id);
            *active.entry(processor(&component.name).active()).or_default() += actions;
        }
        let several: Vec<_> = active.iter().filter(|(_, count)| **count > 1).collect();
        assert!(several.is_empty(), "one active action for a processor and its standbys (I1): {several:?}");
        drop(job);
        self.ended = ended;
    }

    /// Ends all faults. The same coordinator goes on, so only it gives last words.
    fn heal(&mut self) {
        let bed = self.bed();
        bed.store.reopen();
        // Lets running drains end.
        for _ in 0..5 {
            let now_ms = bed.now_ms + 61_000;
            bed.at(now_ms);
        }
        // With most hosts drained, a standby may have no place.
        let kept: Vec<String> = bed.job.lock().spec().hosts_kept_free.iter().cloned().collect();
        for at in kept {
            bed.ask_for("READMIT_HOST", "", &at, &json!({}));
        }
        {
            let mut job = bed.job.lock();
            let manager = job.client_mut();
            manager.forget_faults();
            for number in 0..HOSTS {
                add(manager, number);
            }
            // A standby may hold the only place of another standby, so new hosts and racks are added.
            for number in HOSTS..2 * HOSTS {
                manager.add_node_in(&host(number), &format!("rack{number}"), "", capacity());
            }
        }
        for _ in 0..40 {
            let bed = self.bed();
            let now_ms = bed.now_ms + 61_000;
            bed.at(now_ms);
            bed.turn();
            let next_ms = bed.plane.turn(now_ms);
            assert!(
                next_ms.is_ok_and(|next_ms| next_ms.is_none_or(|next_ms| next_ms > now_ms)),
                "the control plane must not ask to be called at once again"
            );
            self.check();
            self.check_records();
        }
    }
}

fn run_steps(domain: FaultDomain, accepted_max: usize, steps: &[Step]) {
    let mut world = World::new(domain, accepted_max);
    for step in steps {
        world.take(step);
    }
    world.heal();
    let open: Vec<_> = world.submitted.iter().filter(|uuid| !world.ended.contains_key(uuid)).collect();
    assert!(open.is_empty(), "every request has its last word (I5): {open:?}");
    let status = world.bed().job.lock().status();
    assert_eq!(status.below_configured, 0, "as many containers as configured (Z7): {status:?}");
    assert!(status.requests.is_empty() && world.bed().plane.open_count() == 0);
    assert!(world.ended.values().all(|answer| answer.status_code != StatusCode::InProgress));
}

/// One coordinator forgets a standby and cannot stop it. The next standby gets another number.
#[test]
fn a_standby_that_still_runs_is_not_started_again() {
    let ask = |kind| Step::Ask { kind, processor: 0, host: 0, expiry_ms: None };
    let steps = [
        ask(7),
        Step::Turn,
        Step::Inject { fault: Fault::FailStop },
        Step::Restart { is_restored: false },
        ask(7),
        Step::Turn,
        ask(0),
        Step::CrashAt { writes: 0, is_made: false },
        Step::Turn,
    ];
    run_steps(FaultDomain::Rack, MANY, &steps);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn every_request_has_one_last_word(steps in prop::collection::vec(step(), 0..60)) {
        run_steps(FaultDomain::Host, MANY, &steps);
    }

    #[test]
    fn every_request_has_one_last_word_with_racks_as_fault_domains(steps in prop::collection::vec(step(), 0..60)) {
        run_steps(FaultDomain::Rack, MANY, &steps);
    }

    /// Requests wait in the store, and requests that need no room overtake them.
    #[test]
    fn every_request_has_one_last_word_with_two_open_at_most(steps in prop::collection::vec(step(), 0..60)) {
        run_steps(FaultDomain::Host, 2, &steps);
    }
}
