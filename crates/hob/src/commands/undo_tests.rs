//! The output of an undo.

use super::lines;
use hob_wire::rooms::tool::{ToolUndoResult, UndoneChange};

#[test]
fn what_came_back_and_what_did_not() {
    let change = |path: &str, what: &str| UndoneChange {
        workspace: "/w".to_owned(),
        path: path.to_owned(),
        what: what.to_owned(),
    };
    let undone = ToolUndoResult {
        restored: vec![change("a.txt", "restored"), change("b\u{1b}[2K", "removed")],
        kept: vec![change(
            "c",
            "'c' was changed after the run; it is left as it is.",
        )],
        notes: Vec::new(),
    };
    assert_eq!(
        lines(&undone),
        [
            "restored   /w/a.txt",
            "removed    /w/b\\u{1b}[2K",
            "left: 'c' was changed after the run; it is left as it is.",
        ]
    );
}
