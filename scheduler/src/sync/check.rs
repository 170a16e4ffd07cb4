//! Runs a body on real threads, under loom or under shuttle.

/// Runs `body` once on real threads, in every order of its steps, or under random schedules, depending on the
/// build.
///
/// `body` must create everything that it uses, including engines and the shared primitives of this module, and must
/// do the same each time. With loom it may start at most four threads, and `LOOM_MAX_PREEMPTIONS` bounds the orders
/// (2 by default). A wait with a time limit then never ends by itself, a busy-waiting loop is reported as too long,
/// and a panic of a thread fails the model.
///
/// # Panics
/// If `body` panics in any order.
pub fn check(body: impl Fn() + Send + Sync + 'static) {
    #[cfg(apportion_loom)]
    {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = builder.preemption_bound.or(Some(2));
        builder.max_branches = 100_000;
        builder.check(body);
    }
    #[cfg(apportion_shuttle)]
    shuttle::check_random(body, 1_000);
    #[cfg(not(any(apportion_loom, apportion_shuttle)))]
    body();
}
