//! Reads history files: everything that Slider has written since 2013, even if other tools changed it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Deserializer;

use super::read_error::{HistoryWarning, ReadHistoryError};
use super::record::{Branch, Header, Mapping, NodeEntry, Record, VERSION};
use super::{HistoryEntry, HistoryFile};

/// A history as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadHistory {
    /// The contents of the file.
    pub file: HistoryFile,
    /// The oddities of the file, in order.
    pub warnings: Vec<HistoryWarning>,
}

/// Reads a history file; if it holds several whole histories, the last. Records may have any layout and
/// fields any order. Unknown records and fields are skipped.
///
/// # Errors
/// If there is no whole history, or the first one is wrong (Slider role history, "Persistence"). A
/// truncated file is an error, so that an older whole one can be used instead.
pub fn read_history(bytes: &[u8]) -> Result<ReadHistory, ReadHistoryError> {
    let mut reading = Reading::default();
    let mut records = Deserializer::from_slice(bytes).into_iter::<Record<'_>>();
    let outcome = loop {
        let byte = skip_white_space(bytes, records.byte_offset());
        let at = Position { record: reading.records + 1, byte };
        let record = match records.next() {
            None => break reading.end(bytes.len()),
            Some(Ok(record)) => record,
            Some(Err(error)) => break reading.broken(&error, at, bytes.len()),
        };
        reading.records += 1;
        match reading.take(record.entry, at) {
            Ok(Progress::GoesOn) => {}
            Ok(Progress::IsOver) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    reading.finish(outcome)
}

fn skip_white_space(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().take_while(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t')).count()
}

#[derive(Clone, Copy)]
struct Position {
    record: u64,
    byte: usize,
}

enum Progress {
    GoesOn,
    IsOver,
}

/// The state of the reader.
#[derive(Default)]
struct Reading {
    records: u64,
    /// The last whole history.
    whole: Option<ReadHistory>,
    whole_count: u64,
    /// The history after it, which is not complete yet.
    partial: Option<Partial>,
    /// Warnings about the file rather than one of its histories.
    warnings: Vec<HistoryWarning>,
}

impl Reading {
    fn take(&mut self, branch: Branch<'_>, at: Position) -> Result<Progress, ReadHistoryError> {
        let Some(partial) = &mut self.partial else {
            return self.begin(branch, at);
        };
        match branch {
            Branch::Node(node) => partial.push(node),
            Branch::Mapping(mapping) => partial.map(mapping, at),
            Branch::Unknown(name) => partial.pass_over(name),
            Branch::Header(header) => return self.begin_again(&header, at),
            Branch::Footer(footer) => {
                self.whole = self.partial.take().map(|partial| partial.finish(footer.count));
                self.whole_count += 1;
            }
        }
        Ok(Progress::GoesOn)
    }

    /// Handles the first record of a history: the first of the file, or the first after a footer.
    fn begin(&mut self, branch: Branch<'_>, at: Position) -> Result<Progress, ReadHistoryError> {
        let Position { record, byte } = at;
        let found = match branch {
            Branch::Header(header) => {
                self.partial = Some(Partial::new(&header, at)?);
                return Ok(Progress::GoesOn);
            }
            Branch::Mapping(_) => "RoleHistoryMapping".to_owned(),
            Branch::Node(_) => "NodeEntryRecord".to_owned(),
            Branch::Footer(_) => "RoleHistoryFooter".to_owned(),
            Branch::Unknown(name) => name,
        };
        if self.whole.is_none() {
            return Err(ReadHistoryError::NoHeader { record, byte, found });
        }
        self.warnings.push(HistoryWarning::TrailingData { byte });
        Ok(Progress::IsOver)
    }

    /// Handles a second header. After a whole history, a truncated one does not hide later ones.
    fn begin_again(&mut self, header: &Header, at: Position) -> Result<Progress, ReadHistoryError> {
        let error = ReadHistoryError::SecondHeader { record: at.record, byte: at.byte };
        if self.whole.is_none() {
            return Err(error);
        }
        self.warnings.push(HistoryWarning::LaterHistory { error });
        self.partial = Some(Partial::new(header, at)?);
        Ok(Progress::GoesOn)
    }

    /// Handles the end of the file after a whole record.
    fn end(&self, bytes: usize) -> Result<(), ReadHistoryError> {
        if self.partial.is_some() {
            return Err(ReadHistoryError::Truncated { records: self.records, bytes });
        }
        if self.whole.is_none() {
            return Err(ReadHistoryError::Empty);
        }
        Ok(())
    }

    /// Handles bytes that are not a record.
    fn broken(
        &mut self,
        error: &serde_json::Error,
        at: Position,
        bytes: usize,
    ) -> Result<(), ReadHistoryError> {
        let Position { record, byte } = at;
        if self.partial.is_none() && self.whole.is_some() {
            self.warnings.push(HistoryWarning::TrailingData { byte });
            return Ok(());
        }
        if error.is_eof() {
            return Err(ReadHistoryError::Truncated { records: self.records, bytes });
        }
        Err(ReadHistoryError::Malformed { record, byte, reason: error.to_string() })
    }

    fn finish(mut self, outcome: Result<(), ReadHistoryError>) -> Result<ReadHistory, ReadHistoryError> {
        let Some(mut history) = self.whole else {
            // Reading only succeeds after a whole history.
            return Err(outcome.err().unwrap_or(ReadHistoryError::Empty));
        };
        if self.whole_count > 1 {
            history.warnings.push(HistoryWarning::SeveralHistories { count: self.whole_count });
        }
        history.warnings.append(&mut self.warnings);
        if let Err(error) = outcome {
            history.warnings.push(HistoryWarning::LaterHistory { error });
        }
        Ok(history)
    }
}

/// A history whose footer has not been read yet.
struct Partial {
    saved_ms: u64,
    roles: u32,
    mapping: Option<BTreeMap<String, u32>>,
    entries: Vec<HistoryEntry>,
    unknown: Option<(u64, String)>,
    warnings: Vec<HistoryWarning>,
}

impl Partial {
    fn new(header: &Header, at: Position) -> Result<Self, ReadHistoryError> {
        if header.version != VERSION {
            let Position { record, byte } = at;
            return Err(ReadHistoryError::Version { record, byte, found: header.version });
        }
        Ok(Self {
            saved_ms: header.saved,
            roles: header.roles,
            mapping: None,
            entries: Vec::new(),
            unknown: None,
            warnings: Vec::new(),
        })
    }

    fn push(&mut self, node: NodeEntry<'_>) {
        // The entries of a host are adjacent, so the components of one host share one text.
        let shared = self.entries.last().filter(|last| *last.host == *node.host);
        let host = shared.map_or_else(|| Arc::from(node.host), |last| Arc::clone(&last.host));
        self.entries.push(HistoryEntry {
            host,
            role: node.role.0,
            is_active: node.active,
            last_used_ms: node.last_used,
        });
    }

    fn map(&mut self, mapping: Mapping, at: Position) {
        if self.mapping.is_some() {
            self.warnings.push(HistoryWarning::OneMoreMapping { record: at.record });
            return;
        }
        self.mapping = Some(mapping.rolemap.into_iter().map(|(name, id)| (name, id.0)).collect());
    }

    fn pass_over(&mut self, name: String) {
        self.unknown.get_or_insert((0, name)).0 += 1;
    }

    fn finish(mut self, announced: u64) -> ReadHistory {
        if let Some((count, first)) = self.unknown {
            self.warnings.push(HistoryWarning::UnknownRecords { count, first });
        }
        let found = self.entries.len() as u64;
        if announced != found {
            self.warnings.push(HistoryWarning::CountDiffers { announced, found });
        }
        let file = HistoryFile {
            saved_ms: self.saved_ms,
            roles: self.roles,
            mapping: self.mapping.unwrap_or_default(),
            entries: self.entries,
        };
        ReadHistory { file, warnings: self.warnings }
    }
}
