//! The contents of a digest, and the ways to an approved call.

use super::*;
use hob_wire::id::RunId;

fn work() -> PreparedCall {
    PreparedCall {
        tool: "write".to_owned(),
        fingerprint: "f".to_owned(),
        args: json!({ "path": "a", "text": "b" }),
        context: ToolContext {
            session_key: Some("chat:main".to_owned()),
            call_id: Some("c1".to_owned()),
            workspace: Some("/home/me".to_owned()),
            ..ToolContext::default()
        },
        state: None,
    }
}

fn run() -> RunId {
    let id = "00000000-0000-7000-8000-000000000001".parse();
    id.expect("is an id")
}

#[test]
fn the_order_of_keys_does_not_matter() {
    let mut other = work();
    other.args = serde_json::from_str(r#"{ "text": "b", "path": "a" }"#).expect("is JSON");
    assert_eq!(work().digest(), other.digest());
    assert!(Approved::from_ticket(other, &work().digest()).is_some());
}

#[test]
fn any_difference_is_another_call() {
    let changes: [fn(&mut PreparedCall); 8] = [
        |work| work.tool = "writE".to_owned(),
        |work| work.fingerprint = "g".to_owned(),
        |work| work.args["path"] = json!("a/"),
        |work| work.args["mode"] = json!(null),
        |work| work.context.workspace = Some("/home/you".to_owned()),
        |work| work.context.call_id = Some("c2".to_owned()),
        |work| work.context.run_id = Some(run()),
        |work| work.state = Some("seen".to_owned()),
    ];
    let digest = work().digest();
    for (index, change) in changes.iter().enumerate() {
        let mut other = work();
        change(&mut other);
        assert_ne!(other.digest(), digest, "change {index}");
        assert!(
            Approved::from_ticket(other, &digest).is_none(),
            "change {index}"
        );
    }
}

#[test]
fn numbers_keep_their_spelling() {
    let digest = |text: &str| {
        PreparedCall {
            args: serde_json::from_str(text).expect("is JSON"),
            ..work()
        }
        .digest()
    };
    assert_ne!(digest("[1]"), digest("[1.0]"));
    assert_ne!(digest("[1]"), digest("[\"1\"]"));
    assert_ne!(digest("[[1],2]"), digest("[[1,2]]"));
}

#[test]
fn only_a_person_acts_without_a_ticket() {
    assert!(Approved::from_person(work(), true).is_some());
    assert!(Approved::from_person(work(), false).is_none());
    let mut of_run = work();
    of_run.context.run_id = Some(run());
    assert!(Approved::from_person(of_run, true).is_none());
}
