//! The channels' wiring: full, closed, drained, and an answer that is not given.

use std::sync::Arc;

use loom::thread;

use super::{Bound, model};
use crate::sync::{Nothing, Ticket, channel};

/// A sender that is held back by a full channel goes on when there is room. The bug: a message that is lost or
/// overtaken, or a sender that nobody wakes.
#[test]
fn a_full_channel_holds_its_sender_back_and_lets_it_go() {
    model(Bound::None, || {
        let (outbox, inbox) = channel(Some(1));
        let other = thread::spawn(move || {
            outbox.send(1).unwrap();
            outbox.send(2).unwrap();
        });
        assert_eq!(inbox.receive(None), Ok(1));
        assert_eq!(inbox.receive(None), Ok(2));
        other.join().unwrap();
    });
}

/// A sender is held back by a full channel when the receiver goes. The bug: a sender that waits for ever, or a
/// message that stays in the channel, neither received nor given back nor dropped.
#[test]
fn a_channel_that_closes_gives_the_message_back() {
    model(Bound::None, || {
        let (outbox, inbox) = channel(Some(1));
        let message = Arc::new(());
        outbox.send(Arc::clone(&message)).unwrap();
        let (theirs, sending) = (outbox.clone(), [Arc::clone(&message), Arc::clone(&message)]);
        let other = thread::spawn(move || drop(sending.map(|message| theirs.send(message))));
        drop(inbox);
        other.join().unwrap();
        assert_eq!(Arc::strong_count(&message), 1, "left in a channel that nobody reads");
        assert!(outbox.send(Arc::clone(&message)).is_err());
    });
}

/// The last sender goes. The bug: a receiver that is told so before it has everything, or that waits for ever.
#[test]
fn a_channel_is_drained_before_it_is_closed() {
    model(Bound::None, || {
        let (outbox, inbox) = channel(Some(1));
        let clone = outbox.clone();
        let other = thread::spawn(move || clone.send(1).unwrap());
        drop(outbox);
        assert_eq!(inbox.receive(None), Ok(1));
        assert_eq!(inbox.receive(None), Err(Nothing::Closed));
        other.join().unwrap();
    });
}

/// An offer to a channel that may be full. The bug: an offer that waits, or that is lost although nothing else is
/// left to wake the receiver.
#[test]
fn an_offer_is_taken_or_the_receiver_has_something_else() {
    model(Bound::None, || {
        let (outbox, inbox) = channel(Some(1));
        let theirs = outbox.clone();
        let other = thread::spawn(move || theirs.send(1).unwrap());
        outbox.offer(2);
        let mut received = vec![inbox.receive(None).unwrap()];
        other.join().unwrap();
        received.extend(inbox.try_receive());
        assert!([vec![1], vec![1, 2], vec![2, 1]].contains(&received), "{received:?}");
    });
}

/// A promise is dropped while a caller waits for it. The bug: a caller that waits for ever.
#[test]
fn a_promise_that_is_dropped_is_an_answer() {
    model(Bound::None, || {
        let (promise, ticket) = Ticket::<u32>::new();
        let other = thread::spawn(move || drop(promise));
        assert_eq!(ticket.wait(), None);
        other.join().unwrap();
    });
}

/// A ticket is dropped while the answer is given. The bug: an answerer that insists on being heard.
#[test]
fn an_answer_that_nobody_wants_holds_nobody_up() {
    model(Bound::None, || {
        let (promise, ticket) = Ticket::new();
        let other = thread::spawn(move || promise.answer(1));
        let seen = ticket.try_take();
        assert!(seen.is_none_or(|answer| answer == 1));
        drop(ticket);
        other.join().unwrap();
    });
}
