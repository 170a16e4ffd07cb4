//! Tickets: one answer from one thread to another, or to a task.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::{Condvar, Mutex, MutexGuard};

/// The receiving side of one answer. If the promise is dropped without an answer, the ticket gets none.
///
/// A ticket is a [`Future`], too, for any executor: `ticket.await` gives the answer, or `None` if none will come.
pub struct Ticket<T>(Arc<Shared<T>>);

/// The sending side of one answer.
pub struct Promise<T>(Arc<Shared<T>>);

struct Shared<T> {
    answer: Mutex<Answer<T>>,
    arrived: Condvar,
}

struct Answer<T> {
    value: Option<T>,
    /// The promise is gone: no value will come that is not here.
    is_final: bool,
    /// The task that waits for the answer.
    waker: Option<Waker>,
}

impl<T> Answer<T> {
    fn is_awaited(&mut self) -> bool {
        self.value.is_none() && !self.is_final
    }
}

impl<T> Ticket<T> {
    /// Both sides of one answer.
    #[must_use]
    pub fn new() -> (Promise<T>, Self) {
        let answer = Mutex::new(Answer { value: None, is_final: false, waker: None });
        let shared = Arc::new(Shared { answer, arrived: Condvar::default() });
        (Promise(Arc::clone(&shared)), Self(shared))
    }

    /// Takes the answer if it has arrived. `None` can also mean that none will come; [`wait`](Self::wait) tells the
    /// two apart.
    #[must_use]
    pub fn try_take(&self) -> Option<T> {
        self.lock().value.take()
    }

    /// Waits for the answer; `None` if the engine was shut down without one. Do not wait on the thread that runs a
    /// serial engine or steps an engine's parts, because it would wait for itself; use [`try_take`](Self::try_take)
    /// there.
    #[must_use]
    pub fn wait(self) -> Option<T> {
        let mut answer = self.lock();
        while answer.is_awaited() {
            answer = self.0.arrived.wait(answer);
        }
        answer.value.take()
    }

    /// Waits for the answer, but not longer than `patience`. `None` also if none will come.
    #[must_use]
    pub fn wait_timeout(&self, patience: Duration) -> Option<T> {
        self.0.arrived.wait_while_for(self.lock(), patience, Answer::is_awaited).value.take()
    }

    fn lock(&self) -> MutexGuard<'_, Answer<T>> {
        self.0.answer.lock()
    }
}

impl<T> Future for Ticket<T> {
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut answer = self.lock();
        if answer.is_awaited() {
            // Under the lock that the promise takes, so it sees the waker or the task sees the answer.
            answer.waker = Some(context.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(answer.value.take())
    }
}

impl<T> Promise<T> {
    /// Answers.
    pub fn answer(self, value: T) {
        self.0.answer.lock().value = Some(value);
        // The drop of the promise tells the ticket.
    }
}

impl<T> Drop for Promise<T> {
    fn drop(&mut self) {
        let mut answer = self.0.answer.lock();
        answer.is_final = true;
        let waker = answer.waker.take();
        drop(answer);
        self.0.arrived.notify_all();
        // Called without the lock: a waker may run the task at once.
        waker.into_iter().for_each(Waker::wake);
    }
}

impl<T> fmt::Debug for Ticket<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Promise<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Promise").finish_non_exhaustive()
    }
}
