//! The table is read as the tests write it, and a test that went red is never called held.

use super::{
    FaultRow, FaultTest, TestVerdict, read_options, read_outcomes, read_table, render, verdict,
};

const TABLE: &str = r#"
pub(crate) struct Fault { number: u32 }
pub(crate) const FAULTS: &[Fault] = &[
    Fault { number: 7, test: "f07_fsync_fails_once", expects: "no ack" },
    Fault { number: 10, test: "f10_two_daemons", expects: "second refuses" },
];
"#;

const REPORT: &str = r#"<testsuites><testsuite name="hob::it">
<testcase name="faults::disk::f07_fsync_fails_once" classname="hob::it" time="1.2">
  <failure type="test failure">lost</failure>
</testcase>
<testcase name="faults::disk::f10_two_daemons" classname="hob::it" time="0.4">
</testcase>
<testcase name="faults::disk::f11_short" classname="hob::it"/>
</testsuite></testsuites>"#;

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn the_table_of_the_tests_is_read() {
    let faults = read_table(TABLE).unwrap();
    assert_eq!(faults.len(), 2);
    let first = FaultTest {
        number: 7,
        test: "f07_fsync_fails_once".to_owned(),
        expects: "no ack".to_owned(),
    };
    assert_eq!(faults[0], first);
    assert!(read_table("fn a() {}").is_err());
    assert!(read_table("const FAULTS: &[Fault] = &[fault(7)];").is_err());
}

#[test]
fn outcomes_are_read_by_test() {
    let outcomes = read_outcomes(REPORT);
    assert_eq!(
        verdict("f07_fsync_fails_once", &outcomes),
        TestVerdict::Failed
    );
    assert_eq!(verdict("f10_two_daemons", &outcomes), TestVerdict::Held);
    assert_eq!(verdict("f11_short", &outcomes), TestVerdict::Held);
    assert_eq!(verdict("f12_absent", &outcomes), TestVerdict::NotRun);
}

#[test]
fn a_row_shows_its_own_figures() {
    let faults = read_table(TABLE).unwrap();
    let outcomes = read_outcomes(REPORT);
    let reports = [
        "FIGURE 7 false acks 1".to_owned(),
        "FIGURE 10 double writers 0".to_owned(),
        "FIGURE 10 ms 12".to_owned(),
    ];
    let rows: Vec<FaultRow> = faults
        .iter()
        .map(|fault| FaultRow::new(fault, &outcomes, &reports))
        .collect();
    let text = render(&rows);
    assert!(text.contains("FAILED   false acks 1"), "{text}");
    assert!(text.contains("held     double writers 0; ms 12"), "{text}");
}

#[test]
fn what_could_not_be_tried_is_not_called_held() {
    let faults = read_table(TABLE).unwrap();
    let reports = ["NOT RUN 10 needs strace".to_owned()];
    let row = FaultRow::new(&faults[1], &read_outcomes(REPORT), &reports);
    assert_eq!(row.verdict, TestVerdict::NotRun);
    assert_eq!(row.figures, "needs strace");
    let row = FaultRow::new(
        &faults[0],
        &read_outcomes(REPORT),
        &["NOT RUN 7 x".to_owned()],
    );
    assert_eq!(row.verdict, TestVerdict::Failed, "a failure stays one");
}

#[test]
fn options_are_read_and_unknown_faults_refused() {
    let faults = read_table(TABLE).unwrap();
    let options = read_options(&words("--break 7 --kills 1000 10"), &faults).unwrap();
    assert_eq!(options.breaking, [7]);
    assert_eq!(options.kills, Some(1_000));
    assert_eq!(options.only, [10]);
    let all = read_options(&words("--break all"), &faults).unwrap();
    assert_eq!(all.breaking, [7, 10]);
    for wrong in ["--break 8", "--break", "9", "seven", "--kills many"] {
        assert!(read_options(&words(wrong), &faults).is_err(), "{wrong}");
    }
}
