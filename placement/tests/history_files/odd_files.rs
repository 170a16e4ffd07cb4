//! Invalid history files, and files that only cause a warning.

use std::error::Error;

use apportion_placement::{HistoryWarning, ReadHistory, ReadHistoryError, read_history};

use crate::support::{TestResult, sample, written_text};

fn record(kind: &str, fields: &str) -> String {
    format!("{{\"entry\":{{\"org.apache.slider.server.avro.{kind}\":{{{fields}}}}}}}\n")
}

fn header() -> String {
    record("RoleHistoryHeader", r#""version":1,"saved":5,"savedx":"5","savedate":"","roles":2"#)
}

fn footer(count: u64) -> String {
    record("RoleHistoryFooter", &format!("\"count\":{count}"))
}

fn node(role: &str) -> String {
    record("NodeEntryRecord", &format!(r#""host":"n1","role":{role},"active":true,"last_used":0"#))
}

fn read(parts: &[String]) -> Result<ReadHistory, ReadHistoryError> {
    read_history(parts.concat().as_bytes())
}

fn message(parts: &[String]) -> Result<String, Box<dyn Error>> {
    match read(parts) {
        Ok(read) => Err(format!("was read: {read:?}").into()),
        Err(error) => Ok(error.to_string()),
    }
}

#[test]
fn nothing_is_no_history() {
    for nothing in ["", " \n\t\r\n"] {
        assert_eq!(read_history(nothing.as_bytes()), Err(ReadHistoryError::Empty));
    }
}

#[test]
fn a_history_begins_with_a_header() -> TestResult {
    let found = message(&[node("1"), footer(1)])?;
    assert_eq!(found, "record 1 at byte 0 is a NodeEntryRecord: a history begins with a RoleHistoryHeader");
    assert!(message(&[footer(0)])?.contains("RoleHistoryFooter"));
    assert!(
        message(&["{\"entry\":{\"com.example.Preface\":1}}".to_owned(), header(), footer(0)])?
            .contains("Preface")
    );
    assert!(message(&["{\"broken\":true}".to_owned()])?.contains("missing field `entry`"));
    Ok(())
}

#[test]
fn other_versions_are_refused() -> TestResult {
    for version in ["0", "2", "-1", "9223372036854775807"] {
        let header = record("RoleHistoryHeader", &format!(r#""version":{version},"saved":5,"roles":2"#));
        let expected =
            format!("the header, record 1 at byte 0, is of version {version}: only version 1 can be read");
        assert_eq!(message(&[header, footer(0)])?, expected);
    }
    let header = record("RoleHistoryHeader", r#""version":1e99,"saved":5,"roles":2"#);
    assert!(message(&[header])?.contains("expected `version`, the number 1"));
    Ok(())
}

#[test]
fn a_second_header_before_the_footer_is_refused() {
    let second = read(&[header(), node("1"), header(), footer(0)]);
    let byte = header().len() + node("1").len();
    assert_eq!(second, Err(ReadHistoryError::SecondHeader { record: 3, byte }));
}

#[test]
fn a_file_without_its_footer_is_refused() {
    let bytes = header().len() + node("1").len();
    let truncated = Err(ReadHistoryError::Truncated { records: 2, bytes });
    assert_eq!(read(&[header(), node("1")]), truncated);
}

#[test]
fn numbers_out_of_range_are_refused_by_name() -> TestResult {
    let cases = [
        (node("-1"), "integer `-1`, expected a role id, a whole number from 0 to 2147483647"),
        (node("2147483648"), "integer `2147483648`, expected a role id"),
        (node("99999999999999999999999"), "expected a role id"),
        (node("1.5"), "floating point `1.5`, expected a role id"),
        (node("\"1\""), "string \"1\", expected a role id"),
        (record("RoleHistoryFooter", "\"count\":-3"), "integer `-3`, expected `count`"),
        (record("RoleHistoryMapping", "\"rolemap\":{\"echo\":-7}"), "integer `-7`, expected a role id"),
    ];
    for (wrong, expected) in cases {
        let found = message(&[header(), wrong, footer(1)])?;
        let at = format!("record 2 at byte {}: ", header().len());
        assert!(found.starts_with(&at) && found.contains(expected) && found.contains("line 2"), "{found}");
    }
    let header = record("RoleHistoryHeader", r#""version":1,"saved":9223372036854775808,"roles":2"#);
    assert!(message(&[header])?.contains("expected `saved`, milliseconds as a whole number"));
    Ok(())
}

#[test]
fn records_of_another_shape_are_refused() -> TestResult {
    let cases = [
        ("7", "expected a record, which is an object"),
        ("{\"entry\":null}", "expected an entry"),
        ("{\"entry\":{}}", "expected an entry"),
        ("{\"entry\":{\"a.B\":{},\"a.C\":{}}}", "expected an entry"),
        (
            "{\"entry\":{\"org.apache.slider.server.avro.NodeEntryRecord\":{\"host\":\"n\"}}}",
            "missing field `role`",
        ),
        ("{\"entry\":[}", "record 2"),
    ];
    for (wrong, expected) in cases {
        let found = message(&[header(), wrong.to_owned(), footer(0)])?;
        assert!(found.contains(expected), "{wrong}: {found}");
    }
    Ok(())
}

#[test]
fn a_wrong_count_is_only_odd() -> TestResult {
    let odd = read(&[header(), node("1"), node("2"), footer(5)])?;
    assert_eq!(odd.file.entries.len(), 2);
    assert_eq!(odd.warnings, [HistoryWarning::CountDiffers { announced: 5, found: 2 }]);
    Ok(())
}

#[test]
fn unknown_records_are_counted_and_passed_over() -> TestResult {
    let unknown = record("RoleHistoryColours", r#""deep":[{"er":[[[]]]}]"#);
    let other = "{\"entry\":{\"com.example.Other\":null}}".to_owned();
    let odd = read(&[header(), unknown, node("1"), other, footer(1)])?;
    assert_eq!(odd.file.entries.len(), 1);
    let first = "org.apache.slider.server.avro.RoleHistoryColours".to_owned();
    assert_eq!(odd.warnings, [HistoryWarning::UnknownRecords { count: 2, first }]);
    Ok(())
}

#[test]
fn of_two_mappings_the_first_counts() -> TestResult {
    let mapping = |id| record("RoleHistoryMapping", &format!("\"rolemap\":{{\"echo\":{id}}}"));
    let odd = read(&[header(), mapping(1), mapping(2), footer(0)])?;
    assert_eq!(odd.file.mapping.get("echo"), Some(&1));
    assert_eq!(odd.warnings, [HistoryWarning::OneMoreMapping { record: 3 }]);
    Ok(())
}

#[test]
fn trailing_data_is_only_a_warning() -> TestResult {
    let whole = written_text(&sample(7))?;
    let half_a_record = &header()[..40];
    for rest in ["\0\0\0", "garbage", half_a_record, &node("1"), "[]", "{\"entry\":{\"a.B\":1}}"] {
        let odd = read_history(format!("{whole}\n{rest}").as_bytes())?;
        assert_eq!(odd.file, sample(7), "{rest}");
        assert_eq!(odd.warnings, [HistoryWarning::TrailingData { byte: whole.len() + 1 }], "{rest}");
    }
    Ok(())
}

#[test]
fn a_later_history_that_is_wrong_does_not_count() -> TestResult {
    let whole = written_text(&sample(7))?;
    let version = record("RoleHistoryHeader", r#""version":2,"saved":5,"roles":2"#);
    for later in [version, [header(), node("-1"), footer(1)].concat(), header() + "{\"ent"] {
        let odd = read_history(format!("{whole}{later}").as_bytes())?;
        assert_eq!(odd.file, sample(7), "{later}");
        assert!(matches!(odd.warnings.as_slice(), [HistoryWarning::LaterHistory { .. }]), "{later}");
    }
    Ok(())
}
