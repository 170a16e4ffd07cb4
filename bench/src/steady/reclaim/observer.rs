//! The observer of a run: shares by leaf, and the work that is lost.

use apportion::config::QueueConfig;
use apportion::{ApplicationSpec, Resources};
use apportion_load::{Kinds, Setup};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use rustc_hash::FxHashMap;

use super::{Look, Reclaim, ReturningLeaf, TakenFrom};
use crate::steady::demands::{Demands, Partition};
use crate::steady::driver::{Running, Steady, Watch};

/// One of so many leaves leaves and returns.
const RETURNING_OF: usize = 10;

pub(super) struct Observer<'a> {
    applications: &'a [ApplicationSpec],
    /// The number of each leaf, by path.
    leaves: FxHashMap<&'a str, usize>,
    /// Whether each leaf returns.
    pub(super) is_returning: Vec<bool>,
    pub(super) has_left: bool,
    pub(super) has_returned: bool,
    return_ms: u64,
    /// The sizes of containers.
    sizes: Vec<Resources>,
    /// The resource type that runs out first, and the cluster's amount of it.
    scarce: usize,
    capacity: f64,
    /// Containers taken from each leaf, and their amount of the scarce type.
    taken: Vec<(u64, f64)>,
    lost_container_ms: u64,
    /// Amount of the scarce type multiplied by run time, since the return: lost, and used.
    lost: f64,
    work: f64,
    /// Containers of returning leaves and of others that completed after the return.
    completed: [u64; 2],
    looks: Vec<Look>,
    /// The owed and the used part of each returning leaf, by reading.
    by_leaf: Vec<Vec<[f64; 2]>>,
}

impl<'a> Observer<'a> {
    pub(super) fn new(setup: &Setup, applications: &'a [ApplicationSpec], return_ms: u64) -> Self {
        let count = setup.shape.leaves.min(applications.len());
        let leaf = |(number, application): (usize, &'a ApplicationSpec)| (&*application.queue, number);
        let mut is_returning = vec![false; count];
        is_returning[..count.div_ceil(RETURNING_OF)].fill(true);
        is_returning.shuffle(&mut Pcg64Mcg::seed_from_u64(setup.seed));
        let scarce = setup.profile.scarce_type();
        let nodes = setup.shape.nodes;
        let capacity: i64 = (0..nodes).map(|node| setup.profile.capacity(node, nodes)[scarce]).sum();
        Self {
            applications,
            leaves: applications[..count].iter().enumerate().map(leaf).collect(),
            is_returning,
            has_left: false,
            has_returned: false,
            return_ms,
            sizes: setup.profile.all_sizes(),
            scarce,
            capacity: capacity as f64,
            taken: vec![(0, 0.0); count],
            lost_container_ms: 0,
            lost: 0.0,
            work: 0.0,
            completed: [0; 2],
            looks: Vec::new(),
            by_leaf: Vec::new(),
        }
    }

    /// The leaf of a task's application.
    fn leaf(&self, running: &Running) -> usize {
        running.task.application as usize % self.is_returning.len()
    }

    fn amount(&self, running: &Running, kinds: &Kinds) -> f64 {
        kinds.of(running.task).size[self.scarce] as f64
    }

    /// Counts the work of a container since the return.
    fn worked(&mut self, running: &Running, now_ms: u64, kinds: &Kinds) {
        let from_ms = running.started_ms.max(self.return_ms);
        self.work += self.amount(running, kinds) * now_ms.saturating_sub(from_ms) as f64;
    }

    /// Reads the shares of all leaves.
    pub(super) fn look(&mut self, steady: &Steady, root: &QueueConfig) {
        let taken: f64 = self.taken.iter().map(|(_, amount)| amount).sum();
        let mut look = Look { at_ms: steady.now_ms, taken: taken / self.capacity, ..Look::default() };
        let mut by_leaf = vec![[0.0; 2]; self.is_returning.len()];
        let demands = Demands::of(steady, self.applications, |_| true);
        let (scarce, sizes) = (self.scarce, &self.sizes);
        let parts = steady
            .cluster
            .engine
            .read(|view| -> Vec<_> { view.partition_ids().map(|id| (id, view.capacity(id))).collect() });
        for (id, capacity) in parts {
            let part = capacity[scarce] as f64 / self.capacity;
            let partition = Partition { id, capacity, scarce, sizes, demands: &demands };
            for leaf in partition.all_shares(root) {
                let owed = (leaf.fair - leaf.used).max(0.0) * part;
                look.owed += owed;
                let Some(number) = self.leaves.get(&*leaf.path) else { continue };
                if self.is_returning[*number] {
                    look.returning_owed += owed;
                    look.returning_share += leaf.used * part;
                    look.returning_fair += leaf.fair * part;
                    let guaranteed = leaf.guaranteed.min(leaf.fair);
                    look.returning_guaranteed += guaranteed * part;
                    look.returning_owed_guarantee += (guaranteed - leaf.used).max(0.0) * part;
                    by_leaf[*number][0] += owed;
                    by_leaf[*number][1] += leaf.used * part;
                }
            }
        }
        self.looks.push(look);
        self.by_leaf.push(by_leaf);
    }

    /// The figures that this observer knows.
    pub(super) fn finish(mut self, steady: &Steady) -> Reclaim {
        for running in steady.running.values() {
            self.worked(running, steady.now_ms, &steady.kinds);
        }
        let mut paths: Vec<(&str, usize)> = self.leaves.iter().map(|(path, leaf)| (*path, *leaf)).collect();
        paths.sort_unstable();
        let column = |leaf: usize, place: usize| self.by_leaf.iter().map(|look| look[leaf][place]).collect();
        let returning = paths.iter().filter(|(_, leaf)| self.is_returning[*leaf]);
        let returning = returning.map(|(path, leaf)| ReturningLeaf {
            path: (*path).to_owned(),
            owed: column(*leaf, 0),
            share: column(*leaf, 1),
        });
        let taken = paths.iter().filter(|(_, leaf)| self.taken[*leaf].0 > 0);
        let taken = taken.map(|(path, leaf)| {
            let (containers, amount) = self.taken[*leaf];
            TakenFrom { path: (*path).to_owned(), containers, part: amount / self.capacity }
        });
        let [completed_of_returning, completed_of_others] = self.completed;
        Reclaim {
            preempted: self.taken.iter().map(|(containers, _)| containers).sum(),
            lost_container_ms: self.lost_container_ms,
            lost_part: if self.work > 0.0 { self.lost / self.work } else { 0.0 },
            completed_of_returning,
            completed_of_others,
            returning: returning.collect(),
            taken_from: taken.collect(),
            looks: self.looks,
            ..Reclaim::default()
        }
    }
}

impl Watch for Observer<'_> {
    fn ended(&mut self, running: &Running, now_ms: u64, kinds: &Kinds) {
        if self.has_returned {
            self.completed[usize::from(!self.is_returning[self.leaf(running)])] += 1;
            self.worked(running, now_ms, kinds);
        }
    }

    fn preempted(&mut self, running: &Running, now_ms: u64, kinds: &Kinds) {
        let (leaf, amount) = (self.leaf(running), self.amount(running, kinds));
        let ran_ms = now_ms - running.started_ms;
        self.taken[leaf].0 += 1;
        self.taken[leaf].1 += amount;
        self.lost_container_ms += ran_ms;
        if self.has_returned {
            self.lost += amount * ran_ms as f64;
        }
        self.worked(running, now_ms, kinds);
    }
}
