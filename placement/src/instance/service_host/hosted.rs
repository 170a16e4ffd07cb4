//! An application of the host: its service while it runs, and its report.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use apportion::ApplicationEnd;

use crate::application::ServiceSettings;
use crate::client::{ClusterClient, Dismissal};
use crate::component::{ComponentId, ComponentSpec};
use crate::instance::ExitCode;
use crate::instance::definition::InstanceSettings;
use crate::instance::host::{HostError, Submission};
use crate::instance::report::{AppId, ApplicationReport, RunState};
use crate::persistence::{
    DirectoryStore, HistoryFile, HistorySaver, HistoryStore, load_and_purge, load_newest,
};
use crate::service::Service;

/// The end that an application will have once its containers have ended.
#[derive(Clone, Debug)]
pub(super) struct Ending {
    pub(super) state: RunState,
    pub(super) exit_code: i32,
    pub(super) diagnostics: String,
}

impl Ending {
    pub(super) fn new(state: RunState, exit_code: ExitCode, diagnostics: &str) -> Self {
        Self { state, exit_code: exit_code.code(), diagnostics: diagnostics.to_owned() }
    }

    pub(super) fn of_application(&self) -> ApplicationEnd {
        match self.state {
            RunState::Failed | RunState::Killed => ApplicationEnd::Killed,
            _ => ApplicationEnd::Finished,
        }
    }
}

/// The history store of an application, and the history loaded from it.
#[derive(Debug)]
pub(super) struct Files {
    saver: HistorySaver,
    history: Option<HistoryFile>,
    /// The files that could not be read, in words.
    unread: String,
}

impl Files {
    /// Loads the newest readable history and deletes older files. Without a history the service starts
    /// afresh.
    ///
    /// # Errors
    /// If the operating system provides no thread for the saver.
    pub(super) fn open(folder: &Path) -> Result<Self, HostError> {
        Self::of(Arc::new(DirectoryStore::new(folder)))
    }

    fn of(store: Arc<dyn HistoryStore>) -> Result<Self, HostError> {
        // The outcome of the purge does not matter: old files do no harm.
        let (loaded, _) = load_and_purge(store.as_ref());
        let saver = HistorySaver::start(store, HistorySaver::KEEP);
        let saver =
            saver.map_err(|error| HostError::Refused(format!("the history cannot be saved: {error}")))?;
        let mut unread: Vec<String> = loaded
            .skipped
            .iter()
            .map(|file| format!("history {} was passed over: {}", file.name, file.reason))
            .collect();
        unread.extend(loaded.listing_error.map(|error| format!("no history could be read: {error}")));
        let history = loaded.loaded.map(|loaded| loaded.history.file);
        Ok(Self { saver, history, unread: unread.join("; ") })
    }
}

/// A running application.
#[derive(Debug)]
pub(super) struct Hosted<C> {
    pub(super) report: ApplicationReport,
    pub(super) service: Service<C>,
    components: Vec<ComponentSpec>,
    settings: InstanceSettings,
    saver: HistorySaver,
    master_starts_ms: Vec<u64>,
    pub(super) ending: Option<Ending>,
}

impl<C: ClusterClient> Hosted<C> {
    /// Starts a service from its definition and its history. The report names the history files that could
    /// not be read.
    pub(super) fn start(id: AppId, submission: &Submission<'_>, files: Files, client: C) -> Self {
        let Files { saver, history, unread } = files;
        let components = submission.resolved.components.clone();
        let settings = submission.resolved.settings.clone();
        let of_service = service_settings(&settings);
        let service =
            Service::start(components.clone(), of_service, client, history.as_ref(), submission.now_ms);
        let report = ApplicationReport { diagnostics: unread, ..ApplicationReport::accepted(id, submission) };
        let master_starts_ms = vec![submission.now_ms];
        Self { report, service, components, settings, saver, master_starts_ms, ending: None }
    }

    /// Advances the service, and saves its history if it changed.
    pub(super) fn tick(&mut self, now_ms: u64) -> Option<u64> {
        let next_ms = self.service.tick(now_ms);
        self.service.save_with(&self.saver, now_ms);
        if self.report.state < RunState::Running {
            self.report.state = RunState::Running;
            self.report.host = Some("localhost".to_owned());
            self.report.rpc_port = Some(1_024);
        }
        if let Some(failure) = self.service.state().failure().filter(|_| self.ending.is_none()) {
            let (exit_code, diagnostics) = (failure.exit_code, failure.message.clone());
            self.ending = Some(Ending { state: RunState::Failed, exit_code, diagnostics });
        }
        if let Some(why) = self.service.client().dismissal().filter(|_| self.ending.is_none()) {
            let (state, exit_code) = match why {
                Dismissal::Ended => (RunState::Killed, ExitCode::ApplicationKilled),
                _ => (RunState::Failed, ExitCode::ApplicationFailed),
            };
            self.ending = Some(Ending::new(state, exit_code, &why.to_string()));
        }
        next_ms
    }

    /// Returns whether the application is ending and its last container has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.ending.is_some() && self.service.state().container_count() == 0
    }

    pub(super) fn flex(&mut self, components: &[ComponentSpec], now_ms: u64) -> bool {
        self.components = keep_numbers(&self.components, components);
        self.service.flex(self.components.clone(), now_ms)
    }

    /// Replaces the master, unless it died too often.
    pub(super) fn restart_master(mut self, now_ms: u64) -> Self {
        let window_ms = self.settings.master_starts_window_ms;
        self.master_starts_ms.retain(|started_ms| now_ms.saturating_sub(*started_ms) < window_ms);
        let most = self.settings.master_starts_max as usize;
        if most > 0 && self.master_starts_ms.len() >= most {
            let diagnostics = "the master died too often";
            self.ending = Some(Ending::new(RunState::Failed, ExitCode::ApplicationFailed, diagnostics));
            self.service.stop(now_ms);
            return self;
        }
        self.master_starts_ms.push(now_ms);
        // Loads only what the last master had offered to save. Changes during a save are lost, as in a crash.
        let history = self.saved();
        let settings = service_settings(&self.settings);
        let Self { service, components, .. } = self;
        let mut service =
            Service::restart(components.clone(), settings, service.into_client(), history.as_ref(), now_ms);
        // A service that was stopping, or gave up, ends under the next master too.
        if self.ending.is_some() {
            service.stop(now_ms);
        }
        Self { service, components, ..self }
    }

    fn saved(&self) -> Option<HistoryFile> {
        // If the save fails, the previous file remains.
        let _ = self.saver.flush();
        load_newest(self.saver.store()).loaded.map(|loaded| loaded.history.file)
    }

    /// Ends the application and returns its report and client. Saves the history first. If that fails, the
    /// report says so, and older files remain.
    pub(super) fn end(mut self, ending: Ending, now_ms: u64) -> (ApplicationReport, C) {
        if let Some(history) = self.service.take_history(now_ms) {
            self.saver.offer(history);
        }
        let mut report = self.report;
        report.state = ending.state;
        report.exit_code = Some(ending.exit_code);
        report.diagnostics = ending.diagnostics;
        report.host = None;
        report.rpc_port = None;
        if let Err(error) = self.saver.stop() {
            let told = if report.diagnostics.is_empty() { "" } else { "; " };
            report.diagnostics += &format!("{told}{error}");
        }
        (report, self.service.into_client())
    }
}

/// Keeps the ids of known components, which their containers carry. New components get unused ids.
fn keep_numbers(before: &[ComponentSpec], after: &[ComponentSpec]) -> Vec<ComponentSpec> {
    let known: BTreeMap<&str, ComponentId> =
        before.iter().map(|spec| (spec.name.as_str(), spec.id)).collect();
    let mut taken: BTreeSet<ComponentId> = known.values().copied().collect();
    let mut number = |spec: &ComponentSpec| {
        if let Some(id) = known.get(spec.name.as_str()) {
            return *id;
        }
        let largest = taken.last().map_or(0, |largest| largest.0);
        let id = if taken.contains(&spec.id) { ComponentId(largest + 1) } else { spec.id };
        taken.insert(id);
        id
    };
    after.iter().map(|spec| ComponentSpec { id: number(spec), ..spec.clone() }).collect()
}

fn service_settings(settings: &InstanceSettings) -> ServiceSettings {
    ServiceSettings {
        failure_window_ms: settings.failure_window_ms,
        short_life_ms: settings.short_life_ms,
        ..ServiceSettings::default()
    }
}

#[cfg(test)]
mod tests;
