//! Committing: one thread decides, one request after another, under the write guard.
//!
//! # Accept and apply
//!
//! `accept_plain` and `place_plain` decide and carry out a request for a plain ask, which nearly all are. They equal
//! the general way, which the following describes.
//!
//! `accept` checks the sums of a request, after netting its releases and ended reservations. It checks that:
//!
//! * every identifier is valid, and the units are outstanding;
//! * the node is a candidate, of the right partition, and meets the rule and the hard locality preferences;
//! * no other ask has reserved the node, and the node has room, device by device;
//! * every queue of every chain and every user stays within limits.
//!
//! It skips the limits if the whole batch stays within them: `is_batch_within_limits`, on its amounts in flight.
//! Then any part of the batch does too, in any order. A stale view alone is never a reason to reject.
//!
//! `apply` moves the facts through the ledger. Then it tells the derived state which lanes and asks the change may
//! help.
//!
//! # Asks whose proposals are rejected
//!
//! An ask's first proposals are optimistic: from the proposer's own set, or on a host that the ask names. After
//! four rejections in a row the ask is starved. At the end of the group the committer proposes
//! for it under its own guard, over the whole partition, and decides at once (`propose/starved.rs`). No other
//! proposer can be quicker. One group does this for eight asks at most.
//!
//! # Why the invariants hold
//!
//! * **One writer.** The committer changes the facts, one change after another. So an invariant of the facts holds
//!   if each change keeps it.
//! * **I3.** `accept` adds up the use that a request adds at each queue of each chain and for each user. It does
//!   the same for each limit usage of the user. It compares the sums with the limits. `recompute_limits`
//!   comes first in `commit` and `commit_batch`, so the limits are those in force. A release needs no check, and a
//!   lower limit does not add use.
//! * **I7.** `accept` looks up rule, hosts, racks and the node's state again. The committer keeps the write guard
//!   until `apply` is done.
//! * **I8.** `accept` changes nothing, and `apply` cannot fail: `accept` has made every check.
//! * **I11.** Only the `apply*` and `commit*` functions of the committer reach the applier. `apply*`, `commit` and
//!   `commit_batch` log what was applied, in order, under the same guard. Decisions depend on the facts and the change
//!   alone: no clock, no map with a random order.
//! * **I16.** The committer determines the leaf in the change that adds the application, by the rules and lists that
//!   are facts then. `admit` and `apply` call the same `destination`.
//! * **I18.** Held room has one gang for each partition. A gang takes a partition over only from a later one, which
//!   gives all of its room back there (`gather.rs`).

mod accept;
mod admit;
mod admit_ask;
mod apply;
mod committer;
mod configure;
mod destination;
mod gangs;
mod gather;
mod give_back;
mod many;
mod moving;
mod observe;
mod placeholders;
mod prefetch;
mod resizing;
mod sums;

pub(crate) use apply::Effects;
pub(crate) use committer::Committer;
pub(crate) use configure::{check_configuration, check_reconfiguration};
pub(crate) use gangs::{admit_gang, would_accept};
