//! Concurrent takers of locks, in any order of their steps.

use proptest::prelude::*;

use super::*;

/// A client on its way to a lock.
enum Taker {
    Idle,
    Created(LockKind, HeldLock),
    Holds(LockKind, #[expect(dead_code, reason = "held until it is dropped")] HeldLock),
}

impl Taker {
    fn step(self, locks: &DefinitionLocks, kind: LockKind, owner: &str) -> Self {
        match self {
            Self::Idle => locks.create(kind, owner).map_or(Self::Idle, |lock| Self::Created(kind, lock)),
            Self::Created(kind, lock) => match locks.confirm(kind) {
                Ok(()) => Self::Holds(kind, lock),
                Err(_) => Self::Idle,
            },
            Self::Holds(..) => Self::Idle,
        }
    }

    fn holds(&self) -> Option<LockKind> {
        match self {
            Self::Holds(kind, _) => Some(*kind),
            _ => None,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// F21: in any order of steps, a writer is alone, and no client removes another client's lock.
    #[test]
    fn a_writer_is_alone(steps in prop::collection::vec((0..4_usize, any::<bool>()), 0..60)) {
        let folder = tempfile::tempdir()?;
        let locks = DefinitionLocks::of(folder.path());
        let mut takers: Vec<Taker> = (0..4).map(|_| Taker::Idle).collect();
        for (number, writes) in steps {
            let kind = if writes { LockKind::Write } else { LockKind::Read };
            let taker = std::mem::replace(&mut takers[number], Taker::Idle);
            takers[number] = taker.step(&locks, kind, &number.to_string());
            let holders: Vec<LockKind> = takers.iter().filter_map(Taker::holds).collect();
            prop_assert!(!holders.contains(&LockKind::Write) || holders.len() == 1, "{holders:?}");
            let on_disk = locks.holders()?;
            for (number, taker) in takers.iter().enumerate() {
                if let Some(kind) = taker.holds() {
                    let is_his = |holder: &LockHolder| holder.kind == kind && holder.owner == number.to_string();
                    prop_assert!(on_disk.iter().any(is_his), "{on_disk:?}");
                }
            }
        }
        drop(takers);
        prop_assert_eq!(std::fs::read_dir(folder.path())?.count(), 0);
    }
}

#[test]
fn an_owner_that_died_can_be_found_and_its_lock_taken() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let locks = DefinitionLocks::of(folder.path());
    std::mem::forget(locks.take(LockKind::Write, "process 7")?);
    let error = locks.take(LockKind::Write, "process 8").unwrap_err();
    assert!(matches!(&error, LockError::Held { owner, .. } if owner == "process 7"), "{error}");
    assert!(locks.take(LockKind::Read, "process 8").is_err());
    assert_eq!(locks.take_from("process 9")?, 0);
    assert_eq!(locks.take_from("process 7")?, 1);
    let late = locks.take(LockKind::Write, "process 8")?;
    assert_eq!(locks.holders()?.len(), 1);
    drop(late);
    assert!(locks.holders()?.is_empty());
    Ok(())
}

#[test]
fn readers_share() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let locks = DefinitionLocks::of(folder.path());
    let first = locks.take(LockKind::Read, "one")?;
    let second = locks.take(LockKind::Read, "two")?;
    drop(first);
    assert!(locks.take(LockKind::Write, "three").is_err(), "one of them still reads");
    drop(second);
    assert!(locks.take(LockKind::Write, "three").is_ok());
    Ok(())
}

/// F21: an owner that was wrongly thought dead does not remove a lock that another owner took since.
#[test]
fn only_its_owner_removes_a_lock() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let locks = DefinitionLocks::of(folder.path());
    let slow = locks.take(LockKind::Write, "slow")?;
    assert_eq!(locks.take_from("slow")?, 1);
    let quick = locks.take(LockKind::Write, "quick")?;
    drop(slow);
    assert_eq!(locks.holders()?.len(), 1, "the quick one still holds it");
    drop(quick);
    assert!(locks.holders()?.is_empty());
    Ok(())
}

/// Two threads of one process have the same owner name.
#[test]
fn a_lock_that_went_with_its_folder_is_not_given_back_for_another() -> Result<(), Box<dyn std::error::Error>>
{
    let root = tempfile::tempdir()?;
    let folder = root.path().join("web");
    fs::create_dir(&folder)?;
    let locks = DefinitionLocks::of(&folder);
    let of_the_destroyer = locks.take(LockKind::Write, "machine:1")?;
    fs::rename(&folder, root.path().join("gone"))?;
    fs::create_dir(&folder)?;
    let of_the_next = locks.take(LockKind::Write, "machine:1")?;
    of_the_destroyer.gone();
    assert_eq!(locks.holders()?.len(), 1, "a process holds it still");
    drop(of_the_next);
    Ok(())
}
