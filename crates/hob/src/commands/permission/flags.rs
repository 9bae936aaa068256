//! The command line of `hob permission`.

use crate::tree::help_text::examples;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Command, value_parser};

const DECISIONS: [&str; 3] = ["allow", "deny", "ask"];
const SCOPES: [&str; 4] = ["run", "session", "folder", "always"];
const ANSWERS: [&str; 4] = ["y", "n", "yes", "no"];
const ANSWER_SCOPES: [&str; 5] = ["once", "run", "session", "folder", "always"];

pub fn command() -> Command {
    Command::new("permission")
        .about("Shows and changes permission rules, and answers pending questions")
        .long_about(
            "Stored rules decide a tool call: deny wins, else \
             the narrowest scope. The setting permission.mode decides calls that no rule \
             covers.",
        )
        .after_help(examples(&[
            "hob permission list",
            "hob permission add --tool write --decision allow --scope folder",
            "hob permission pending",
        ]))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(add())
        .subcommand(list())
        .subcommand(remove())
        .subcommand(pending())
        .subcommand(answer())
        .subcommand(check())
}

fn add() -> Command {
    Command::new("add")
        .about("Stores a rule for future calls")
        .override_usage("hob permission add --tool NAME --decision WORD --scope SCOPE [OPTIONS]")
        .long_about(
            "A rule covers a call if everything it names matches; what it does not name \
             matches anything. In a pattern * matches any text. In an allowed command * does not \
             match shell operators, so 'git status *' never \
             covers 'git status; rm -rf /'. In the program's name * also does not match a space, / \
             or =: to allow a program with and without arguments, store 'uptime' and \
             'uptime *'. A deny or ask rule for 'rm *' checks every program that a line names, \
             as in '/bin/rm x' or 'true; sudo rm x'; for a line that may hide one, as in \
             sh -c '...', hob asks. No rule sees what a script or make does.",
        )
        .after_help(examples(&[
            "hob permission add --tool write --decision allow --scope folder",
            "hob permission add --tool exec --match 'command=cargo test *' \
             --decision allow --scope session --session chat:main",
            "hob permission add --tool web_fetch --host '*.example.org' \
             --decision allow --scope always --expires 7d",
            "hob permission add --tool remove --decision deny --scope always",
        ]))
        .args(coverage_flags())
        .args(scope_flags())
}

/// The flags that say which calls a rule covers, and its decision.
fn coverage_flags() -> [Arg; 8] {
    [
        flag("tool", "NAME", "The tool; * at the end matches any rest").required(true),
        flag(
            "match",
            "ARG=PATTERN",
            "Only if this argument matches; may be repeated",
        )
        .action(ArgAction::Append)
        .value_parser(pair),
        flag(
            "path",
            "DIR",
            "Only if every path of the call is in this folder",
        ),
        flag(
            "host",
            "HOST",
            "Only for this host; *.example.org matches its subdomains, * any host",
        ),
        flag("decision", "WORD", "The decision for these calls")
            .required(true)
            .value_parser(PossibleValuesParser::new(DECISIONS)),
        flag(
            "sessions",
            "KEYS",
            "Only in sessions with this key; loop:build:* matches all keys with that prefix",
        ),
        flag("kind", "KIND", "Only in sessions of this kind"),
        flag("channel", "NAME", "Only for runs from this channel"),
    ]
}

/// The flags that set the scope and the lifetime of a rule.
fn scope_flags() -> [Arg; 5] {
    [
        flag("scope", "SCOPE", "Where the rule applies")
            .required(true)
            .value_parser(PossibleValuesParser::new(SCOPES)),
        flag("session", "KEY", "With scope session: its key").short('s'),
        flag(
            "run",
            "RUN",
            "With scope run: its id, the end of its id, or its session",
        ),
        flag(
            "folder",
            "DIR",
            "With scope folder: the folder; the current one if missing",
        ),
        flag(
            "expires",
            "TIME",
            "The rule's lifetime, such as 12h or 7d; until removed if missing",
        )
        .value_parser(|text: &str| hob_kit::duration::parse_ms(text)),
    ]
}

fn list() -> Command {
    Command::new("list")
        .about("Lists the stored rules, newest first")
        .after_help(examples(&[
            "hob permission list",
            "hob permission list --tool exec --json",
        ]))
        .arg(flag("tool", "NAME", "Only rules for this tool"))
        .arg(flag("session", "KEY", "Only rules that could cover this session").short('s'))
        .arg(
            flag("limit", "N", "At most this many; 50 if missing")
                .short('n')
                .value_parser(value_parser!(u32).range(1..)),
        )
        .arg(flag(
            "after",
            "RULE",
            "Continues after this rule, the last of the previous page",
        ))
}

fn remove() -> Command {
    Command::new("remove")
        .about("Removes a stored rule")
        .after_help(examples(&[
            "hob permission list",
            "hob permission remove 0190163d",
        ]))
        .arg(
            Arg::new("id")
                .value_name("RULE")
                .required(true)
                .help("The rule's id, or a prefix that matches only one rule"),
        )
}

fn pending() -> Command {
    Command::new("pending")
        .about("Lists the questions that wait for your answer")
        .after_help(examples(&[
            "hob permission pending",
            "hob permission pending --session chat:main --json",
        ]))
        .arg(flag("session", "KEY", "Only questions of this session").short('s'))
}

fn answer() -> Command {
    Command::new("answer")
        .about("Answers a pending question; the first answer counts")
        .long_about(
            "A yes allows exactly the call that `hob permission pending` shows. With a \
             scope other than once it also stores the rule shown there, for similar calls.",
        )
        .after_help(examples(&[
            "hob permission pending",
            "hob permission answer 0190163d y",
            "hob permission answer 0190163d y --scope folder",
        ]))
        .arg(
            Arg::new("id")
                .value_name("QUESTION")
                .required(true)
                .help("The question's id, or a prefix that matches only one"),
        )
        .arg(
            Arg::new("answer")
                .value_name("ANSWER")
                .required(true)
                .value_parser(PossibleValuesParser::new(ANSWERS))
                .help("y or n"),
        )
        .arg(
            flag("scope", "SCOPE", "Where a yes applies; once if missing")
                .value_parser(PossibleValuesParser::new(ANSWER_SCOPES)),
        )
}

fn check() -> Command {
    Command::new("check")
        .about("Shows how a call would be decided, and by which rule")
        .long_about("Nobody is asked, nothing runs and nothing is recorded.")
        .after_help(examples(&[
            "hob permission check write --arg path=notes.txt",
            "hob permission check exec --arg 'command=cargo test' --session chat:main",
        ]))
        .arg(
            Arg::new("tool")
                .value_name("TOOL")
                .required(true)
                .help("The tool's name"),
        )
        .arg(
            flag(
                "arg",
                "ARG=VALUE",
                "An argument of the call; may be repeated",
            )
            .action(ArgAction::Append)
            .value_parser(pair),
        )
        .arg(
            flag(
                "workspace",
                "DIR",
                "The workspace of the call; the current folder if missing",
            )
            .short('w'),
        )
        .arg(flag("session", "KEY", "The session of the call").short('s'))
        .arg(flag("channel", "NAME", "The channel of the run"))
}

fn flag(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help)
}

/// Splits `NAME=REST` at the first `=`.
fn pair(text: &str) -> Result<(String, String), &'static str> {
    match text.split_once('=') {
        Some((name, rest)) if !name.is_empty() => Ok((name.to_owned(), rest.to_owned())),
        _ => Err("it takes NAME=VALUE, such as path=notes.txt"),
    }
}
