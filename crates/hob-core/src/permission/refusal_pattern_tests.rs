//! A denial covers a command however it is spelt, and what cannot be told is asked.

use super::super::fixture_tests::{Asked, exec, rule, terms};
use super::super::rulebook::RuleBook;
use super::super::rules::{Verdict, decide};
use super::*;
use hob_wire::work::{Mode, Reach, RuleDecision};
use serde_json::json;

fn fit(pattern: &str, command: &str) -> Fit {
    let pattern = Pattern::new(pattern);
    let line = CommandLine::parse(command);
    RefusedCommand::of(&pattern).fit(&pattern, command, &line)
}

/// What a rule of this pattern says of a command, where everything else is allowed.
fn verdict(decision: RuleDecision, pattern: &str, command: &str) -> &'static str {
    let mut terms = terms("exec", decision, Reach::Always);
    let matched = ("command".to_owned(), pattern.to_owned());
    terms.matches.extend([matched]);
    let mut book = RuleBook::new();
    book.add(rule("r", terms), None);
    let mut asked = Asked::new(exec(), json!({ "command": command }));
    asked.scene.mode = Mode::Full;
    match decide(&asked.call(), &book) {
        Verdict::Allow { .. } => "allow",
        Verdict::Deny { .. } => "deny",
        Verdict::Ask { .. } => "ask",
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
        assert_eq!(fit("rm *", command), Fit::Yes, "{command:?}");
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
        assert_eq!(fit("rm *", command), Fit::Open, "{command:?}");
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
        assert_eq!(fit("rm *", command), Fit::No, "{command:?}");
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
        asked.scene.mode = Mode::Full;
        let mut book = RuleBook::new();
        let mut other = terms("exec", RuleDecision::Deny, Reach::Always);
        other.host = Some("*".to_owned());
        book.add(rule("r", other), None);
        let verdict = decide(&asked.call(), &book);
        assert!(matches!(verdict, Verdict::Allow { .. }), "{command:?}");
    }
}

#[test]
fn patterns_are_compared_by_their_words_too() {
    for (pattern, command, expected) in [
        // A program with and without arguments are two patterns.
        ("rm", "rm", Fit::Yes),
        ("rm", "/bin/rm", Fit::Yes),
        ("rm", "rm x", Fit::No),
        ("rm -rf /", "true && sudo rm  -rf  \"/\"", Fit::Yes),
        ("rm -rf /", "rm -rf /home", Fit::No),
        ("rm -rf /", "rm $x", Fit::Open),
        ("rm -rf /", "xargs rm", Fit::Open),
        ("rm \"a b\"", "rm 'a b'", Fit::Yes),
        (" rm  * ", "rm x", Fit::Yes),
        // A path is that path for sure, and by its name perhaps.
        ("/bin/rm *", "/bin/rm x", Fit::Yes),
        ("/bin/rm *", "rm x", Fit::Open),
        ("/bin/rm *", "ls x", Fit::No),
        ("./deploy.sh *", "env ./deploy.sh now", Fit::Yes),
        // Wrappers and assignments can be denied themselves.
        ("sudo *", "true; sudo -u root ls", Fit::Yes),
        ("LD_PRELOAD=*", "true; LD_PRELOAD=x ls", Fit::Yes),
        // Lines of several commands.
        ("curl * | sh", "curl x|sh", Fit::Yes),
        ("curl * | sh", "true; curl -s x | /bin/sh", Fit::Yes),
        ("curl * | sh", "curl x", Fit::No),
        ("* > /etc/*", "echo a >/etc/passwd", Fit::Yes),
        (
            "git push *--force*",
            "git push \"--force\" origin",
            Fit::Yes,
        ),
        ("git push *", "git $x", Fit::Open),
        ("git push *", "git pull $x", Fit::No),
        ("*rm *", "true; rm -rf /", Fit::Yes),
        ("* --force", "echo $x", Fit::Open),
        // A word of the grammar is no command.
        ("! *", "ls", Fit::No),
        ("if *", "ls", Fit::No),
        ("( *", "ls", Fit::No),
        ("echo \"*", "echo x", Fit::No),
        ("", "ls", Fit::No),
        ("*", "anything at all", Fit::Yes),
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
    let mut deny = terms("exec", RuleDecision::Deny, Reach::Always);
    let matched = ("command".to_owned(), "rm *".to_owned());
    deny.matches.extend([matched]);
    let mut book = RuleBook::new();
    book.add(rule("r", deny), None);
    let mut asked = Asked::new(exec(), json!({ "command": ["rm", "x"] }));
    asked.scene.mode = Mode::Full;
    assert!(matches!(decide(&asked.call(), &book), Verdict::Ask { .. }));
    asked.args = json!({});
    assert!(matches!(
        decide(&asked.call(), &book),
        Verdict::Allow { .. }
    ));
}
