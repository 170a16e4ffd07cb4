//! The interface between a control plane and a job.

use std::fmt;

use uuid::Uuid;

use crate::client::ClusterClient;
use crate::control::action::JobRequest;
use crate::control::job::{Job, JobAnswer};
use crate::control::job_record::JobRecord;
use crate::control::job_spec::JobSpec;
use crate::control::processor::ProcessorId;

/// A job as its control plane sees it. Implemented by [`Job`], and by an `Arc<Mutex<..>>` of it that its
/// owner shares.
pub trait ControlledJob: fmt::Debug + Send {
    /// Accepts a request.
    fn submit(&mut self, request: Uuid, asked: JobRequest, now_ms: u64);
    /// Advances the job. Returns the next time at which it must be called.
    fn tick(&mut self, now_ms: u64) -> Option<u64>;
    /// Takes the answers since the last call, in order.
    fn take_answers(&mut self) -> Vec<JobAnswer>;
    /// Takes the changes of the job since the last call. Called after [`take_answers`](Self::take_answers),
    /// so these or earlier records cover those answers.
    fn take_records(&mut self) -> Vec<JobRecord>;
    /// Returns the present specification.
    fn spec(&self) -> JobSpec;
    /// Returns whether it has this processor or standby.
    fn has_processor(&self, processor: &ProcessorId) -> bool;
    /// Counts the requests that wait for, or work on, a processor and its standbys.
    fn requests_for(&self, processor: &ProcessorId) -> usize;
    /// Counts the open requests.
    fn request_count(&self) -> usize;
    /// Counts the open requests about many containers.
    fn batch_count(&self) -> usize;
    /// Ends all requests for this reason; cancels their actions where that is still possible.
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
