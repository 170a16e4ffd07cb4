//! Properties of every history and of every file.

use apportion_placement::{HistoryEntry, HistoryFile, fuzz_history, read_history, write_history};
use proptest::prelude::*;

use crate::support::sample;

const LONG_MAX: u64 = i64::MAX as u64;
const INT_MAX: u32 = i32::MAX as u32;

fn entries() -> impl Strategy<Value = Vec<HistoryEntry>> {
    let host = prop_oneof!["[a-d]", "[a-z0-9.]{1,12}", any::<String>()];
    let entry = (host, 0..=INT_MAX, any::<bool>(), 0..=LONG_MAX);
    let entry = entry.prop_map(|(host, role, is_active, last_used_ms)| HistoryEntry {
        host: host.into(),
        role,
        is_active,
        last_used_ms,
    });
    prop::collection::vec(entry, 0..12)
}

fn histories() -> impl Strategy<Value = HistoryFile> {
    let mapping = prop::collection::btree_map(any::<String>(), 0..=INT_MAX, 0..5);
    (0..=LONG_MAX, 0..=INT_MAX, mapping, entries())
        .prop_map(|(saved_ms, roles, mapping, entries)| HistoryFile { saved_ms, roles, mapping, entries })
}

fn bytes_of(history: &HistoryFile) -> Result<Vec<u8>, TestCaseError> {
    let mut bytes = Vec::new();
    write_history(history, &mut bytes).map_err(|error| TestCaseError::fail(error.to_string()))?;
    Ok(bytes)
}

proptest! {
    #[test]
    fn written_histories_are_read_again(history in histories()) {
        let read = read_history(&bytes_of(&history)?);
        prop_assert_eq!(read.map(|read| (read.file, read.warnings)), Ok((history, Vec::new())));
    }

    #[test]
    fn a_record_is_a_line_and_the_last_has_no_end(history in histories()) {
        let bytes = bytes_of(&history)?;
        let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        prop_assert_eq!(lines.len(), history.entries.len() + 3);
        for line in lines {
            let is_record = line.starts_with(b"{\"entry\":{\"org.apache.slider.server.avro.") && line.ends_with(b"}}}");
            prop_assert!(is_record, "{:?}", String::from_utf8_lossy(line));
        }
    }

    #[test]
    fn a_file_that_was_cut_off_anywhere_is_an_error(history in histories()) {
        let bytes = bytes_of(&history)?;
        for length in 0..bytes.len() {
            prop_assert!(read_history(&bytes[..length]).is_err(), "of {} bytes, {} were left", bytes.len(), length);
        }
    }

    #[test]
    fn of_two_joined_histories_the_second_counts_once_it_is_whole(one in histories(), other in histories()) {
        let (mut bytes, later) = (bytes_of(&one)?, bytes_of(&other)?);
        for length in 1..later.len() {
            let cut = [bytes.as_slice(), &later[..length]].concat();
            let read = read_history(&cut).map(|read| read.file);
            prop_assert_eq!(read.as_ref(), Ok(&one));
        }
        bytes.extend_from_slice(&later);
        prop_assert_eq!(read_history(&bytes).map(|read| read.file), Ok(other));
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(data in prop::collection::vec(any::<u8>(), 0..400)) {
        fuzz_history(&data);
    }

    #[test]
    fn a_damaged_file_does_not_panic(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = bytes_of(&sample(7))?;
        for (place, byte) in edits {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        fuzz_history(&bytes);
    }
}
