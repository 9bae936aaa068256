//! Questions about calls as a person sees them, on screens of several sizes.

use super::*;
use hob_wire::rooms::tool::Tier;
use serde_json::json;

const NOW: u64 = 1_794_778_625_000; // 2026-11-15 21:37:05 UTC

fn offer(scope: &str, fields: &serde_json::Value) -> RuleTerms {
    let mut whole = json!({ "tool": "write", "decision": "allow", "scope": scope });
    for (name, value) in fields.as_object().expect("an object") {
        whole[name] = value.clone();
    }
    serde_json::from_value(whole).expect("terms")
}

fn question(preview: &str) -> PermissionQuestion {
    let run = "0190163d-8694-739b-aea5-966c26f8ad91";
    PermissionQuestion {
        id: "q1".to_owned(),
        session_key: "chat:main".to_owned(),
        run_id: run.parse().expect("an id"),
        call_id: "c1".to_owned(),
        tool: "write".to_owned(),
        args: json!({ "path": "notes.txt", "content": "new\n" }),
        tier: Tier::Write,
        sentence: "Write \"notes.txt\"".to_owned(),
        offers: vec![
            offer("run", &json!({ "path": "/home/me/app", "runId": run })),
            offer(
                "session",
                &json!({ "path": "/home/me/app", "sessionKey": "chat:main" }),
            ),
            offer("folder", &json!({ "folder": "/home/me/app" })),
            offer("always", &json!({})),
        ],
        preview: Some(preview.to_owned()),
        digest: "d1".to_owned(),
        asked_at: NOW,
        deadline_at: NOW + 120_000,
        attended: false,
    }
}

const DIFF: &str = "tool: write\nfolder: /home/me/app\n--- notes.txt (5 bytes)\n+++ notes.txt \
                    (4 bytes)\n@@ -1,1 +1,1 @@\n-old and so very long that it does not fit at all\n\
                    +new\n same";

fn screen(columns: usize, rows: usize) -> ScreenStyle {
    ScreenStyle {
        width: Some(columns),
        rows: Some(rows),
        ..ScreenStyle::plain(NOW)
    }
}

fn page(question: &PermissionQuestion, screen: &ScreenStyle) -> Vec<String> {
    let mut out = lines(question, screen);
    out.extend(prompt_lines(question, screen));
    out
}

#[test]
fn a_question_fits_small_and_large_screens() {
    let long = DIFF.to_owned() + &"\n+line".repeat(100);
    for (columns, rows) in [(80, 24), (40, 15), (160, 50)] {
        for preview in [DIFF, &long] {
            let screen = screen(columns, rows);
            let shown = page(&question(preview), &screen);
            let wide = shown.iter().find(|line| width(line) > columns);
            assert_eq!(wide, None, "{columns} columns");
            assert!(shown.len() <= rows, "{} of {rows} rows", shown.len());
        }
    }
    insta::assert_snapshot!(page(&question(DIFF), &screen(80, 24)).join("\n"));
    insta::assert_snapshot!(page(&question(&long), &screen(40, 15)).join("\n"));
}

#[test]
fn signs_are_coloured_in_a_diff_and_nowhere_else() {
    let colourful = ScreenStyle {
        colour: true,
        ..screen(80, 24)
    };
    let shown = lines(&question(DIFF), &colourful).join("\n");
    for (code, text) in [
        ("32", "+new"),
        ("31", "-old"),
        ("36", "@@ -1"),
        ("1", "--- n"),
    ] {
        let painted = format!("\u{1b}[{code}m{text}");
        assert!(shown.contains(&painted), "{text} in {shown:?}");
    }
    assert!(!shown.contains("m same"), "{shown:?}");
    let command = "tool: exec\ncommand: ls -l\n- an item\n+ another";
    let shown = lines(&question(command), &colourful).join("\n");
    assert!(shown.contains("    - an item\n    + another"), "{shown:?}");
}

#[test]
fn everything_is_whole_and_says_what_each_answer_stores() {
    let shown = detail_lines(&question(DIFF), &screen(80, 24)).join("\n");
    for part in [
        "that it does not fit at all",
        "chat:main",
        "Digest d1",
        "[a] always stores this rule:",
        "--folder /home/me/app",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert!(shown.lines().all(|line| width(line) <= 80), "{shown}");
}

#[test]
fn rules_that_differ_are_told_one_by_one_and_none_offers_none() {
    let mut asked = question(DIFF);
    asked.offers[3] = offer("always", &json!({}));
    let shown = prompt_lines(&asked, &screen(80, 24)).join("\n");
    let last = "[f] this folder  (write in /home/me/app)\n  [a] always  (write anywhere)";
    assert!(shown.ends_with(last), "{shown}");
    asked.offers.clear();
    let shown = prompt_lines(&asked, &screen(80, 24)).join("\n");
    assert!(
        !shown.contains("[a]") && shown.contains("[y] yes, once"),
        "{shown}"
    );
}

#[test]
fn a_rule_for_this_very_command_does_not_repeat_it() {
    let mut asked = question("tool: exec");
    asked.args = json!({ "command": r"rm *.o \ ; ls" });
    let exact = json!({ "tool": "exec", "match": { "command": r"rm \*.o \\ ; ls" } });
    asked.offers = vec![offer("run", &exact), offer("always", &exact)];
    let shown = prompt_lines(&asked, &screen(80, 24)).join("\n");
    let last = "[r] this run  [a] always  (exec this exact command)";
    assert!(shown.ends_with(last), "{shown}");
    let wider = json!({ "tool": "exec", "match": { "command": r"rm *.o \\ ; ls" } });
    asked.offers = vec![offer("run", &wider)];
    let shown = prompt_lines(&asked, &screen(80, 24)).join("\n");
    assert!(shown.contains("(exec command='rm *.o"), "{shown}");
}

#[test]
fn nothing_from_outside_moves_the_cursor() {
    let mut asked = question("tool: x\n\u{1b}[2Jgone");
    asked.offers[0].tool = "a\u{1b}[2J\nb".to_owned();
    asked.sentence = "Write\u{1b}[1A \"x\"".to_owned();
    asked.call_id = "c\u{1b}]0;t\u{7}".to_owned();
    let screen = screen(80, 24);
    let shown = [page(&asked, &screen), detail_lines(&asked, &screen)].concat();
    let hidden = shown.iter().find(|line| line.chars().any(char::is_control));
    assert_eq!(hidden, None);
}

#[test]
fn nothing_from_outside_hides_or_passes_for_another_letter() {
    let mut asked = question("tool: x");
    asked.offers[0].tool = "\u{455}end".to_owned();
    asked.session_key = "chat:m\u{430}in".to_owned();
    asked.call_id = "c\u{200b}".to_owned();
    asked.args = json!({ "to": "\u{430}da\u{2060}" });
    let screen = screen(80, 24);
    let shown = [page(&asked, &screen), detail_lines(&asked, &screen)].concat();
    let shown = shown.join("\n");
    let raw = |letter: char| "\u{455}\u{430}\u{200b}\u{2060}".contains(letter);
    assert!(!shown.contains(raw), "{shown}");
    for escaped in [
        r"\u{455}end",
        r"chat:m\u{430}in",
        r"c\u{200b}",
        r"\u{430}da\u{2060}",
    ] {
        assert!(shown.contains(escaped), "{escaped}: {shown}");
    }
}

#[test]
fn an_answer_is_bound_to_what_was_shown() {
    for (decision, scope) in [
        (PermissionDecision::Allow, Some(AnswerReach::Folder)),
        (PermissionDecision::Deny, None),
    ] {
        let given = answer(&question(DIFF), decision, scope);
        assert_eq!((given.id.as_str(), given.decision), ("q1", decision));
        assert_eq!((given.digest.as_deref(), given.scope), (Some("d1"), scope));
    }
}

#[test]
fn a_command_for_the_terminal_heads_its_question_as_it_is_typed() {
    let preview = "tool: terminal\n$ cd lab\n> ls\nwhy: to look around\nterminal: main (idle)\n\
                   in: /home/me\nNot sandboxed: runs with your full access";
    let mut question = question(preview);
    question.tool = "terminal".to_owned();
    let lines = lines(&question, &screen(80, 24));
    assert_eq!(
        lines,
        [
            "$ cd lab",
            "> ls",
            "    why: to look around",
            "    terminal: main (idle)",
            "    in: /home/me",
            "    Not sandboxed: runs with your full access",
        ]
    );
    // Of a long one nothing is lost: what does not head the question is counted.
    let long = format!("tool: terminal\n$ one\n{}why: so", "> more\n".repeat(50));
    question.preview = Some(long);
    let lines = super::lines(&question, &screen(80, 24));
    assert!(lines.len() < 24 && lines[0] == "$ one", "{lines:?}");
    assert!(
        lines
            .last()
            .is_some_and(|it| it.contains("? shows them all")),
        "{lines:?}"
    );
}
