//! Notes about new files of a run that would run by themselves, for the model and the person. Pure.

use hob_exec::LeftBehind;
use hob_wire::rooms::tool::ToolExecuteResult;
use serde_json::json;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Appends the notes to the text of an answer, and the paths to its metadata.
pub(crate) fn append_left_behind(answer: &mut ToolExecuteResult, left: &LeftBehind) {
    let text = left_behind_note(left);
    if text.is_empty() {
        return;
    }
    crate::outcome::append(answer, &text);
    let shown = |path: &PathBuf| path.display().to_string();
    let quarantined = left.quarantined.iter().map(|found| {
        json!({
            "path": shown(&found.path),
            "renamed": found.renamed.as_ref().map(shown),
            "reason": found.reason,
        })
    });
    let metadata = answer.metadata.get_or_insert_with(|| json!({}));
    metadata["leftBehind"] = json!({
        "quarantined": quarantined.collect::<Vec<_>>(),
        "created": left.created.iter().map(shown).collect::<Vec<_>>(),
        "incomplete": left.is_incomplete,
    });
}

/// The notes; empty if nothing was left behind.
pub fn left_behind_note(left: &LeftBehind) -> String {
    let mut text = String::new();
    for found in &left.quarantined {
        let (path, reason) = (found.path.display(), &found.reason);
        // Writing to a string cannot fail.
        let _ = match &found.renamed {
            Some(renamed) => writeln!(
                text,
                "(Tell the person: the git repository '{path}' would run a program by itself ({reason}). It was renamed to '{}'; look at it before using it.)",
                renamed.display()
            ),
            None => writeln!(
                text,
                "(Tell the person: the git repository '{path}' would run a program by itself ({reason}) and could not be renamed; do not use git there before looking at it.)"
            ),
        };
    }
    if !left.created.is_empty() {
        let shown = left.created.iter().map(|path| path.display().to_string());
        let shown = shown.collect::<Vec<_>>().join(", ");
        let _ = writeln!(
            text,
            "(Tell the person: new files that an editor, a shell, git or a build server may run: {shown}.)"
        );
    }
    if left.is_incomplete {
        text.push_str("(Tell the person: the workspace could not be looked through completely after the command. It may hold a git repository that runs programs; look before using git in new folders.)\n");
    }
    text
}

#[cfg(test)]
#[path = "left_behind_tests.rs"]
mod tests;
