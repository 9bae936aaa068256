//! `hob permission`: the stored rules, the questions that wait, and what would be decided.

mod flags;
mod terms;

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::mind::question;
use crate::render::{Screen, Tone, rules, tool};
use clap::ArgMatches;
pub use flags::command;
use hob_client::Client;
use hob_wire::rooms::permission::{
    Add, Answer, Answered, Check, CheckParams, Checked, Decision, List, ListParams, Pending,
    PendingParams, Question, Remove, RemoveParams,
};
use hob_wire::work::ToolContext;
pub(super) use terms::{known, named, real, warn};

/// Rules of a page unless the person says otherwise.
const PAGE: u32 = 50;

pub async fn run(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    match matches.subcommand() {
        Some(("add", matches)) => add(context, matches).await,
        Some(("list", matches)) => list(context, matches).await,
        Some(("remove", matches)) => remove(context, matches).await,
        Some(("pending", matches)) => pending(context, matches).await,
        Some(("answer", matches)) => answer(context, matches).await,
        Some(("check", matches)) => check(context, matches).await,
        _ => Err(Failure::quiet(Exit::Usage)),
    }
}

async fn add(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    // What can be wrong without a daemon is said without one.
    let terms = terms::read(context, matches)?;
    let client = context.client().await?;
    let terms = terms::complete(&client, matches, terms).await?;
    let known = terms::known(&client).await;
    let rule = client.call_again::<Add>(&terms).await?;
    terms::warn(&known, &terms, context);
    Ok(context.terminal.shown(&rule, rules::added)?)
}

async fn list(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let text = |name: &str| matches.get_one::<String>(name).cloned();
    let params = ListParams {
        tool: text("tool"),
        session_key: text("session"),
        after: text("after"),
        limit: Some(matches.get_one::<u32>("limit").copied().unwrap_or(PAGE)),
    };
    let page = context.client().await?.call::<List>(&params).await?;
    Ok(context.terminal.shown(&page, rules::list)?)
}

async fn remove(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let params = RemoveParams { id: id(matches) };
    let client = context.client().await?;
    let rule = client.call::<Remove>(&params).await;
    let rule = rule.map_err(|error| or_see(error.into(), "hob permission list"))?;
    Ok(context.terminal.shown(&rule, rules::removed)?)
}

async fn pending(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let params = PendingParams {
        session_key: matches.get_one::<String>("session").cloned(),
    };
    let found = context.client().await?.call::<Pending>(&params).await?;
    Ok(context.terminal.shown(&found, tool::questions)?)
}

async fn answer(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let decision = match matches.get_one::<String>("answer").map(String::as_str) {
        Some("y" | "yes") => Decision::Allow,
        _ => Decision::Deny,
    };
    let scope = matches.get_one::<String>("scope");
    let scope = scope.and_then(|word| terms::named(word));
    if decision == Decision::Deny && scope.is_some() {
        return Err(
            Failure::usage("A no holds for its call; --scope goes with y.")
                .next("A lasting no is a rule: hob permission add --decision deny …"),
        );
    }
    let client = context.client().await?;
    let asked = open_question(&client, &id(matches)).await?;
    let params = question::answer(&asked, decision, scope);
    let answered = client.call_again::<Answer>(&params).await?;
    let terminal = &context.terminal;
    if terminal.json {
        return Ok(terminal.document(&answered)?);
    }
    Ok(terminal.lines(told(&asked, &answered, terminal.screen()))?)
}

/// What was answered, and what of it stays.
fn told(asked: &Question, answered: &Answered, screen: &Screen) -> Vec<String> {
    let what = crate::mind::lines::sentence(&asked.sentence);
    let (word, tone) = match answered.decision {
        Decision::Allow => ("Allowed", Tone::Good),
        Decision::Deny => ("Denied", Tone::Warning),
    };
    let mut out = vec![screen.paint(tone, &format!("{word}: {what}"))];
    let offers = asked.offers.iter();
    let stored = offers.filter(|offer| offer.scope == answered.scope);
    if answered.decision == Decision::Allow {
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

/// The open question with this id, or the only one whose id begins like this.
async fn open_question(client: &Client, id: &str) -> Result<Question, Failure> {
    let pending = client.call::<Pending>(&PendingParams::default()).await?;
    let mut found = pending.questions.into_iter();
    let mut found = found
        .by_ref()
        .filter(|question| question.id.starts_with(id));
    match (found.next(), found.next()) {
        (Some(_), Some(_)) => Err(Failure::usage(format!(
            "Several questions begin with '{id}': use more of the id."
        ))
        .next("`hob permission pending` shows them.")),
        (Some(question), None) => Ok(question),
        (None, _) => Err(Failure::new(
            Exit::NotFound,
            hob_wire::ErrorCode::NotFound.as_str(),
            format!("No question '{id}' waits for an answer."),
        )
        .next("`hob permission pending` shows those that do; one may be answered already.")),
    }
}

async fn check(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let client = context.client().await?;
    let text = |name: &str| matches.get_one::<String>(name).cloned();
    let name = text("tool").unwrap_or_default();
    let known = terms::known(&client).await;
    let args = terms::arguments(&known, &name, matches)?;
    let params = CheckParams {
        args,
        context: ToolContext {
            session_key: text("session"),
            workspace: crate::mind::order::workspace(context, text("workspace"))?,
            ..ToolContext::default()
        },
        ceiling: None,
        channel: text("channel"),
        tool: name,
    };
    let checked = client.call::<Check>(&params).await;
    let checked = checked.map_err(|error| {
        let failure = or_see(error.into(), "hob tool list");
        terms::with_near(failure, &known, &params.tool)
    })?;
    Ok(context.terminal.shown(&checked, checked_lines)?)
}

fn checked_lines(checked: &Checked, screen: &Screen) -> Vec<String> {
    use hob_wire::work::RuleDecision;
    let (word, tone) = match checked.decision {
        RuleDecision::Allow => ("Allowed", Tone::Good),
        RuleDecision::Deny => ("Denied", Tone::Warning),
        RuleDecision::Ask => ("Asked", Tone::Warning),
    };
    let by = crate::render::words::one_line(&checked.by);
    let mut out = vec![screen.paint(tone, &format!("{word} ({by})"))];
    out.extend(
        checked
            .reason
            .iter()
            .map(|why| crate::mind::lines::sentence(why)),
    );
    out
}

fn id(matches: &ArgMatches) -> String {
    let id = matches.get_one::<String>("id").cloned();
    id.unwrap_or_default()
}

/// Names the command that shows what there is, when what was named is not.
fn or_see(mut failure: Failure, list: &str) -> Failure {
    if failure.code == hob_wire::ErrorCode::NotFound.as_str() {
        failure.next = Some(format!("`{list}` shows what there is."));
    }
    failure
}
