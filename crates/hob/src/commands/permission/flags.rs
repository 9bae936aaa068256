//! The command line of `hob permission`.

use crate::tree::text::examples;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Command, value_parser};

const DECISIONS: [&str; 3] = ["allow", "deny", "ask"];
const SCOPES: [&str; 4] = ["run", "session", "folder", "always"];
const ANSWERS: [&str; 4] = ["y", "n", "yes", "no"];
const ANSWER_SCOPES: [&str; 5] = ["once", "run", "session", "folder", "always"];

pub fn command() -> Command {
    Command::new("permission")
        .about("Shows and changes what models may do, and answers what they ask")
        .long_about(
            "A call of a tool is decided by the stored rules that cover it: a deny wins, else \
             the narrowest scope does. What no rule covers is decided by the setting \
             permission.mode.",
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
        .about("Stores a rule for calls to come")
        .override_usage("hob permission add --tool NAME --decision WORD --scope SCOPE [OPTIONS]")
        .long_about(
            "A rule covers a call when everything it names fits; what it does not name fits \
             any. In a pattern * stands for anything. In a command that is allowed it stops \
             at whatever a shell would take for more than words, so 'git status *' never \
             covers 'git status; rm -rf /', and in the program's name also at a space, / \
             and =: to allow a program with and without arguments, store 'uptime' and \
             'uptime *'. A deny or ask for 'rm *' looks at every program that a line names, \
             as in '/bin/rm x' or 'true; sudo rm x'; a line that may hide one, as in \
             sh -c '...', is asked. No rule sees what a script or make does.",
        )
        .after_help(examples(&[
            "hob permission add --tool write --decision allow --scope folder",
            "hob permission add --tool exec --match 'command=cargo test *' \
             --decision allow --scope session --session chat:main",
            "hob permission add --tool web_fetch --host '*.example.org' \
             --decision allow --scope always --expires 7d",
            "hob permission add --tool remove --decision deny --scope always",
        ]))
        .args(what_flags())
        .args(where_flags())
}

/// Which calls a rule covers, and what it says of them.
fn what_flags() -> [Arg; 8] {
    [
        flag("tool", "NAME", "The tool; * at the end stands for any rest").required(true),
        flag(
            "match",
            "ARG=PATTERN",
            "Only when this argument fits; may be repeated",
        )
        .action(ArgAction::Append)
        .value_parser(pair),
        flag("path", "DIR", "Only when every path of the call is in here"),
        flag(
            "host",
            "HOST",
            "Only at this host; *.example.org for those below it, * for any",
        ),
        flag("decision", "WORD", "What it says of them")
            .required(true)
            .value_parser(PossibleValuesParser::new(DECISIONS)),
        flag(
            "sessions",
            "KEYS",
            "Only in sessions of this key; loop:build:* for all that begin so",
        ),
        flag("kind", "KIND", "Only in sessions of this kind"),
        flag("channel", "NAME", "Only for runs that came by this channel"),
    ]
}

/// How far a rule reaches, and for how long.
fn where_flags() -> [Arg; 5] {
    [
        flag("scope", "SCOPE", "How far it reaches")
            .required(true)
            .value_parser(PossibleValuesParser::new(SCOPES)),
        flag("session", "KEY", "With scope session: which").short('s'),
        flag(
            "run",
            "RUN",
            "With scope run: its id, the end of it, or its session",
        ),
        flag(
            "folder",
            "DIR",
            "With scope folder: which; the present one when missing",
        ),
        flag(
            "expires",
            "TIME",
            "How long it holds, such as 12h or 7d; until removed when missing",
        )
        .value_parser(|text: &str| hob_kit::duration::parse_ms(text)),
    ]
}

fn list() -> Command {
    Command::new("list")
        .about("Lists the stored rules, the newest first")
        .after_help(examples(&[
            "hob permission list",
            "hob permission list --tool exec --json",
        ]))
        .arg(flag("tool", "NAME", "Only those for this tool"))
        .arg(flag("session", "KEY", "Only those that could cover this session").short('s'))
        .arg(
            flag("limit", "N", "At most this many; 50 when missing")
                .short('n')
                .value_parser(value_parser!(u32).range(1..)),
        )
        .arg(flag("after", "RULE", "Where the page before ended"))
}

fn remove() -> Command {
    Command::new("remove")
        .about("Takes a stored rule away")
        .after_help(examples(&[
            "hob permission list",
            "hob permission remove 0190163d",
        ]))
        .arg(
            Arg::new("id")
                .value_name("RULE")
                .required(true)
                .help("The rule's id, or as much of its beginning as fits one rule only"),
        )
}

fn pending() -> Command {
    Command::new("pending")
        .about("Lists the questions that wait for your yes or no")
        .after_help(examples(&[
            "hob permission pending",
            "hob permission pending --session chat:main --json",
        ]))
        .arg(flag("session", "KEY", "Only those of this session").short('s'))
}

fn answer() -> Command {
    Command::new("answer")
        .about("Answers a question that waits; the first answer counts")
        .long_about(
            "A yes holds for exactly the call that `hob permission pending` shows. With a \
             scope beyond once it also stores a rule for like calls, the one shown there.",
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
                .help("The question's id, or as much of its beginning as fits one only"),
        )
        .arg(
            Arg::new("answer")
                .value_name("ANSWER")
                .required(true)
                .value_parser(PossibleValuesParser::new(ANSWERS))
                .help("y or n"),
        )
        .arg(
            flag("scope", "SCOPE", "How far a yes reaches; once when missing")
                .value_parser(PossibleValuesParser::new(ANSWER_SCOPES)),
        )
}

fn check() -> Command {
    Command::new("check")
        .about("Says what would be decided of a call, and by which rule")
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
                "The folder it works in; the present one when missing",
            )
            .short('w'),
        )
        .arg(flag("session", "KEY", "The session it belongs to").short('s'))
        .arg(flag("channel", "NAME", "The channel its run came by"))
}

fn flag(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help)
}

/// `NAME=REST`, cut at the first `=`.
fn pair(text: &str) -> Result<(String, String), &'static str> {
    match text.split_once('=') {
        Some((name, rest)) if !name.is_empty() => Ok((name.to_owned(), rest.to_owned())),
        _ => Err("it takes NAME=VALUE, such as path=notes.txt"),
    }
}
