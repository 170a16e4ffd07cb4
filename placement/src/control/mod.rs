//! Container control: placement actions on the containers of running jobs (Samza container placement,
//! SEP-22).
//!
//! | purpose | type |
//! |---|---|
//! | a job: its processors, and the distance between standbys | [`JobSpec`], [`ProcessorSpec`], [`ProcessorId`] |
//! | a running job, which carries out requests | [`Job`], [`JobStatus`] |
//! | actions and requests | [`JobAction`], [`JobRequest`], [`RollingRestart`], [`Pace`] |
//! | the store of requests and responses | [`ControlStore`]: [`RedbControlStore`], [`MemoryControlStore`] |
//! | passes requests from a store to jobs | [`ControlPlane`], on a thread of its own [`ControlThread`] |
//! | submits requests through a store, from any process | [`PlacementClient`], [`PlacementRequest`], [`PlacementResponse`] |
//! | permissions, and the policy for conflicting requests | [`Authoriser`], [`ConflictPolicy`] |
//!
//! A job also works without a control plane:
//!
//! ```
//! use apportion::Resources;
//! use apportion_placement::control::{Destination, Job, JobAction, JobRequest, JobSpec, ProcessorSpec};
//! use apportion_placement::{ActionStatus, FakeCluster, ServiceSettings};
//! use uuid::Uuid;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut cluster = FakeCluster::new();
//! cluster.add_node("alpha", Resources::new(&[1]));
//! cluster.add_node("beta", Resources::new(&[1]));
//! let spec = JobSpec::new("clicks", vec![ProcessorSpec::new("0".parse()?, Resources::new(&[1]))]);
//! let mut job = Job::start(spec, ServiceSettings::default(), cluster, None, 0)?;
//! job.tick(0);
//! job.tick(0);
//! let action = JobAction::Place { processor: "0".parse()?, destination: Destination::AnyHost };
//! job.submit(Uuid::from_u128(1), JobRequest::new(action), 0);
//! for _ in 0..4 {
//!     job.tick(1);
//! }
//! let last = job.take_answers().pop().ok_or("no answer")?;
//! assert_eq!((last.status, last.message.as_str()), (ActionStatus::Succeeded, "it runs on beta"));
//! # Ok(())
//! # }
//! ```
//!
//! `CONTROL.md` beside this crate's manifest has the messages, the effect of each action, and an example
//! with a store.

mod action;
mod job;
mod job_record;
mod job_spec;
mod metadata_store;
mod plane;
mod processor;

pub use action::{ActionName, Destination, JobAction, JobRequest, Pace, RollingRestart};
pub use job::{Job, JobAnswer, JobStatus, ProcessorStatus, StepTally};
pub use job_record::JobRecord;
pub use job_spec::{JobSpec, JobSpecError, PROCESSORS_MAX, STANDBYS_MAX};
pub use metadata_store::{
    BadEntry, Change, ControlStore, ControlStoreError, Counts, Deployment, EXPLANATION_MAX, FORMAT_VERSION,
    HOST_MAX, ID_MAX, KEY_MAX, Listing, MESSAGE_MAX, MemoryControlStore, MessageError, MessageProblem,
    NAMESPACE, OpenStoreError, PARAMETERS_DEPTH_MAX, PARAMETERS_MAX, Page, PlacementClient, PlacementRequest,
    PlacementResponse, REQUEST_SUB_TYPE, REQUESTS_MAX, RESPONSE_SUB_TYPE, RedbControlStore, StatusCode,
    UnknownStatusCode, request_key, response_key,
};
pub use plane::{
    AllowAll, AllowPrincipals, Authoriser, ConflictPolicy, ControlMetrics, ControlPlane, ControlSettings,
    ControlThread, ControlledJob, DeployError, NotDeployed, OutcomeTally, Permission,
};
pub use processor::{BadProcessorId, ProcessorId, ProcessorSpec};
