//! Files that Slider wrote in 2013 and in 2015.

use std::sync::Arc;

use apportion_placement::{HistoryWarning, ReadHistoryError, read_history};

use crate::support::{TestResult, entry, sample, written_text};

/// Slider role history, the sample saves of 2013: another namespace, no date, no mapping.
const SAVED_2013: &str = r#"
{"entry":{"org.apache.hoya.avro.RoleHistoryHeader":{"version":1,"saved":1384183475949,"savedx":"14247c3aeed","roles":3}}}
{"entry":{"org.apache.hoya.avro.NodeEntryRecord":{"host":"192.168.1.85","role":1,"active":true,"last_used":0}}}
{"entry":{"org.apache.hoya.avro.NodeEntryRecord":{"host":"192.168.1.85","role":2,"active":false,"last_used":0}}}
{"entry":{"org.apache.hoya.avro.RoleHistoryFooter":{"count":2}}}{"entry":{"org.apache.hoya.avro.RoleHistoryHeader":{"version":1,"saved":1384183476010,"savedx":"14247c3af2a","roles":3}}}
{"entry":{"org.apache.hoya.avro.NodeEntryRecord":{"host":"192.168.1.85","role":1,"active":true,"last_used":0}}}
{"entry":{"org.apache.hoya.avro.NodeEntryRecord":{"host":"192.168.1.85","role":2,"active":true,"last_used":0}}}
{"entry":{"org.apache.hoya.avro.RoleHistoryFooter":{"count":2}}}{"entry":{"org.apache.hoya.avro.RoleHistoryHeader":{"version":1,"saved":1384183512173,"savedx":"14247c43c6d","roles":3}}}
{"entry":{"org.apache.hoya.avro.NodeEntryRecord":{"host":"192.168.1.85","role":1,"active":true,"last_used":1384183476028}}}
{"entry":{"org.apache.hoya.avro.NodeEntryRecord":{"host":"192.168.1.85","role":2,"active":false,"last_used":1384183476028}}}
"#;
const FOOTER_2013: &str = r#"{"entry":{"org.apache.hoya.avro.RoleHistoryFooter":{"count":2}}}"#;

/// Slider placement, "Placement History": the sample, with the end that it lacks.
const HEADER_2015: &str = r#"{"entry":{"org.apache.slider.server.avro.RoleHistoryHeader":{"version":1,"saved":1450435691617,"savedx":"151b4b44461","savedate":"18 Dec 2015 10:48:11 GMT","roles":2}}}"#;
const REST_2015: &str = r#"
{"entry":{"org.apache.slider.server.avro.RoleHistoryMapping":{"rolemap":{"echo":1}}}}
{"entry":{"org.apache.slider.server.avro.NodeEntryRecord":{"host":"192.168.1.86","role":1,"active":true,"last_used":0}}}
{"entry":{"org.apache.slider.server.avro.RoleHistoryFooter":{"count":1}}}"#;

#[test]
fn a_file_of_2015_is_read_and_written_byte_for_byte() -> TestResult {
    let text = format!("{HEADER_2015}{REST_2015}");
    let read = read_history(text.as_bytes())?;
    assert!(read.warnings.is_empty(), "{:?}", read.warnings);
    assert_eq!((read.file.saved_ms, read.file.roles), (1_450_435_691_617, 2));
    assert_eq!(read.file.mapping.get("echo"), Some(&1));
    assert_eq!(read.file.entries, [entry("192.168.1.86", 1, true, 0)]);
    assert_eq!(written_text(&read.file)?, text);
    Ok(())
}

#[test]
fn the_last_of_joined_histories_counts() -> TestResult {
    let read = read_history(format!("{SAVED_2013}{FOOTER_2013}").as_bytes())?;
    assert_eq!(read.file.saved_ms, 1_384_183_512_173);
    assert!(read.file.mapping.is_empty());
    let last_used = 1_384_183_476_028;
    let expected = [entry("192.168.1.85", 1, true, last_used), entry("192.168.1.85", 2, false, last_used)];
    assert_eq!(read.file.entries, expected);
    assert_eq!(read.warnings, [HistoryWarning::SeveralHistories { count: 3 }]);
    Ok(())
}

#[test]
fn a_truncated_last_history_does_not_count() -> TestResult {
    let read = read_history(SAVED_2013.as_bytes())?;
    assert_eq!(read.file.saved_ms, 1_384_183_476_010);
    assert_eq!(read.file.entries.len(), 2);
    let error = ReadHistoryError::Truncated { records: 11, bytes: SAVED_2013.len() };
    let expected = [HistoryWarning::SeveralHistories { count: 2 }, HistoryWarning::LaterHistory { error }];
    assert_eq!(read.warnings, expected);
    Ok(())
}

#[test]
fn a_truncated_history_does_not_hide_later_ones() -> TestResult {
    let (first, last) = (written_text(&sample(1))?, written_text(&sample(3))?);
    let cut = written_text(&sample(2))?;
    let cut = cut.rsplit_once('\n').map(|(head, _)| head).ok_or("there is one line only")?;
    let read = read_history(format!("{first}{cut}{last}").as_bytes())?;
    assert_eq!(read.file, sample(3));
    assert!(read.warnings.iter().any(|warning| {
        matches!(
            warning,
            HistoryWarning::LaterHistory { error: ReadHistoryError::SecondHeader { record: 12, .. } }
        )
    }));
    Ok(())
}

#[test]
fn the_layout_does_not_matter() -> TestResult {
    let text = written_text(&sample(7))?;
    let one_line = text.replace('\n', "");
    let many = text.replace('{', "{\r\n\t").replace(',', " ,\n ").replace('}', "\n}");
    for text in [one_line, many, format!("\n\n  {text}\n\n")] {
        let read = read_history(text.as_bytes())?;
        assert_eq!((read.file, read.warnings), (sample(7), Vec::new()), "{text}");
    }
    Ok(())
}

#[test]
fn the_order_of_fields_does_not_matter_and_others_are_passed_over() -> TestResult {
    let text = r#"
{"written_by":{"any":["thing"]},"entry":{"org.apache.slider.server.avro.RoleHistoryHeader":{"roles":2,"note":null,"saved":5,"version":1}}}
{"entry":{"org.apache.hoya.avro.RoleHistoryMapping":{"of":[[]],"rolemap":{"echo":1}}}}
{"entry":{"org.apache.slider.server.avro.NodeEntryRecord":{"last_used":9,"active":false,"labels":["gpu"],"role":1,"host":"n\u00f8de"}}}
{"entry":{"org.apache.slider.server.avro.RoleHistoryFooter":{"checksum":-1e99,"count":1}}}"#;
    let read = read_history(text.as_bytes())?;
    assert!(read.warnings.is_empty(), "{:?}", read.warnings);
    assert_eq!((read.file.saved_ms, read.file.roles, read.file.mapping.len()), (5, 2, 1));
    assert_eq!(read.file.entries, [entry("nøde", 1, false, 9)]);
    Ok(())
}

#[test]
fn entries_next_to_each_other_share_their_host() -> TestResult {
    let read = read_history(written_text(&sample(7))?.as_bytes())?;
    let [first, second, third] = read.file.entries.as_slice() else {
        return Err("there are not three entries".into());
    };
    assert!(Arc::ptr_eq(&first.host, &second.host));
    assert!(!Arc::ptr_eq(&second.host, &third.host));
    Ok(())
}
