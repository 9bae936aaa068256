//! `hob permission`: stored rules, pending questions and trial decisions.

mod args;
mod params;

use crate::context::CommandContext;
use crate::failure::{CommandFailure, ExitStatus};
use crate::render::{ScreenStyle, TextTone, rules, tool};
use crate::run_ui::question;
pub use args::PermissionSubcommand;
use args::{PermissionAddArgs, PermissionAnswerArgs, PermissionCheckArgs, PermissionListArgs};
use hob_client::Client;
use hob_wire::rooms::permission::{
    Add, Answer, Check, List, Pending, PermissionAnswer, PermissionCheckParams,
    PermissionCheckResult, PermissionDecision, PermissionListParams, PermissionPendingParams,
    PermissionQuestion, PermissionRemoveParams, Remove,
};
use hob_wire::work::ToolContext;
pub(super) use params::{known_tools, real_path, warn_unknown};

/// The page size without `--limit`.
const DEFAULT_PAGE: u32 = 50;

pub async fn run(
    context: &CommandContext,
    command: PermissionSubcommand,
) -> Result<(), CommandFailure> {
    match command {
        PermissionSubcommand::Add(args) => add(context, *args).await,
        PermissionSubcommand::List(args) => list(context, args).await,
        PermissionSubcommand::Remove { id } => remove(context, id).await,
        PermissionSubcommand::Pending { session } => pending(context, session).await,
        PermissionSubcommand::Answer(args) => answer(context, args).await,
        PermissionSubcommand::Check(args) => check(context, args).await,
    }
}

async fn add(context: &CommandContext, args: PermissionAddArgs) -> Result<(), CommandFailure> {
    // The flags are checked before a daemon is started or asked.
    let run = args.run.clone();
    let mut terms = params::parse_rule(context, args)?;
    let client = context.client().await?;
    if let Some(run) = run {
        terms.run_id = Some(super::run::run_id(&client, run).await?);
    }
    let known = params::known_tools(&client).await;
    let rule = client.call_with_retry::<Add>(&terms).await?;
    params::warn_unknown(&known, &terms, context);
    Ok(context.terminal.print_result(&rule, rules::added)?)
}

async fn list(context: &CommandContext, args: PermissionListArgs) -> Result<(), CommandFailure> {
    let params = PermissionListParams {
        tool: args.tool,
        session_key: args.session,
        after: args.after,
        limit: Some(args.limit.unwrap_or(DEFAULT_PAGE)),
    };
    let page = context.client().await?.call::<List>(&params).await?;
    Ok(context.terminal.print_result(&page, rules::list)?)
}

async fn remove(context: &CommandContext, id: String) -> Result<(), CommandFailure> {
    let client = context.client().await?;
    let rule = client.call::<Remove>(&PermissionRemoveParams { id }).await;
    let rule = rule.map_err(|error| suggest_list(error.into(), "hob permission list"))?;
    Ok(context.terminal.print_result(&rule, rules::removed)?)
}

async fn pending(
    context: &CommandContext,
    session_key: Option<String>,
) -> Result<(), CommandFailure> {
    let params = PermissionPendingParams { session_key };
    let found = context.client().await?.call::<Pending>(&params).await?;
    Ok(context.terminal.print_result(&found, tool::questions)?)
}

async fn answer(
    context: &CommandContext,
    args: PermissionAnswerArgs,
) -> Result<(), CommandFailure> {
    if args.answer == PermissionDecision::Deny && args.scope.is_some() {
        return Err(
            CommandFailure::usage("A no applies to this call only; --scope needs y.")
                .next("To always deny it, add a rule: hob permission add --decision deny …"),
        );
    }
    let client = context.client().await?;
    let asked = open_question(&client, &args.id).await?;
    let params = question::answer(&asked, args.answer, args.scope);
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

async fn check(context: &CommandContext, args: PermissionCheckArgs) -> Result<(), CommandFailure> {
    let client = context.client().await?;
    let known = params::known_tools(&client).await;
    let params = PermissionCheckParams {
        args: params::arguments(&known, &args.tool, args.arguments)?,
        context: ToolContext {
            session_key: args.session,
            workspace: crate::run_ui::run_request::workspace(context, args.workspace)?,
            ..ToolContext::default()
        },
        ceiling: None,
        channel: args.channel,
        tool: args.tool,
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

/// Suggests the list command if something was not found.
fn suggest_list(mut failure: CommandFailure, list: &str) -> CommandFailure {
    if failure.code == hob_wire::ErrorCode::NotFound.as_str() {
        failure.next = Some(format!("See `{list}`."));
    }
    failure
}
