//! The control plane: the handling of messages in its store (`samza.md` 1.12 and section 2).

use std::fmt::Debug;
use std::time::Duration;

use apportion_placement::FakeCluster;
use apportion_placement::control::{
    ActionName, AllowPrincipals, Change, ConflictPolicy, ControlPlane, ControlSettings, ControlStore,
    DeployError, ID_MAX, MESSAGE_MAX, Permission, PlacementClient, PlacementRequest, StatusCode, request_key,
};
use serde_json::json;
use uuid::Uuid;

use super::bed::{job_of, processor, with_standbys};
use super::one::cluster;
use super::plane_bed::PlaneBed;
use crate::support::{EngineCluster, Manager, host, on_both};
use StatusCode::{Accepted, BadRequest, Cancelled, Conflict, Failed, Succeeded, Unauthorized};

fn bed<M: Manager + Debug + Send + 'static>() -> PlaneBed<M> {
    PlaneBed::start(job_of(3), cluster::<M>(3, 4))
}

on_both!(a_request_is_carried_out_and_answered);
/// P1 through the store: the answer has the request's fields, and the request is gone.
fn a_request_is_carried_out_and_answered<M: Manager + Debug + Send + 'static>() {
    let mut bed = bed::<M>();
    let request = PlacementRequest { request_expiry_ms: Some(7_000), ..bed.message("0", &host(2)) };
    let uuid = bed.submit(request.clone());
    bed.run_until_idle();
    let answer = bed.answer(uuid).unwrap_or_else(|| panic!("an answer"));
    assert_eq!(answer, request.answer(Succeeded, &answer.response_message, bed.now_ms));
    assert_eq!((bed.host_of("0"), bed.store.request(uuid)), (host(2), Ok(None)));
}

on_both!(acceptance_is_stored);
/// Z14: a request that waits for another is marked as accepted, in the transaction that removes it from the store.
fn acceptance_is_stored<M: Manager + Debug + Send + 'static>() {
    let mut bed = bed::<M>();
    let first = bed.ask("0", "ANY_HOST");
    let second = bed.ask("0", "LAST_SEEN");
    bed.turn();
    assert_eq!(bed.status(second), Some(Accepted));
    assert_eq!(bed.store.request(second), Ok(None));
    bed.run_until_idle();
    assert_eq!((bed.status(first), bed.status(second)), (Some(Succeeded), Some(Succeeded)));
}

on_both!(a_duplicate_keeps_the_first_outcome);
/// P6, with Z12: a second request with the same UUID is not carried out, and the first outcome stays.
fn a_duplicate_keeps_the_first_outcome<M: Manager + Debug + Send + 'static>() {
    let mut bed = bed::<M>();
    let request = bed.message("0", "ANY_HOST");
    let uuid = bed.submit(request.clone());
    bed.run_until_idle();
    let (before, other) = (bed.answer(uuid), bed.host_of("1"));
    let again = PlacementRequest { processor_id: "1".to_owned(), ..request.clone() };
    assert!(bed.store.apply(&[Change::PutRequest(again.clone())]).is_err());
    let bytes = again.write().unwrap_or_else(|error| panic!("{error}"));
    let raw = Change::PutRawRequest { key: request_key(uuid), bytes };
    assert!(bed.store.apply(&[raw]).is_err());
    bed.run_until_idle();
    assert_eq!((bed.answer(uuid), bed.host_of("1")), (before, other));
}

on_both!(invalid_messages_are_answered);
/// Bad messages: each is answered or swept, and none waits for ever or causes a hot loop.
fn invalid_messages_are_answered<M: Manager + Debug + Send + 'static>() {
    let mut bed = bed::<M>();
    let foreign = PlacementRequest { deployment_id: "elsewhere".to_owned(), ..bed.message("0", "ANY_HOST") };
    let slow = bed.message("0", "ANY_HOST").expiring_after_ms(86_400_001);
    let asked = [
        (bed.submit(foreign), "no deployment `elsewhere`"),
        (bed.ask("77", "ANY_HOST"), "no processor `77`"),
        (bed.ask("0/1", "ANY_HOST"), "is not a processor id"),
        (bed.ask("0", "nowhere"), "no host `nowhere`"),
        (bed.ask("0", ""), "destinationHost is empty"),
        (bed.ask_for("EXPLODE", "0", "", &json!({})), "no action `EXPLODE`"),
        (bed.ask_for("DRAIN_HOST", "", &host(0), &json!({"atOnce": 0})), "atOnce is 0; a number from 1 on"),
        (bed.ask_for("DRAIN_HOST", "", &host(0), &json!({"pace": 3})), "takes no `pace`; it takes atOnce"),
        (bed.ask_for("MOVE", "0", "ANY_HOST", &json!({"canaries": 3})), "MOVE takes no `canaries`"),
        (
            bed.ask_for("READMIT_HOST", "", &host(0), &json!({"retries": 3})),
            "takes no `retries`; it takes none",
        ),
        (bed.ask_for("ROLLING_RESTART", "", "", &json!({"size": [-1]})), "size is [-1]; a list of 1 to 8"),
        (
            bed.ask_for("ROLLING_RESTART", "", "", &json!({"size": ["x"]})),
            "size is [\"x\"]; a list of 1 to 8",
        ),
        (bed.ask_for("ROLLING_RESTART", "", "", &json!({"size": [0, 0]})), "size is 0 in every amount"),
        (bed.ask_for("ROLLING_RESTART", "", "", &json!({"canaryWaitMs": u64::MAX})), "at most 86400000"),
        (bed.ask_for("ROLLING_RESTART", "", "", &json!({"processors": ["99"]})), "no processor `99`"),
        (bed.ask_for("MOVE", "0", "ANY_HOST", &json!({"retries": 1_000_000})), "retries"),
        (bed.ask_for("CANCEL", "", "", &json!({})), "request is missing"),
        (bed.ask_for("CANCEL", "", "", &json!({"request": Uuid::from_u128(99)})), "over or not known"),
        (bed.ask_for("START_STANDBY", "0-0", "", &json!({})), "no processor `0-0`"),
        (bed.ask_for("DRAIN_HOST", "0", &host(0), &json!({})), "processorId: DRAIN_HOST asks for none"),
        (bed.ask_for("RESTART", "0", &host(1), &json!({})), "destinationHost: RESTART asks for none"),
        (bed.submit(slow), "requestExpiry is 86400001; at most 86400000"),
    ];
    bed.run_until_idle();
    for (uuid, part) in asked {
        let (status, why) = (bed.status(uuid), bed.why(uuid));
        assert_eq!(status, Some(BadRequest), "{part}: {why}");
        assert!(why.contains(part), "{part}: {why}");
    }
    assert_eq!(bed.plane.open_count(), 0);
}

on_both!(unreadable_messages_are_answered_if_they_have_a_uuid);
fn unreadable_messages_are_answered_if_they_have_a_uuid<M: Manager + Debug + Send + 'static>() {
    let mut bed = bed::<M>();
    let uuid = |number: u128| Uuid::from_u128(1_000 + number);
    let message = |number: u128, change: fn(&mut serde_json::Value)| {
        let mut value = json!({
            "subType": "ContainerPlacementRequestMessage", "uuid": uuid(number), "deploymentId": "run-1",
            "processorId": "0", "destinationHost": "ANY_HOST", "statusCode": "CREATED", "timestamp": 1,
        });
        change(&mut value);
        value.to_string().into_bytes()
    };
    let bad: Vec<Vec<u8>> = vec![
        message(0, |value| drop(value.as_object_mut().and_then(|fields| fields.remove("processorId")))),
        message(1, |value| value["subType"] = json!("SomethingElse")),
        message(2, |value| value["requestExpiry"] = json!(0)),
        message(3, |value| value["requestExpiry"] = json!(-5)),
        message(4, |value| value["destinationHost"] = json!("h".repeat(1 << 20))),
        message(5, |value| value["timestamp"] = json!("yesterday")),
        message(6, |value| value["deploymentId"] = json!(null)),
        message(7, |value| value["deploymentId"] = json!("d".repeat(ID_MAX + 1))),
        b"no JSON".to_vec(),
        vec![0xff; MESSAGE_MAX + 1],
    ];
    let count = bad.len() as u128;
    for (number, bytes) in (0..).zip(bad) {
        let raw = Change::PutRawRequest { key: request_key(uuid(number)), bytes };
        assert_eq!(bed.store.apply(&[raw]), Ok(()));
    }
    let good = bed.ask("1", "ANY_HOST");
    bed.run_until_idle();
    for number in 0..count {
        assert_eq!(bed.status(uuid(number)), Some(BadRequest), "{number}: {}", bed.why(uuid(number)));
    }
    let client = PlacementClient::new(bed.store.clone());
    let listed = client.by_processor("run-1", "0").map(|listing| listing.responses.len());
    assert_eq!(listed, Ok(4), "four requests name both");
    let listed = client.list("run-1").map(|listing| listing.responses.len());
    assert_eq!(listed, Ok(6), "one more names the deployment, and there is the good one");
    assert_eq!(bed.status(good), Some(Succeeded), "and the others go on");
    let counts = bed.store.counts();
    assert_eq!(counts.map(|counts| (counts.requests, counts.bad)), Ok((0, 0)));
    assert_eq!(u128::from(bed.plane.metrics().unreadable), count);
}

on_both!(all_actions_can_be_asked_for);
fn all_actions_can_be_asked_for<M: Manager + Debug + Send + 'static>() {
    let mut bed = PlaneBed::<M>::start(with_standbys(job_of(2), 1), cluster::<M>(5, 9));
    let pace = || json!({"atOnce": 2, "disruptionBudget": 2});
    let asked = [
        ("MOVE", "0", "ANY_HOST".to_owned(), json!({"retries": 1})),
        ("RESTART", "0", String::new(), json!({})),
        ("FORCE_RESTART", "0", String::new(), json!({})),
        ("MOVE_TO_STANDBY", "0", String::new(), json!({})),
        ("START_STANDBY", "0", String::new(), json!({})),
        ("STOP_STANDBY", "0-1", String::new(), json!({})),
        ("RELIEVE_HOST", "", host(0), json!({"containers": 1})),
        ("DRAIN_HOST", "", host(0), pace()),
        ("READMIT_HOST", "", host(0), json!({})),
        (
            "ROLLING_RESTART",
            "",
            String::new(),
            json!({"canaries": 1, "version": "v2", "size": [2], "atOnce": 2}),
        ),
    ];
    for (action, processor, at, parameters) in asked {
        for standby in ["0-0", "1-0"] {
            let now_ms = bed.now_ms;
            bed.job
                .lock()
                .report_caught_up(&standby.parse().unwrap_or_else(|error| panic!("{error}")), now_ms);
        }
        let uuid = bed.ask_for(action, processor, &at, &parameters);
        bed.run_until_idle();
        bed.at(bed.now_ms + 1);
        assert_eq!(bed.status(uuid), Some(Succeeded), "{action}: {}", bed.why(uuid));
    }
    let waits = json!({"canaries": 1, "canaryWaitMs": 60_000});
    let waiting = bed.ask_for("ROLLING_RESTART", "", "", &waits);
    bed.run_until_idle();
    let cancel = bed.ask_for("CANCEL", "", "", &json!({"request": waiting}));
    bed.run_until_idle();
    assert_eq!((bed.status(cancel), bed.status(waiting)), (Some(Succeeded), Some(StatusCode::Cancelled)));
    let tallies = &bed.plane.metrics().outcomes;
    assert!(tallies.values().all(|tally| tally.count == 1));
    let succeeded = tallies.keys().filter(|(_, status)| *status == Succeeded).filter_map(|(name, _)| *name);
    assert_eq!(succeeded.collect::<std::collections::BTreeSet<_>>(), ActionName::ALL.into());
    let version = bed.job.lock().processor_status(&processor("1")).map(|status| status.version);
    assert_eq!(version.as_deref(), Some("v2"));
}

/// Also if the job does not run here.
#[test]
fn each_valid_request_is_counted_under_its_action() {
    let mut bed = bed::<EngineCluster>();
    let foreign = PlacementRequest { deployment_id: "elsewhere".to_owned(), ..bed.message("0", "LAST_SEEN") };
    bed.submit(foreign.clone());
    bed.submit(PlacementRequest { uuid: Uuid::new_v4(), action: Some("DANCE".to_owned()), ..foreign });
    bed.run_until_idle();
    let counted = bed.plane.metrics().outcomes.iter().map(|(key, tally)| (*key, tally.count));
    let expected = [((None, BadRequest), 1), ((Some(ActionName::Restart), BadRequest), 1)];
    assert_eq!(counted.collect::<Vec<_>>(), expected);
}

on_both!(a_request_is_cancelled_through_the_store);
fn a_request_is_cancelled_through_the_store<M: Manager + Debug + Send + 'static>() {
    let mut bed = PlaneBed::<M>::start(job_of(2), cluster::<M>(2, 1));
    let full = bed.host_of("1");
    let request = PlacementRequest { request_expiry_ms: Some(600_000), ..bed.message("0", &full) };
    let waits = bed.submit(request);
    bed.run_until_idle();
    assert_eq!(bed.status(waits), Some(StatusCode::InProgress));
    let cancel = bed.ask_for("CANCEL", "", "", &json!({"request": waits}));
    bed.run_until_idle();
    assert_eq!((bed.status(waits), bed.status(cancel)), (Some(Cancelled), Some(Succeeded)));
}

on_both!(a_busy_processor_queues_or_refuses);
/// The conflict policy: queue (Samza), or the seed's 409.
fn a_busy_processor_queues_or_refuses<M: Manager + Debug + Send + 'static>() {
    let mut bed = PlaneBed::<M>::with(
        job_of(2),
        cluster::<M>(2, 9),
        ControlSettings::default(),
        ConflictPolicy::Refuse,
    );
    let (first, second, other) =
        (bed.ask("0", "LAST_SEEN"), bed.ask("0", "LAST_SEEN"), bed.ask("1", "LAST_SEEN"));
    bed.run_until_idle();
    let statuses = [first, second, other].map(|uuid| bed.status(uuid));
    assert_eq!(statuses, [Some(Succeeded), Some(Conflict), Some(Succeeded)]);
    assert_eq!(Conflict.http(), 409);
    let few = ConflictPolicy::Queue { most: 1 };
    let mut bed = PlaneBed::<M>::with(job_of(2), cluster::<M>(2, 9), ControlSettings::default(), few);
    let asked: Vec<Uuid> = (0..4).map(|_| bed.ask("0", "LAST_SEEN")).collect();
    bed.run_until_idle();
    let statuses: Vec<_> = asked.into_iter().map(|uuid| bed.status(uuid)).collect();
    assert_eq!(statuses, [Some(Succeeded), Some(Succeeded), Some(Conflict), Some(Conflict)]);
}

#[test]
fn principals_may_request_only_permitted_actions() {
    let mut bed = bed::<EngineCluster>();
    let restart = Permission::Only([ActionName::Restart].into());
    let nothing = Permission::Only([].into());
    let principals =
        [("ann".to_owned(), Permission::All), ("bob".to_owned(), restart), ("cid".to_owned(), nothing)]
            .into();
    let spec =
        apportion_placement::control::JobSpec::new("guarded", bed.job.lock().spec().processors.clone());
    let job = apportion_placement::control::Job::start(
        spec,
        apportion_placement::ServiceSettings::default(),
        cluster::<EngineCluster>(2, 4),
        None,
        1,
    );
    let job = job.unwrap_or_else(|error| panic!("{error}"));
    let rules = AllowPrincipals { principals };
    let deployed = bed.plane.deploy_with("guarded-1", job, ConflictPolicy::default(), rules, bed.now_ms);
    assert!(deployed.is_ok(), "{deployed:?}");
    let ask = |bed: &mut PlaneBed<EngineCluster>, who: Option<&str>, host: &str| {
        let message = PlacementRequest {
            deployment_id: "guarded-1".to_owned(),
            principal: who.map(str::to_owned),
            ..bed.message("0", host)
        };
        bed.submit(message)
    };
    let refused = [
        (ask(&mut bed, None, "ANY_HOST"), "principal is missing"),
        (ask(&mut bed, Some("eve"), "ANY_HOST"), "`eve` may ask for nothing"),
        (ask(&mut bed, Some("bob"), "ANY_HOST"), "not for MOVE"),
        (ask(&mut bed, Some("cid"), "ANY_HOST"), "`cid` may ask for nothing"),
    ];
    let allowed = [ask(&mut bed, Some("ann"), "ANY_HOST"), ask(&mut bed, Some("bob"), "LAST_SEEN")];
    bed.run_until_idle();
    for (uuid, why) in refused {
        assert_eq!(bed.status(uuid), Some(Unauthorized));
        assert!(bed.why(uuid).contains(why), "{}", bed.why(uuid));
    }
    assert!(allowed.iter().all(|uuid| bed.status(*uuid) != Some(Unauthorized)));
    assert_eq!(Unauthorized.http(), 401);
}

on_both!(an_orphan_gets_its_last_word_from_the_next_deployment);
/// Z13: accepted requests, waiting requests, and later requests for a deployment that is over.
fn an_orphan_gets_its_last_word_from_the_next_deployment<M: Manager + Debug + Send + 'static>() {
    let mut bed = PlaneBed::<M>::start(job_of(2), cluster::<M>(2, 1));
    let full = bed.host_of("1");
    let accepted = bed.ask("0", &full);
    bed.turn();
    let waiting = bed.ask("1", "LAST_SEEN");
    let late = bed.message("1", "LAST_SEEN");
    let spec = bed.job.lock().spec().clone();
    let mut bed = bed.crash(spec);
    let late = bed.submit(late);
    bed.run_until_idle();
    for uuid in [accepted, waiting, late] {
        assert_eq!(bed.status(uuid), Some(Failed), "{}", bed.why(uuid));
    }
    assert!(bed.why(accepted).contains("the next deployment is run-2"), "{}", bed.why(accepted));
    assert!(bed.why(late).contains("deployment `run-1` of job `job` is over"), "{}", bed.why(late));
    let used = bed.plane.deploy("run-1", std::sync::Arc::clone(&bed.job), bed.now_ms);
    let used = used.expect_err("it was there before");
    assert_eq!(used.error, DeployError::Known("run-1".to_owned()));
    assert!(used.to_string().contains("needs a new id"), "{used}");
}

on_both!(requests_of_a_deployment_that_was_replaced_are_open_no_more);
/// The same control plane deploys the job again.
fn requests_of_a_deployment_that_was_replaced_are_open_no_more<M: Manager + Debug + Send + 'static>() {
    let mut bed = PlaneBed::<M>::start(job_of(2), cluster::<M>(2, 1));
    let full = bed.host_of("1");
    let waiting = bed.ask("0", &full);
    bed.turn();
    assert_eq!(bed.plane.open_count(), 1);
    let deployed = bed.plane.deploy("run-2", std::sync::Arc::clone(&bed.job), bed.now_ms);
    assert!(deployed.is_ok(), "{deployed:?}");
    assert_eq!((bed.status(waiting), bed.plane.open_count()), (Some(Failed), 0));
}

on_both!(nothing_is_kept_for_ever);
/// Bounded growth: outcomes expire, and a request that is repeated after that is too old.
fn nothing_is_kept_for_ever<M: Manager + Debug + Send + 'static>() {
    let mut bed = bed::<M>();
    let first = bed.message("0", "LAST_SEEN");
    let uuid = bed.submit(first.clone());
    bed.run_until_idle();
    let settings = ControlSettings::default();
    bed.at(settings.retention_ms + 3);
    assert_eq!((bed.answer(uuid), bed.plane.metrics().aged_out), (None, 1));
    let container = bed.job.lock().processor_status(&processor("0")).and_then(|status| status.container);
    bed.submit(first);
    bed.run_until_idle();
    assert_eq!(bed.status(uuid), Some(Failed), "{}", bed.why(uuid));
    let after = bed.job.lock().processor_status(&processor("0")).and_then(|status| status.container);
    assert_eq!(after, container, "it is not done twice");
}

#[test]
fn a_job_that_is_taken_out_leaves_nothing_open() {
    let mut bed = PlaneBed::<apportion_placement::FakeCluster>::start(job_of(2), cluster(2, 1));
    let full = bed.host_of("1");
    let open = bed.ask("0", &full);
    bed.turn();
    let now_ms = bed.now_ms;
    assert!(bed.plane.retire("run-1", now_ms).is_ok_and(|job| job.is_some()));
    assert_eq!((bed.status(open), bed.plane.is_deployed("run-1")), (Some(Failed), false));
    let late = bed.ask("0", "LAST_SEEN");
    bed.turn();
    assert_eq!(bed.status(late), Some(Failed));
}

/// Two control planes share a store: each ignores the other's requests.
#[test]
fn requests_of_another_job_stay() {
    let mut bed = bed::<apportion_placement::FakeCluster>();
    let other = bed.message("0", "ANY_HOST");
    let deployment = apportion_placement::control::Deployment {
        id: "elsewhere".to_owned(),
        job: "other".to_owned(),
        started_ms: 1,
        is_current: true,
    };
    assert_eq!(bed.store.apply(&[Change::PutDeployment(deployment)]), Ok(()));
    let theirs = bed.submit(PlacementRequest { deployment_id: "elsewhere".to_owned(), ..other });
    let ours = bed.ask("0", "LAST_SEEN");
    bed.run_until_idle();
    assert_eq!((bed.status(theirs), bed.status(ours)), (None, Some(Succeeded)));
    assert!(bed.store.request(theirs).is_ok_and(|request| request.is_some()));
}

/// An answer that cannot be saved for a while is saved later.
#[test]
fn answers_survive_a_store_that_fails_for_a_while() {
    let mut bed = bed::<apportion_placement::FakeCluster>();
    let uuid = bed.ask("0", "ANY_HOST");
    bed.turn();
    bed.store.ends_after(0, false);
    for _ in 0..5 {
        let turned: Result<_, _> = ControlPlane::turn(&mut bed.plane, 1);
        drop(turned);
    }
    assert!(bed.plane.metrics().store_errors > 0);
    bed.store.reopen();
    bed.run_until_idle();
    assert_eq!(bed.status(uuid), Some(Succeeded));
}

/// Otherwise its thread would not sleep until the next write.
#[test]
fn a_plane_knows_the_last_write_that_it_read() {
    let mut bed = bed::<FakeCluster>();
    for written in 1..=3 {
        bed.ask("0", "ANY_HOST");
        bed.run_until_idle();
        assert_eq!((bed.plane.seen(), bed.store.wait_for_write(0, Duration::ZERO)), (written, written));
    }
}
