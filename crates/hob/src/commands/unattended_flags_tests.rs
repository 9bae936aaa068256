//! Grants as people write them.

use super::*;
use crate::render::work_terms::grant_words;

fn read(text: &str) -> Result<ToolGrant, CommandFailure> {
    parse_grant(text, Some("/work"), &|path| Ok(format!("/real/{path}")))
}

#[test]
fn a_grant_is_a_tool_and_what_narrows_it() {
    let shown = |text: &str| grant_words(&read(text).expect("a grant").into());
    assert_eq!(
        shown("exec command=cargo test *"),
        "exec command='cargo test *'"
    );
    assert_eq!(
        shown("exec command=env A=1 make"),
        "exec command='env A=1 make'"
    );
    assert_eq!(
        shown("web_fetch host=*.example.org"),
        "web_fetch at *.example.org"
    );
    assert_eq!(shown("write path=src"), "write below /real/src");
    assert_eq!(shown("sessions_*"), "sessions_*");
    let json = r#"{"tool":"exec","match":{"command":"make *","network":"true"}}"#;
    assert_eq!(shown(json), "exec command='make *' network=true");
}

#[test]
fn a_tool_that_changes_files_reaches_the_workspace_only() {
    for tool in ["write", "edit", "move", "remove"] {
        assert_eq!(read(tool).expect("a grant").path.as_deref(), Some("/work"));
    }
    assert_eq!(read("exec").expect("a grant").path, None);
    assert_eq!(
        read("write path=/").expect("a grant").path.as_deref(),
        Some("/real//")
    );
}

#[test]
fn what_is_no_grant_is_refused_with_an_example() {
    for wrong in [
        "",
        "command=x",
        "exec cargo test",
        "exec =x",
        r#"{"tol":"exec"}"#,
    ] {
        let failure = read(wrong).expect_err(wrong);
        assert!(failure.sentence.starts_with("--allow"), "{failure:?}");
        assert!(
            failure
                .next
                .is_some_and(|next| next.contains("--allow write"))
        );
    }
}
