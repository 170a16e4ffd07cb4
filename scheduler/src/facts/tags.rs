//! Allocation tags: names of containers, limits on containers with a name in one place, and their counts.
//!
//! Tags and limits are part of the shape, so shapes close and open as they do for room. The ledger moves the counts by
//! node and rack with the containers. A pass counts its own proposals (`PlacementSet::give_tags`), but not those that
//! other passes have in flight. The committer rejects a proposal that exceeds the cap of a rack meanwhile, and the next
//! view shows the cap as reached.
//!
//! Placing a container never makes more nodes fit, so shapes that a pass closed stay closed. When a container ends and
//! a cap is no longer reached, all nodes of its rack count as having gained room (`State::tags_ended`). Reservations
//! on these nodes are reviewed then, and when the cap is reached.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::node::Node;
use crate::ids::{ApplicationId, NodeId, RackId};

/// The tags of an ask and its limits on tags.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AskTags {
    /// The tags of its containers, which limits count.
    pub names: Vec<String>,
    /// Limits on the tagged containers at the place of its own containers; all of them must hold.
    pub limits: Vec<TagLimit>,
}

/// A hard limit of an ask: where its container is placed, at most `most` containers have the tag. The container itself
/// counts if the ask has the tag.
///
/// So `most` 1 for an ask's own tag keeps its containers apart, and `most` 0 for another tag keeps them away from that
/// tag. YARN's NOT-IN is `most` 0 for a tag that the ask does not have, and 1 for a tag that it has.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TagLimit {
    /// The tag of the counted containers.
    pub tag: String,
    /// The most containers with the tag.
    pub most: u32,
    /// The place in which they are counted.
    pub scope: TagScope,
    /// The applications whose containers are counted.
    pub namespace: TagNamespace,
}

/// Where containers with a tag are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TagScope {
    /// On the node.
    Node,
    /// On all nodes of the node's rack, whatever their partitions.
    Rack,
}

/// The applications whose containers are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TagNamespace {
    /// All applications; YARN's `all`.
    All,
    /// The ask's own application; YARN's `self`.
    Application,
}

impl TagLimit {
    /// At most `most` containers with this tag on a node, over all applications.
    #[must_use]
    pub fn per_node(tag: impl Into<String>, most: u32) -> Self {
        Self { tag: tag.into(), most, scope: TagScope::Node, namespace: TagNamespace::All }
    }

    /// At most `most` containers with this tag on a rack, over all applications.
    #[must_use]
    pub fn per_rack(tag: impl Into<String>, most: u32) -> Self {
        Self { scope: TagScope::Rack, ..Self::per_node(tag, most) }
    }

    /// The same limit, but counts only containers of the ask's own application.
    #[must_use]
    pub fn within_application(mut self) -> Self {
        self.namespace = TagNamespace::Application;
        self
    }
}

/// A limit in the form that shapes store.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct TagCap {
    pub(crate) tag: Arc<str>,
    /// The most containers with the tag at which one more may be placed; below zero, none may ever be placed.
    pub(crate) before_max: i64,
    pub(crate) scope: TagScope,
    /// The application whose containers count; `None` for all.
    pub(crate) of: Option<ApplicationId>,
}

impl TagCap {
    pub(crate) fn new(limit: &TagLimit, tags: &[Arc<str>], application: ApplicationId) -> Self {
        let own = tags.iter().any(|tag| **tag == *limit.tag);
        Self {
            tag: limit.tag.as_str().into(),
            before_max: i64::from(limit.most) - i64::from(own),
            scope: limit.scope,
            of: (limit.namespace == TagNamespace::Application).then_some(application),
        }
    }

    /// Whether containers of the application count, if they have the tag.
    pub(crate) fn counts(&self, application: ApplicationId) -> bool {
        self.of.is_none_or(|only| only == application)
    }
}

/// A node or rack where containers are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Spot {
    Node(NodeId),
    Rack(RackId),
}

/// Containers by tag, place and application. Also holds differences of such counts. Zero counts are not stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TagCounts(FxHashMap<Arc<str>, ByPlace>);

/// Counts of one application, or with `None` of all together.
type ByPlace = FxHashMap<(Spot, Option<ApplicationId>), i64>;

impl TagCounts {
    /// Adds `change` containers with these tags on the node.
    pub(crate) fn add(&mut self, tags: &[Arc<str>], node: &Node, application: ApplicationId, change: i64) {
        for tag in tags {
            let by_place = self.0.entry(Arc::clone(tag)).or_default();
            for spot in [Spot::Node(node.id), Spot::Rack(node.rack)] {
                for of in [None, Some(application)] {
                    let count = by_place.entry((spot, of)).or_default();
                    *count += change;
                    if *count == 0 {
                        by_place.remove(&(spot, of));
                    }
                }
            }
            if by_place.is_empty() {
                self.0.remove(tag);
            }
        }
    }

    /// The number of containers that count for the cap on the node or its rack.
    pub(crate) fn count(&self, cap: &TagCap, node: &Node) -> i64 {
        let Some(by_place) = self.0.get(&*cap.tag) else { return 0 };
        let spot = match cap.scope {
            TagScope::Node => Spot::Node(node.id),
            TagScope::Rack => Spot::Rack(node.rack),
        };
        by_place.get(&(spot, cap.of)).copied().unwrap_or(0)
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::SlotId;

    #[test]
    fn a_cap_counts_before_its_own_container_is_placed() {
        let (application, tags) = (ApplicationId::new(0, 0), ["web".into()]);
        let before_max = |limit: TagLimit| TagCap::new(&limit, &tags, application).before_max;
        assert_eq!([0, 1, 3].map(|most| before_max(TagLimit::per_node("web", most))), [-1, 0, 2]);
        assert_eq!([0, 1, 3].map(|most| before_max(TagLimit::per_rack("db", most))), [0, 1, 3]);
        let own = TagCap::new(&TagLimit::per_node("web", 1).within_application(), &tags, application);
        assert!(own.counts(application) && !own.counts(ApplicationId::new(1, 0)));
    }
}
