//! Container control: placement actions on the containers of running jobs (Samza container placement, SEP-22).
//!
//! | purpose | type |
//! |---|---|
//! | a job: its processors, and how their standbys are kept apart | [`JobSpec`], [`ProcessorSpec`], [`ProcessorId`] |
//! | the job on a cluster, which carries out requests | [`Job`], [`JobStatus`] |
//! | actions and requests | [`JobAction`], [`JobRequest`], [`RollingRestart`], [`Pace`] |
//! | where requests and answers are kept | [`ControlStore`]: [`RedbControlStore`], [`MemoryControlStore`] |
//! | has jobs carry out the requests of a store | [`ControlPlane`], on a thread of its own [`ControlThread`] |
//! | asks through a store, from the same process or another one | [`PlacementClient`], [`PlacementRequest`], [`PlacementResponse`] |
//! | permissions, and the policy for conflicting requests | [`Authoriser`], [`ConflictPolicy`] |
//!
//! A job can be asked without a control plane:
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
//! Messages, the effect of each action, and an example with a store are in `CONTROL.md` beside this crate's manifest.

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
