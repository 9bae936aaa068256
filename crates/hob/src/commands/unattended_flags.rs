//! The flags that `hob loop` and `hob cron` share: texts from files or stdin, tool grants,
//! notifications and budgets.
//!
//! Invariant: `--allow TOOL` without a path allows a file-changing tool in the workspace only.

use super::permission;
use crate::context::CommandContext;
use crate::failure::CommandFailure;
use crate::render::TextTone;
use crate::render::text::{self, one_line};
use crate::run_ui::run_request::{self, TaskArgs};
use crate::terminal::Terminal;
use clap::Arg;
use hob_client::Client;
use hob_wire::rooms::loops::LOOP_TEXT_BYTES_MAX;
use hob_wire::rooms::permission::{AnswerReach, PermissionAddParams, RuleDecision, RuleTerms};
use hob_wire::schedule::{NotifyTarget, NotifyTargetView, ToolGrant};
use hob_wire::work::{Budget, BudgetView, NeedKind, Tier};

/// The flag that lets unattended work call tools.
#[derive(Debug, clap::Args)]
pub struct GrantArgs {
    /// Allows these calls without asking: a tool, or 'TOOL ARG=PATTERN', 'TOOL path=DIR', 'TOOL
    /// host=HOST'; may be repeated.
    #[arg(long, value_name = "CALLS")]
    pub allow: Vec<String>,
}

/// The flags that name the session to notify.
#[derive(Debug, clap::Args)]
pub struct NotifyArgs {
    /// The session that is notified of each result.
    #[arg(long, value_name = "SESSION")]
    notify: Option<String>,
    /// Notifies that session of failures only.
    #[arg(long)]
    notify_failures: bool,
}

/// Changes the help of [`TaskArgs`] for an update, which has no defaults.
pub fn without_default(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "model" => arg.help("provider/model or an alias such as fast"),
        "workspace" => arg.help("The folder it works in"),
        _ => arg,
    }
}

/// Returns the text of a flag: the value itself, a file (`@FILE`), or stdin (`-`).
pub async fn read_text(given: Option<String>) -> Result<Option<String>, CommandFailure> {
    let Some(given) = given else {
        return Ok(None);
    };
    if given == "-" {
        let piped = run_request::read_piped_stdin().await?.ok_or_else(|| {
            CommandFailure::usage("'-' reads stdin, but nothing is piped in.")
                .next("Example: hob … - < FILE")
        })?;
        // `echo` ends its output with a line break, which is not part of the text.
        return Ok(Some(piped.strip_suffix('\n').unwrap_or(&piped).to_owned()));
    }
    let Some(file) = given.strip_prefix('@') else {
        return Ok(Some(given));
    };
    let bytes = run_request::read_up_to(file, LOOP_TEXT_BYTES_MAX)?.ok_or_else(|| {
        let max = text::bytes(LOOP_TEXT_BYTES_MAX as u64);
        CommandFailure::usage(format!("'{}' is larger than {max}.", one_line(file)))
    })?;
    let text = String::from_utf8(bytes)
        .map_err(|_| CommandFailure::usage(format!("'{}' is not text (UTF-8).", one_line(file))))?;
    Ok(Some(text.trim_end_matches('\n').to_owned()))
}

/// Refuses a command line on which several flags read stdin.
pub fn check_single_stdin(flags: &[(&str, Option<&str>)]) -> Result<(), CommandFailure> {
    let reads = flags.iter().filter(|(_, given)| *given == Some("-"));
    match reads.collect::<Vec<_>>()[..] {
        [(one, _), (other, _), ..] => Err(CommandFailure::usage(format!(
            "--{one} and --{other} cannot both be read from stdin."
        ))
        .next("Give one of them from a file: @FILE.")),
        _ => Ok(()),
    }
}

impl GrantArgs {
    pub fn parse(
        &self,
        context: &CommandContext,
        workspace: Option<&str>,
    ) -> Result<Vec<ToolGrant>, CommandFailure> {
        let real = |path: &str| permission::real_path(context, path);
        let given = self.allow.iter();
        given
            .map(|text| parse_grant(text, workspace, &real))
            .collect()
    }
}

/// Parses one grant: a tool and at most one condition. A grant with several conditions is written
/// in JSON.
fn parse_grant(
    text: &str,
    workspace: Option<&str>,
    real: &dyn Fn(&str) -> Result<String, CommandFailure>,
) -> Result<ToolGrant, CommandFailure> {
    let wrong = |why: &str| {
        CommandFailure::usage(format!("--allow '{}': {why}", one_line(text)))
            .next("Example: --allow write  --allow 'exec command=cargo test *'")
    };
    let text = text.trim();
    if text.starts_with('{') {
        return serde_json::from_str(text)
            .map_err(|error| wrong(&format!("not a valid JSON grant: {error}.")));
    }
    let (tool, rest) = text.split_once(' ').unwrap_or((text, ""));
    if tool.is_empty() || tool.contains('=') {
        return Err(wrong("it must begin with the name of a tool."));
    }
    let mut grant = ToolGrant {
        tool: tool.to_owned(),
        matches: std::collections::BTreeMap::new(),
        path: None,
        host: None,
    };
    let rest = rest.trim();
    if rest.is_empty() {
        // Without a path the tool could change files anywhere on the machine.
        if changes_files(tool) {
            grant.path = workspace.map(str::to_owned);
        }
        return Ok(grant);
    }
    let Some((name, pattern)) = rest.split_once('=') else {
        return Err(wrong("after the tool comes ARG=PATTERN."));
    };
    match name {
        "path" => grant.path = Some(real(pattern)?),
        "host" => grant.host = Some(pattern.to_owned()),
        name if name.is_empty() || name.contains(char::is_whitespace) => {
            return Err(wrong("after the tool comes ARG=PATTERN."));
        }
        name => {
            grant.matches.insert(name.to_owned(), pattern.to_owned());
        }
    }
    Ok(grant)
}

/// Returns true for a built-in tool that changes the files at its paths.
fn changes_files(tool: &str) -> bool {
    let spec = hob_tools::builtin(tool).map(|entry| (entry.spec)());
    spec.is_some_and(|spec| {
        let mut needs = spec.needs.iter();
        spec.tier == Tier::Write && needs.any(|need| need.kind == NeedKind::Path)
    })
}

/// Warns about tools and arguments in grants that do not exist now.
pub async fn warn_unknown_grants(context: &CommandContext, client: &Client, grants: &[ToolGrant]) {
    if grants.is_empty() {
        return;
    }
    let known = permission::known_tools(client).await;
    for grant in grants {
        permission::warn_unknown(&known, &rule_terms(grant), context);
    }
}

fn rule_terms(grant: &ToolGrant) -> PermissionAddParams {
    PermissionAddParams::from(RuleTerms {
        matches: grant.matches.clone(),
        path: grant.path.clone(),
        host: grant.host.clone(),
        ..RuleTerms::new(&grant.tool, RuleDecision::Allow, AnswerReach::Always)
    })
}

/// Returns the session to notify, from the flags and the previous target.
pub fn notify_target(
    args: NotifyArgs,
    before: Option<&NotifyTargetView>,
) -> Result<Option<NotifyTarget>, CommandFailure> {
    let failures_only = args.notify_failures;
    match (args.notify, before) {
        (Some(session_key), _) => Ok(Some(NotifyTarget {
            session_key,
            failures_only,
        })),
        (None, Some(before)) if failures_only => Ok(Some(NotifyTarget {
            session_key: before.session_key.clone(),
            failures_only,
        })),
        (None, None) if failures_only => Err(CommandFailure::usage(
            "--notify-failures needs --notify SESSION.",
        )),
        (None, _) => Ok(None),
    }
}

/// Merges the budget flags into the previous budget; `None` if no flag is given.
pub fn merged_budget(args: &TaskArgs, before: Option<&BudgetView>) -> Option<Budget> {
    let given = args.budget();
    if given == Budget::default() {
        return None;
    }
    // An update replaces the whole budget, so limits that no flag names are carried over.
    let before = before.copied().map(Budget::from).unwrap_or_default();
    Some(Budget {
        steps: given.steps.or(before.steps),
        tokens: given.tokens.or(before.tokens),
        micro_dollars: given.micro_dollars.or(before.micro_dollars),
        wall_ms: given.wall_ms.or(before.wall_ms),
    })
}

/// Warns if the workspace is the whole home folder or the whole machine.
pub fn warn_wide_workspace(context: &CommandContext, workspace: Option<&str>) {
    let note = workspace.and_then(|folder| run_request::wide_folder_warning(context, folder));
    if let Some(note) = note.filter(|_| !context.terminal.json) {
        Terminal::note(
            context
                .terminal
                .stderr_screen()
                .paint(TextTone::Warning, &note),
        );
    }
}

#[cfg(test)]
#[path = "unattended_flags_tests.rs"]
mod tests;
