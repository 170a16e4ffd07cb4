//! The rest that the engine finds when the demand stays the same, and when it ends.

use apportion::config::Percent;
use apportion::explain::PendingReason;
use apportion::gang::GangTopology;
use apportion::view::{GangView, View};
use apportion::{Blacklist, Resources};

use super::calls::QueueCall;
use super::follow;
use super::play::Play;
use super::{INTERVAL_MS, LEAVES};

/// The rounds after which no leaf may take anything from others any more.
const ROUNDS_MAX: usize = 300;

impl Play {
    /// Makes rounds with the same demand: the applications of victims ask for their containers again. Nodes stop what
    /// they are told to stop.
    pub(crate) fn rest(&mut self) {
        self.run();
        let mut still = 0;
        for _ in 0..ROUNDS_MAX {
            let before = self.preempted;
            self.advance(INTERVAL_MS);
            self.work();
            let stopping: Vec<_> = self.cluster.engine.read(|view| {
                view.containers().filter(|(_, one)| one.stopping.is_some()).map(|(id, _)| id).collect()
            });
            self.cluster.handle.complete_containers(stopping).unwrap();
            self.listen(true);
            self.run();
            still = if self.preempted == before { still + 1 } else { 0 };
            if still == 8 {
                break;
            }
        }
        assert!(still == 8, "{ROUNDS_MAX} rounds have no end:\n{}", follow::last_commits(&self.cluster));
        self.cluster.engine.read(|view| {
            for (id, container) in view.containers() {
                let is_overdue = |kill_ms: u64| kill_ms + 2 * INTERVAL_MS < view.now_ms();
                let is_overdue = container.preemption.is_some_and(|notice| is_overdue(notice.kill_ms));
                assert!(!is_overdue, "{id} should have ended or been spared: {container:?}");
            }
        });
    }

    /// Opens all nodes and limits, and ends all that runs until nothing is placed any more.
    pub(crate) fn finish(&mut self) {
        for leaf in 0..LEAVES.len() {
            self.update_queue(&QueueCall { leaf, guarantee: 0, maximum: Percent::ALL }, Some(None));
        }
        let handle = self.cluster.handle.clone();
        self.nodes.iter().for_each(|node| handle.activate_node(*node).unwrap());
        for job in &self.jobs {
            let all = Blacklist::new().with_hosts((0..100).map(|number| format!("n{number}")));
            handle.update_blacklist(*job, Blacklist::new(), all).unwrap();
        }
        for _ in 0..200 {
            // All timeouts pass.
            self.advance(1_000);
            self.run();
            let containers = self.containers();
            if containers.is_empty() {
                return self.cluster.engine.read(expect_empty);
            }
            handle.complete_containers(containers).unwrap();
        }
        panic!("containers start again and again");
    }
}

/// Nothing runs, and nothing that waits could start.
fn expect_empty(view: &View<'_>) {
    for node in view.nodes() {
        let is_empty = node.allocated() == Resources::ZERO && node.held() == Resources::ZERO;
        assert!(is_empty && !node.is_reserved() && node.queue().next().is_none(), "{node:?}");
    }
    for queue in view.queues() {
        let quota = queue.quota(view.partition_ids().next().unwrap());
        assert_eq!((quota.used, quota.reserved), (Resources::ZERO, Resources::ZERO), "{}", queue.path());
    }
    for gang in view.gangs() {
        assert!(gang.until_ms.is_none() && !could_start(view, &gang), "{gang} could start");
    }
    let largest = view.nodes().map(|node| node.capacity()[0]).max().unwrap();
    for ask in view.asks() {
        let reason = ask.pending_reason();
        let waits = reason == PendingReason::WaitsForGang || ask.size()[0] > largest;
        assert!(waits, "{} of {:?} is pending: {reason:?}", ask.id(), ask.size());
    }
}

/// Whether the minimum fits on the empty nodes. Members have 1 or 2 units, so the larger ones may go first.
fn could_start(view: &View<'_>, gang: &GangView) -> bool {
    let (mut small, mut large) = (0, 0);
    for role in &gang.roles {
        let size = view.ask(role.ask).unwrap().size()[0];
        *(if size == 1 { &mut small } else { &mut large }) += i64::from(role.minimum);
    }
    let fits = |rack: Option<&str>| {
        let on_rack = view.nodes().filter(|node| rack.is_none_or(|rack| node.rack() == rack));
        let capacities: Vec<i64> = on_rack.map(|node| node.capacity()[0]).collect();
        let pairs: i64 = capacities.iter().map(|units| units / 2).sum();
        large <= pairs && small + 2 * large <= capacities.iter().sum()
    };
    match gang.topology {
        GangTopology::SameRack => ["a", "b"].into_iter().any(|rack| fits(Some(rack))),
        _ => fits(None),
    }
}
