//! Each type of the public surface is in one of three lists: read and written, written only, or neither and why.

use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::path::Path;

use apportion::config::*;
use apportion::engine::*;
use apportion::event::*;
use apportion::explain::*;
use apportion::file_log::*;
use apportion::gang::*;
use apportion::log::*;
use apportion::model::{Checker, Model, Report};
use apportion::nodes::*;
use apportion::place::PlacementSet;
use apportion::preempt::*;
use apportion::replay::{FollowedLog, Follower, Replay};
use apportion::request::*;
use apportion::resource::*;
use apportion::store_log::*;
use apportion::sync::*;
use apportion::view::*;
use apportion::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The last part of a type's path, without parameters.
fn name_of(path: &str) -> String {
    let path = path.split(['<', '(', ' ', '{']).next().unwrap_or(path);
    path.rsplit("::").next().unwrap_or(path).to_owned()
}

/// Compiles only if serde reads and writes each type, and returns their names.
macro_rules! both_ways {
    ($($type:ty),* $(,)?) => {{
        fn check<T: Serialize + DeserializeOwned>(name: &str, _: PhantomData<T>) -> String {
            name_of(name)
        }
        vec![$(check(stringify!($type), PhantomData::<$type>)),*]
    }};
}

/// Compiles only if serde writes each type, and returns their names.
macro_rules! written {
    ($($type:ty),* $(,)?) => {{
        fn check<T: Serialize>(name: &str, _: PhantomData<T>) -> String {
            name_of(name)
        }
        vec![$(check(stringify!($type), PhantomData::<$type>)),*]
    }};
}

/// Compiles only if each type exists, and returns their names. None is without a reason.
macro_rules! exceptions {
    ($($reason:literal: $($type:ty),+;)*) => {{
        fn check<T>(name: &str, reason: &str, _: PhantomData<T>) -> String {
            assert!(reason.len() > 10, "{name}: {reason}");
            name_of(name)
        }
        vec![$($(check(stringify!($type), $reason, PhantomData::<$type>)),+),*]
    }};
}

#[rustfmt::skip]
fn values() -> Vec<String> {
    both_ways![
        ApplicationId, AskId, AskKindId, ContainerId, NodeId, PartitionId, QueueId, RackId, ReservationId, SetId,
        CommitSeq, StateDigest, LogEnd,
        Event, EventKind, Refused, Refusal, Refusals, Subject, CommitOutcome, RejectReason,
        ApplicationEnd, EndCause, ExecutionType, Locality, NodeState, Stopping, ContainerOnNode, Master, Quota,
        AttributeTest, AttributeCondition, AttributeRule, TagNamespace, TagScope, TagLimit, AskTags,
        Blacklist, BlacklistUpdate, LocalityPreference,
        ApplicationSpec, AskSpec, AskOfKind, NodeSpec, RunningContainer, BulkCall, Change,
        ResourceAllocationCommitRequest, AllocationProposal, ReservationProposal, PassScope,
        Mode, Step, EngineStats, Health, AuditReport, Violation, Recovered, Checker, Report,
        Attachment, AttachedAsk, NodeReport, Reconciliation, Driven,
        NodeDirectives, ContainerStart, NodeSession, Incarnation, NodeRegistration, NodeHeartbeat, UnknownContainers,
        TrackerOptions, SessionError, HeartbeatError,
        Resources, ResourceTypes, Devices, DeviceNeed, Need, Room,
        GangId, GangSpec, GangRole, GangStyle, GangTopology, GangEnd, InvalidGang, GangRefusal, GangWait,
        Placeholder, TaskGroupRefusal, TaskGroupView,
        Amounts, Explanation, Standing, WhyPending, WhyOpportunistic, Blocker, ActivationLimit, LimitHolder, LimitReached, Funnel, Stage,
        PendingReason, Shortage, DeviceShortage, LocalityWait, NodeOfOtherAsk, ReservedNode, Rejection,
        PreemptionPolicy, PreemptionRounds, DisruptionBudget, DisruptionLimit, InvalidBudget, PreemptionCost, PreemptionNotice, PreemptionPlan, GangPreemption, PlannedMember, PartitionAmounts, QueueAmounts, Preemption, Victim, PreemptionRule, Unhelped,
        UnhelpedReason, PreemptionOutlook, UnknownQueue, WithinQueuePolicy, WithinQueueOrder,
        ContainerView, ReservationView, GangRoleView, GangAsks, GangView, QueueStatus, PendingWithinLimits,
        AccessList, ApplicationOrdering, Bound, Capacity, Creation, LocalityDelay, MappingAction, Maximum,
        NodeOrderKind, Fallback, PartitionAccess, PathPart, QueueOrdering, QueueState, Semantics, Share,
        AllocationSizes, ApplicationLimits, AutoCreation, EngineConfig, EngineLimits, Factor,
        OpportunisticPolicy, HeartbeatPolicy, HolderLimit, Lifetimes, MappingRule, ParallelLimits, PartitionCapacity, Percent, PlaceIn,
        QueueConfig, QueueDifferences, QueueMapping, QueuePath, QueueUpdate, Reconfiguration, ReservationPolicy,
        Setting, RuleFilter,
        Durability, FileLogOptions, StoreLogOptions, Compacted, Repaired,
        SubmitError, PassError, NotSerial, Lagging, ResourceError, ParsePathError, ParseDecimalError,
        ParseAccessListError,
    ]
}

fn written_only() -> Vec<String> {
    written![
        NodeView<'_>,
        AskView<'_>,
        ApplicationView<'_>,
        QueueView<'_>,
        // Percentiles, from which no histogram can be made.
        EngineTiming,
        // It names its key by a static text.
        ConfigError,
    ]
}

fn neither() -> Vec<String> {
    exceptions! {
        "they are the engine and its working parts": Engine, Parts, GroupCommitter, Proposer, ProposalBatch, PlacementSet,
            Replay;
        "they are primitives that a model checker replaces": AtomicU64, Condvar, Inbox<()>, Mutex<()>, NameMap<()>,
            Nothing, Outbox<()>, Promise<()>, RwLock<()>, Signal, Thread;
        "they are ways to an engine, not values": Handle, EventStream, Ticket<()>, Recovery, SubmittedGang,
            SubmittedGroupAsk;
        "they follow an engine; a new one is made from it": ResourceTracker, DirectiveTracker, NodeSessions;
        "a model is code": Model;
        "clocks are read, not stored": ManualClock, SystemClock;
        "the whole state; its rows are values": View<'_>;
        "logs and their readers and writers hold files and buffers": LogReader<&[u8]>, LoggedGroup<'_>, LogDigest, FileLog,
            Compactor, StoreLog, StoreCompactor, SharedLog, FollowedLog, Follower;
        "these errors hold an error of the operating system": StartError, RecoverError, LogError, FileLogError,
            StoreLogError;
        "it names its example by a static text": InvalidId;
    }
}

/// The types that `scheduler/public-api.txt` lists.
fn public_types() -> BTreeSet<String> {
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scheduler/public-api.txt");
    std::fs::read_to_string(list).unwrap().lines().filter_map(type_in).collect()
}

/// The type that a line declares, if it is public.
fn type_in(line: &str) -> Option<String> {
    let line = line.strip_prefix("#[non_exhaustive] ").unwrap_or(line);
    let path = line.strip_prefix("pub struct ").or_else(|| line.strip_prefix("pub enum "))?;
    Some(name_of(path))
}

#[test]
fn every_public_type_is_a_value_with_serde_or_an_exception_with_a_reason() {
    let public = public_types();
    assert!(public.len() > 140, "{public:?}");
    let listed: BTreeSet<String> = [values(), written_only(), neither()].concat().into_iter().collect();
    let missing: Vec<_> = public.difference(&listed).collect();
    assert!(missing.is_empty(), "neither with serde nor an exception: {missing:?}");
}
