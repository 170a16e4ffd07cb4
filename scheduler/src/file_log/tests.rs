pub(super) mod disk;
mod power;

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::config::{EngineConfig, QueueConfig};
use crate::engine::RecoverError;
use crate::log::tests::{add_node, begin_or_go_on, work};
use crate::replay::Replay;
use crate::{Engine, ManualClock, Mode, ResourceTypes};

/// Segments of one group.
const SMALL: FileLogOptions = FileLogOptions { durability: Durability::None, segment_bytes: 20 };

/// The engine that goes on with the log in this folder, or begins it.
fn start(folder: &Path, options: FileLogOptions) -> Engine {
    let log = FileLog::open(folder, options).unwrap();
    begin_or_go_on(log.contents().unwrap(), Box::new(log)).unwrap()
}

fn bytes_of(folder: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let all = Folder::open(folder).unwrap().read(u64::MAX).unwrap();
    { all }.read_to_end(&mut bytes).unwrap();
    bytes
}

fn segments(folder: &Path) -> usize {
    Folder::open(folder).unwrap().files().unwrap().len()
}

#[test]
fn each_engine_goes_on_where_the_last_one_ended() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a", "b", "c"] {
        let engine = start(folder.path(), SMALL);
        work(&engine, name);
        let digest = engine.digest();
        drop(engine);
        assert_eq!(start(folder.path(), SMALL).digest(), digest);
    }
    assert!(segments(folder.path()) > 3);
    let engine = start(folder.path(), SMALL);
    assert!(["a", "b", "c"].iter().all(|name| engine.handle().node(name).is_some()));
}

#[test]
fn a_log_has_one_writer() {
    let folder = tempfile::tempdir().unwrap();
    let first = FileLog::open(folder.path(), SMALL).unwrap();
    let refused = FileLog::open(folder.path(), SMALL).unwrap_err();
    assert!(matches!(&refused, FileLogError::InUse { path } if path.ends_with("lock")), "{refused}");
    let refused = Compactor::open(folder.path()).unwrap().compact().unwrap_err();
    assert!(
        matches!(&refused, FileLogError::InUse { path } if path.ends_with("lock.compactor")),
        "{refused}: the writer has not begun"
    );
    drop(first);
    FileLog::open(folder.path(), SMALL).unwrap();
}

/// A wrong path makes nothing and overwrites nothing.
#[test]
fn other_places_are_no_logs() {
    let folder = tempfile::tempdir().unwrap();
    let (missing, file) = (folder.path().join("missing"), folder.path().join("file"));
    fs::write(&file, "hello").unwrap();
    let is_no_log = |error: &FileLogError| matches!(error, FileLogError::NoLog { path } if *path == missing);
    assert!(is_no_log(&repair(&missing).unwrap_err()) && is_no_log(&Compactor::open(&missing).unwrap_err()));
    assert!(!missing.exists());
    assert!(matches!(FileLog::open(&file, SMALL).unwrap_err(), FileLogError::NotAFolder { .. }));
    fs::create_dir(&missing).unwrap();
    assert!(is_no_log(&repair(&missing).unwrap_err()), "an empty folder");

    // A crash may leave the beginning of a header. Other bytes belong to another program.
    let segment = missing.join(Name::Segment(1).text());
    for (bytes, is_log) in [(&HEADER[..3], true), (&b"hello"[..], false)] {
        fs::write(&segment, bytes).unwrap();
        let log = FileLog::open(&missing, SMALL).unwrap();
        assert_eq!(log.contents().is_ok_and(|contents| contents.is_none()), is_log);
        assert_eq!({ log }.start(&HEADER).is_ok(), is_log);
    }
    assert_eq!(fs::read(&segment).unwrap(), b"hello");
}

/// The engine begins with the whole groups before that byte, and its own changes follow.
#[test]
fn a_log_that_ends_at_any_byte_is_continued() {
    let whole = tempfile::tempdir().unwrap();
    let engine = start(whole.path(), SMALL);
    work(&engine, "a");
    drop(engine);
    let files = Folder::open(whole.path()).unwrap().files().unwrap();
    let contents: Vec<Vec<u8>> =
        files.iter().map(|name| fs::read(whole.path().join(name.text())).unwrap()).collect();
    let log = contents.concat();
    for at in 0..=log.len() {
        let folder = tempfile::tempdir().unwrap();
        let mut left = at;
        for (name, bytes) in files.iter().zip(&contents) {
            let part = bytes.len().min(left);
            fs::write(folder.path().join(name.text()), &bytes[..part]).unwrap();
            left -= part;
            if left == 0 {
                break;
            }
        }
        let engine = start(folder.path(), SMALL);
        let before = bytes_of(folder.path());
        assert!(log.starts_with(&before), "cut at byte {at}");
        add_node(&engine.handle(), "later");
        engine.run_until_quiet();
        assert_eq!(engine.log_error(), None, "cut at byte {at}");
        let digest = engine.digest();
        drop(engine);
        assert!(bytes_of(folder.path()).starts_with(&before), "cut at byte {at}");
        assert_eq!(start(folder.path(), SMALL).digest(), digest, "cut at byte {at}");
    }
}

#[test]
fn a_snapshot_replaces_finished_segments_while_the_writer_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let engine = start(folder.path(), SMALL);
    let compactor = Compactor::open(folder.path()).unwrap();
    assert_eq!(compactor.compact().unwrap(), None, "nothing is finished");
    let other = Folder::open(folder.path()).unwrap().lock(COMPACTOR_LOCK).unwrap();
    let refused = compactor.compact().unwrap_err();
    assert!(matches!(refused, FileLogError::InUse { .. }), "{refused}");
    drop(other);
    for name in ["a", "b", "c", "d"] {
        work(&engine, name);
        let before = segments(folder.path());
        let compacted = compactor.compact().unwrap().unwrap();
        assert!(before > 2 && segments(folder.path()) == 2, "a snapshot and the segment of the writer");
        assert_eq!(compacted.bytes_after, bytes_of(folder.path()).len() as u64);
        let mut read = Replay::read(&bytes_of(folder.path())[..], None).unwrap();
        assert_eq!(read.digest(), engine.digest());
    }
    let digest = engine.digest();
    drop(engine);
    let engine = start(folder.path(), SMALL);
    assert_eq!(engine.digest(), digest);
    work(&engine, "e");
}

/// Otherwise the state of the snapshot would be taken for an earlier one.
#[test]
fn the_states_before_a_snapshot_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    work(&start(folder.path(), SMALL), "a");
    let held = Compactor::open(folder.path()).unwrap().compact().unwrap().unwrap().last.0;
    let log = bytes_of(folder.path());
    let refused = Replay::read(&log[..], Some(held - 1)).unwrap_err();
    let is_told =
        matches!(refused, LogError::BeginsLater { begin, wanted } if begin == held && wanted == held - 1);
    assert!(is_told, "{refused}");
    assert_eq!(Replay::read(&log[..], Some(held)).unwrap().seq().0, held);
}

/// A crash may leave segments that a snapshot replaces, and a snapshot that is not whole.
#[test]
fn leftovers_of_a_killed_compactor_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let engine = start(folder.path(), SMALL);
    work(&engine, "a");
    let copy = tempfile::tempdir().unwrap();
    for name in Folder::open(folder.path()).unwrap().files().unwrap() {
        fs::copy(folder.path().join(name.text()), copy.path().join(name.text())).unwrap();
    }
    Compactor::open(folder.path()).unwrap().compact().unwrap().unwrap();
    let digest = engine.digest();
    drop(engine);
    for file in fs::read_dir(copy.path()).unwrap().map(Result::unwrap) {
        let place = folder.path().join(file.file_name());
        if !place.exists() {
            fs::copy(file.path(), place).unwrap();
        }
    }
    fs::write(folder.path().join("snapshot.unfinished"), b"half").unwrap();
    assert_eq!(start(folder.path(), SMALL).digest(), digest);
    assert_eq!(segments(folder.path()), fs::read_dir(folder.path()).unwrap().count() - 2, "and two locks");
}

#[test]
fn a_missing_segment_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let engine = start(folder.path(), SMALL);
    work(&engine, "a");
    drop(engine);
    fs::remove_file(folder.path().join("segment-0000000002.log")).unwrap();
    let refused = FileLog::open(folder.path(), SMALL).unwrap_err();
    assert!(matches!(refused, FileLogError::Gap { missing: 2, .. }), "{refused}");
    // The later groups do not follow those before the gap.
    let refused = repair(folder.path()).unwrap_err();
    assert!(matches!(refused, FileLogError::Gap { missing: 2, .. }), "{refused}");
}

/// Otherwise an engine would begin, and remove everything.
#[test]
fn a_log_of_several_segments_is_not_taken_for_an_interrupted_first_group() {
    let folder = tempfile::tempdir().unwrap();
    let engine = start(folder.path(), SMALL);
    work(&engine, "a");
    drop(engine);
    let files = Folder::open(folder.path()).unwrap().files().unwrap();
    assert!(files.len() > 2);
    for name in files {
        let path = folder.path().join(name.text());
        let length = fs::metadata(&path).unwrap().len();
        let cut = if name.number() == 1 { length - 1 } else { 0 };
        File::options().write(true).open(&path).unwrap().set_len(cut).unwrap();
    }
    let log = FileLog::open(folder.path(), SMALL).unwrap();
    assert!(matches!(log.contents().map(drop), Err(FileLogError::Log(LogError::Torn { last: 0, .. }))));
}

/// A process that lists this one's files keeps a closed file, and so its lock, for a moment.
#[test]
fn a_lock_ends_although_its_file_is_still_open() {
    let folder = tempfile::tempdir().unwrap();
    let log = FileLog::open(folder.path(), SMALL).unwrap();
    let kept = [&log._lock, log.compactor_lock.as_ref().unwrap()].map(|lock| lock.0.try_clone().unwrap());
    drop(log);
    FileLog::open(folder.path(), SMALL).unwrap();
    drop(kept);
}

/// An engine that begins would lose everything.
#[test]
fn an_engine_does_not_begin_where_a_log_is() {
    let folder = tempfile::tempdir().unwrap();
    drop(start(folder.path(), SMALL));
    let before = bytes_of(folder.path());
    for durability in [Durability::BeforeEvents, Durability::None] {
        let log = FileLog::open(folder.path(), FileLogOptions { durability, ..SMALL }).unwrap();
        let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
        let begun = Engine::start(config, Mode::Serial, Arc::new(ManualClock::new()), Some(Box::new(log)));
        let problem = match begun {
            Ok(engine) => engine.log_error().unwrap(),
            Err(error) => error.to_string(),
        };
        assert!(
            problem.ends_with("the folder already has a log; open it with `Engine::recover`"),
            "{problem}"
        );
        assert_eq!(bytes_of(folder.path()), before);
    }
}

/// A file with the name of a segment and other bytes is not a log, and an engine must not overwrite it.
#[test]
fn other_files_are_no_log() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("segment-0000000001.log"), b"something else").unwrap();
    let log = FileLog::open(folder.path(), SMALL).unwrap();
    assert!(matches!(log.contents().map(|_| ()), Err(FileLogError::Log(LogError::NotALog))));
}

/// A crash cannot leave an earlier segment incomplete: it is on the disk before the next one begins.
#[test]
fn a_segment_that_is_not_whole_is_damage_if_another_follows() {
    let folder = tempfile::tempdir().unwrap();
    let engine = start(folder.path(), SMALL);
    work(&engine, "a");
    drop(engine);
    let files = Folder::open(folder.path()).unwrap().files().unwrap();
    let [.., before, last] = files[..] else { panic!("several segments") };
    File::options().write(true).open(folder.path().join(last.text())).unwrap().set_len(3).unwrap();
    let cut = folder.path().join(before.text());
    File::options().write(true).open(&cut).unwrap().set_len(fs::metadata(&cut).unwrap().len() - 1).unwrap();
    let log = FileLog::open(folder.path(), SMALL).unwrap();
    let contents = log.contents().unwrap().unwrap();
    let clock = Arc::new(ManualClock::new());
    let refused = Engine::recover(contents, Mode::Serial, clock, Some(Box::new(log))).unwrap_err();
    assert!(refused.to_string().contains("the log is damaged at byte"), "{refused}");
    assert_eq!(Folder::open(folder.path()).unwrap().files().unwrap(), files, "nothing was removed");
    assert!(repair(folder.path()).unwrap().is_some());
    drop(start(folder.path(), SMALL));
}

/// A repair keeps the whole groups, and everything else in a file; an engine goes on with the log.
#[test]
fn a_damaged_log_is_refused_and_can_be_repaired() {
    let folder = tempfile::tempdir().unwrap();
    let engine = start(folder.path(), SMALL);
    for name in ["a", "b"] {
        work(&engine, name);
    }
    assert!(matches!(repair(folder.path()), Err(FileLogError::InUse { .. })));
    drop(engine);
    assert_eq!(repair(folder.path()).unwrap(), None, "the log is whole");
    let mut whole = bytes_of(folder.path());
    let damaged = folder.path().join("segment-0000000004.log");
    let mut bytes = fs::read(&damaged).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&damaged, bytes).unwrap();
    let log = FileLog::open(folder.path(), SMALL).unwrap();
    let recovered = Engine::recover(
        log.contents().unwrap().unwrap(),
        Mode::Serial,
        Arc::new(ManualClock::new()),
        Some(Box::new(log)),
    );
    let RecoverError::Log(LogError::Damaged { at, last }) = recovered.unwrap_err() else { panic!("damaged") };
    let repaired = repair(folder.path()).unwrap().unwrap();
    assert_eq!(repaired.end, LogEnd { at, last });
    assert_eq!(bytes_of(folder.path()), whole[..at as usize]);
    let rest = fs::read(&repaired.cut_off).unwrap();
    assert_eq!(repaired.bytes, rest.len() as u64);
    // But for the damaged bit, nothing is lost.
    let flipped = rest.iter().zip(whole.split_off(at as usize)).filter(|(is, was)| **is != *was).count();
    assert_eq!(flipped, 1);
    let engine = start(folder.path(), SMALL);
    assert!(engine.handle().node("a").is_some());
    work(&engine, "c");
}

/// The crash comes after the rest was kept, and after each later segment that was removed.
#[test]
fn a_repair_that_was_interrupted_is_done_again() {
    let whole = tempfile::tempdir().unwrap();
    let engine = start(whole.path(), SMALL);
    work(&engine, "a");
    drop(engine);
    damage(whole.path(), 2);
    let last = segments(whole.path()) as u64;
    assert!(last > 4);
    let copy = || {
        let folder = tempfile::tempdir().unwrap();
        for file in fs::read_dir(whole.path()).unwrap().flatten() {
            fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
        }
        folder
    };
    let repaired = copy();
    let expected = repair(repaired.path()).unwrap().unwrap();
    for removed in 0..last - 2 {
        let folder = copy();
        fs::copy(&expected.cut_off, folder.path().join(expected.cut_off.file_name().unwrap())).unwrap();
        fs::write(folder.path().join("damaged.unfinished"), b"of an even earlier try").unwrap();
        for number in last - removed + 1..=last {
            fs::remove_file(folder.path().join(Name::Segment(number).text())).unwrap();
        }
        let again = repair(folder.path()).unwrap().unwrap();
        assert_eq!(
            (again.end, again.bytes),
            (expected.end, expected.bytes),
            "{removed} segments were removed"
        );
        assert_eq!(fs::read(&again.cut_off).unwrap(), fs::read(&expected.cut_off).unwrap());
        assert_eq!(bytes_of(folder.path()), bytes_of(repaired.path()));
    }
}

/// Flips the last bit of a segment.
fn damage(folder: &Path, number: u64) {
    let segment = folder.join(Name::Segment(number).text());
    let mut bytes = fs::read(&segment).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&segment, bytes).unwrap();
}

/// The engine writes its first group where the repaired log ends. If that one is damaged, the file of the first repair
/// has other bytes.
#[test]
fn each_repair_at_the_same_byte_keeps_the_bytes_that_it_cuts_off() {
    let folder = tempfile::tempdir().unwrap();
    drop(start(folder.path(), SMALL));
    let mut kept = Vec::new();
    for name in ["a", "b", "c"] {
        work(&start(folder.path(), SMALL), name);
        damage(folder.path(), 2);
        let before = bytes_of(folder.path());
        let repaired = repair(folder.path()).unwrap().unwrap();
        let rest = before[repaired.end.at as usize..].to_vec();
        assert_eq!(bytes_of(folder.path()), before[..repaired.end.at as usize]);
        assert_eq!(repaired.bytes, rest.len() as u64);
        kept.push((repaired.end.at, repaired.cut_off, rest));
        for (at, cut_off, rest) in &kept {
            assert_eq!((*at, &fs::read(cut_off).unwrap()), (kept[0].0, rest), "{}", cut_off.display());
        }
    }
    assert!(kept[2].1.ends_with(format!("damaged-{:020}-3.bin", kept[0].0)), "{}", kept[2].1.display());
}

/// A folder is in the place of the segment.
#[test]
fn a_segment_that_cannot_be_cut_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let segment = folder.path().join(Name::Segment(1).text());
    fs::create_dir(&segment).unwrap();
    let failed = Folder::open(folder.path()).unwrap().cut(0).unwrap_err();
    assert!(matches!(&failed, FileLogError::Io { path, .. } if *path == segment), "{failed}");
}

#[test]
fn a_log_without_a_whole_group_cannot_be_repaired() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("segment-0000000001.log"), [&HEADER[..], &[9; 20]].concat()).unwrap();
    let refused = repair(folder.path()).unwrap_err();
    assert!(matches!(refused, FileLogError::Log(LogError::Torn { last: 0, .. })), "{refused}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "the segment and two locks");
}
