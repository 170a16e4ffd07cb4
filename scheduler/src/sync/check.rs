//! One body, three runners.

/// Runs `body` as the build says: once on real threads, in every order of its steps, or under random schedules.
///
/// It must build everything it uses itself and do the same each time. With loom at most four threads besides its
/// own can live at a time, and `LOOM_MAX_PREEMPTIONS` bounds the orders (2 if not set).
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
