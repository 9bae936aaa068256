//! Which words of a change are marked.

use super::*;
use proptest::prelude::*;

#[test]
fn the_changed_words_are_marked() {
    let text = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n-let a = 1;\n+let a = 22;\n+all new";
    let rows = rows(text, 80);
    let marked: Vec<&str> = rows
        .iter()
        .flat_map(|row| &row.spans)
        .filter(|span| matches!(span.tone.role, Role::AddedWord | Role::RemovedWord))
        .map(|span| span.text.as_str())
        .collect();
    assert_eq!(marked, ["1", "22"]);
    let lines: Vec<String> = rows.iter().map(Row::text).collect();
    assert_eq!(lines.join("\n"), text);
    assert!(is_diff(text) && !is_diff("- a list\n+ of signs"));
}

proptest! {
    #[test]
    fn nothing_is_lost(text in "[-+@ a-z漢\n]{0,120}") {
        let joined: String = rows(&text, 200).iter().map(|row| row.text().replace(' ', "")).collect();
        prop_assert_eq!(joined, text.replace(['\n', ' '], ""));
    }
}
