//! The interface between a control plane and a job.

use std::fmt;

use uuid::Uuid;

use crate::client::ClusterClient;
use crate::control::action::JobRequest;
use crate::control::job::{Job, JobAnswer};
use crate::control::job_record::JobRecord;
use crate::control::job_spec::JobSpec;
use crate::control::processor::ProcessorId;

/// A job as its control plane sees it. [`Job`] is one; so is one that its owner shares, to look at it.
pub trait ControlledJob: fmt::Debug + Send {
    /// Takes a request on.
    fn submit(&mut self, request: Uuid, asked: JobRequest, now_ms: u64);
    /// Goes on; says when it wants to be called again.
    fn tick(&mut self, now_ms: u64) -> Option<u64>;
    /// The answers since the last call, in order.
    fn take_answers(&mut self) -> Vec<JobAnswer>;
    /// What they have changed of the job since the last call; called after [`take_answers`](Self::take_answers), so
    /// whatever those tell of is in these or was in earlier ones.
    fn take_records(&mut self) -> Vec<JobRecord>;
    /// The job as it is by now.
    fn spec(&self) -> JobSpec;
    /// Whether it has this processor or standby.
    fn has_processor(&self, processor: &ProcessorId) -> bool;
    /// How many requests wait for or go on with a processor and its standbys.
    fn requests_for(&self, processor: &ProcessorId) -> usize;
    /// How many requests are not over.
    fn request_count(&self) -> usize;
    /// How many of them concern many containers.
    fn batch_count(&self) -> usize;
    /// Has all requests come to an end, as far as there is still time, for this reason.
    fn end_requests(&mut self, why: &str, now_ms: u64);
}

impl<C: ClusterClient + fmt::Debug + Send> ControlledJob for Job<C> {
    fn submit(&mut self, request: Uuid, asked: JobRequest, now_ms: u64) {
        Self::submit(self, request, asked, now_ms);
    }

    fn tick(&mut self, now_ms: u64) -> Option<u64> {
        Self::tick(self, now_ms)
    }

    fn take_answers(&mut self) -> Vec<JobAnswer> {
        Self::take_answers(self)
    }

    fn take_records(&mut self) -> Vec<JobRecord> {
        Self::take_records(self)
    }

    fn spec(&self) -> JobSpec {
        Self::spec(self).clone()
    }

    fn has_processor(&self, processor: &ProcessorId) -> bool {
        Self::has_processor(self, processor)
    }

    fn requests_for(&self, processor: &ProcessorId) -> usize {
        Self::requests_for(self, processor)
    }

    fn request_count(&self) -> usize {
        Self::request_count(self)
    }

    fn batch_count(&self) -> usize {
        Self::batch_count(self)
    }

    fn end_requests(&mut self, why: &str, now_ms: u64) {
        Self::end_requests(self, why, now_ms);
    }
}

impl<J: ControlledJob> ControlledJob for std::sync::Arc<parking_lot::Mutex<J>> {
    fn submit(&mut self, request: Uuid, asked: JobRequest, now_ms: u64) {
        self.lock().submit(request, asked, now_ms);
    }

    fn tick(&mut self, now_ms: u64) -> Option<u64> {
        self.lock().tick(now_ms)
    }

    fn take_answers(&mut self) -> Vec<JobAnswer> {
        self.lock().take_answers()
    }

    fn take_records(&mut self) -> Vec<JobRecord> {
        self.lock().take_records()
    }

    fn spec(&self) -> JobSpec {
        self.lock().spec()
    }

    fn has_processor(&self, processor: &ProcessorId) -> bool {
        self.lock().has_processor(processor)
    }

    fn requests_for(&self, processor: &ProcessorId) -> usize {
        self.lock().requests_for(processor)
    }

    fn request_count(&self) -> usize {
        self.lock().request_count()
    }

    fn batch_count(&self) -> usize {
        self.lock().batch_count()
    }

    fn end_requests(&mut self, why: &str, now_ms: u64) {
        self.lock().end_requests(why, now_ms);
    }
}
