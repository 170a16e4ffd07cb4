//! Handmade commit requests.

use apportion::request::{AllocationProposal, ReservationProposal};
use apportion::{CommitOutcome, NodeId, ReservationId, ResourceAllocationCommitRequest};

use super::cluster::Cluster;
use super::form::{CommitForm, PrepareForm, RequestForm, Verdict};
use super::problem::{Done, StepError};

impl Cluster {
    pub(super) fn prepare(&mut self, form: &PrepareForm) -> Done {
        let request = self.request(&form.request)?;
        self.names.requests.insert(form.name.clone(), request);
        Ok(())
    }

    /// Commits a request once for each expected verdict.
    pub(super) fn commit(&mut self, form: &CommitForm) -> Done {
        let request = match (&form.request, &form.prepared) {
            (Some(request), None) => self.request(request)?,
            (None, Some(name)) => self.names.request(name)?.clone(),
            _ => return Err(StepError::bad("say what to commit: either `request` or `prepared`")),
        };
        if form.expect.0.is_empty() {
            return Err(StepError::bad("say how often, by a verdict for each time"));
        }
        let mut got = Vec::new();
        for _ in &form.expect.0 {
            let ticket = self.handle.commit(request.clone())?;
            self.commit_sent()?;
            let outcome = ticket.try_take();
            got.push(outcome.ok_or_else(|| StepError::failed("the engine gave no answer"))?);
        }
        let got: Vec<Verdict> = got.into_iter().map(to_verdict).collect();
        if got == form.expect.0 {
            return Ok(());
        }
        let text =
            |verdicts: &[Verdict]| verdicts.iter().map(Verdict::to_string).collect::<Vec<_>>().join(", ");
        Err(StepError::failed(format!("verdict: got {}, wanted {}", text(&got), text(&form.expect.0))))
    }

    /// The request with names replaced by the identifiers of present objects.
    fn request(&self, form: &RequestForm) -> Done<ResourceAllocationCommitRequest> {
        let mut request = ResourceAllocationCommitRequest::default();
        for wanted in &form.allocate {
            let (ask, node) = (self.names.ask(&wanted.ask)?.id, self.names.node(&wanted.node)?);
            let from_reservation =
                if wanted.from_reservation { Some(self.reservation_on(node, &wanted.node)?) } else { None };
            request.allocate.push(AllocationProposal { ask, node, from_reservation });
        }
        for wanted in &form.reserve {
            let (ask, node) = (self.names.ask(&wanted.ask)?.id, self.names.node(&wanted.node)?);
            request.reserve.push(ReservationProposal { ask, node });
        }
        for wanted in &form.release {
            request.release.extend(self.containers(wanted)?.into_iter().map(|it| it.container));
        }
        for node in &form.unreserve.0 {
            request.unreserve.push(self.reservation_on(self.names.node(node)?, node)?);
        }
        Ok(request)
    }

    fn reservation_on(&self, node: NodeId, name: &str) -> Done<ReservationId> {
        let found = self.engine.read(|view| view.node(node).and_then(|node| node.reservation()));
        found.ok_or_else(|| StepError::failed(format!("node {name} is not reserved")))
    }
}

fn to_verdict(outcome: CommitOutcome) -> Verdict {
    match outcome {
        CommitOutcome::Accepted(_) => Verdict::Accepted,
        CommitOutcome::Rejected(reason) => Verdict::Rejected(reason),
    }
}
