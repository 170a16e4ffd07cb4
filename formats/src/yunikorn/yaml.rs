//! The file as a tree of texts, lists and mappings with their places.
//!
//! Scalars stay as written: a queue named `010` is not 8. An alias shares the value of its anchor. The total number
//! of repeated values is bounded, and so is the nesting depth. So a file that doubles in size with every line does
//! no harm.

use std::collections::BTreeMap;
use std::rc::Rc;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, Span};

use crate::ConfigFileError;
use crate::file::{Source, excerpt};

/// The nesting limit of collections; a queue takes two levels.
const NESTING_MAX: usize = 128;
/// The most values that aliases may repeat in total.
const REPEATED_MAX: usize = 100_000;
/// The longest key or value.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// A value with its place.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) offset: usize,
    pub(super) value: Value,
    /// The number of values in it, itself included.
    size: usize,
    /// The depth of collections in it.
    height: usize,
}

#[derive(Debug)]
pub(super) enum Value {
    /// An empty value, `~` or `null`.
    Null,
    Text(String),
    List(Vec<Rc<Node>>),
    Mapping(Vec<Pair>),
}

/// One key of a mapping.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub(super) key: String,
    pub(super) key_offset: usize,
    pub(super) node: Rc<Node>,
}

/// Reads the only document of the file; an empty file is null.
pub(super) fn document(source: &Source<'_>) -> Result<Rc<Node>, ConfigFileError> {
    let mut reader = Reader { source, open: Vec::new(), anchors: BTreeMap::new(), repeated: 0, root: None };
    for event in Parser::new_from_str(source.text()) {
        let (event, span) = event.map_err(|error| reader.broken(&error))?;
        reader.event(event, reader.offset(&span))?;
    }
    Ok(reader.root.unwrap_or_else(|| Rc::new(Node::new(0, Value::Null))))
}

/// A collection that has not ended yet.
#[derive(Debug)]
struct Open {
    offset: usize,
    anchor: usize,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    List(Vec<Rc<Node>>),
    /// With the key whose value comes next.
    Mapping(Vec<Pair>, Option<(String, usize)>),
}

struct Reader<'s> {
    source: &'s Source<'s>,
    open: Vec<Open>,
    anchors: BTreeMap<usize, Rc<Node>>,
    repeated: usize,
    root: Option<Rc<Node>>,
}

impl Reader<'_> {
    fn offset(&self, span: &Span) -> usize {
        span.byte_range().map_or_else(|| self.byte_of(span.start.index()), |range| range.start)
    }

    fn byte_of(&self, character: usize) -> usize {
        let text = self.source.text();
        text.char_indices().nth(character).map_or(text.len(), |(byte, _)| byte)
    }

    fn broken(&self, error: &ScanError) -> ConfigFileError {
        let marker = error.marker();
        let offset = marker.byte_offset().unwrap_or_else(|| self.byte_of(marker.index()));
        match error.kind() {
            ErrorKind::RecursionLimitExceeded => self.source.syntax(offset, too_deep()),
            _ => self.source.syntax(offset, format!("not YAML: {}", excerpt(&error.info()))),
        }
    }

    fn event(&mut self, event: Event<'_>, offset: usize) -> Result<(), ConfigFileError> {
        match event {
            Event::DocumentStart(..) if self.root.is_some() => {
                Err(self.source.syntax(offset, "a second document starts here; one file is one document"))
            }
            Event::Scalar(text, style, anchor, _) => {
                if text.len() > TEXT_BYTES_MAX {
                    let message = format!("a text has at most {TEXT_BYTES_MAX} bytes");
                    return Err(self.source.syntax(offset, message));
                }
                let is_null = style == ScalarStyle::Plain && ["", "~", "null"].contains(&text.as_ref());
                let value = if is_null { Value::Null } else { Value::Text(text.into_owned()) };
                self.complete(Rc::new(Node::new(offset, value)), anchor)
            }
            Event::SequenceStart(_, anchor, _) => self.start(offset, anchor, Kind::List(Vec::new())),
            Event::MappingStart(_, anchor, _) => self.start(offset, anchor, Kind::Mapping(Vec::new(), None)),
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::Alias(anchor) => self.alias(anchor, offset),
            _ => Ok(()),
        }
    }

    fn start(&mut self, offset: usize, anchor: usize, kind: Kind) -> Result<(), ConfigFileError> {
        if matches!(self.open.last(), Some(Open { kind: Kind::Mapping(_, None), .. })) {
            return Err(self.source.syntax(offset, "a key is a text, not a collection"));
        }
        self.check_depth(offset, 1)?;
        self.open.push(Open { offset, anchor, kind });
        Ok(())
    }

    fn check_depth(&self, offset: usize, more: usize) -> Result<(), ConfigFileError> {
        if self.open.len() + more > NESTING_MAX {
            return Err(self.source.syntax(offset, too_deep()));
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), ConfigFileError> {
        let Some(Open { offset, anchor, kind }) = self.open.pop() else { return Ok(()) };
        let value = match kind {
            Kind::List(items) => Value::List(items),
            Kind::Mapping(pairs, _) => Value::Mapping(self.merged(pairs)?),
        };
        self.complete(Rc::new(Node::new(offset, value)), anchor)
    }

    fn alias(&mut self, anchor: usize, offset: usize) -> Result<(), ConfigFileError> {
        let Some(node) = self.anchors.get(&anchor).cloned() else {
            return Err(self.source.syntax(offset, "this alias stands inside its own anchor"));
        };
        self.check_depth(offset, node.height)?;
        self.repeated = self.repeated.saturating_add(node.size);
        if self.repeated > REPEATED_MAX {
            let message = format!("with this alias, aliases repeat more than {REPEATED_MAX} values");
            return Err(self.source.syntax(offset, message));
        }
        self.complete(node, 0)
    }

    /// Puts a value in its place: into a list, as a key, as the value of a key, or as the document.
    fn complete(&mut self, node: Rc<Node>, anchor: usize) -> Result<(), ConfigFileError> {
        if anchor != 0 {
            self.anchors.insert(anchor, Rc::clone(&node));
        }
        match self.open.last_mut().map(|open| &mut open.kind) {
            None => self.root = Some(node),
            Some(Kind::List(items)) => items.push(node),
            Some(Kind::Mapping(pairs, waiting)) => match waiting.take() {
                Some((key, key_offset)) => pairs.push(Pair { key, key_offset, node }),
                None => *waiting = Some(key_of(self.source, &node)?),
            },
        }
        Ok(())
    }

    /// Adds the pairs of `<<`; written pairs take precedence over merged ones.
    fn merged(&self, pairs: Vec<Pair>) -> Result<Vec<Pair>, ConfigFileError> {
        let mut lines = BTreeMap::new();
        for pair in &pairs {
            if let Some(earlier) = lines.insert(pair.key.clone(), pair.key_offset) {
                let (key, line) = (excerpt(&pair.key), self.source.line(earlier));
                return Err(self
                    .source
                    .syntax(pair.key_offset, format!("`{key}` is already given in line {line}")));
            }
        }
        let (merges, mut pairs): (Vec<_>, Vec<_>) = pairs.into_iter().partition(|pair| pair.key == "<<");
        for merge in merges {
            let sources = match &merge.node.value {
                Value::List(items) => items.clone(),
                _ => vec![merge.node],
            };
            for node in sources {
                let Value::Mapping(more) = &node.value else {
                    return Err(self.source.syntax(merge.key_offset, "`<<` merges mappings only"));
                };
                for pair in more {
                    if lines.insert(pair.key.clone(), pair.key_offset).is_none() {
                        pairs.push(pair.clone());
                    }
                }
            }
        }
        Ok(pairs)
    }
}

fn too_deep() -> String {
    format!("nested deeper than {NESTING_MAX} levels")
}

fn key_of(source: &Source<'_>, node: &Node) -> Result<(String, usize), ConfigFileError> {
    match &node.value {
        Value::Text(key) => Ok((key.clone(), node.offset)),
        _ => Err(source.syntax(node.offset, "a key is a text")),
    }
}

impl Node {
    fn new(offset: usize, value: Value) -> Self {
        let (below, is_collection): (Vec<&Rc<Node>>, bool) = match &value {
            Value::Null | Value::Text(_) => (Vec::new(), false),
            Value::List(items) => (items.iter().collect(), true),
            Value::Mapping(pairs) => (pairs.iter().map(|pair| &pair.node).collect(), true),
        };
        let size = below.iter().fold(1usize, |size, node| size.saturating_add(node.size));
        let height = below.iter().map(|node| node.height).max().unwrap_or(0) + usize::from(is_collection);
        Self { offset, value, size, height }
    }
}
