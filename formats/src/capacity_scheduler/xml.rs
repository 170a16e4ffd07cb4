//! Hadoop's configuration files: `<property>` elements with a name and a value, and their places.
//!
//! Constructs useful for attacks are refused: document types (and so entities), deep nesting, long keys.

use apportion::nearest::{hint, nearest};
use quick_xml::Reader;
use quick_xml::events::{BytesRef, BytesStart, Event};

use super::property::Property;
use crate::ConfigFileError;
use crate::file::{Source, excerpt};

/// The nesting limit of elements; Hadoop's own files need three.
const NESTING_MAX: usize = 16;
/// The longest key; longer than any key of YARN with the longest sensible queue path.
const KEY_BYTES_MAX: usize = 1024;

/// The element that the reader is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    Configuration,
    Property,
    Name,
    Value,
    Final,
    /// A description or another ignored element, with everything in it.
    Other,
}

/// All properties of the file, in order.
pub(super) fn properties(source: &Source<'_>) -> Result<Vec<Property>, ConfigFileError> {
    let mut reader = Reader::from_str(source.text());
    reader.config_mut().expand_empty_elements = true;
    let mut walk = Walk {
        source,
        offset: 0,
        has_root: false,
        open: Vec::new(),
        draft: Draft::default(),
        properties: Vec::new(),
    };
    loop {
        walk.offset = offset(reader.buffer_position());
        let event = reader
            .read_event()
            .map_err(|error| source.syntax(offset(reader.error_position()), format!("not XML: {error}")))?;
        if event == Event::Eof {
            return walk.finish();
        }
        walk.take(event)?;
    }
}

fn offset(position: u64) -> usize {
    usize::try_from(position).unwrap_or(usize::MAX)
}

#[derive(Debug)]
struct Walk<'a> {
    source: &'a Source<'a>,
    /// The start of the current event.
    offset: usize,
    has_root: bool,
    /// The open elements, with their offsets.
    open: Vec<(Element, usize)>,
    draft: Draft,
    properties: Vec<Property>,
}

/// A property that is being read.
#[derive(Debug, Default)]
struct Draft {
    name: Option<Written>,
    value: Option<Written>,
    is_final: Option<Written>,
}

/// A text with the offset of its first visible character, or of its element if it has none.
#[derive(Debug)]
struct Written {
    text: String,
    offset: usize,
    is_visible: bool,
}

impl Draft {
    fn field(&mut self, element: Element) -> Option<&mut Option<Written>> {
        match element {
            Element::Name => Some(&mut self.name),
            Element::Value => Some(&mut self.value),
            Element::Final => Some(&mut self.is_final),
            Element::Configuration | Element::Property | Element::Other => None,
        }
    }
}

impl Walk<'_> {
    fn take(&mut self, event: Event<'_>) -> Result<(), ConfigFileError> {
        match event {
            Event::Start(start) | Event::Empty(start) => self.start(&start),
            Event::End(_) => self.end(),
            Event::Text(text) => self.text(&text.xml10_content()),
            Event::CData(text) => self.text(&text.xml10_content()),
            Event::GeneralRef(reference) => {
                let text = self.resolved(&reference)?;
                self.text(text.encode_utf8(&mut [0; 4]))
            }
            Event::DocType(_) => Err(self.error("a document type is refused: entities are not expanded")),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::Eof => Ok(()),
        }
    }

    fn error(&self, message: impl Into<String>) -> ConfigFileError {
        self.source.syntax(self.offset, message)
    }

    /// The character for `&amp;`, `&#38;` and similar references.
    fn resolved(&self, reference: &BytesRef<'_>) -> Result<char, ConfigFileError> {
        let refused = |reason: &str| self.error(format!("`&{};` is refused: {reason}", excerpt(reference)));
        match reference.resolve_char_ref() {
            Ok(Some(character)) => return Ok(character),
            Ok(None) => {}
            Err(error) => return Err(refused(&error.to_string())),
        }
        let resolved = quick_xml::escape::resolve_xml_entity(reference).and_then(|text| text.chars().next());
        resolved.ok_or_else(|| refused("entities are not expanded"))
    }

    fn start(&mut self, start: &BytesStart<'_>) -> Result<(), ConfigFileError> {
        let name = start.local_name();
        let name: &str = name.as_ref();
        let element = self.element(name)?;
        if self.open.len() >= NESTING_MAX {
            return Err(self.error(format!("elements are nested deeper than {NESTING_MAX}")));
        }
        let offset = self.offset;
        self.has_root = true;
        self.open.push((element, offset));
        if element == Element::Property {
            self.draft = Draft::default();
            self.attributes(start)?;
        }
        if let Some(field) = self.draft.field(element)
            && field.replace(Written { text: String::new(), offset, is_visible: false }).is_some()
        {
            return Err(self.error(format!("this property already has a <{name}>")));
        }
        Ok(())
    }

    fn element(&self, name: &str) -> Result<Element, ConfigFileError> {
        match (self.open.last().map(|(element, _)| *element), name) {
            (None, "configuration") if !self.has_root => Ok(Element::Configuration),
            (None, "allocations") if !self.has_root => Err(self.error(
                "this is a file of the fair scheduler, which is not read; \
                 write its queues as a capacity-scheduler.xml or as native TOML",
            )),
            (Some(Element::Configuration), "configuration") => Ok(Element::Configuration),
            (Some(Element::Configuration), "property") => Ok(Element::Property),
            (Some(Element::Configuration), "include") => {
                Err(self.error("including other files is not supported"))
            }
            (Some(Element::Property), "name") => Ok(Element::Name),
            (Some(Element::Property), "value") => Ok(Element::Value),
            (Some(Element::Property), "final") => Ok(Element::Final),
            (Some(Element::Property), "description" | "source" | "tag") | (Some(Element::Other), _) => {
                Ok(Element::Other)
            }
            (around, _) => Err(self.unexpected(around, name)),
        }
    }

    fn unexpected(&self, around: Option<Element>, name: &str) -> ConfigFileError {
        let known: &[&str] = match around {
            None => &["configuration"],
            Some(Element::Configuration) => &["property"],
            Some(_) => &["name", "value", "final", "description"],
        };
        let name = excerpt(name);
        let hint = hint(nearest(&name, known.iter().copied()).as_deref());
        self.error(format!("unexpected element `{name}`{hint}"))
    }

    /// Reads the short form `<property name="..." value="..."/>`.
    fn attributes(&mut self, start: &BytesStart<'_>) -> Result<(), ConfigFileError> {
        for attribute in start.attributes() {
            let attribute = attribute.map_err(|error| self.error(format!("not XML: {error}")))?;
            let field = match attribute.key.local_name().as_ref() {
                "name" => Element::Name,
                "value" => Element::Value,
                "final" => Element::Final,
                _ => continue,
            };
            let text = attribute.normalized_value(quick_xml::XmlVersion::Implicit1_0);
            let text = text.map_err(|error| self.error(format!("not XML: {error}")))?.into_owned();
            if let Some(field) = self.draft.field(field) {
                *field = Some(Written { text, offset: self.offset, is_visible: true });
            }
        }
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<(), ConfigFileError> {
        let element = self.open.last().map(|(element, _)| *element);
        if element == Some(Element::Other) {
            return Ok(());
        }
        let is_visible = !text.trim().is_empty();
        // Looks in the source, because `text` has normalised line ends.
        let written = self.source.text().get(self.offset..).unwrap_or("");
        let visible = self.offset + (written.len() - written.trim_start().len());
        let field = element.and_then(|element| self.draft.field(element)).and_then(Option::as_mut);
        if let Some(field) = field {
            if is_visible && !field.is_visible {
                (field.offset, field.is_visible) = (visible, true);
            }
            field.text.push_str(text);
        } else if is_visible {
            return Err(self.source.syntax(visible, format!("unexpected text `{}`", excerpt(text.trim()))));
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), ConfigFileError> {
        let Some((Element::Property, offset)) = self.open.pop() else { return Ok(()) };
        let draft = std::mem::take(&mut self.draft);
        let Some(name) = draft.name.filter(|name| !name.text.trim().is_empty()) else {
            return Err(self.source.syntax(offset, "this property has no <name>"));
        };
        let (key, key_offset) = (name.text.trim().to_owned(), name.offset);
        if key.len() > KEY_BYTES_MAX {
            return Err(self.source.syntax(key_offset, format!("a key has at most {KEY_BYTES_MAX} bytes")));
        }
        let value_offset = draft.value.as_ref().map_or(key_offset, |value| value.offset);
        let is_indented = draft.value.as_ref().is_some_and(|value| value.text.starts_with(' '));
        let value = draft.value.map(|value| value.text.trim().to_owned());
        let is_final = draft.is_final.is_some_and(|written| written.text.trim() == "true");
        self.properties.push(Property { key, value, is_indented, is_final, key_offset, value_offset });
        Ok(())
    }

    fn finish(self) -> Result<Vec<Property>, ConfigFileError> {
        match self.open.last() {
            Some((_, offset)) => {
                Err(self.source.syntax(*offset, "the file ends inside the element that starts here"))
            }
            None if !self.has_root => Err(self.error("the file has no <configuration>")),
            None => Ok(self.properties),
        }
    }
}
