//! The command line of `hob permission`.

use crate::commands::value_parsers::{name_value_pair, wire_name};
use crate::tree::help_text::examples;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::value_parser;
use hob_kit::duration::parse_ms;
use hob_wire::rooms::permission::{AnswerReach, PermissionDecision, RuleDecision};

const DECISIONS: [&str; 3] = ["allow", "deny", "ask"];
const SCOPES: [&str; 4] = ["run", "session", "folder", "always"];
const ANSWERS: [&str; 4] = ["y", "n", "yes", "no"];
const ANSWER_SCOPES: [&str; 5] = ["once", "run", "session", "folder", "always"];

/// Shows and changes permission rules, and answers pending questions.
///
/// Stored rules decide a tool call: deny wins, else the narrowest scope. The setting permission.mode
/// decides calls that no rule covers.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = examples(&[
    "hob permission list",
    "hob permission add --tool write --decision allow --scope folder",
    "hob permission pending",
]))]
pub enum PermissionSubcommand {
    Add(Box<PermissionAddArgs>),
    List(PermissionListArgs),
    /// Removes a stored rule.
    #[command(after_help = examples(&["hob permission list", "hob permission remove 0190163d"]))]
    Remove {
        /// The rule's id, or a prefix that matches only one rule.
        #[arg(value_name = "RULE")]
        id: String,
    },
    /// Lists the questions that wait for your answer.
    #[command(after_help = examples(&[
        "hob permission pending",
        "hob permission pending --session chat:main --json",
    ]))]
    Pending {
        /// Only questions of this session.
        #[arg(long, short, value_name = "KEY")]
        session: Option<String>,
    },
    Answer(PermissionAnswerArgs),
    Check(PermissionCheckArgs),
}

/// Stores a rule for future calls.
///
/// A rule covers a call if everything it names matches; what it does not name matches anything. In a
/// pattern * matches any text. In an allowed command * does not match shell operators, so
/// 'git status *' never covers 'git status; rm -rf /'. In the program's name * also does not match a
/// space, / or =: to allow a program with and without arguments, store 'uptime' and 'uptime *'. A
/// deny or ask rule for 'rm *' checks every program that a line names, as in '/bin/rm x' or
/// 'true; sudo rm x'; for a line that may hide one, as in sh -c '...', hob asks. No rule sees what a
/// script or make does.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "hob permission add --tool NAME --decision WORD --scope SCOPE [OPTIONS]",
    after_help = examples(&[
        "hob permission add --tool write --decision allow --scope folder",
        "hob permission add --tool exec --match 'command=cargo test *' \
         --decision allow --scope session --session chat:main",
        "hob permission add --tool web_fetch --host '*.example.org' \
         --decision allow --scope always --expires 7d",
        "hob permission add --tool remove --decision deny --scope always",
    ])
)]
pub struct PermissionAddArgs {
    /// The tool; * at the end matches any rest.
    #[arg(long, value_name = "NAME")]
    pub(super) tool: String,
    /// Only if this argument matches; may be repeated.
    #[arg(long = "match", value_name = "ARG=PATTERN", value_parser = name_value_pair)]
    pub(super) matches: Vec<(String, String)>,
    /// Only if every path of the call is in this folder.
    #[arg(long, value_name = "DIR")]
    pub(super) path: Option<String>,
    /// Only for this host; *.example.org matches its subdomains, * any host.
    #[arg(long)]
    pub(super) host: Option<String>,
    /// The decision for these calls.
    #[arg(long, value_name = "WORD", value_parser = wire_name::<RuleDecision>(&DECISIONS))]
    pub(super) decision: RuleDecision,
    /// Only in sessions with this key; loop:build:* matches all keys with that prefix.
    #[arg(long, value_name = "KEYS")]
    pub(super) sessions: Option<String>,
    /// Only in sessions of this kind.
    #[arg(long)]
    pub(super) kind: Option<String>,
    /// Only for runs from this channel.
    #[arg(long, value_name = "NAME")]
    pub(super) channel: Option<String>,
    /// Where the rule applies.
    #[arg(long, value_parser = wire_name::<AnswerReach>(&SCOPES))]
    pub(super) scope: AnswerReach,
    /// With scope session: its key.
    #[arg(long, short, value_name = "KEY")]
    pub(super) session: Option<String>,
    /// With scope run: its id, the end of its id, or its session.
    #[arg(long)]
    pub(super) run: Option<String>,
    /// With scope folder: the folder; the current one if missing.
    #[arg(long, value_name = "DIR")]
    pub(super) folder: Option<String>,
    /// The rule's lifetime, such as 12h or 7d; until removed if missing.
    #[arg(long, value_name = "TIME", value_parser = parse_ms)]
    pub(super) expires: Option<u64>,
}

/// Lists the stored rules, newest first.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&[
    "hob permission list",
    "hob permission list --tool exec --json",
]))]
pub struct PermissionListArgs {
    /// Only rules for this tool.
    #[arg(long, value_name = "NAME")]
    pub(super) tool: Option<String>,
    /// Only rules that could cover this session.
    #[arg(long, short, value_name = "KEY")]
    pub(super) session: Option<String>,
    /// At most this many; 50 if missing.
    #[arg(long, short = 'n', value_name = "N", value_parser = value_parser!(u32).range(1..))]
    pub(super) limit: Option<u32>,
    /// Continues after this rule, the last of the previous page.
    #[arg(long, value_name = "RULE")]
    pub(super) after: Option<String>,
}

/// Answers a pending question; the first answer counts.
///
/// A yes allows exactly the call that `hob permission pending` shows. With a scope other than once it
/// also stores the rule shown there, for similar calls.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&[
    "hob permission pending",
    "hob permission answer 0190163d y",
    "hob permission answer 0190163d y --scope folder",
]))]
pub struct PermissionAnswerArgs {
    /// The question's id, or a prefix that matches only one.
    #[arg(value_name = "QUESTION")]
    pub(super) id: String,
    /// y or n.
    #[arg(value_parser = answer())]
    pub(super) answer: PermissionDecision,
    /// Where a yes applies; once if missing.
    #[arg(long, value_parser = wire_name::<AnswerReach>(&ANSWER_SCOPES))]
    pub(super) scope: Option<AnswerReach>,
}

fn answer() -> impl TypedValueParser<Value = PermissionDecision> {
    PossibleValuesParser::new(ANSWERS).map(|word| match word.as_str() {
        "y" | "yes" => PermissionDecision::Allow,
        _ => PermissionDecision::Deny,
    })
}

/// Shows how a call would be decided, and by which rule.
///
/// Nobody is asked, nothing runs and nothing is recorded.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&[
    "hob permission check write --arg path=notes.txt",
    "hob permission check exec --arg 'command=cargo test' --session chat:main",
]))]
pub struct PermissionCheckArgs {
    /// The tool's name.
    pub(super) tool: String,
    /// An argument of the call; may be repeated.
    #[arg(long = "arg", value_name = "ARG=VALUE", value_parser = name_value_pair)]
    pub(super) arguments: Vec<(String, String)>,
    /// The workspace of the call; the current folder if missing.
    #[arg(long, short, value_name = "DIR")]
    pub(super) workspace: Option<String>,
    /// The session of the call.
    #[arg(long, short, value_name = "KEY")]
    pub(super) session: Option<String>,
    /// The channel of the run.
    #[arg(long, value_name = "NAME")]
    pub(super) channel: Option<String>,
}
