//! Locks between threads and between processes (`slider.md` F21).

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use apportion_placement::instance::{DefinitionLocks, DestroyOptions, ExitCode, LockKind};

use super::support::{AT_ONCE, Bed, Outcome, code, web};

const FOLDER: &str = "APPORTION_LOCK_TEST_FOLDER";
const ROUNDS: usize = 200;

/// Increments the number in a file with a delay, so that unlocked writers would lose increments.
fn count_up(folder: &Path, owner: &str) -> Result<usize, Box<dyn std::error::Error>> {
    let locks = DefinitionLocks::of(folder);
    let file = folder.join("number");
    let mut counted = 0;
    for _ in 0..ROUNDS {
        if let Ok(lock) = locks.take(LockKind::Write, owner) {
            let number: usize = std::fs::read_to_string(&file)?.parse()?;
            std::thread::yield_now();
            std::fs::write(&file, (number + 1).to_string())?;
            counted += 1;
            drop(lock);
        }
    }
    Ok(counted)
}

#[test]
fn threads_do_not_write_at_once() -> Outcome {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("number"), "0")?;
    let counted = AtomicUsize::new(0);
    let readers = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for number in 0..2 {
            let (folder, counted) = (folder.path(), &counted);
            scope.spawn(move || {
                let up = count_up(folder, &format!("thread {number}")).unwrap_or(usize::MAX);
                counted.fetch_add(up, Ordering::Relaxed);
            });
        }
        let (folder, readers) = (folder.path(), &readers);
        scope.spawn(move || {
            for _ in 0..ROUNDS {
                if let Ok(lock) = DefinitionLocks::of(folder).take(LockKind::Read, "reader") {
                    let before = std::fs::read_to_string(folder.join("number")).ok();
                    std::thread::yield_now();
                    let after = std::fs::read_to_string(folder.join("number")).ok();
                    assert_eq!(before, after, "a writer ran while a reader held the lock");
                    readers.fetch_add(1, Ordering::Relaxed);
                    drop(lock);
                }
            }
        });
    });
    let number: usize = std::fs::read_to_string(folder.path().join("number"))?.parse()?;
    assert_eq!(number, counted.into_inner());
    Ok(())
}

/// The test below runs this test in other processes. On its own it does nothing.
#[test]
fn another_process_counts_up() -> Outcome {
    let Some(folder) = std::env::var_os(FOLDER) else { return Ok(()) };
    let counted = count_up(Path::new(&folder), &format!("process {}", std::process::id()))?;
    std::fs::write(Path::new(&folder).join(format!("counted-{}", std::process::id())), counted.to_string())?;
    Ok(())
}

#[test]
fn processes_do_not_write_at_once() -> Outcome {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("number"), "0")?;
    let start = || {
        Command::new(std::env::current_exe()?)
            .args(["--exact", "locks::another_process_counts_up"])
            .env(FOLDER, folder.path())
            .stdout(std::process::Stdio::null())
            .spawn()
    };
    for mut child in [start()?, start()?] {
        assert!(child.wait()?.success());
    }
    let mut counted = 0;
    for entry in std::fs::read_dir(folder.path())? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
        if name.starts_with("counted-") {
            counted += std::fs::read_to_string(&path)?.parse::<usize>()?;
        }
    }
    let number: usize = std::fs::read_to_string(folder.path().join("number"))?.parse()?;
    assert!(counted > 0, "the other processes ran");
    assert_eq!(number, counted);
    Ok(())
}

/// A held lock keeps other commands out, and the lock of a dead process can be removed.
#[test]
fn a_lock_keeps_commands_out_until_it_is_removed() -> Outcome {
    let bed = Bed::with_web(false)?;
    let folder = bed.folder.path().join("ann/cluster/web");
    std::mem::forget(DefinitionLocks::of(&folder).take(LockKind::Write, "a dead one")?);
    let error = bed.client.start("web", AT_ONCE, 1).err().ok_or("it is locked")?;
    assert_eq!(error.exit_code(), ExitCode::InUse);
    assert!(error.to_string().contains("a dead one"), "{error}");
    assert_eq!(code(&bed.client.update("web", &web(1))), ExitCode::InUse);
    assert_eq!(code(&bed.client.flex("web", &[("worker", "1")])), ExitCode::InUse);
    assert_eq!(code(&bed.client.destroy("web", DestroyOptions { force: true })), ExitCode::InUse);
    assert!(folder.is_dir());
    assert_eq!(bed.client.unlock("web", "a dead one")?, 1);
    assert_eq!(code(&bed.client.start("web", AT_ONCE, 1)), ExitCode::Success);
    Ok(())
}

/// A reader, such as a start, keeps writers out and lets other readers in.
#[test]
fn a_reader_keeps_only_writers_out() -> Outcome {
    let bed = Bed::with_web(false)?;
    let folder = bed.folder.path().join("ann/cluster/web");
    let reader = DefinitionLocks::of(&folder).take(LockKind::Read, "a reader")?;
    assert_eq!(code(&bed.client.destroy("web", DestroyOptions { force: true })), ExitCode::InUse);
    assert_eq!(code(&bed.client.start("web", AT_ONCE, 1)), ExitCode::Success);
    assert_eq!(code(&bed.client.flex("web", &[("worker", "1")])), ExitCode::InUse);
    drop(reader);
    assert_eq!(code(&bed.client.flex("web", &[("worker", "1")])), ExitCode::Success);
    Ok(())
}
