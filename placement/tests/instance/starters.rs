//! Concurrent starts, flexes and destroys, on threads of their own (`slider.md` F4).

use std::collections::BTreeMap;
use std::sync::Barrier;

use apportion_placement::instance::{ActionAnswer, ActionError, ApplicationHost, DestroyOptions, ExitCode};

use super::support::{AT_ONCE, Bed, Outcome, client, code, web};

const STARTERS: usize = 8;

fn race(
    bed: &Bed,
    act: impl Fn(&apportion_placement::instance::InstanceClient, usize) -> Result<ActionAnswer, ActionError>
    + Sync,
) -> BTreeMap<ExitCode, usize> {
    let barrier = Barrier::new(STARTERS);
    let codes: Vec<ExitCode> = std::thread::scope(|scope| {
        let run = |number: usize| {
            let (barrier, act) = (&barrier, &act);
            scope.spawn(move || {
                let client = client(bed.folder.path(), &bed.host, "ann");
                barrier.wait();
                code(&act(&client, number))
            })
        };
        let threads: Vec<_> = (0..STARTERS).map(run).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let mut counts = BTreeMap::new();
    for code in codes {
        *counts.entry(code).or_default() += 1;
    }
    counts
}

#[test]
fn of_many_starts_one_succeeds() -> Outcome {
    for _ in 0..20 {
        let bed = Bed::with_web(false)?;
        let codes = race(&bed, |client, number| client.start("web", AT_ONCE, number as u64));
        let expected = BTreeMap::from([(ExitCode::Success, 1), (ExitCode::InUse, STARTERS - 1)]);
        assert_eq!(codes, expected);
        assert_eq!(bed.host.reports("ann").len(), 1);
    }
    Ok(())
}

#[test]
fn of_many_creates_one_succeeds() -> Outcome {
    for _ in 0..20 {
        let bed = Bed::new()?;
        let codes = race(&bed, |client, number| client.create("web", &web(1), AT_ONCE, number as u64));
        assert_eq!(codes.get(&ExitCode::Success), Some(&1), "{codes:?}");
        let refused: usize =
            [ExitCode::InUse, ExitCode::InstanceExists].iter().filter_map(|code| codes.get(code)).sum();
        assert_eq!(refused, STARTERS - 1, "{codes:?}");
        assert_eq!(bed.host.reports("ann").len(), 1);
    }
    Ok(())
}

/// No flex is lost: each successful one is in the definition, and the running application matches the saved
/// definition.
#[test]
fn every_flex_counts_or_is_refused() -> Outcome {
    for _ in 0..20 {
        let bed = Bed::with_web(true)?;
        let codes = race(&bed, |client, _| client.flex("web", &[("worker", "+1")]));
        let served = codes.get(&ExitCode::Success).copied().unwrap_or(0);
        let refused = codes.get(&ExitCode::InUse).copied().unwrap_or(0);
        assert_eq!(served + refused, STARTERS, "{codes:?}");
        assert_eq!(bed.host.containers(bed.app()?)?.len(), 3 + served);
    }
    Ok(())
}

/// Every running application still has its definition afterwards.
#[test]
fn a_started_instance_is_not_destroyed() -> Outcome {
    for _ in 0..20 {
        let bed = Bed::with_web(false)?;
        let codes = race(&bed, |client, number| {
            if number % 2 == 0 {
                client.start("web", AT_ONCE, 1)
            } else {
                client.destroy("web", DestroyOptions { force: true })
            }
        });
        let runs = bed.host.reports("ann").iter().any(|report| report.state.is_running());
        let is_defined = bed.folder.path().join("ann/cluster/web").is_dir();
        assert!(!runs || is_defined, "{codes:?}");
    }
    Ok(())
}
