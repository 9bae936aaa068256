//! Whose memory is meant, and how it grows.

use super::*;
use crate::trial::TestWorkspace;
use hob_wire::rooms::loops::LoopMemory;

#[test]
fn the_session_says_whose_memory_it_is_and_the_model_does_not() {
    let trial = TestWorkspace::new();
    let mut work = trial.work("loop_memory", json!({ "action": "show" }));
    for (session, name) in [
        (Some("loop:build:7"), Some("build")),
        (Some("loop:build:7:subagent:x"), Some("build")),
        (Some("chat:main"), None),
        (Some("loop"), None),
        (None, None),
    ] {
        work.context.session_key = session.map(str::to_owned);
        let found = memory_of_session(&work).ok().map(|params| params.name);
        assert_eq!(found.as_deref(), name, "{session:?}");
    }
}

#[test]
fn what_is_appended_stands_on_its_own_line_and_is_bounded() {
    let known = |text: &str| LoopPersistentResult {
        memory: LoopMemory {
            text: text.to_owned(),
            ..LoopMemory::default()
        },
        earlier: Vec::new(),
    };
    assert_eq!(appended(&known(""), "a").ok().as_deref(), Some("a"));
    assert_eq!(appended(&known("a"), "b").ok().as_deref(), Some("a\nb"));
    assert_eq!(appended(&known("a\n"), "b").ok().as_deref(), Some("a\nb"));
    let full = "x".repeat(LOOP_TEXT_BYTES_MAX);
    assert!(appended(&known(&full), "b").is_err());
}
