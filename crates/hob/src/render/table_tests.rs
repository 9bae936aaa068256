//! Tables on narrow screens.

use super::*;

fn screen(columns: usize) -> ScreenStyle {
    ScreenStyle {
        width: Some(columns),
        ..ScreenStyle::plain(0)
    }
}

fn table() -> TextTable {
    let mut table = TextTable::new()
        .column("NAME")
        .column("STATE")
        .column("MODEL")
        .lesser()
        .number("COST")
        .lesser()
        .column("TASK");
    table.row(
        [
            "tidy",
            "running",
            "anthropic/claude-opus",
            "$0.0012",
            "Sort what lies in the inbox",
        ]
        .map(str::to_owned)
        .to_vec(),
    );
    table
}

#[test]
fn a_wide_screen_has_every_column() {
    let lines = table().lines(&screen(80));
    assert_eq!(
        lines,
        [
            "NAME  STATE    MODEL                     COST  TASK",
            "tidy  running  anthropic/claude-opus  $0.0012  Sort what lies in the inbox",
        ]
    );
}

#[test]
fn forty_columns_keep_what_matters() {
    let lines = table().lines(&screen(40));
    assert_eq!(lines[0], "NAME  STATE    TASK");
    assert_eq!(lines[1], "tidy  running  Sort what lies in the in…");
    assert!(lines.iter().all(|line| width(line) <= 40), "{lines:?}");
}

#[test]
fn without_lesser_columns_the_last_ones_go() {
    let mut table = TextTable::new().number("ONE").number("TWO").number("THREE");
    table.row(["111111", "222222", "333333"].map(str::to_owned).to_vec());
    assert_eq!(
        table.lines(&screen(15)),
        ["   ONE     TWO", "111111  222222"]
    );
    assert_eq!(table.lines(&screen(3)), ["   ONE", "111111"]);
}
