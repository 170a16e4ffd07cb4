//! One body, three runners.

/// Runs `body` as the build says: once on real threads, in every order of its steps, or under random schedules.
///
/// It must build everything it uses itself, shared parts of this module and engines included, and do the same each
/// time. With loom it may start at most four threads in all, `LOOM_MAX_PREEMPTIONS` bounds the orders (2 if not set),
/// a wait with a limit in time never ends by itself, a loop that waits for others without sleeping is reported as too
/// long, and a thread's panic is the model's.
///
/// # Panics
/// When `body` does, in any order.
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
