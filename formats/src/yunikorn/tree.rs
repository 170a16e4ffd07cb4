//! The queues of a partition as written.

use std::collections::BTreeMap;

use apportion::config::ConfigError;

use super::entry::Entry;
use super::quantity::Quantities;
use crate::ConfigFileError;
use crate::file::excerpt;

/// The keys of a queue.
const KEYS: [&str; 10] = [
    "name",
    "parent",
    "resources",
    "maxapplications",
    "properties",
    "adminacl",
    "submitacl",
    "childtemplate",
    "queues",
    "limits",
];

const NAME_BYTES_MAX: usize = 64;

/// A queue in YuniKorn's terms.
#[derive(Debug)]
pub(super) struct Queue<'n> {
    /// The queue's place, under its path. For an implied root: the list of queues.
    pub(super) entry: Entry<'n>,
    /// The name in lower case, as YuniKorn reads it.
    pub(super) name: String,
    pub(super) guaranteed: Quantities<'n>,
    pub(super) max: Quantities<'n>,
    /// 0 for no limit.
    pub(super) max_applications: u64,
    pub(super) children: Vec<Queue<'n>>,
}

impl<'n> Queue<'n> {
    pub(super) fn path(&self) -> &str {
        &self.entry.path
    }

    /// The queue with this path, here or below.
    pub(super) fn find(&self, path: &str) -> Option<&Self> {
        if self.path() == path {
            return Some(self);
        }
        let is_above = |child: &&Self| {
            path.strip_prefix(child.path()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.children.iter().find(is_above)?.find(path)
    }

    /// An error about this queue.
    pub(super) fn refused(&self, problem: impl Into<String>) -> ConfigFileError {
        let error = ConfigError::queue(excerpt(self.path()), problem);
        self.entry.config_error(error)
    }
}

/// The tree below `queues`, the list of a partition. A missing root is added.
pub(super) fn root<'n>(queues: &Entry<'n>) -> Result<Queue<'n>, ConfigFileError> {
    let items = queues.items()?;
    let is_root = |entry: &Entry<'n>| name(entry).is_ok_and(|name| name == "root");
    match items.as_slice() {
        [single] if is_root(single) => {
            let root = queue(&single.named("root".to_owned()), "root".to_owned())?;
            if !root.guaranteed.is_empty() || !root.max.is_empty() {
                return Err(
                    root.refused("the root always has the whole cluster; YuniKorn refuses resources for it")
                );
            }
            Ok(root)
        }
        _ => {
            let entry = queues.named("root".to_owned());
            let children = children(&entry, &items)?;
            Ok(Queue {
                entry,
                name: "root".to_owned(),
                guaranteed: Quantities::default(),
                max: Quantities::default(),
                max_applications: 0,
                children,
            })
        }
    }
}

fn queue<'n>(entry: &Entry<'n>, name: String) -> Result<Queue<'n>, ConfigFileError> {
    entry.only(&KEYS)?;
    let resources = entry.get("resources");
    let amounts =
        |key| Quantities::read(resources.as_ref().and_then(|resources| resources.get(key)).as_ref());
    if let Some(resources) = &resources {
        resources.only(&["guaranteed", "max"])?;
    }
    let items = entry.get("queues").map(|queues| queues.items()).transpose()?.unwrap_or_default();
    Ok(Queue {
        name,
        guaranteed: amounts("guaranteed")?,
        max: amounts("max")?,
        max_applications: entry.get("maxapplications").map_or(Ok(0), |entry| entry.count())?,
        children: children(entry, &items)?,
        entry: entry.clone(),
    })
}

fn children<'n>(parent: &Entry<'n>, items: &[Entry<'n>]) -> Result<Vec<Queue<'n>>, ConfigFileError> {
    let mut lines = BTreeMap::new();
    let mut children = Vec::new();
    for item in items {
        let name = name(item)?;
        let entry = item.named(format!("{}.{name}", parent.path));
        if let Some(line) = lines.insert(name.clone(), item.line()) {
            let problem = format!("is already defined in line {line}; YuniKorn ignores the case of names");
            return Err(entry.config_error(ConfigError::queue(excerpt(&entry.path), problem)));
        }
        children.push(queue(&entry, name)?);
    }
    Ok(children)
}

/// The name of the queue in lower case.
fn name(entry: &Entry<'_>) -> Result<String, ConfigFileError> {
    let Some(written) = entry.get("name") else {
        entry.entries()?;
        return Err(entry.error("this queue has no name"));
    };
    let name = written.text()?;
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b"_:#/@-".contains(&byte);
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.bytes().all(is_fine) {
        let problem = format!(
            "`{}` is not a valid queue name; use up to {NAME_BYTES_MAX} letters, digits and _ : # / @ -",
            excerpt(name)
        );
        return Err(written.error(problem));
    }
    Ok(name.to_ascii_lowercase())
}
