//! The wiring of channels: full, closed, drained, and a promise without an answer.

use std::sync::Arc;

use loom::thread;

use super::{Bound, model};
use crate::sync::{Nothing, Ticket, channel};

/// A full channel blocks a sender, which goes on when there is room. The bug: a message lost or out of order, or a
/// sender that is not woken.
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

/// The receiver ends while a full channel blocks a sender. The bug: a sender that waits for ever, or a message that
/// is not received, returned or dropped.
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
        assert_eq!(Arc::strong_count(&message), 1, "left in a channel without a receiver");
        assert!(outbox.send(Arc::clone(&message)).is_err());
    });
}

/// The last sender ends. The bug: a receiver that learns it before it has every message, or that waits for ever.
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

/// An offer to a channel that may be full. The bug: an offer that blocks, or that is lost although nothing else
/// would wake the receiver.
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

/// A ticket is dropped while the answer is given. The bug: an answerer that needs a receiver.
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
