//! Outcomes of unattended work, in tables.

use super::{CallOutcome, EndedCall, WorkOwner, allow_command, is_unattended_key, summarize_calls};
use hob_wire::schedule::{ToolGrantView, WorkOutcome};
use std::collections::BTreeMap;

const DONE: CallOutcome<'static> = CallOutcome::Done;
const FAILED: CallOutcome<'static> = CallOutcome::Failed("exit code 1\nand more");

fn denied(grant: Option<&ToolGrantView>) -> CallOutcome<'_> {
    CallOutcome::Denied {
        by: "unattended",
        reason: "Nobody is there.",
        grant,
    }
}

fn calls<'c>(fates: &[(u32, CallOutcome<'c>)]) -> Vec<EndedCall<'c>> {
    let call = |(step, fate): &(u32, CallOutcome<'c>)| EndedCall {
        step: *step,
        tool: "exec",
        outcome: *fate,
    };
    fates.iter().map(call).collect()
}

fn grant(tool: &str) -> ToolGrantView {
    ToolGrantView {
        tool: tool.to_owned(),
        matches: BTreeMap::new(),
        path: None,
        host: None,
    }
}

/// The step and fate of each call, and what is told of them.
type Row<'a> = (&'a [(u32, CallOutcome<'a>)], WorkOutcome, u32, u32);

#[test]
fn a_denial_is_told_and_a_failure_only_where_it_was_the_last_word() {
    use WorkOutcome::{Ran, RanWithDenials, RanWithFailures};
    let no = denied(None);
    let table: [Row<'_>; 9] = [
        (&[], Ran, 0, 0),
        (&[(1, DONE)], Ran, 0, 0),
        (&[(1, no)], RanWithDenials, 1, 0),
        (&[(1, no), (2, DONE)], RanWithDenials, 1, 0),
        // A search that found nothing, and the work went on.
        (&[(1, FAILED), (2, DONE)], Ran, 0, 1),
        (&[(1, FAILED)], RanWithFailures, 0, 1),
        (&[(1, DONE), (2, FAILED)], RanWithFailures, 0, 1),
        // Calls of one step have no order among them.
        (&[(1, FAILED), (1, DONE)], RanWithFailures, 0, 1),
        (&[(1, no), (2, FAILED)], RanWithDenials, 1, 1),
    ];
    for (own, outcome, denied, failed) in table {
        let told = summarize_calls(WorkOwner::Job("tidy"), &calls(own), &[]);
        assert_eq!(
            (told.outcome, told.denied, told.failed),
            (outcome, denied, failed),
            "{own:?}"
        );
        assert_eq!(told.note.is_none(), outcome == Ran, "{own:?}");
    }
}

#[test]
fn what_was_denied_to_a_sub_agent_counts_and_its_failures_are_its_own() {
    let owner = WorkOwner::Loop("build");
    let below = summarize_calls(owner, &calls(&[(1, DONE)]), &calls(&[(9, denied(None))]));
    assert_eq!(below.outcome, WorkOutcome::RanWithDenials);
    let failed = summarize_calls(owner, &calls(&[(1, DONE)]), &calls(&[(9, FAILED)]));
    assert_eq!((failed.outcome, failed.failed), (WorkOutcome::Ran, 1));
}

#[test]
fn the_sentence_names_the_first_denied_tool_and_what_would_allow_it() {
    let mut exec = grant("exec");
    exec.matches = BTreeMap::from([("command".to_owned(), "cargo test".to_owned())]);
    let fates = [(1, denied(Some(&exec))), (2, denied(None))];
    let told = summarize_calls(WorkOwner::Job("tidy"), &calls(&fates), &[]);
    assert_eq!(
        told.note.as_deref(),
        Some(
            "Denied: exec (and 1 more); nobody can be asked, and no rule allows it. Allow it: hob cron update tidy --allow 'exec command=cargo test'"
        )
    );
    let by_rule = CallOutcome::Denied {
        by: "rule",
        reason: "A stored rule denies it.\nMore.",
        grant: None,
    };
    let told = summarize_calls(WorkOwner::Loop("build"), &calls(&[(1, by_rule)]), &[]);
    let note = told.note.as_deref();
    assert_eq!(note, Some("Denied: exec; A stored rule denies it."));
    let told = summarize_calls(WorkOwner::Loop("build"), &calls(&[(1, FAILED)]), &[]);
    let note = told.note.as_deref();
    assert_eq!(note, Some("Its last call failed: exec: exit code 1"));
}

#[test]
fn the_line_that_allows_it_can_be_pasted() {
    let (job, round) = (WorkOwner::Job("a"), WorkOwner::Loop("a"));
    assert_eq!(
        allow_command(round, &grant("write")),
        "hob loop update a --allow write"
    );
    let mut quoted = grant("exec");
    quoted.matches = BTreeMap::from([("command".to_owned(), "echo 'x'".to_owned())]);
    assert_eq!(
        allow_command(job, &quoted),
        r"hob cron update a --allow 'exec command=echo '\''x'\'''"
    );
    let mut two = grant("exec");
    two.matches = BTreeMap::from([("command".to_owned(), "ls".to_owned())]);
    two.host = Some("example.org".to_owned());
    assert_eq!(
        allow_command(job, &two),
        r#"hob cron update a --allow '{"tool":"exec","match":{"command":"ls"},"host":"example.org"}'"#
    );
    let mut lines = grant("exec");
    lines.matches = BTreeMap::from([("command".to_owned(), "a\nb".to_owned())]);
    assert_eq!(
        allow_command(job, &lines),
        r#"hob cron update a --allow '{"tool":"exec","match":{"command":"a\nb"}}'"#
    );
    assert_eq!(
        allow_command(WorkOwner::Heartbeat("heartbeat"), &quoted),
        r"hob permission add --tool exec --match='command=echo '\''x'\''' --decision=allow --scope=always --sessions='cron:heartbeat:*' --kind=cron"
    );
}

#[test]
fn keys_of_unattended_work_are_known() {
    for key in [
        "cron:a:2026",
        "loop:a:1",
        "webhook:a:1",
        "loop:a:1:subagent:x",
    ] {
        assert!(is_unattended_key(key), "{key}");
    }
    for key in ["chat:main", "cron", "loops:a", "", "chat:cron:a"] {
        assert!(!is_unattended_key(key), "{key}");
    }
}
