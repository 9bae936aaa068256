//! A denial covers a command however it is spelt, and what cannot be told is asked.

use super::super::decision::{RuleVerdict, decide};
use super::super::fixture_tests::{Asked, exec, rule, terms};
use super::super::rule_index::RuleIndex;
use super::*;
use hob_wire::work::{AnswerReach, PermissionMode, RuleDecision};
use serde_json::json;

fn fit(pattern: &str, command: &str) -> RuleMatch {
    let pattern = ArgumentPattern::parse(pattern);
    let line = CommandLine::parse(command);
    RefusalPattern::from_pattern(&pattern).match_command(&pattern, command, &line)
}

/// What a rule of this pattern says of a command, where everything else is allowed.
fn verdict(decision: RuleDecision, pattern: &str, command: &str) -> &'static str {
    let mut terms = terms("exec", decision, AnswerReach::Always);
    let matched = ("command".to_owned(), pattern.to_owned());
    terms.matches.extend([matched]);
    let mut book = RuleIndex::new();
    book.add(rule("r", terms), None);
    let mut asked = Asked::new(exec(), json!({ "command": command }));
    asked.decision_context.mode = PermissionMode::Full;
    match decide(&asked.call(), &book) {
        RuleVerdict::Allow { .. } => "allow",
        RuleVerdict::Deny { .. } => "deny",
        RuleVerdict::Ask { .. } => "ask",
    }
}

/// Every way of the report, and more, in which `rm x` was said past a denial of `rm *`.
const DENIED: &[&str] = &[
    "rm x",
    " rm x",
    "\trm x",
    "rm  x",
    "/bin/rm x",
    "./rm x",
    "../bin/rm x",
    "~/bin/rm x",
    "\"$HOME\"/rm x",
    "\"rm\" x",
    "'rm' x",
    "r\\m x",
    "\\rm x",
    "r''m x",
    "$'rm' x",
    "true; rm x",
    "true;rm x",
    "true && rm x",
    "false || rm x",
    "a | rm x",
    "a & rm x",
    "a\nrm x",
    // A terminal takes it for the end of the line.
    "ls\rrm x",
    "env rm x",
    "env -i A=1 rm x",
    "x=1 rm x",
    "(rm x)",
    "{ rm x; }",
    "! rm x",
    "if a; then rm x; fi",
    "for i in a; do rm $i; done",
    ">f rm x",
    "time rm x",
    "time -p rm x",
    "sudo rm x",
    "sudo -u root rm x",
    "nice -n 5 rm x",
    "nohup rm x",
    "timeout -s KILL 5 rm x",
    "command rm x",
    "exec rm x",
    "xargs rm",
    "xargs -n1 rm",
    "echo a | xargs -n1 rm",
    "rm $x",
    "rm *.o",
    "rm x >/dev/null 2>&1",
    "rm x # why not",
    "eval y; rm x",
];

/// What may be `rm x` by words that are not taken apart.
const ASKED: &[&str] = &[
    "$(echo rm) x",
    "echo $(rm x)",
    "echo `rm x`",
    "cat <(rm x)",
    "sh -c 'rm x'",
    "bash -c \"rm x\"",
    "echo rm x | sh",
    "eval rm x",
    "source f",
    "find . -exec rm {} +",
    "$x y",
    "/bin/r? x",
    "{rm,x}",
    "env -S 'rm x'",
    "alias y=rm",
    "bash <<E\nrm x\nE",
    "echo 'rm x",
    "xargs -I X X y",
    "ssh host rm x",
    "python3 -c 'x'",
];

const UNTOUCHED: &[&str] = &[
    "ls",
    "echo rm x",
    "echo 'a; rm x'",
    "echo \"a && rm x\"",
    "rmdir x",
    "cargo rm x",
    "cargo test --workspace",
    "echo $HOME",
    "ls *.o",
    "git commit -m 'rm x'",
    "command -v rm",
    "cat <<'E'\nrm x\nE",
    "./rm.sh x",
    "bash rm.sh",
    "ls # rm x",
    "rm",
];

#[test]
fn a_denial_covers_every_spelling() {
    for command in DENIED {
        assert_eq!(fit("rm *", command), RuleMatch::Yes, "{command:?}");
        assert_eq!(
            verdict(RuleDecision::Deny, "rm *", command),
            "deny",
            "{command:?}"
        );
        assert_eq!(
            verdict(RuleDecision::Ask, "rm *", command),
            "ask",
            "{command:?}"
        );
    }
}

#[test]
fn what_cannot_be_excluded_is_asked() {
    for command in ASKED {
        assert_eq!(fit("rm *", command), RuleMatch::Maybe, "{command:?}");
        assert_eq!(
            verdict(RuleDecision::Deny, "rm *", command),
            "ask",
            "{command:?}"
        );
        assert_eq!(
            verdict(RuleDecision::Ask, "rm *", command),
            "ask",
            "{command:?}"
        );
    }
}

#[test]
fn other_commands_stay_as_they_were() {
    for command in UNTOUCHED {
        assert_eq!(fit("rm *", command), RuleMatch::No, "{command:?}");
        assert_eq!(
            verdict(RuleDecision::Deny, "rm *", command),
            "allow",
            "{command:?}"
        );
    }
}

#[test]
fn without_such_a_rule_nobody_is_asked() {
    for command in DENIED.iter().chain(ASKED).chain(UNTOUCHED) {
        let mut asked = Asked::new(exec(), json!({ "command": command }));
        asked.decision_context.mode = PermissionMode::Full;
        let mut book = RuleIndex::new();
        let mut other = terms("exec", RuleDecision::Deny, AnswerReach::Always);
        other.host = Some("*".to_owned());
        book.add(rule("r", other), None);
        let verdict = decide(&asked.call(), &book);
        assert!(matches!(verdict, RuleVerdict::Allow { .. }), "{command:?}");
    }
}

#[test]
fn patterns_are_compared_by_their_words_too() {
    for (pattern, command, expected) in [
        // A program with and without arguments are two patterns.
        ("rm", "rm", RuleMatch::Yes),
        ("rm", "/bin/rm", RuleMatch::Yes),
        ("rm", "rm x", RuleMatch::No),
        ("rm -rf /", "true && sudo rm  -rf  \"/\"", RuleMatch::Yes),
        ("rm -rf /", "rm -rf /home", RuleMatch::No),
        ("rm -rf /", "rm $x", RuleMatch::Maybe),
        ("rm -rf /", "xargs rm", RuleMatch::Maybe),
        ("rm \"a b\"", "rm 'a b'", RuleMatch::Yes),
        (" rm  * ", "rm x", RuleMatch::Yes),
        // A path is that path for sure, and by its name perhaps.
        ("/bin/rm *", "/bin/rm x", RuleMatch::Yes),
        ("/bin/rm *", "rm x", RuleMatch::Maybe),
        ("/bin/rm *", "ls x", RuleMatch::No),
        ("./deploy.sh *", "env ./deploy.sh now", RuleMatch::Yes),
        // Wrappers and assignments can be denied themselves.
        ("sudo *", "true; sudo -u root ls", RuleMatch::Yes),
        ("LD_PRELOAD=*", "true; LD_PRELOAD=x ls", RuleMatch::Yes),
        // Lines of several commands.
        ("curl * | sh", "curl x|sh", RuleMatch::Yes),
        ("curl * | sh", "true; curl -s x | /bin/sh", RuleMatch::Yes),
        ("curl * | sh", "curl x", RuleMatch::No),
        ("* > /etc/*", "echo a >/etc/passwd", RuleMatch::Yes),
        (
            "git push *--force*",
            "git push \"--force\" origin",
            RuleMatch::Yes,
        ),
        ("git push *", "git $x", RuleMatch::Maybe),
        ("git push *", "git pull $x", RuleMatch::No),
        ("*rm *", "true; rm -rf /", RuleMatch::Yes),
        ("* --force", "echo $x", RuleMatch::Maybe),
        // A word of the grammar is no command.
        ("! *", "ls", RuleMatch::No),
        ("if *", "ls", RuleMatch::No),
        ("( *", "ls", RuleMatch::No),
        ("echo \"*", "echo x", RuleMatch::No),
        ("", "ls", RuleMatch::No),
        ("*", "anything at all", RuleMatch::Yes),
    ] {
        assert_eq!(fit(pattern, command), expected, "{pattern:?} {command:?}");
    }
}

#[test]
fn an_exact_denial_is_found_by_another_spelling() {
    assert_eq!(
        verdict(RuleDecision::Deny, "rm x", "true; /bin/rm 'x'"),
        "deny"
    );
    assert_eq!(verdict(RuleDecision::Ask, "rm x", "env rm x"), "ask");
    assert_eq!(verdict(RuleDecision::Deny, "rm x", "rm y"), "allow");
}

#[test]
fn a_command_that_is_no_text_is_asked() {
    let mut deny = terms("exec", RuleDecision::Deny, AnswerReach::Always);
    let matched = ("command".to_owned(), "rm *".to_owned());
    deny.matches.extend([matched]);
    let mut book = RuleIndex::new();
    book.add(rule("r", deny), None);
    let mut asked = Asked::new(exec(), json!({ "command": ["rm", "x"] }));
    asked.decision_context.mode = PermissionMode::Full;
    assert!(matches!(
        decide(&asked.call(), &book),
        RuleVerdict::Ask { .. }
    ));
    asked.args = json!({});
    assert!(matches!(
        decide(&asked.call(), &book),
        RuleVerdict::Allow { .. }
    ));
}
