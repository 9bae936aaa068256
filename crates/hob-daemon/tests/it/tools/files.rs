//! Tools that change files, through the bus: what a person is shown, what an approval is bound
//! to, and what is undone.

use super::{House, house, run, words};
use hob_wire::ErrorCode;
use hob_wire::rooms::permission::{
    Ask, BY_CANNOT_RUN, PermissionAskParams, PermissionDecision, PermissionQuestion,
    PermissionRuling,
};
use hob_wire::rooms::tool::{
    Describe, Probe, ToolDescribeParams, ToolExecuteParams, ToolProbeResult, ToolUndoParams, Undo,
};
use serde_json::json;

async fn asking(house: &House, params: &ToolExecuteParams) -> PermissionAskParams {
    let name = params.name.clone();
    let describe = ToolDescribeParams { name, wait: false };
    let tool = house.fixture.caller().call::<Describe>(&describe).await;
    PermissionAskParams {
        tool: tool.expect("is there"),
        args: params.args.clone(),
        context: params.context.clone(),
        ceiling: None,
        approved: None,
        channel: None,
        unattended: false,
    }
}

/// The question that a call makes, and the ruling after a yes.
async fn asked(
    house: &House,
    params: &ToolExecuteParams,
) -> (PermissionQuestion, PermissionRuling) {
    let ask = asking(house, params).await;
    let caller = house.fixture.caller();
    let (ruling, question) = tokio::join!(caller.call::<Ask>(&ask), house.say_yes_once());
    (question, ruling.expect("is decided"))
}

fn text(house: &House, name: &str) -> Option<String> {
    std::fs::read_to_string(house.workspace.path().join(name)).ok()
}

fn write(house: &House, call: &str, content: &str) -> ToolExecuteParams {
    house.call(
        call,
        "write",
        json!({ "path": "a.txt", "content": content }),
    )
}

#[tokio::test]
async fn a_person_sees_the_diff_with_nothing_hidden() {
    let house = house();
    let call = write(&house, "c1", "bye\u{1b}[2K\nnew\n");
    let (question, _) = asked(&house, &call).await;
    assert_eq!(question.sentence, "Write \"a.txt\"");
    let preview = question.preview.expect("is shown");
    for part in ["-hello", "+bye\\u{1b}[2K", "+new", "5 bytes"] {
        assert!(preview.contains(part), "{part}: {preview}");
    }
    for (name, args, part) in [
        (
            "remove",
            json!({ "path": "a.txt" }),
            "remove a.txt (5 bytes)",
        ),
        (
            "move",
            json!({ "from": "a.txt", "to": "b.txt" }),
            "a.txt → b.txt (5 bytes)",
        ),
        (
            "edit",
            json!({ "path": "a.txt", "oldText": "ell", "newText": "all" }),
            "+hallo",
        ),
    ] {
        let (question, _) = asked(&house, &house.call(name, name, args)).await;
        let preview = question.preview.expect("is shown");
        assert!(preview.contains(part), "{part}: {preview}");
    }
    assert_eq!(
        text(&house, "a.txt").as_deref(),
        Some("hello"),
        "looking changes nothing"
    );
    house.fixture.close().await;
}

#[tokio::test]
async fn a_file_that_changed_after_the_question_is_not_written() {
    let house = house();
    let mut call = write(&house, "c1", "ours");
    let (first, ruling) = asked(&house, &call).await;
    call.ticket = ruling.ticket;
    std::fs::write(house.workspace.path().join("a.txt"), "theirs").expect("writes");
    let refused = house.execute(&call).await.expect_err("is refused");
    assert_eq!(refused.code, ErrorCode::Forbidden);
    assert_eq!(text(&house, "a.txt").as_deref(), Some("theirs"));
    // The same call asks again, and shows what is there now.
    let (second, ruling) = asked(&house, &write(&house, "c1", "ours")).await;
    assert_ne!(first.digest, second.digest);
    assert!(second.preview.expect("is shown").contains("-theirs"));
    call.ticket = ruling.ticket;
    let done = house.execute(&call).await.expect("runs");
    assert!(!done.is_error, "{}", words(&done));
    assert_eq!(text(&house, "a.txt").as_deref(), Some("ours"));
    house.fixture.close().await;
}

#[tokio::test]
async fn what_would_fail_is_told_to_the_model_without_asking_anyone() {
    let house = house();
    let missing = json!({ "path": "a.txt", "oldText": "nowhere", "newText": "x" });
    let protected = json!({ "path": ".git/hooks/pre-commit", "content": "x" });
    for (name, args, told) in [
        ("edit", missing, "is not in 'a.txt'"),
        ("write", protected, "is protected"),
    ] {
        let mut call = house.call("c1", name, args);
        let ask = asking(&house, &call).await;
        let ruling = house.fixture.caller().call::<Ask>(&ask).await;
        let ruling = ruling.expect("is decided");
        assert_eq!(
            (ruling.decision, ruling.by.as_str()),
            (PermissionDecision::Allow, "rule:no-effect")
        );
        call.ticket = ruling.ticket;
        let answer = house.execute(&call).await.expect("answers");
        assert!(
            answer.is_error && words(&answer).contains(told),
            "{}",
            words(&answer)
        );
    }
    // A ticket for doing nothing does nothing else, either.
    let edit = json!({ "path": "a.txt", "oldText": "nowhere", "newText": "EVIL" });
    let mut call = house.call("c2", "edit", edit);
    let ask = asking(&house, &call).await;
    let ruling = house.fixture.caller().call::<Ask>(&ask).await;
    call.ticket = ruling.expect("is decided").ticket;
    std::fs::write(house.workspace.path().join("a.txt"), "nowhere").expect("writes");
    let refused = house.execute(&call).await.expect_err("is refused");
    assert_eq!(refused.code, ErrorCode::Forbidden);
    assert_eq!(text(&house, "a.txt").as_deref(), Some("nowhere"));
    house.fixture.close().await;
}

/// Nobody is asked about what cannot be done, so its refusal must not tell what lies outside.
#[tokio::test]
async fn a_refusal_tells_nothing_of_what_lies_outside() {
    let house = house();
    let outside = tempfile::tempdir().expect("a folder");
    std::fs::write(outside.path().join("there"), "x").expect("writes");
    let link = house.workspace.path().join("link");
    std::os::unix::fs::symlink(outside.path(), link).expect("links");
    let away = outside.path().display().to_string();
    for (there, missing) in [
        (format!("{away}/there"), format!("{away}/nowhere")),
        ("link/there".to_owned(), "link/nowhere".to_owned()),
        (
            "../../etc/passwd".to_owned(),
            "../../etc/nowhere".to_owned(),
        ),
    ] {
        for name in ["write", "edit", "remove"] {
            let mut told = Vec::new();
            for path in [&there, &missing] {
                let args = match name {
                    "write" => json!({ "path": path, "content": "x" }),
                    "edit" => json!({ "path": path, "oldText": "x", "newText": "y" }),
                    _ => json!({ "path": path }),
                };
                let call = house.call("c1", name, args);
                let ask = asking(&house, &call).await;
                let ruling = house.fixture.caller().call::<Ask>(&ask).await;
                let ruling = ruling.expect("is decided");
                assert_eq!(ruling.by, BY_CANNOT_RUN, "{name} {path}");
                let reason = ruling.reason.expect("is told");
                told.push(reason.replace(path.as_str(), "PATH"));
            }
            assert_eq!(told[0], told[1], "{name} {there}");
        }
    }
    assert!(outside.path().join("there").exists());
    house.fixture.close().await;
}

#[tokio::test]
async fn a_call_that_was_cut_off_is_looked_up() {
    let house = house();
    let call = write(&house, "c1", "ours");
    let probe = async || {
        let caller = house.fixture.caller();
        caller.call::<Probe>(&call).await.expect("answers")
    };
    assert_eq!(probe().await, ToolProbeResult::No);
    let approved = house.approved(call.clone()).await;
    house.execute(&approved).await.expect("runs");
    assert!(matches!(probe().await, ToolProbeResult::Yes { .. }));
    house.fixture.close().await;
}

#[tokio::test]
async fn a_run_that_is_not_known_cannot_be_undone() {
    let house = house();
    let params = ToolUndoParams { run_id: run(9) };
    let refused = house.fixture.caller().call::<Undo>(&params).await;
    assert_eq!(refused.expect_err("is refused").code, ErrorCode::NotFound);
    house.fixture.close().await;
}
