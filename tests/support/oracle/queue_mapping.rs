//! Mapping rules: the leaf of an application, derived from the list of all queues.

use apportion::ApplicationSpec;
use apportion::config::{Creation, Fallback, MappingAction, PathPart, PlaceIn, QueuePath, RuleFilter};

use super::Oracle;

impl Oracle {
    /// The path of the leaf that mapping rules find for the application, if any.
    #[must_use]
    pub fn leaf_for(&self, spec: &ApplicationSpec) -> Option<String> {
        let mapping = &self.config.queue_mapping;
        let wants_default = ["", "default", "root.default"].contains(&spec.queue.as_str());
        let mut default = Some("root.default".to_owned());
        for rule in &mapping.rules {
            if !(mapping.override_requested || wants_default) || !is_about(&rule.filter, spec) {
                continue;
            }
            match &rule.action {
                MappingAction::Reject => return None,
                MappingAction::SetDefault(path) => {
                    default = self.written_out(path, spec, default.as_deref());
                }
                MappingAction::Place(PlaceIn { queue, fallback, if_permitted, create }) => {
                    let path = self.written_out(queue, spec, default.as_deref());
                    let may = |path: &String| {
                        let lowest = self.tree.destination(path).expect("it leads somewhere").0;
                        !if_permitted || self.tree.may_submit(lowest, &spec.user, &spec.groups)
                    };
                    let most = match create {
                        Creation::Nothing => 0,
                        Creation::Leaf => 1,
                        Creation::Path => usize::MAX,
                    };
                    match (path.and_then(|path| self.leaf_or_made(&path, most)).filter(may), fallback) {
                        (Some(leaf), _) => return Some(leaf),
                        (None, Fallback::Skip) => {}
                        (None, Fallback::Reject) => return None,
                        (None, Fallback::Default) => return self.leaf_or_made(&default?, 0),
                    }
                }
            }
        }
        self.leaf_or_made(if spec.queue.is_empty() { "root.default" } else { &spec.queue }, usize::MAX)
    }

    /// The queue with this path. A path may omit its first levels if its first name is unique.
    fn queue_called(&self, name: &str) -> Option<usize> {
        let path_of = |number: &usize| self.tree.queues[*number].path.as_str();
        let numbers = || (0..self.tree.queues.len()).filter(|number| self.tree.queues[*number].is_present);
        if name == "root" || name.starts_with("root.") {
            return numbers().find(|number| path_of(number) == name);
        }
        let first = name.split('.').next()?;
        let called: Vec<usize> =
            numbers().filter(|number| path_of(number).rsplit('.').next() == Some(first)).collect();
        let [start] = called[..] else { return None };
        let whole = format!("{}{}", path_of(&start), &name[first.len()..]);
        numbers().find(|number| path_of(number) == whole)
    }

    /// The full path of the leaf with this name, if at most `most` queues have to be created for it.
    fn leaf_or_made(&self, name: &str, most: usize) -> Option<String> {
        if let Some(queue) = self.queue_called(name) {
            return self.tree.is_leaf(queue).then(|| self.tree.queues[queue].path.clone());
        }
        let (_, missing) = self.tree.destination(name)?;
        (missing.len() <= most).then(|| name.to_owned())
    }

    fn written_out(&self, path: &QueuePath, spec: &ApplicationSpec, default: Option<&str>) -> Option<String> {
        let mut names: Vec<String> = Vec::new();
        for part in path.parts() {
            let plain = |name: &str| name.trim().replace('.', "_dot_");
            let value = match part {
                PathPart::Name(name) => name.clone(),
                PathPart::User => plain(&spec.user),
                PathPart::Application => plain(&spec.name),
                PathPart::PrimaryGroup => plain(spec.groups.first()?),
                PathPart::SecondaryGroup => {
                    let there = |group: &String| {
                        let path = [&names[..], std::slice::from_ref(group)].concat().join(".");
                        self.queue_called(&path).is_some()
                    };
                    spec.groups.iter().skip(1).map(|group| plain(group)).find(there)?
                }
                PathPart::Default => default?.to_owned(),
                PathPart::Specified if spec.queue == "default" => return None,
                PathPart::Specified => spec.queue.clone(),
                PathPart::Provided | PathPart::Tag(_) => {
                    let value = match part {
                        PathPart::Tag(name) => spec.tags.get(name)?,
                        _ => &spec.queue,
                    };
                    if value.starts_with("root.") {
                        names.clear();
                        value.clone()
                    } else {
                        plain(value)
                    }
                }
            };
            if value.is_empty() {
                return None;
            }
            names.push(value);
        }
        Some(names.join("."))
    }
}

fn is_about(filter: &RuleFilter, spec: &ApplicationSpec) -> bool {
    let named = [&filter.users, &filter.groups, &filter.applications].map(Vec::len) != [0; 3];
    let is_one = filter.users.contains(&spec.user)
        || spec.groups.iter().any(|group| filter.groups.contains(group))
        || filter.applications.contains(&spec.name);
    !named || is_one != filter.except
}
