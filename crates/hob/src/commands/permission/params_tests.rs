//! Real paths, near names, and arguments as their tools declare them.

use super::*;
use crate::commands::value_parsers::name_value_pair;
use hob_wire::rooms::permission::{RuleDecision, RuleTerms};
use hob_wire::work::{Idempotency, Tier};
use serde_json::json;

fn spec(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        aliases: vec![format!("{name}_file")],
        description: String::new(),
        parameters: json!({
            "properties": { "path": { "type": "string" }, "deep": { "type": "boolean" } },
        }),
        tier: Tier::Write,
        effect: Idempotency::Pure,
        needs: Vec::new(),
        approval: String::new(),
        timeout_ms: None,
    }
}

fn terms(tool: &str, argument: Option<&str>) -> PermissionAddParams {
    let arguments = argument.map(|name| (name.to_owned(), "x".to_owned()));
    PermissionAddParams::from(RuleTerms {
        matches: arguments.into_iter().collect(),
        ..RuleTerms::new(tool, RuleDecision::Allow, AnswerReach::Always)
    })
}

#[test]
fn an_unknown_tool_or_argument_is_a_warning_with_near_names() {
    let known = [spec("write"), spec("read")];
    for fine in ["write", "write_file", "wr*", "*"] {
        assert_eq!(warnings(&known, &terms(fine, None)), [""; 0], "{fine}");
    }
    let text = warnings(&known, &terms("wirte", None)).join("");
    assert!(text.contains("no tool is called 'wirte'"), "{text}");
    assert!(text.contains("Did you mean write?"), "{text}");
    let far = warnings(&known, &terms("garden_\u{1b}[2J", None)).join("");
    assert!(
        !far.contains("Did you mean") && !far.contains('\u{1b}'),
        "{far}"
    );
    assert_eq!(warnings(&known, &terms("write", Some("path"))), [""; 0]);
    let text = warnings(&known, &terms("write", Some("pth"))).join("");
    assert!(
        text.contains("no argument 'pth'") && text.contains("path, deep"),
        "{text}"
    );
    assert_eq!(
        warnings(&[], &terms("wirte", None)),
        [""; 0],
        "nobody can say"
    );
}

#[test]
fn what_does_not_exist_is_named_below_what_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let real = folder.path().canonicalize().expect("it is there");
    std::os::unix::fs::symlink(&real, real.join("link")).expect("links");
    let (there, missing) = split_existing(&real.join("link/a/b")).expect("found");
    assert_eq!((there, missing), (real.clone(), PathBuf::from("a/b")));
    let (there, missing) = split_existing(&real.join("link")).expect("found");
    assert_eq!((there, missing), (real, PathBuf::new()));
}

#[test]
fn arguments_are_read_as_their_tool_declares_them() {
    let read = |given: &[&str]| {
        let given = given.iter().map(|text| name_value_pair(text));
        let given: Result<Vec<_>, _> = given.collect();
        arguments(&[spec("write")], "write", given.expect("pairs"))
    };
    let args = read(&["path=1=2", "deep=true", "other=3"]);
    let expected = json!({ "path": "1=2", "deep": true, "other": "3" });
    assert_eq!(args.expect("they fit"), expected);
    let wrong = read(&["deep=perhaps"]).expect_err("no boolean");
    assert!(
        wrong.sentence.contains("must be of type boolean"),
        "{}",
        wrong.sentence
    );
    let twice = read(&["path=1", "path=2"]).expect_err("twice");
    assert!(
        twice.sentence.contains("more than once"),
        "{}",
        twice.sentence
    );
}
