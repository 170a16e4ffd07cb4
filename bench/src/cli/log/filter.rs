//! The filters of listed changes.

use apportion::Change;
use apportion::event::EventKind;
use apportion::nearest::nearest;
use clap::Args;

use super::entry::{About, Entry};
use crate::cli::Failure;
use crate::cli::log_input::first_ask;

/// The command lists changes that match all of these.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct Filter {
    /// Of these kinds: changes such as ask_submitted, committed or node_removed, and their events, such as allocated,
    /// reserved or container_ended. Only if named: time_advanced and heartbeats.
    #[arg(long, value_name = "KIND,..", value_delimiter = ',')]
    kind: Vec<String>,
    /// About this job, by the trace's name or by its identifier.
    #[arg(long, value_name = "NAME")]
    job: Option<String>,
    /// About this ask.
    #[arg(long, value_name = "ID")]
    ask: Option<apportion::AskId>,
    /// About this gang, or the ask of its first role.
    #[arg(long, value_name = "ID")]
    gang: Option<apportion::GangId>,
    /// About this container.
    #[arg(long, value_name = "ID")]
    container: Option<apportion::ContainerId>,
    /// About this node, by its host name.
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// About this queue, by its full path, or about a queue below it.
    #[arg(long, value_name = "PATH")]
    queue: Option<String>,
    /// About this user.
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
}

/// Kinds that are listed only if named, because they come with every step of time.
const FREQUENT: [&str; 2] = ["time_advanced", "heartbeats"];
/// The kind of the first line of a log that begins with a snapshot.
pub(super) const SNAPSHOT: &str = "snapshot";

impl Filter {
    /// Checks that the kinds exist.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let mut known = Change::LABELS.iter().chain(EventKind::LABELS).chain(&[SNAPSHOT]);
        let Some(unknown) = self.kind.iter().find(|kind| !known.clone().any(|label| label == kind)) else {
            return Ok(());
        };
        let hint = match nearest(unknown, known.clone().copied()) {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("there are {}", known.by_ref().copied().collect::<Vec<_>>().join(", ")),
        };
        Err(Failure::input(format!("--kind: there is no kind `{unknown}`; {hint}")))
    }

    /// Removes unwanted events from the entry, which must match all of `named`; `None` if nothing remains.
    pub(super) fn select(&self, named: &[Named], mut entry: Entry) -> Option<Entry> {
        if self.is_wanted(named, entry.kind, &entry.about) {
            return Some(entry);
        }
        entry.events.retain(|event| self.is_wanted(named, event.event, &event.about));
        (!entry.events.is_empty()).then_some(entry)
    }

    /// The filters that name a subject.
    pub(super) fn named(&self) -> Vec<Named> {
        let all = [
            ("job", self.job.clone()),
            ("ask", self.ask.map(|id| id.to_string())),
            ("gang", self.gang.map(|id| id.to_string())),
            ("container", self.container.map(|id| id.to_string())),
            ("node", self.node.clone()),
            ("queue", self.queue.clone()),
            ("user", self.user.clone()),
        ];
        all.into_iter().filter_map(|(thing, name)| Some(Named { thing, name: name? })).collect()
    }

    fn is_wanted(&self, named: &[Named], kind: &str, about: &About) -> bool {
        let is_kind = match self.kind.is_empty() {
            true => !FREQUENT.contains(&kind),
            false => self.kind.iter().any(|wanted| wanted == kind),
        };
        is_kind && named.iter().all(|named| named.is_met(about))
    }
}

/// Whether it is the ask, one of the asks, or the ask that gets the room of an announced victim.
fn is_about_ask(about: &About, ask: &str) -> bool {
    let is_it = |known: &String| known == ask;
    about.ask.as_ref().is_some_and(is_it)
        || about.asks.iter().any(is_it)
        || about.notice.is_some_and(|notice| notice.ask.to_string() == ask)
}

/// A filter that names a subject.
#[derive(Debug)]
pub(super) struct Named {
    /// The kind of subject, as the option is called.
    pub(super) thing: &'static str,
    pub(super) name: String,
}

impl Named {
    pub(super) fn is_met(&self, about: &About) -> bool {
        let is = |found: &Option<String>| found.as_ref() == Some(&self.name);
        match self.thing {
            "job" => is(&about.job) || is(&about.application),
            "ask" => is_about_ask(about, &self.name),
            "gang" => {
                let first = self.name.parse().ok().and_then(first_ask);
                is(&about.gang) || first.is_some_and(|first| is_about_ask(about, &first.to_string()))
            }
            "container" => is(&about.container),
            "node" => is(&about.node),
            "user" => is(&about.user),
            _ => about.queue.as_ref().is_some_and(|path| self.is_queue_above(path)),
        }
    }

    fn is_queue_above(&self, path: &str) -> bool {
        path.strip_prefix(self.name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}
