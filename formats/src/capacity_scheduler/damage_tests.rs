//! Broken, hostile and random files.

use proptest::collection::vec;
use proptest::prelude::*;

use super::tests::{file, import};
use super::*;
use crate::damage::damage;

#[track_caller]
fn refused(text: &str, message: &str) {
    assert_eq!(import(text).expect_err(text).to_string(), format!("cs.xml:{message}"), "{text}");
}

fn whole() -> String {
    file(&[
        ("root.queues", "a,b"),
        ("root.a.capacity", "[memory=4Gi,vcores=2]"),
        ("root.b.capacity", "[memory=1024]"),
        ("root.b.maximum-capacity", "-1"),
        ("root.a.user-limit-factor", "1.5"),
        ("root.a.ordering-policy", "fair"),
        ("root.a.acl_submit_applications", "x"),
        ("node-locality-delay", "40"),
    ])
}

#[test]
fn entities_are_refused() {
    let bomb = "<?xml version=\"1.0\"?>
<!DOCTYPE lolz [<!ENTITY lol \"lol\"><!ENTITY lol1 \"&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;\">]>
<configuration><property><name>&lol1;</name></property></configuration>";
    refused(bomb, "2:1: a document type is refused: entities are not expanded");
    refused(
        "<configuration><property><name>&lol;</name></property></configuration>",
        "1:32: `&lol;` is refused: entities are not expanded",
    );
    let text = whole().replace("fair", "&#x66;a&#105;r").replace(">x<", ">&lt;&amp;&gt;<![CDATA[<x>]]><");
    let imported = import(&text).unwrap();
    assert_eq!(imported.config.root, import(&whole()).unwrap().config.root);
    assert_eq!(imported.not_carried_over[0].value, "<&><x>");
}

#[test]
fn what_is_not_xml_is_refused_where_it_breaks() {
    for (text, place) in [
        ("", "1:1: the file has no <configuration>"),
        ("\u{feff}  hello", "1:3: unexpected text `hello`"),
        ("<configuration>\n <property", "2:2: not XML: syntax error: tag not closed"),
        (
            "<configuration>\n</configuratio>",
            "2:1: not XML: ill-formed document: expected `</configuration>`",
        ),
        ("<configuration>\n<!-- ", "2:1: not XML: syntax error: comment not closed"),
        ("<configuration>\n  <property>\n", "2:3: the file ends inside the element that starts here"),
        ("<configuration/><configuration/>", "1:17: unexpected element `configuration`"),
        ("<konfiguration/>", "1:1: unexpected element `konfiguration`; did you mean `configuration`?"),
        ("<configuration>\nx", "2:1: unexpected text `x`"),
        ("<configuration><propertie/>", "1:16: unexpected element `propertie`; did you mean `property`?"),
        ("<configuration><property><nam/>", "1:26: unexpected element `nam`; did you mean `name`?"),
        ("<configuration><property/>", "1:16: this property has no <name>"),
        ("<configuration><property><name/><name/>", "1:33: this property already has a <name>"),
        ("<configuration><property a a/>", "1:16: not XML: "),
        ("<configuration><xi:include href='x'/>", "1:16: including other files is not supported"),
        ("<configuration><property><name>&#0;", "1:32: `&#0;` is refused"),
    ] {
        let error = import(text).expect_err(text).to_string();
        assert!(error.starts_with(&format!("cs.xml:{place}")), "{text:?}: {error}");
    }
}

#[test]
fn places_are_right_in_files_of_other_systems() {
    let text = "\u{feff}<configuration>\r\n<property>\r\n<name>\r\n\r\n\r\n é</name><value/></property></configuration>";
    refused(text, "6:2: unknown key `é`");
}

#[test]
fn hostile_sizes_are_refused() {
    let nested = format!("<configuration>{}", "<configuration>".repeat(100_000));
    refused(&nested, "1:241: elements are nested deeper than 16");
    let long = format!("<configuration><property><name>{}</name></property>", "x".repeat(1_000_000));
    refused(&long, "1:32: a key has at most 1024 bytes");
}

#[test]
fn every_truncation_is_refused() {
    let whole = whole();
    let end = whole.find("</configuration>").unwrap() + "</configuration>".len();
    assert!(import(&whole[..end]).is_ok());
    for length in 0..end {
        assert!(import(&whole[..length]).is_err(), "{}", &whole[..length]);
    }
}

/// Words of the format, so that broken files still get past the first checks.
fn properties() -> impl Strategy<Value = String> {
    let names = prop::sample::select(vec![
        "root.queues",
        "root.a.queues",
        "root.a.capacity",
        "root.b.capacity",
        "root.a.maximum-capacity",
        "root.a.user-limit-factor",
        "root.a.ordering-policy",
        "root.allow-zero-capacity-sum",
        "root.a.a.capacity",
        "root.a.state",
        "root.a.maximum-applications",
        "maximum-applications",
        "node-locality-delay",
        "rack-locality-additional-delay",
        "user-limit-factor",
        "legacy-queue-mode.enabled",
        "root.a.auto-create-child-queue.enabled",
        "root.c.capacity",
        "root.a.disable_preemption",
        "root.a.a.disable_preemption",
        "yarn.resourcemanager.scheduler.monitor.enable",
        "yarn.resourcemanager.monitor.capacity.preemption.total_preemption_per_round",
        "root.",
        "",
    ]);
    let values = prop::sample::select(vec![
        "a",
        "a,b",
        "100",
        "50",
        "0",
        "33.33333333",
        "-1",
        "3w",
        "0w",
        "[memory=1024,vcores=2]",
        "[memory=9P]",
        "true",
        "false",
        "fair",
        "",
        "${x}",
        "4294967295",
        "[",
        "é",
    ]);
    vec((names, values), 0..12).prop_map(|properties| file(&properties))
}

proptest! {
    #[test]
    fn no_bytes_make_the_importer_panic(data in vec(any::<u8>(), 0..200)) {
        fuzz_capacity_scheduler_xml(&data);
    }

    #[test]
    fn no_properties_make_the_importer_panic(text in properties()) {
        fuzz_capacity_scheduler_xml(text.as_bytes());
    }

    #[test]
    fn no_damage_makes_the_importer_panic(damage in damage()) {
        damage.read_with(whole(), fuzz_capacity_scheduler_xml);
    }
}
