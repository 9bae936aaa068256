//! Damage and failed reads are told apart.

use super::{CheckHistory, CheckVerdict, StructureFinding, classify_rows, is_read_failure};
use std::path::Path;

fn structure(row: &str) -> StructureFinding {
    classify_rows(&[row.to_owned()], Path::new("/h/hob.db"))
}

#[test]
fn a_page_that_could_not_be_read_is_not_damage() {
    // 266 is a failed read, 522 a short one, 8458 a failing file system; 11 is damage.
    for code in [266, 522, 8_458] {
        let row = format!("Tree 5 page 9: unable to get the page. error code={code}");
        assert!(is_read_failure(&row), "{row}");
        assert!(matches!(structure(&row), StructureFinding::Unreadable(_)));
    }
    for row in [
        "Tree 5 page 9: unable to get the page. error code=11",
        "Tree 5 page 9: btreeInitPage() returns error code 11",
        "Page 7: never used",
    ] {
        assert!(
            matches!(structure(row), StructureFinding::Damaged(_)),
            "{row}"
        );
    }
    assert_eq!(structure("ok"), StructureFinding::Sound);
}

#[test]
fn a_single_bad_look_only_asks_for_another() {
    let damaged = || structure("Page 7: never used");
    let unreadable = || structure("unable to get the page. error code=266");
    let judged = |history: Vec<StructureFinding>| {
        let mut so_far = CheckHistory::default();
        let judged = history.into_iter().map(|found| so_far.assess(found));
        judged.last().unwrap()
    };
    assert_eq!(judged(vec![damaged()]), CheckVerdict::CheckAgain);
    assert_eq!(judged(vec![unreadable()]), CheckVerdict::CheckAgain);
    for bad in [damaged(), unreadable()] {
        assert_eq!(
            judged(vec![bad, StructureFinding::Sound]),
            CheckVerdict::Sound
        );
    }
    let twice = judged(vec![damaged(), damaged()]);
    assert!(matches!(twice, CheckVerdict::Damaged(_)), "{twice:?}");
    let twice = judged(vec![unreadable(), unreadable()]);
    assert!(matches!(twice, CheckVerdict::Unreadable(_)), "{twice:?}");
    // A disk that fails to read may show anything once.
    assert_eq!(
        judged(vec![unreadable(), unreadable(), damaged()]),
        CheckVerdict::CheckAgain
    );
    // A lock says nothing either way.
    let hindered = || StructureFinding::Hindered("busy".to_owned());
    assert_eq!(
        judged(vec![hindered(), hindered()]),
        CheckVerdict::CheckLater
    );
    let twice = judged(vec![damaged(), hindered(), damaged()]);
    assert!(matches!(twice, CheckVerdict::Damaged(_)), "{twice:?}");
    let settled = judged(vec![unreadable(), unreadable(), damaged(), damaged()]);
    assert!(matches!(settled, CheckVerdict::Damaged(_)), "{settled:?}");
}
