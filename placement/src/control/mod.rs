//! Container control: placement actions on the containers of running jobs (Samza container placement, SEP-22).

mod action;
mod job;
mod processor;

pub use action::{Destination, JobAction, JobRequest, Pace, RollingRestart};
pub use job::{Job, JobAnswer, JobStatus, ProcessorStatus};
pub use processor::{
    BadProcessorId, JobSpec, JobSpecError, PROCESSORS_MAX, ProcessorId, ProcessorSpec, STANDBYS_MAX,
};
