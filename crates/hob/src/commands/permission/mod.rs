//! `hob permission`: stored rules, pending questions and trial decisions.

mod flags;
mod params;

use crate::context::CommandContext;
use crate::failure::{CommandFailure, ExitStatus};
use crate::render::{ScreenStyle, TextTone, rules, tool};
use crate::run_ui::question;
use clap::ArgMatches;
pub use flags::command;
use hob_client::Client;
use hob_wire::rooms::permission::{
    Add, Answer, Check, List, Pending, PermissionAnswer, PermissionCheckParams,
    PermissionCheckResult, PermissionDecision, PermissionListParams, PermissionPendingParams,
    PermissionQuestion, PermissionRemoveParams, Remove,
};
use hob_wire::work::ToolContext;
pub(super) use params::{known_tools, parse_wire_name, real_path, warn_unknown};

/// The page size without `--limit`.
const DEFAULT_PAGE: u32 = 50;

pub async fn run(context: &CommandContext, matches: &ArgMatches) -> Result<(), CommandFailure> {
    match matches.subcommand() {
        Some(("add", matches)) => add(context, matches).await,
        Some(("list", matches)) => list(context, matches).await,
        Some(("remove", matches)) => remove(context, matches).await,
        Some(("pending", matches)) => pending(context, matches).await,
        Some(("answer", matches)) => answer(context, matches).await,
        Some(("check", matches)) => check(context, matches).await,
        _ => Err(CommandFailure::quiet(ExitStatus::Usage)),
    }
}

async fn add(context: &CommandContext, matches: &ArgMatches) -> Result<(), CommandFailure> {
    // The flags are checked before a daemon is started or asked.
    let terms = params::parse_rule(context, matches)?;
    let client = context.client().await?;
    let terms = params::resolve_run(&client, matches, terms).await?;
    let known = params::known_tools(&client).await;
    let rule = client.call_with_retry::<Add>(&terms).await?;
    params::warn_unknown(&known, &terms, context);
    Ok(context.terminal.print_result(&rule, rules::added)?)
}

async fn list(context: &CommandContext, matches: &ArgMatches) -> Result<(), CommandFailure> {
    let text = |name: &str| matches.get_one::<String>(name).cloned();
    let params = PermissionListParams {
        tool: text("tool"),
        session_key: text("session"),
        after: text("after"),
        limit: Some(
            matches
                .get_one::<u32>("limit")
                .copied()
                .unwrap_or(DEFAULT_PAGE),
        ),
    };
    let page = context.client().await?.call::<List>(&params).await?;
    Ok(context.terminal.print_result(&page, rules::list)?)
}

async fn remove(context: &CommandContext, matches: &ArgMatches) -> Result<(), CommandFailure> {
    let params = PermissionRemoveParams { id: id(matches) };
    let client = context.client().await?;
    let rule = client.call::<Remove>(&params).await;
    let rule = rule.map_err(|error| suggest_list(error.into(), "hob permission list"))?;
    Ok(context.terminal.print_result(&rule, rules::removed)?)
}

async fn pending(context: &CommandContext, matches: &ArgMatches) -> Result<(), CommandFailure> {
    let params = PermissionPendingParams {
        session_key: matches.get_one::<String>("session").cloned(),
    };
    let found = context.client().await?.call::<Pending>(&params).await?;
    Ok(context.terminal.print_result(&found, tool::questions)?)
}

async fn answer(context: &CommandContext, matches: &ArgMatches) -> Result<(), CommandFailure> {
    let decision = match matches.get_one::<String>("answer").map(String::as_str) {
        Some("y" | "yes") => PermissionDecision::Allow,
        _ => PermissionDecision::Deny,
    };
    let scope = matches.get_one::<String>("scope");
    let scope = scope.and_then(|word| params::parse_wire_name(word));
    if decision == PermissionDecision::Deny && scope.is_some() {
        return Err(
            CommandFailure::usage("A no applies to this call only; --scope needs y.")
                .next("To always deny it, add a rule: hob permission add --decision deny …"),
        );
    }
    let client = context.client().await?;
    let asked = open_question(&client, &id(matches)).await?;
    let params = question::answer(&asked, decision, scope);
    let answered = client.call_with_retry::<Answer>(&params).await?;
    let terminal = &context.terminal;
    if terminal.json {
        return Ok(terminal.document(&answered)?);
    }
    Ok(terminal.lines(answer_lines(&asked, &answered, terminal.screen()))?)
}

/// Formats the answer and the rule that it stored.
fn answer_lines(
    asked: &PermissionQuestion,
    answered: &PermissionAnswer,
    screen: &ScreenStyle,
) -> Vec<String> {
    let what = crate::run_ui::lines::sentence(&asked.sentence);
    let (word, tone) = match answered.decision {
        PermissionDecision::Allow => ("Allowed", TextTone::Good),
        PermissionDecision::Deny => ("Denied", TextTone::Warning),
    };
    let mut out = vec![screen.paint(tone, &format!("{word}: {what}"))];
    let offers = asked.offers.iter();
    let stored = offers.filter(|offer| offer.scope == answered.scope);
    // Only a yes stores the offered rule.
    if answered.decision == PermissionDecision::Allow {
        out.extend(stored.map(|offer| {
            format!(
                "From now on: allow {} ({})",
                rules::calls(offer),
                rules::reach(offer)
            )
        }));
    }
    out
}

/// Returns the pending question whose id is or begins with `id`.
async fn open_question(client: &Client, id: &str) -> Result<PermissionQuestion, CommandFailure> {
    let pending = client
        .call::<Pending>(&PermissionPendingParams::default())
        .await?;
    let mut found = pending.questions.into_iter();
    let mut found = found
        .by_ref()
        .filter(|question| question.id.starts_with(id));
    match (found.next(), found.next()) {
        (Some(_), Some(_)) => Err(CommandFailure::usage(format!(
            "Several questions begin with '{id}': use more of the id."
        ))
        .next("See `hob permission pending`.")),
        (Some(question), None) => Ok(question),
        (None, _) => Err(CommandFailure::new(
            ExitStatus::NotFound,
            hob_wire::ErrorCode::NotFound.as_str(),
            format!("There is no pending question '{id}'."),
        )
        .next("It may already be answered; see `hob permission pending`.")),
    }
}

async fn check(context: &CommandContext, matches: &ArgMatches) -> Result<(), CommandFailure> {
    let client = context.client().await?;
    let text = |name: &str| matches.get_one::<String>(name).cloned();
    let name = text("tool").unwrap_or_default();
    let known = params::known_tools(&client).await;
    let args = params::arguments(&known, &name, matches)?;
    let params = PermissionCheckParams {
        args,
        context: ToolContext {
            session_key: text("session"),
            workspace: crate::run_ui::run_request::workspace(context, text("workspace"))?,
            ..ToolContext::default()
        },
        ceiling: None,
        channel: text("channel"),
        tool: name,
    };
    let checked = client.call::<Check>(&params).await;
    let checked = checked.map_err(|error| {
        let failure = suggest_list(error.into(), "hob tool list");
        params::with_similar_names(failure, &known, &params.tool)
    })?;
    Ok(context.terminal.print_result(&checked, checked_lines)?)
}

fn checked_lines(checked: &PermissionCheckResult, screen: &ScreenStyle) -> Vec<String> {
    use hob_wire::work::RuleDecision;
    let (word, tone) = match checked.decision {
        RuleDecision::Allow => ("Allowed", TextTone::Good),
        RuleDecision::Deny => ("Denied", TextTone::Warning),
        RuleDecision::Ask => ("Asked", TextTone::Warning),
    };
    let by = crate::render::text::one_line(&checked.by);
    let mut out = vec![screen.paint(tone, &format!("{word} ({by})"))];
    out.extend(
        checked
            .reason
            .iter()
            .map(|why| crate::run_ui::lines::sentence(why)),
    );
    out
}

fn id(matches: &ArgMatches) -> String {
    let id = matches.get_one::<String>("id").cloned();
    id.unwrap_or_default()
}

/// Suggests the list command if something was not found.
fn suggest_list(mut failure: CommandFailure, list: &str) -> CommandFailure {
    if failure.code == hob_wire::ErrorCode::NotFound.as_str() {
        failure.next = Some(format!("See `{list}`."));
    }
    failure
}
