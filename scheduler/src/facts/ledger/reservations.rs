//! Transitions of reservations.

use super::{Charged, Use};
use crate::facts::{Facts, Reservation};
use crate::ids::{AskId, NodeId, ReservationId};

impl Facts {
    /// One unit of `ask` becomes a reservation on `node`, charged to queue and user, not to the node (I1).
    pub(crate) fn transition_reserve(&mut self, ask_id: AskId, node_id: NodeId) -> (ReservationId, Charged) {
        let id = self.reservation_ids.take();
        let created_ms = self.now_ms;
        self.reservations.insert(id, Reservation { ask: ask_id, node: node_id, created_ms });
        let ask = self.asks.at_mut(ask_id);
        let extras = ask.extras_mut();
        extras.reservations.push(id);
        extras.re_reservations = 0;
        let (application, shape) = (ask.application, ask.shape);
        let node = self.nodes.at_mut(node_id);
        debug_assert!(node.reservation.is_none(), "{node_id} is reserved already");
        node.reservation = Some(id);
        let charged = self.charge(application, shape, node_id, Use::Reserved, 1);
        self.tree.partitions[charged.partition.index()].reserved_nodes += 1;
        (id, charged)
    }

    /// A reservation ends, fulfilled or dropped.
    pub(crate) fn transition_end_reservation(&mut self, id: ReservationId) -> (Reservation, Charged) {
        let reservation = self.reservations.remove(id).expect("the caller checked that it is alive");
        self.reservation_ids.give_back(id);
        let ask = self.asks.at_mut(reservation.ask);
        let extras = ask.extras_mut();
        extras.reservations.retain(|held| *held != id);
        extras.re_reservations = 0;
        let (application, shape) = (ask.application, ask.shape);
        self.nodes.at_mut(reservation.node).reservation = None;
        let charged = self.charge(application, shape, reservation.node, Use::Reserved, -1);
        self.tree.partitions[charged.partition.index()].reserved_nodes -= 1;
        (reservation, charged)
    }
}
