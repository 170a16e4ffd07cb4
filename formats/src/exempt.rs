//! Queues that are exempt from preemption, where each queue has a switch that the queues below it may override.

use std::collections::BTreeSet;

/// A queue with its switch.
#[derive(Debug)]
pub(crate) struct Switched {
    pub(crate) path: String,
    /// Whether the queue is exempt: the switch of the queue or of the nearest one above that has one.
    pub(crate) is_exempt: bool,
    /// Whether queues below it are made on demand. They have its switch.
    pub(crate) creates: bool,
    pub(crate) children: Vec<Switched>,
}

impl Switched {
    /// The fewest paths for the engine, where an exempt queue exempts all queues below it. Also the paths of queues
    /// whose created queues would have to be exempt, although other queues below are not.
    pub(crate) fn paths(&self) -> (BTreeSet<String>, Vec<&str>) {
        let (mut exempt, mut without) = (BTreeSet::new(), Vec::new());
        self.collect(&mut exempt, &mut without);
        (exempt, without)
    }

    fn collect<'s>(&'s self, exempt: &mut BTreeSet<String>, without: &mut Vec<&'s str>) {
        if self.is_wholly_exempt() {
            exempt.insert(self.path.clone());
            return;
        }
        if self.is_exempt && self.creates {
            without.push(&self.path);
        }
        self.children.iter().for_each(|child| child.collect(exempt, without));
    }

    fn is_wholly_exempt(&self) -> bool {
        self.is_exempt && self.children.iter().all(Self::is_wholly_exempt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue<const N: usize>(path: &str, is_exempt: bool, children: [Switched; N]) -> Switched {
        Switched { path: path.to_owned(), is_exempt, creates: false, children: children.into() }
    }

    #[test]
    fn an_exempt_queue_stands_for_all_below_it_unless_one_is_not() {
        let leaf = |path, is_exempt| queue(path, is_exempt, []);
        let whole = queue("root.a", true, [leaf("root.a.x", true), leaf("root.a.y", true)]);
        let mut part = queue("root.b", true, [leaf("root.b.x", true), leaf("root.b.y", false)]);
        part.creates = true;
        // The queue itself is not exempt, so a queue that comes later would not be, either.
        let children_only = queue("root.c", false, [leaf("root.c.x", true)]);
        let root = queue("root", false, [whole, part, children_only]);
        let (exempt, without) = root.paths();
        assert_eq!(exempt.iter().collect::<Vec<_>>(), ["root.a", "root.b.x", "root.c.x"]);
        assert_eq!(without, ["root.b"]);
    }
}
