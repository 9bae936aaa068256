//! Endings and the exit codes they mean.

use super::*;
use hob_wire::rooms::agent::{Cost, RunRef};

fn completed(cause: RunEndCause, message: Option<&str>) -> RunCompletedPayload {
    RunCompletedPayload {
        run: RunRef {
            session_key: "ask:1".to_owned(),
            run_id: "0190163d-8694-739b-aea5-966c26f8ad91"
                .parse()
                .expect("an id"),
        },
        response: String::new(),
        success: cause == RunEndCause::Answered,
        cause,
        message: message.map(str::to_owned),
        cost: Cost::default(),
        model: None,
        notes: Vec::new(),
        denied: Vec::new(),
    }
}

fn ended(cause: RunEndCause) -> FollowOutcome {
    FollowOutcome {
        completed: Some(completed(cause, None)),
        ..FollowOutcome::default()
    }
}

fn exit(ending: &FollowOutcome) -> ExitStatus {
    ending
        .result()
        .map_or_else(|failure| failure.exit, |()| ExitStatus::Done)
}

#[test]
fn a_denial_by_the_person_has_its_code_though_the_model_answered() {
    let mut ending = ended(RunEndCause::Answered);
    assert!(ending.attended_result().is_ok());
    if let Some(completed) = &mut ending.completed {
        completed.denied = vec![PermissionDenial {
            call_id: "c1".to_owned(),
            tool: "write".to_owned(),
            by: "owner".to_owned(),
            reason: "no".to_owned(),
            grant: None,
        }];
    }
    assert_eq!(exit(&ending), ExitStatus::Done, "a chat goes on");
    let failure = ending.attended_result().expect_err("it was denied");
    assert_eq!((failure.exit, failure.silent), (ExitStatus::Denied, true));
}

#[test]
fn every_end_has_its_code() {
    assert_eq!(exit(&ended(RunEndCause::Answered)), ExitStatus::Done);
    assert_eq!(exit(&ended(RunEndCause::Denied)), ExitStatus::Denied);
    assert_eq!(exit(&ended(RunEndCause::ModelFailed)), ExitStatus::NoAnswer);
    assert_eq!(exit(&ended(RunEndCause::TimeLimit)), ExitStatus::NoAnswer);
    assert_eq!(exit(&ended(RunEndCause::Aborted)), ExitStatus::NoAnswer);
    let interrupted = FollowOutcome {
        interrupted: true,
        ..ended(RunEndCause::Aborted)
    };
    assert_eq!(exit(&interrupted), ExitStatus::Interrupted);
    let waits = FollowOutcome {
        waits: Some(WaitingQuestion {
            sentence: "It waits.".to_owned(),
            next: "Answer it.".to_owned(),
        }),
        ..FollowOutcome::default()
    };
    assert_eq!(exit(&waits), ExitStatus::Waits);
}

#[test]
fn a_denial_without_a_person_names_what_was_asked_even_when_the_model_went_on() {
    let ending = FollowOutcome {
        denied: vec!["Write notes.txt. (tool write)".to_owned()],
        ..ended(RunEndCause::Answered)
    };
    let failure = ending.result().expect_err("denied");
    assert_eq!(failure.exit, ExitStatus::Denied);
    assert!(
        failure.sentence.contains("Write notes.txt"),
        "{}",
        failure.sentence
    );
}

#[test]
fn a_denial_of_unattended_work_names_the_rule_that_would_allow_it() {
    let denial = |by: &str, path: &str| -> PermissionDenial {
        let grant = json!({
            "tool": "write", "decision": "allow", "scope": "folder", "folder": path,
        });
        let denial = json!({
            "callId": "c1", "tool": "write", "by": by, "reason": "nobody can be asked",
            "grant": grant,
        });
        serde_json::from_value(denial).expect("a denial")
    };
    let mut ending = ended(RunEndCause::Answered);
    let completed = ending.completed.as_mut().expect("it ended");
    completed.denied = vec![
        denial("unattended", "/w/a b"),
        denial("unattended", "/w/a b"),
        denial("rule:1", "/elsewhere"),
    ];
    let call = "write path=notes.txt".to_owned();
    ending.refused.insert("c1".to_owned(), call);
    let failure = ending.result().expect_err("denied");
    assert_eq!(failure.exit, ExitStatus::Denied);
    let text = failure.text();
    let words = "allows it: write path=notes.txt (tool write) (and 1 more)\n";
    assert!(text.contains(words), "{text}");
    let lines = text.lines().filter(|line| line.contains("permission add"));
    let lines: Vec<&str> = lines.map(str::trim).collect();
    let line = "hob permission add --tool write --decision allow --scope folder --folder '/w/a b'";
    assert_eq!(lines, [line]);
    let details = &failure.json()["error"]["details"]["denied"];
    assert_eq!(details[0]["grant"]["folder"], "/w/a b");
    assert_eq!(details.as_array().map(Vec::len), Some(2));
}

#[test]
fn a_failed_model_speaks_for_itself() {
    let said = completed(RunEndCause::ModelFailed, Some("sim/small refused the key"));
    let failure = failure(&said);
    assert_eq!(failure.sentence, "Sim/small refused the key.");
    assert!(failure.next.expect("a step").contains("hob model list"));
}
