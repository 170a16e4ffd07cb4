//! Reading a log up to a moment, and finding asks by the names of the trace.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Display;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::str::FromStr;

use apportion::file_log;
use apportion::log::{LogError, LogReader};
use apportion::nearest::nearest;
use apportion::replay::Replay;
use apportion::view::View;
use apportion::{ApplicationId, AskId, Change, GangId};

use super::Failure;

/// A position in a log: after a change, or after all changes up to a virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    Change(u64),
    Time(u64),
}

/// Milliseconds of each unit of virtual time.
const UNITS: [(&str, f64); 7] =
    [("ms", 1.0), ("s", 1e3), ("min", 6e4), ("h", 3.6e6), ("d", 8.64e7), ("day", 8.64e7), ("days", 8.64e7)];

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            "the number of a change such as 5000, or a virtual time such as 120s, 2.5min or 3h, is needed"
                .to_owned()
        };
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            return text.parse().ok().filter(|number| *number > 0).map(Self::Change).ok_or_else(wrong);
        }
        let end = text.find(|character: char| character.is_ascii_alphabetic()).ok_or_else(wrong)?;
        let (number, unit) = (text[..end].trim_end(), &text[end..]);
        let (_, ms) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
        let time_ms = number.parse::<f64>().map_err(|_| wrong())? * ms;
        if (0.0..1e15).contains(&time_ms) { Ok(Self::Time(time_ms.round() as u64)) } else { Err(wrong()) }
    }
}

impl Moment {
    /// Whether reading ends before this next change.
    pub(super) fn is_before(self, seq: u64, next: &Change) -> bool {
        match (self, next) {
            (Self::Change(last), _) => seq > last,
            (Self::Time(last_ms), Change::TimeAdvanced { now_ms }) => *now_ms > last_ms,
            (Self::Time(_), _) => false,
        }
    }
}

/// A log being read.
pub(super) struct LogInput<'p> {
    path: &'p Path,
    /// The option that ends reading before a damaged place.
    end_option: &'static str,
    reader: LogReader<Box<dyn Read>>,
}

impl<'p> LogInput<'p> {
    /// Opens a file, or the folder of a [`FileLog`](file_log::FileLog). A writer may go on meanwhile.
    pub(super) fn open(path: &'p Path, end_option: &'static str) -> Result<Self, Failure> {
        let wrong = |error: &dyn Display| Failure::input(format!("{}: {error}", path.display()));
        let belongs = "a log belongs here: a file written with --log, or the folder of a file log";
        let source: Box<dyn Read> = if path.is_dir() {
            Box::new(file_log::read(path).map_err(Failure::input)?)
        } else {
            let file = File::open(path).map_err(|error| wrong(&format!("{error}; {belongs}")))?;
            Box::new(BufReader::with_capacity(1 << 20, file))
        };
        let reader = LogReader::new(source).map_err(|error| match error {
            LogError::NotALog => wrong(&format!("{error}; {belongs}")),
            error => wrong(&error),
        })?;
        Ok(Self { path, end_option, reader })
    }

    /// The state after the configuration or the snapshot with which the log begins.
    pub(super) fn begin(&mut self) -> Result<Replay, Failure> {
        Replay::begin(&mut self.reader).map_err(|error| self.wrong(&error))
    }

    pub(super) fn next(&mut self) -> Result<Option<Change>, Failure> {
        self.reader.next_change().map_err(|error| self.wrong(&error))
    }

    /// An error that names the log, and the position up to which a damaged log can be read.
    pub(super) fn wrong(&self, error: &LogError) -> Failure {
        let hint = match error {
            LogError::Torn { last, .. } | LogError::Damaged { last, .. } if *last > 0 => {
                format!("; {} {last} reads the log up to there", self.end_option)
            }
            _ => String::new(),
        };
        Failure::input(format!("{}: {error}{hint}", self.path.display()))
    }

    /// Replays the log up to `at`, or all of it, and calls `see` with every change behind the [beginning](Self::begin).
    pub(super) fn replay_until(
        &mut self,
        at: Option<Moment>,
        replay: &mut Replay,
        mut see: impl FnMut(&Change),
    ) -> Result<(), Failure> {
        self.check_beginning(at, replay)?;
        let mut is_reached = false;
        while at != Some(Moment::Change(replay.seq().0)) {
            let Some(change) = self.next()? else { break };
            is_reached = at.is_some_and(|at| at.is_before(replay.seq().0 + 1, &change));
            if is_reached {
                break;
            }
            see(&change);
            replay.step(change).map_err(|error| self.wrong(&error))?;
        }
        let ended_ms = replay.view().now_ms();
        match at {
            Some(Moment::Change(wanted)) => replay.check_position(wanted).map_err(|error| self.wrong(&error)),
            Some(Moment::Time(wanted_ms)) if !is_reached && ended_ms < wanted_ms => {
                let [ended, wanted] = [ended_ms, wanted_ms].map(time_text);
                let path = self.path.display();
                Err(Failure::input(format!("{path}: the log ends at {ended}, before {wanted}")))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the log, which may begin with a snapshot, does not begin behind this moment.
    pub(super) fn check_beginning(&self, at: Option<Moment>, replay: &mut Replay) -> Result<(), Failure> {
        let (begin, begin_ms) = (replay.seq().0, replay.view().now_ms());
        match at {
            Some(Moment::Change(wanted)) if wanted < begin => {
                replay.check_position(wanted).map_err(|error| self.wrong(&error))
            }
            Some(Moment::Time(wanted_ms)) if wanted_ms < begin_ms => {
                let [begins, wanted] = [begin_ms, wanted_ms].map(time_text);
                let path = self.path.display();
                let problem = format!("the log begins with the state at {begins}, after {wanted}");
                Err(Failure::input(format!("{path}: {problem}")))
            }
            _ => Ok(()),
        }
    }
}

/// The gang whose first role has this ask. Gang and ask have the same numbers.
pub(super) fn gang_of_first(ask: AskId) -> Option<GangId> {
    format!("gang-{}", ask.to_string().strip_prefix("ask-")?).parse().ok()
}

/// The ask of a gang's first role.
pub(super) fn first_ask(gang: GangId) -> Option<AskId> {
    format!("ask-{}", gang.to_string().strip_prefix("gang-")?).parse().ok()
}

/// Formats a moment of virtual time exactly.
pub(super) fn time_text(ms: u64) -> String {
    format!("{}.{:03} s", ms / 1_000, ms % 1_000)
}

/// The jobs of a log, and their asks.
#[derive(Debug)]
pub(super) struct Jobs {
    by_name: BTreeMap<String, Vec<ApplicationId>>,
    asks: HashMap<ApplicationId, Vec<AskId>>,
    /// The ask of the first role of each gang.
    gangs: HashSet<AskId>,
}

impl Jobs {
    /// The jobs of the state with which a log begins. A snapshot has the asks that are pending or have containers.
    pub(super) fn new(view: &View<'_>) -> Self {
        let mut by_name: BTreeMap<String, Vec<ApplicationId>> = BTreeMap::new();
        let mut asks: HashMap<ApplicationId, Vec<AskId>> = HashMap::new();
        for (id, application) in view.applications() {
            by_name.entry(application.name().to_owned()).or_default().push(id);
            asks.insert(id, application.containers().map(|container| container.ask).collect());
        }
        view.asks().for_each(|ask| asks.entry(ask.application()).or_default().push(ask.id()));
        for asks in asks.values_mut() {
            asks.sort_unstable();
            asks.dedup();
        }
        let gangs = view.gang_asks().into_iter().filter_map(|of| first_ask(of.gang)).collect();
        Self { by_name, asks, gangs }
    }

    pub(super) fn record(&mut self, change: &Change) {
        match change {
            Change::ApplicationSubmitted { application, spec } => {
                self.by_name.entry(spec.name.clone()).or_default().push(*application);
                self.asks.entry(*application).or_default();
            }
            Change::AskSubmitted { application, ask, .. }
            | Change::TaskGroupAskSubmitted { application, ask, .. } => {
                self.asks.entry(*application).or_default().push(*ask);
            }
            Change::GangSubmitted { asks, spec } => {
                self.asks.entry(spec.application).or_default().extend(asks);
                self.gangs.extend(asks.first());
            }
            _ => {}
        }
    }

    /// Whether this is the ask of the first role of a gang.
    pub(super) fn is_gang(&self, first: AskId) -> bool {
        self.gangs.contains(&first)
    }

    /// The asks of the job or jobs with this name or identifier.
    pub(super) fn asks_of(&self, name: &str) -> Option<Vec<AskId>> {
        let mut applications = self.by_name.get(name).cloned().unwrap_or_default();
        if let (true, Ok(id)) = (applications.is_empty() && name.starts_with("app-"), name.parse()) {
            applications.extend(self.asks.contains_key(&id).then_some(id));
        }
        let asks = applications.iter().flat_map(|id| self.asks.get(id).into_iter().flatten());
        (!applications.is_empty()).then(|| asks.copied().collect())
    }

    /// The message that no job has this name.
    pub(super) fn unknown(&self, name: &str) -> String {
        let nearest = nearest(name, self.by_name.keys().map(String::as_str));
        let hint = nearest.map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
        if name.parse::<GangId>().is_ok() {
            return format!("no gang {name} was submitted, and no job has that name{hint}");
        }
        format!(
            "no job is called `{name}`, and it is not an identifier like `ask-12`, of an ask, a gang or a container{hint}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_changes_or_times() {
        for (text, moment) in [
            ("5000", Moment::Change(5_000)),
            ("120s", Moment::Time(120_000)),
            ("2.5 min", Moment::Time(150_000)),
            ("250ms", Moment::Time(250)),
            ("1.5h", Moment::Time(5_400_000)),
            ("2days", Moment::Time(172_800_000)),
        ] {
            assert_eq!(text.parse(), Ok(moment), "{text}");
        }
        for text in ["", "0", "s", "-1s", "3 weeks", "1e300d", "nan s", "99999999999999999999", "5x"] {
            assert!(text.parse::<Moment>().is_err(), "{text}");
        }
    }
}
