//! The node file of YARN's simulator (`--nodes`): one object for each rack.

use apportion::{AttributeRule, NodeSpec};

use super::cluster::{NODE_MEMORY_MIB, NODE_VCORES, Nodes, size};
use super::error::{Mistake, TraceError, shown};
use super::field::{FromText, Text, Whole, json_scalar};
use super::json_stream::{Document, Documents};
use super::record::record;
use super::source::Source;

/// Attribute value of a label whose nodes are only for asks with that label.
const EXCLUSIVE: &str = "exclusive";
/// Attribute value of a label whose nodes are for all asks.
const SHARED: &str = "shared";

record! {
    /// A rack.
    struct RackRecord, unknown keys Refused, {
        rack: Text = "rack",
        nodes: Vec<NodeRecord> = "nodes",
        _description: Text = "description",
    }
}

record! {
    /// A node of a rack.
    struct NodeRecord, unknown keys Refused, {
        node: Text = "node",
        memory_mib: Whole = "memory-mb",
        vcores: Whole = "vcores",
        labels: Labels = "labels",
        // These formats count only memory and virtual cores, so no task can ask for another type.
        gpu: Whole = "gpu",
    }
}

/// The labels of a node as `A, B(exclusive=false)`: name, and whether it is exclusive.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Labels(Vec<(String, bool)>);

/// The nodes of a node file, on its racks.
///
/// A node without amounts has those of the simulator's configuration, 10,240 MiB and 10 virtual cores. A
/// node that is an empty object is skipped: Hadoop's own sample has one. A label becomes the attribute
/// `label:NAME` with the value `exclusive` or `shared`. It is not a partition, so asks without a label may
/// use the node as well.
pub(super) fn read_nodes(source: Source<'_>) -> Result<Nodes, TraceError> {
    let mut documents = Documents::new(source);
    let mut nodes = Nodes::default();
    while let Some(Document { value, line }) = documents.next::<RackRecord>()? {
        add_rack(&mut nodes, value).map_err(|mistake| documents.error_in(line, mistake))?;
    }
    Ok(nodes)
}

/// The condition that a job's label expression puts on nodes; `None` for an empty expression.
///
/// # Errors
/// When it is not a single label: YARN knows no other expressions.
pub(super) fn label_rule(expression: &str) -> Result<Option<AttributeRule>, String> {
    let name = expression.trim();
    if name.is_empty() {
        return Ok(None);
    }
    check_label(name)?;
    Ok(Some(AttributeRule::one_of(attribute(name), [EXCLUSIVE, SHARED])))
}

fn add_rack(nodes: &mut Nodes, record: RackRecord) -> Result<(), Mistake> {
    let rack = record.rack.ok_or_else(|| Mistake::missing("rack"))?.0;
    let records = record.nodes.ok_or_else(|| Mistake::missing("nodes"))?;
    for (index, record) in records.into_iter().enumerate() {
        let added = add_node(nodes, rack.trim_start_matches('/'), record);
        added.map_err(|message| Mistake::in_item("nodes", index, message))?;
    }
    Ok(())
}

fn add_node(nodes: &mut Nodes, rack: &str, record: NodeRecord) -> Result<(), String> {
    let Some(Text(name)) = record.node else {
        let NodeRecord { node: _, memory_mib: None, vcores: None, labels: None, gpu: None } = record else {
            return Err("`node` is missing; the name of the node is needed".into());
        };
        return Ok(());
    };
    if name.is_empty() || rack.is_empty() {
        return Err("a node or its rack has an empty name".into());
    }
    let memory_mib = record.memory_mib.map_or(NODE_MEMORY_MIB, |whole| whole.0);
    let vcores = record.vcores.map_or(NODE_VCORES, |whole| whole.0);
    let mut node = NodeSpec::new(name, size(memory_mib, vcores)?).on_rack(rack);
    for (label, is_exclusive) in record.labels.into_iter().flat_map(|labels| labels.0) {
        node = node.with_attribute(attribute(&label), if is_exclusive { EXCLUSIVE } else { SHARED });
    }
    nodes.add(node)
}

fn attribute(label: &str) -> String {
    format!("label:{label}")
}

impl FromText for Labels {
    const EXPECTED: &'static str = "labels such as `A, B(exclusive=false)`";

    fn from_text(text: &str) -> Result<Self, String> {
        text.split(',')
            .map(str::trim)
            .filter(|label| !label.is_empty())
            .map(label)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

json_scalar!(Labels);

/// Name and exclusiveness of `A` or `A(exclusive=false)`; a label is exclusive by default.
fn label(text: &str) -> Result<(String, bool), String> {
    let (name, is_exclusive) = match text.split_once('(') {
        None => (text, true),
        Some((name, "exclusive=true)")) => (name, true),
        Some((name, "exclusive=false)")) => (name, false),
        Some(_) => {
            return Err(format!("`{}` is not a label; `A` or `A(exclusive=false)` is needed", shown(text)));
        }
    };
    check_label(name.trim())?;
    Ok((name.trim().to_owned(), is_exclusive))
}

fn check_label(name: &str) -> Result<(), String> {
    let is_label = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/');
    if name.is_empty() || !name.bytes().all(is_label) {
        return Err(format!(
            "`{}` is not a label; one name of letters, digits, `-`, `_` is needed",
            shown(name)
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_say_whether_they_are_exclusive() {
        let labels = Labels::from_text("a, b(exclusive=false),c (exclusive=true)").unwrap();
        assert_eq!(labels.0, [("a".into(), true), ("b".into(), false), ("c".into(), true)]);
        assert!(Labels::from_text("a(exclusive=no)").is_err());
        assert!(Labels::from_text("a b").is_err());
        assert_eq!(Labels::from_text(" ").unwrap().0, []);
    }

    #[test]
    fn an_expression_is_one_label_or_nothing() {
        assert_eq!(label_rule(" ").unwrap(), None);
        assert_eq!(label_rule("big").unwrap().unwrap().conditions[0].attribute, "label:big");
        assert!(label_rule("a && b").is_err());
    }
}
