//! Waiting with a time limit, as a task, and on the thread that drives the engine.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use super::{config, leaf};
use crate::clock::{Clock, ManualClock, SystemClock};
use crate::engine::single_step::NotSerial;
use crate::engine::{Driven, Engine, Lagging, Mode};
use crate::resource::Resources;
use crate::sync::{AtomicU64, Mutex, Ordering, Ticket};
use crate::{ApplicationSpec, NodeSpec};

const NO_PATIENCE: Duration = Duration::from_millis(1);
const LONG: Duration = Duration::from_secs(3_600);

#[derive(Default)]
struct Woken(AtomicU64);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn serial() -> Engine {
    Engine::start(config([leaf("a")]), Mode::Serial, Arc::new(SystemClock::new()), None).unwrap()
}

fn node(name: &str) -> NodeSpec {
    NodeSpec::new(name, Resources::new(&[10, 10]))
}

#[test]
fn a_wait_ends_with_the_event_the_answer_or_the_time() {
    let engine = serial();
    let handle = engine.handle();
    let events = handle.event_stream(2);
    assert_eq!(events.wait_timeout(NO_PATIENCE), Ok(None));
    let application = handle.submit_application(ApplicationSpec::new("x", "root.a", "ann"), &events).unwrap();
    let ticket = handle.remove_node(handle.add_node(node("n")).unwrap()).unwrap();
    assert_eq!(ticket.wait_timeout(NO_PATIENCE), None);
    handle.end_application(application, crate::ApplicationEnd::Finished).unwrap();
    engine.run_until_quiet();
    assert!(events.wait_timeout(LONG).unwrap().is_some());
    assert!(ticket.wait_timeout(LONG).unwrap().is_ok());
    engine.shutdown();
    while events.wait_timeout(LONG).unwrap().is_some() {}
}

/// The bug: a task that is woken for one event and sleeps over the end of the stream.
#[test]
fn a_task_learns_of_events_lag_and_end() {
    let engine = serial();
    let handle = engine.handle();
    let events = handle.event_stream(1);
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut context = Context::from_waker(&waker);
    let submit = |name: &str| {
        let submitted = handle.submit_application(ApplicationSpec::new(name, "root.a", "ann"), &events);
        handle.end_application(submitted.unwrap(), crate::ApplicationEnd::Finished).unwrap();
        engine.run_until_quiet();
    };
    for _ in 0..3 {
        assert!(events.poll_next(&mut context).is_pending());
    }
    submit("a");
    assert_eq!(woken.0.swap(0, Ordering::SeqCst), 1, "a task that polls several times is woken once");
    assert!(matches!(events.poll_next(&mut context), Poll::Ready(Ok(Some(_)) | Err(Lagging))));
    submit("b");
    submit("c");
    while matches!(events.poll_next(&mut context), Poll::Ready(Ok(Some(_)))) {}
    assert_eq!(events.poll_next(&mut context), Poll::Ready(Err(Lagging)));
    drop(handle.resync(&events, &[]));
    while matches!(events.poll_next(&mut context), Poll::Ready(Ok(Some(_)))) {}
    woken.0.store(0, Ordering::SeqCst);
    assert!(events.poll_next(&mut context).is_pending());
    engine.shutdown();
    assert_eq!(woken.0.load(Ordering::SeqCst), 1);
    assert_eq!(events.poll_next(&mut context), Poll::Ready(Ok(None)));
}

#[test]
fn a_ticket_without_an_answer_is_ready_too() {
    let (promise, ticket) = Ticket::<u32>::new();
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut ticket = pin!(ticket);
    assert!(ticket.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    drop(promise);
    assert_eq!(woken.0.load(Ordering::SeqCst), 1);
    assert_eq!(ticket.as_mut().poll(&mut Context::from_waker(&waker)), Poll::Ready(None));
}

/// A ticket may move from one task to another. Its answer wakes the task that polled last.
#[test]
fn a_ticket_wakes_the_task_that_polled_last() {
    let (promise, ticket) = Ticket::<u32>::new();
    let tasks = [Arc::new(Woken::default()), Arc::new(Woken::default())];
    let mut ticket = pin!(ticket);
    for task in &tasks {
        let waker = Waker::from(Arc::clone(task));
        assert!(ticket.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    promise.answer(7);
    assert_eq!(tasks.map(|task| task.0.load(Ordering::SeqCst)), [0, 1]);
}

#[test]
fn a_stream_that_lags_is_not_waited_for() {
    let engine = serial();
    let (handle, events) = (engine.handle(), engine.handle().event_stream(1));
    for name in ["a", "b"] {
        let application =
            handle.submit_application(ApplicationSpec::new(name, "root.a", "ann"), &events).unwrap();
        handle.end_application(application, crate::ApplicationEnd::Finished).unwrap();
        engine.run_until_quiet();
    }
    while let Ok(Some(_)) = events.try_next() {}
    // Would otherwise wait for an hour.
    assert_eq!(events.wait_timeout(LONG), Err(Lagging));
}

#[test]
fn a_driven_engine_works_waits_and_ends() {
    let engine = Arc::new(serial());
    let handle = engine.handle();
    assert_eq!(engine.drive(NO_PATIENCE), Ok(Driven::TimedOut));
    handle.add_node(node("n")).unwrap();
    assert_eq!(engine.drive(Duration::ZERO), Ok(Driven::Worked), "waiting work is done at once");
    let driving = Arc::clone(&engine);
    let driver = thread::spawn(move || while driving.drive(LONG).unwrap() == Driven::Worked {});
    let node = handle.add_node(node("m")).unwrap();
    assert!(handle.remove_node(node).unwrap().wait().unwrap().is_ok(), "the driving thread answers");
    engine.shutdown();
    driver.join().unwrap();
    assert_eq!(engine.drive(LONG), Ok(Driven::Ended));
}

/// Calls the engine when it is read the third time, as another thread might.
#[derive(Debug, Default)]
struct Calling(AtomicU64, Mutex<Option<crate::Handle>>);

impl Clock for Calling {
    fn now_ms(&self) -> u64 {
        // Each read takes a millisecond.
        let now_ms = self.0.fetch_add(1, Ordering::SeqCst);
        if now_ms == 2
            && let Some(handle) = self.1.lock().take()
        {
            handle.add_node(node("late")).unwrap();
        }
        now_ms
    }
    fn until(&self, _: u64) -> Option<Duration> {
        Some(Duration::ZERO)
    }
}

/// A call that comes between the first look and the work is work that was done.
#[test]
fn a_call_that_comes_as_the_drive_begins_is_not_slept_over() {
    for reads in 0..=2 {
        let clock = Arc::new(Calling::default());
        let engine =
            Engine::start(config([leaf("a")]), Mode::Serial, Arc::<Calling>::clone(&clock), None).unwrap();
        *clock.1.lock() = Some(engine.handle());
        clock.0.store(reads, Ordering::SeqCst);
        let driven = engine.drive(Duration::from_secs(1)).unwrap();
        assert!(engine.handle().node("late").is_some(), "{reads}");
        assert_eq!(driven, Driven::Worked, "{reads}");
    }
}

#[test]
fn wakers_of_tasks_that_are_gone_are_not_kept_for_ever() {
    let engine = serial();
    let events = engine.handle().event_stream(10);
    let tasks: Vec<_> = (0..1_000).map(|_| Arc::new(Woken::default())).collect();
    for task in &tasks {
        let waker = Waker::from(Arc::clone(task));
        assert!(events.poll_next(&mut Context::from_waker(&waker)).is_pending());
    }
    let kept = tasks.iter().filter(|task| Arc::strong_count(task) > 1).count();
    assert!((1..=256).contains(&kept), "{kept} wakers");
    let woken = |task: &&Arc<Woken>| task.0.load(Ordering::SeqCst) > 0;
    assert_eq!(tasks.iter().filter(woken).count(), 1_000 - kept, "the others may look again");
}

/// The bug: an engine that sleeps until its driver's deadline over a timer, or a driver that is not told of it.
#[test]
fn a_driven_engine_wakes_for_a_timer() {
    let engine = serial();
    let handle = engine.handle();
    let events = handle.event_stream(10);
    let mut application = ApplicationSpec::new("x", "root.a", "ann");
    application.lifetime_ms = Some(20);
    handle.submit_application(application, &events).unwrap();
    assert_eq!(engine.drive(LONG), Ok(Driven::Worked));
    while events.try_next().unwrap().is_some() {}
    assert_eq!(engine.drive(LONG), Ok(Driven::Worked), "the application has lived long enough");
    assert!(events.try_next().unwrap().is_some());
}

#[test]
fn only_serial_engines_are_driven() {
    let engine =
        Engine::start(config([leaf("a")]), Mode::Background, Arc::new(ManualClock::new()), None).unwrap();
    assert_eq!(engine.drive(LONG), Err(NotSerial));
}
