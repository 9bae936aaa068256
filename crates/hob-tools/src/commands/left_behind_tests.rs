//! Notes about files that a run left behind.

use super::*;
use crate::outcome::succeeded;
use crate::trial::words;
use hob_exec::QuarantinedRepository;

#[test]
fn nothing_is_told_of_nothing() {
    let mut answer = succeeded("x");
    append_left_behind(&mut answer, &LeftBehind::default());
    assert_eq!((words(&answer).as_str(), answer.metadata), ("x", None));
}

#[test]
fn each_finding_has_a_sentence() {
    let mut answer = succeeded("x");
    let found = |renamed: Option<&str>| QuarantinedRepository {
        path: "/w/a/.git".into(),
        renamed: renamed.map(Into::into),
        reason: "core.fsmonitor".to_owned(),
    };
    let left = LeftBehind {
        quarantined: vec![found(Some("/w/a/.git.quarantined")), found(None)],
        created: vec!["/w/.envrc".into()],
        is_incomplete: true,
    };
    append_left_behind(&mut answer, &left);
    let text = words(&answer);
    for part in [
        "core.fsmonitor",
        "renamed to '/w/a/.git.quarantined'",
        "could not be renamed",
        "/w/.envrc",
        "could not be looked through",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let metadata = answer.metadata.expect("is told");
    assert_eq!(metadata["leftBehind"]["created"][0], "/w/.envrc");
}
