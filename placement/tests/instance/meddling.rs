//! Hosts whose state changes in the middle of a command, and hosts that give no answer.

use std::fmt;
use std::sync::{Arc, Mutex};

use apportion_placement::instance::{
    ActionError, AnswerDetail, AppId, ApplicationHost, ApplicationReport, ExitCode, HostError, HostFault,
    HostedContainer, InstanceClient, InstanceDirectories, ListOptions, MemoryHost, Providers, RunState,
    SizeBounds, Submission,
};
use apportion_placement::{ComponentSpec, ContainerRef, NodeReport, ServiceStatus};

use super::support::{AT_ONCE, Bed, Outcome, code, detail};

type Event = Box<dyn FnOnce() + Send>;

/// A host that makes an event happen once, right after it has answered with the reports, and that does not list
/// containers.
struct Meddled {
    inner: Arc<MemoryHost>,
    event: Mutex<Option<Event>>,
}

impl fmt::Debug for Meddled {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(formatter)
    }
}

impl ApplicationHost for Meddled {
    fn size_bounds(&self) -> SizeBounds {
        self.inner.size_bounds()
    }
    fn reports(&self, user: &str) -> Vec<ApplicationReport> {
        let reports = self.inner.reports(user);
        let event = self.event.lock().map_or(None, |mut event| event.take());
        if let Some(event) = event {
            event();
        }
        reports
    }
    fn submit(&self, submission: Submission<'_>) -> Result<AppId, HostError> {
        self.inner.submit(submission)
    }
    fn wait_for(&self, app: AppId, state: RunState, wait_ms: u64) -> Result<RunState, HostError> {
        self.inner.wait_for(app, state, wait_ms)
    }
    fn stop(&self, app: AppId, message: &str) -> Result<(), HostError> {
        self.inner.stop(app, message)
    }
    fn kill(&self, app: AppId, message: &str) -> Result<(), HostError> {
        self.inner.kill(app, message)
    }
    fn kill_master(&self, app: AppId) -> Result<(), HostError> {
        self.inner.kill_master(app)
    }
    fn flex(&self, app: AppId, components: &[ComponentSpec]) -> Result<bool, HostError> {
        self.inner.flex(app, components)
    }
    fn kill_container(&self, app: AppId, container: ContainerRef) -> Result<(), HostError> {
        self.inner.kill_container(app, container)
    }
    fn status(&self, app: AppId) -> Result<ServiceStatus, HostError> {
        self.inner.status(app)
    }
    fn containers(&self, _: AppId) -> Result<Vec<HostedContainer>, HostError> {
        Err(HostError::Unreachable("connection refused".to_owned()))
    }
    fn nodes(&self) -> Result<Vec<NodeReport>, HostError> {
        self.inner.nodes()
    }
}

/// A client of the bed's instances. The event happens right after the client has read the reports.
fn meddled(bed: &Bed, event: Option<Event>) -> InstanceClient {
    let host = Meddled { inner: Arc::clone(&bed.host), event: Mutex::new(event) };
    let directories = InstanceDirectories::new(bed.folder.path().join("ann/cluster"));
    InstanceClient::new(directories, Arc::new(host), Arc::new(Providers::built_in()), "ann", "another")
}

fn workers(bed: &Bed) -> Result<usize, Box<dyn std::error::Error>> {
    let containers = bed.host.containers(bed.app()?)?;
    Ok(containers.iter().filter(|found| found.component == "worker").count())
}

/// A flex uses the state under its lock: the definition that others have changed meanwhile, and the application that
/// runs by then.
#[test]
fn a_flex_reads_the_state_under_its_lock() -> Outcome {
    let bed = Bed::with_web(true)?;
    let first = bed.app()?;
    let (other, host) = (bed.client.clone(), Arc::clone(&bed.host));
    let client = meddled(
        &bed,
        Some(Box::new(move || {
            host.move_to(first, RunState::Failed, "it died");
            let _ = other.flex("web", &[("worker", "+1")]);
            let _ = other.start("web", AT_ONCE, 2);
        })),
    );
    assert_eq!(workers(&bed)?, 2);
    assert_eq!(code(&client.flex("web", &[("worker", "+1")])), ExitCode::Success);
    assert_eq!((bed.app()? == first, workers(&bed)?), (false, 4));
    Ok(())
}

/// An empty list would say that the instance has no containers.
#[test]
fn a_list_says_when_the_host_does_not_tell_the_containers() -> Outcome {
    let bed = Bed::with_web(true)?;
    let client = meddled(&bed, None);
    let containers = ListOptions { containers: true, ..ListOptions::default() };
    let error = client.list(Some("web"), containers).err().ok_or("nobody told")?;
    assert_eq!(error.exit_code(), ExitCode::Connectivity);
    assert_eq!(error.to_string(), "`web`: it cannot be reached: connection refused");
    assert_eq!(code(&client.list(Some("web"), ListOptions::default())), ExitCode::Success);
    Ok(())
}

#[test]
fn diagnostics_report_failed_checks() -> Outcome {
    let problems = |bed: &Bed| match detail(bed.client.diagnostics("web"))? {
        AnswerDetail::Diagnostics(found) => Ok((found.is_answering, found.problems)),
        other => Err(Box::<dyn std::error::Error>::from(format!("{other:?}"))),
    };
    let bed = Bed::with_web(true)?;
    assert_eq!(problems(&bed)?, (true, vec![]));
    bed.host.misbehave(HostFault::MastersUnreachable);
    let silent = "its master does not answer: it cannot be reached: connection refused".to_owned();
    assert_eq!(problems(&bed)?, (false, vec![silent]));
    let folder = bed.folder.path().join("ann/cluster/web");
    std::fs::remove_dir_all(&folder)?;
    std::fs::write(&folder, "no folder")?;
    let (_, problems) = problems(&bed)?;
    assert!(problems[0].starts_with("locks cannot be read: "), "{problems:?}");
    Ok(())
}

/// The error must not say that the lock is held, since the user would wait for nothing.
#[test]
fn an_unwritable_lock_is_not_reported_as_held() -> Outcome {
    let bed = Bed::new()?;
    let folder = bed.folder.path().join("ann/cluster/web");
    std::fs::create_dir_all(bed.folder.path().join("ann/cluster"))?;
    std::fs::write(&folder, "no folder")?;
    let because = std::fs::read_dir(&folder).err().ok_or("it is a file")?;
    let error = bed.client.update("web", &super::support::web(1)).err().ok_or("it has no folder")?;
    assert_eq!(error.exit_code(), ExitCode::ExceptionThrown);
    assert!(error.to_string().contains(&because.to_string()), "{error}");
    assert!(!error.to_string().contains("is being changed"), "{error}");
    Ok(())
}

/// It is not a question of connectivity.
#[test]
fn an_application_that_ends_during_the_question_does_not_run() -> Outcome {
    let bed = Bed::with_web(true)?;
    let (app, host) = (bed.app()?, Arc::clone(&bed.host));
    let client = meddled(&bed, Some(Box::new(move || host.move_to(app, RunState::Killed, ""))));
    let during = client.status("web").err().ok_or("it ended")?;
    assert!(matches!(&during, ActionError::NotLive { app: ended, .. } if *ended == app), "{during}");
    assert_eq!(during.exit_code(), ExitCode::BadState);
    Ok(())
}

#[test]
fn an_application_ends_with_the_exit_code_of_its_state() -> Outcome {
    for (state, expected) in [
        (RunState::Finished, ExitCode::Success),
        (RunState::Killed, ExitCode::ApplicationKilled),
        (RunState::Failed, ExitCode::ApplicationFailed),
    ] {
        let bed = Bed::with_web(true)?;
        bed.host.move_to(bed.app()?, state, "");
        assert_eq!(bed.report()?.exit_code, Some(expected.code()), "{state}");
    }
    Ok(())
}
