//! The common form of the definition files (Slider's ConfTree).

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::error::DefinitionError;
use super::keys::ConfFile;

/// The schema that is read and written.
pub const SCHEMA: &str = "http://example.org/specification/v2.0.0";

/// Values by key.
pub type Options = BTreeMap<String, String>;

/// One definition file: values for all components and for each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfTree {
    /// Notes; never read.
    pub metadata: Options,
    /// Values for every component that does not override them.
    pub global: Options,
    /// Values for one component.
    pub components: BTreeMap<String, Options>,
}

impl ConfTree {
    /// Parses a file. Numbers and truth values may stand without quotes.
    ///
    /// # Errors
    /// If it has the wrong form (Slider model, "well-defined-cluster"). Keys are not checked.
    pub fn parse(file: ConfFile, text: &str) -> Result<Self, DefinitionError> {
        let node: Node = serde_json::from_str(text)
            .map_err(|error| DefinitionError::Json { file, problem: error.to_string() })?;
        let mut tree = Self::default();
        let (mut has_schema, mut has_components) = (false, false);
        for (root, node) in section(file, "the whole file", node)? {
            match root.as_str() {
                "schema" => has_schema = check_schema(file, node)?,
                "metadata" => tree.metadata = options(file, "metadata", node)?,
                "global" => tree.global = options(file, "global", node)?,
                "components" => {
                    has_components = true;
                    tree.components = components(file, node)?;
                }
                _ => return Err(DefinitionError::UnknownRoot { file, root }),
            }
        }
        if !has_schema {
            return Err(DefinitionError::MissingRoot { file, root: "schema" });
        }
        if !has_components && file == ConfFile::Resources {
            return Err(DefinitionError::MissingRoot { file, root: "components" });
        }
        Ok(tree)
    }

    /// Returns the file's text.
    #[must_use]
    pub fn to_json(&self) -> String {
        let components = self.components.iter().map(|(name, options)| (name.clone(), object(options)));
        let mut root = Map::new();
        root.insert("schema".to_owned(), Value::from(SCHEMA));
        root.insert("metadata".to_owned(), object(&self.metadata));
        root.insert("global".to_owned(), object(&self.global));
        root.insert("components".to_owned(), Value::Object(components.collect()));
        format!("{:#}\n", Value::Object(root))
    }

    /// Sets a value of a component.
    #[must_use]
    pub fn with(mut self, component: &str, key: &str, value: impl fmt::Display) -> Self {
        self.components.entry(component.to_owned()).or_default().insert(key.to_owned(), value.to_string());
        self
    }

    /// Sets a value for every component.
    #[must_use]
    pub fn with_global(mut self, key: &str, value: impl fmt::Display) -> Self {
        self.global.insert(key.to_owned(), value.to_string());
        self
    }
}

fn object(options: &Options) -> Value {
    options.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str()))).collect()
}

fn check_schema(file: ConfFile, node: Node) -> Result<bool, DefinitionError> {
    match scalar(file, "`schema`", node)? {
        schema if schema == SCHEMA => Ok(true),
        schema => Err(DefinitionError::UnsupportedSchema { file, schema }),
    }
}

fn components(file: ConfFile, node: Node) -> Result<BTreeMap<String, Options>, DefinitionError> {
    let mut components = BTreeMap::new();
    for (name, node) in section(file, "`components`", node)? {
        let options = options(file, &name, node)?;
        components.insert(name, options);
    }
    Ok(components)
}

fn options(file: ConfFile, part: &str, node: Node) -> Result<Options, DefinitionError> {
    let entries = section(file, &format!("`{part}`"), node)?.into_iter();
    let read = |(key, node): (String, Node)| {
        let value = scalar(file, &format!("`{key}` of `{part}`"), node)?;
        Ok((key, value))
    };
    entries.map(read).collect()
}

fn section(file: ConfFile, part: &str, node: Node) -> Result<Vec<(String, Node)>, DefinitionError> {
    match node {
        Node::Section(entries) => Ok(entries),
        other => Err(other.wrong(file, part, "an object")),
    }
}

fn scalar(file: ConfFile, part: &str, node: Node) -> Result<String, DefinitionError> {
    match node {
        Node::Scalar(value) => Ok(value),
        other => Err(other.wrong(file, part, "a text, a number or a truth value")),
    }
}

/// Any JSON value, reduced to the parts that a definition can hold.
#[derive(Debug)]
enum Node {
    Scalar(String),
    Section(Vec<(String, Self)>),
    Null,
    List,
}

impl Node {
    fn wrong(&self, file: ConfFile, part: &str, expected: &'static str) -> DefinitionError {
        let found = match self {
            Self::Scalar(_) => "a single value",
            Self::Section(_) => "an object",
            Self::Null => "null",
            Self::List => "a list",
        };
        DefinitionError::WrongType { file, part: part.to_owned(), found, expected }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Scalar(value.to_string()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Scalar(value.to_string()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Scalar(value.to_string()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Scalar(value.to_string()))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Scalar(value.to_owned()))
    }

    fn visit_unit<E: Error>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        while list.next_element::<Node>()?.is_some() {}
        Ok(Node::List)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut entries = BTreeMap::new();
        while let Some((key, node)) = map.next_entry::<String, Node>()? {
            // JSON readers differ in which of two equal keys they keep.
            if entries.contains_key(&key) {
                return Err(A::Error::custom(format!("`{key}` is given twice")));
            }
            entries.insert(key, node);
        }
        Ok(Node::Section(entries.into_iter().collect()))
    }
}
