//! Tasks that an executor polls: no event and no answer comes without waking the task that waits for it.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use loom::thread;

use super::{Bound, model};
use crate::engine::stream::EventStream;
use crate::event::{Event, EventKind};
use crate::facts::ApplicationEnd;
use crate::ids::{ApplicationId, SlotId};
use crate::request::CommitSeq;
use crate::sync::{Inbox, Outbox, Ticket, channel};

/// Sends a message for each wake-up of a task.
struct Task(Outbox<()>);

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.0.offer(());
    }
}

/// A task's waker, and the inbox of its wake-ups.
fn task() -> (Waker, Inbox<()>) {
    let (outbox, woken) = channel(None);
    (Waker::from(Arc::new(Task(outbox))), woken)
}

fn event() -> Event {
    let kind = EventKind::ApplicationEnded { end: ApplicationEnd::Finished };
    Event { seq: CommitSeq(1), application: ApplicationId::new(0, 0), kind }
}

/// A task polls a stream while the engine publishes an event. The bug: a task that sleeps beside its event.
#[test]
fn an_event_wakes_the_task_that_waits_for_it() {
    model(Bound::None, || {
        let events = EventStream::new(1);
        let core = Arc::clone(events.core());
        let other = thread::spawn(move || core.publish(&[event()]));
        let (waker, woken) = task();
        let first = events.poll_next(&mut Context::from_waker(&waker));
        other.join().unwrap();
        if first.is_pending() {
            assert!(woken.try_receive().is_some(), "the task sleeps");
            assert!(events.poll_next(&mut Context::from_waker(&waker)).is_ready());
        }
    });
}

/// A task polls a stream while the engine ends. The bug: a task that sleeps for ever.
#[test]
fn the_end_of_a_stream_wakes_its_task() {
    model(Bound::None, || {
        let events = EventStream::new(1);
        let core = Arc::clone(events.core());
        let other = thread::spawn(move || core.close());
        let (waker, woken) = task();
        let first = events.poll_next(&mut Context::from_waker(&waker));
        other.join().unwrap();
        assert!(first.is_ready() || woken.try_receive().is_some(), "the task sleeps");
        assert_eq!(events.poll_next(&mut Context::from_waker(&waker)), Poll::Ready(Ok(None)));
    });
}

/// A task polls a ticket while its promise is dropped. The bug: a task that sleeps for ever.
#[test]
fn the_end_of_a_promise_wakes_the_task_that_waits_for_it() {
    model(Bound::None, || {
        let (promise, ticket) = Ticket::<u32>::new();
        let other = thread::spawn(move || drop(promise));
        let (waker, woken) = task();
        let mut ticket = pin!(ticket);
        let first = ticket.as_mut().poll(&mut Context::from_waker(&waker));
        other.join().unwrap();
        if first.is_pending() {
            assert!(woken.try_receive().is_some(), "the task sleeps");
            assert_eq!(ticket.as_mut().poll(&mut Context::from_waker(&waker)), Poll::Ready(None));
        }
    });
}
