//! Whether a log contains the subjects that the filters name.

use std::collections::BTreeSet;

use apportion::nearest::nearest;
use apportion::view::View;

use super::entry::{Entry, Names};
use super::filter::Named;
use crate::cli::log_input::time_text;

/// Number of names to list if none is similar.
const LISTED: usize = 5;

/// Records which filters some entry of the log has matched.
#[derive(Debug)]
pub(super) struct Found<'f> {
    named: &'f [Named],
    /// For each filter, whether it was matched.
    is_met: Vec<bool>,
}

impl<'f> Found<'f> {
    pub(super) fn new(named: &'f [Named]) -> Self {
        Self { named, is_met: vec![false; named.len()] }
    }

    pub(super) fn record(&mut self, entry: &Entry) {
        // In most logs all filters are matched early. Then no further comparison is needed.
        if self.is_met.iter().all(|is_met| *is_met) {
            return;
        }
        let abouts = || std::iter::once(&entry.about).chain(entry.events.iter().map(|event| &event.about));
        for (is_met, named) in self.is_met.iter_mut().zip(self.named) {
            *is_met |= abouts().any(|about| named.is_met(about));
        }
    }

    /// The message for a filter that nothing in the log matches.
    pub(super) fn unknown(&self, names: &Names, view: &View<'_>) -> Option<String> {
        // A log that begins with a snapshot may have no change about a job of the snapshot.
        let is_known = |named: &Named| match named.thing {
            "queue" => view.queues().any(|queue| queue.path() == named.name),
            thing => names.has(thing, &named.name),
        };
        let unmet = self.is_met.iter().zip(self.named).filter(|(is_met, _)| !**is_met);
        let named = unmet.map(|(_, named)| named).find(|named| !is_known(named))?;
        let known: BTreeSet<String> = match named.thing {
            "queue" => view.queues().map(|queue| queue.path().to_owned()).collect(),
            thing => names.all(thing),
        };
        let hint = match nearest(&named.name, known.iter().map(String::as_str)) {
            Some(name) => format!("; did you mean `{name}`?"),
            None => listed(&known),
        };
        let (seq, now) = (view.seq(), time_text(view.now_ms()));
        let (option, name) = (named.thing, &named.name);
        Some(format!("--{option}: up to change {seq}, at {now} there is no {option} `{name}`{hint}"))
    }
}

fn listed(known: &BTreeSet<String>) -> String {
    if known.is_empty() {
        return String::new();
    }
    let first: Vec<&str> = known.iter().take(LISTED).map(String::as_str).collect();
    let more = known.len() - first.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("; there are {}{more}", first.join(", "))
}
