use super::*;

fn year(interrupted_ms: Option<u64>) -> YearRecord {
    let restart =
        Restart { could_return: 10, returned: 9, full_strength_ms: Some(5_000), ..Restart::default() };
    let interrupted = interrupted_ms.map(Interruption::Virtual);
    YearRecord {
        interrupted,
        restarts: vec![restart],
        live: vec![(0, 5), (3 * 86_400_000, 6)],
        widened: 1,
        used_part: 0.6,
        ..YearRecord::default()
    }
}

fn report(years: [YearRecord; 3]) -> ServicesReport {
    ServicesReport::new(YearShape::default(), 1, years)
}

#[test]
fn an_interrupted_report_says_how_far_it_came_and_what_was_not_begun() {
    let report = report([year(Some(149 * 86_400_000)), year(Some(86_400_000)), YearRecord::not_begun()]);
    let text = to_services_text(&report);
    assert!(text.starts_with("interrupted at 149.0 days of virtual time\n"), "{text}");
    assert!(text.ends_with("\n          strict: not begun"), "{text}");
    assert!(text.contains("1 of 1 restart; 1 request widened; 0 anti-affinity violations"), "{text}");
    let page = to_services_html(&report).unwrap();
    assert!(page.contains("Interrupted at 149.0 days of virtual time: "), "{page}");
    assert!(page.contains("<td>24.0 h of virtual time<td>not begun"), "{page}");
    let (_, legend) = page.split_once("Region servers").unwrap();
    assert!(!legend.split_once("</section>").unwrap().0.contains("strict"), "a line without data");
    let runs = serde_json::to_value(report.to_json()).unwrap();
    assert!(runs["runs"][2]["used_part"].is_null() && runs["interrupted_at_s"] == 149.0 * 86_400.0, "{runs}");
}

#[test]
fn a_whole_report_has_nothing_of_interruptions() {
    let report = report([year(None), year(None), year(None)]);
    let page = to_services_html(&report).unwrap();
    assert!(!page.contains("nterrupted") && !to_services_text(&report).contains("interrupted"), "{page}");
}

#[test]
fn a_signal_between_two_years_is_told_with_the_time_of_the_first() {
    let report = report([year(None), year(Some(7)), YearRecord::not_begun()]);
    assert_eq!(report.interruption(), Some(Interruption::Virtual(365 * 86_400_000)));
}
