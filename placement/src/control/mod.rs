//! Container control: placement actions on the containers of running jobs (Samza container placement, SEP-22).

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
