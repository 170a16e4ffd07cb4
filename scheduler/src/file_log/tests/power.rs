//! Power cuts at every operation on the disk.

use tempfile::TempDir;

use super::disk::{Disk, Luck, recorded};
use super::*;
use crate::StateDigest;

/// The outcomes of power cuts in the case with this number.
fn lucks(case: usize) -> [Luck; 5] {
    let [a, b, c] = [1, 2, 3].map(|seed| Luck::Some((10 * case + seed) as u64));
    [Luck::Nothing, Luck::Everything, a, b, c]
}

/// The state that callers knew when the disk had made this many steps.
#[derive(Clone, Debug)]
struct Announced {
    steps: usize,
    seq: u64,
    digest: StateDigest,
    bytes: u64,
}

impl Announced {
    fn now(engine: &Engine, folder: &Path) -> Self {
        let bytes = bytes_of(folder);
        let seq = Replay::read(&bytes[..], None).unwrap().seq().0;
        Self { steps: recorded(), seq, digest: engine.digest(), bytes: bytes.len() as u64 }
    }
}

/// An engine works, ends and is started again. If asked to, it compacts its log.
fn run(folder: &Path, durability: Durability, compacts: bool) -> Vec<Announced> {
    let options = FileLogOptions { durability, segment_bytes: 150 };
    let mut announced = Vec::new();
    for name in ["a", "b"] {
        let engine = start(folder, options);
        announced.push(Announced::now(&engine, folder));
        work(&engine, name);
        announced.push(Announced::now(&engine, folder));
        if compacts {
            Compactor::open(folder).unwrap().compact().unwrap().unwrap();
        }
        add_node(&engine.handle(), &format!("{name}2"));
        engine.run_until_quiet();
        announced.push(Announced::now(&engine, folder));
    }
    announced
}

/// Starts an engine on what a power cut left, which must have all changes up to `expected`, and lets it go on.
fn check(left: &Path, expected: Option<&Announced>, announced: &[Announced], case: &str) {
    let engine = start(left, SMALL);
    let kept = Replay::read(&bytes_of(left)[..], None).unwrap().seq().0;
    assert!(kept >= expected.map_or(0, |expected| expected.seq), "{case}: {kept} changes of {expected:?}");
    for same in announced.iter().filter(|announced| announced.seq == kept) {
        assert_eq!(engine.digest(), same.digest, "{case}");
    }
    add_node(&engine.handle(), "later");
    engine.run_until_quiet();
    assert_eq!(engine.log_error(), None, "{case}");
}

fn last_before(announced: &[Announced], steps: usize) -> Option<&Announced> {
    announced.iter().rev().find(|announced| announced.steps <= steps)
}

/// Every file and every folder name that the changes need is on the disk before their events.
#[test]
fn announced_changes_outlast_a_power_cut() {
    let root = tempfile::tempdir().unwrap();
    let name = Path::new("folders/that/are/new");
    let mut disk = Disk::of(root.path());
    let announced = run(&root.path().join(name), Durability::BeforeEvents, true);
    for (steps, disk) in disk.run_recorded().iter().enumerate() {
        for luck in lucks(steps) {
            let left = disk.after_power_cut(luck);
            let case = format!("{luck:?} of step {steps}");
            check(&left.path().join(name), last_before(&announced, steps), &announced, &case);
        }
    }
}

/// The process is killed at any operation, the next one goes on, and the power is cut at any operation of that one.
#[test]
fn announced_changes_outlast_a_kill_and_a_power_cut() {
    let root = tempfile::tempdir().unwrap();
    let mut disk = Disk::of(root.path());
    let announced = run(root.path(), Durability::BeforeEvents, true);
    for (steps, killed) in disk.run_recorded().iter().enumerate() {
        let (left, mut disk) = killed.after_kill();
        let engine = start(left.path(), FileLogOptions { durability: Durability::BeforeEvents, ..SMALL });
        let again = Announced::now(&engine, left.path());
        drop(engine);
        for (later, disk) in disk.run_recorded().iter().enumerate() {
            let expected = if later < again.steps { last_before(&announced, steps) } else { Some(&again) };
            for luck in lucks(1_000 * steps + later) {
                let case = format!("{luck:?} of step {later} after a kill at step {steps}");
                check(disk.after_power_cut(luck).path(), expected, &announced, &case);
            }
        }
    }
}

/// The disk is behind by less than the configured bytes. Of these, any part may be there.
#[test]
fn a_power_cut_costs_no_more_than_grouped_bytes() {
    for (durability, costs) in [(Durability::Grouped { bytes: 400 }, 400), (Durability::None, u64::MAX)] {
        let root = tempfile::tempdir().unwrap();
        let mut disk = Disk::of(root.path());
        let announced = run(root.path(), durability, false);
        for (steps, disk) in disk.run_recorded().iter().enumerate() {
            for luck in lucks(steps) {
                let left = disk.after_power_cut(luck);
                let written = last_before(&announced, steps).map_or(0, |announced| announced.bytes);
                let case = format!("{durability:?}, {luck:?} of step {steps}");
                check_grouped(left.path(), written.saturating_sub(costs), &announced, &case);
            }
        }
        let left = disk.after_power_cut(Luck::Nothing);
        assert_eq!(bytes_of(left.path()), bytes_of(root.path()), "the engines ended in order");
    }
}

fn check_grouped(left: &Path, bytes: u64, announced: &[Announced], case: &str) {
    // The file system may have kept a later group and lost an earlier one.
    match repair(left) {
        Err(FileLogError::Log(LogError::Damaged { last: 0, .. })) if bytes <= HEADER.len() as u64 => return,
        // An engine begins where the header or the first group is not whole.
        Err(FileLogError::Log(LogError::NotALog | LogError::Torn { last: 0, .. })) => {}
        Err(error) if !matches!(error, FileLogError::NoLog { .. }) => panic!("{case}: {error}"),
        _ => {}
    }
    drop(start(left, SMALL));
    let kept = bytes_of(left).len() as u64;
    assert!(kept >= bytes, "{case}: {kept} of {bytes} bytes");
    check(left, None, announced, case);
}

/// A log with damage in its second segment, in front of several others.
fn damaged() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let engine = start(folder.path(), SMALL);
    work(&engine, "a");
    drop(engine);
    assert!(segments(folder.path()) > 4);
    let damaged = folder.path().join(Name::Segment(2).text());
    let mut bytes = fs::read(&damaged).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&damaged, bytes).unwrap();
    folder
}

/// After a power cut, and perhaps a kill before it, a repair can be done, and nothing was lost.
#[test]
fn a_repair_outlasts_a_kill_and_a_power_cut() {
    let folder = damaged();
    let before = bytes_of(folder.path());
    let mut disk = Disk::of(folder.path());
    let expected = repair(folder.path()).unwrap().unwrap();
    for (steps, killed) in disk.run_recorded().iter().enumerate() {
        let (left, mut disk) = killed.after_kill();
        repair(left.path()).unwrap();
        for (later, disk) in disk.run_recorded().iter().enumerate() {
            for luck in lucks(1_000 * steps + later) {
                let case = format!("{luck:?} of step {later} after a kill at step {steps}");
                let left = disk.after_power_cut(luck);
                repair(left.path()).unwrap_or_else(|error| panic!("{case}: {error}"));
                assert_eq!(bytes_of(left.path()), before[..expected.end.at as usize], "{case}");
                let cut_off = left.path().join(expected.cut_off.file_name().unwrap());
                let rest = fs::read(cut_off).unwrap_or_else(|error| panic!("{case}: {error}"));
                assert_eq!(rest, before[expected.end.at as usize..], "{case}");
            }
        }
    }
}
