//! Checks names of models and tools before they are used: a typo is answered at once with the name
//! that was probably meant.
//!
//! Invariant: what cannot be checked passes. A provider that is away, or lists fewer models than it
//! has, never stands in the way.

use crate::failure::{CommandFailure, ExitStatus};
use crate::render::text::one_line;
use crate::tree::help_text::nearest;
use hob_client::Client;
use hob_wire::rooms::model::{List, ModelListParams, ModelListResult};
use hob_wire::rooms::tool::{List as Tools, ToolListParams};

/// Checks `--tools`.
pub async fn tools(client: &Client, wanted: &[String]) -> Result<(), CommandFailure> {
    if wanted.is_empty() {
        return Ok(());
    }
    let Ok(listed) = client
        .call_with_retry::<Tools>(&ToolListParams::default())
        .await
    else {
        return Ok(());
    };
    let builtin = listed.tools.iter().map(|tool| tool.name.as_str());
    let outside = listed.outside.iter().map(|tool| tool.name.as_str());
    let known: Vec<&str> = builtin.chain(outside).collect();
    for name in wanted {
        if !known.contains(&name.as_str()) {
            let near = nearest(name, known.iter().copied());
            return Err(unknown("tool", name, near, "`hob tool list` lists them."));
        }
    }
    Ok(())
}

/// Checks the name of an alias.
pub async fn alias(client: &Client, wanted: &str) -> Result<(), CommandFailure> {
    let Ok(listed) = list(client, None, true).await else {
        return Ok(());
    };
    let known: Vec<&str> = listed.aliases.iter().map(|it| it.alias.as_str()).collect();
    if known.is_empty() || known.contains(&wanted) {
        return Ok(());
    }
    let near = nearest(wanted, known.iter().copied());
    let all = format!("The aliases are {}.", known.join(", "));
    Err(unknown("alias", wanted, near, &all))
}

/// Checks the name of a model, `PROVIDER/MODEL` or an alias.
pub async fn model(client: &Client, wanted: &str) -> Result<(), CommandFailure> {
    let Ok(listed) = list(client, None, true).await else {
        return Ok(());
    };
    let Some((provider, _)) = wanted.split_once('/') else {
        return check_short_name(&listed, wanted);
    };
    let known: Vec<&str> = listed.providers.iter().map(|it| it.name.as_str()).collect();
    if !known.contains(&provider) {
        let near = nearest(provider, known.into_iter());
        let all = "`hob model list` lists them; `hob model add` adds one.";
        return Err(unknown("provider", provider, near, all));
    }
    let Ok(listed) = list(client, Some(provider), false).await else {
        return Ok(());
    };
    let known: Vec<&str> = listed.models.iter().map(|it| it.id.as_str()).collect();
    if known.contains(&wanted) {
        return Ok(());
    }
    // Only a typo is refused: some providers serve models that they do not list.
    match nearest(wanted, known.into_iter()) {
        Some(near) => Err(unknown("model", wanted, Some(near), "")),
        None => Ok(()),
    }
}

/// Asks a provider for its models; returns the reason if it does not answer. One that lacks its key
/// has said so already.
pub async fn provider_problem(client: &Client, provider: &str) -> Option<String> {
    let before = list(client, Some(provider), true).await.ok()?;
    let asked = list(client, Some(provider), false).await.ok()?;
    let was_ready = before.providers.first().is_some_and(|it| it.ready);
    let problem = asked.providers.into_iter().next().filter(|it| !it.ready)?;
    let message = problem.message.filter(|_| was_ready)?;
    Some(format!(
        "It is stored, but does not answer: {}",
        one_line(&message)
    ))
}

fn check_short_name(listed: &ModelListResult, wanted: &str) -> Result<(), CommandFailure> {
    let mut known = listed.aliases.iter().map(|it| it.alias.as_str());
    if known.any(|alias| alias == wanted) {
        return Ok(());
    }
    let known = listed.aliases.iter().map(|it| it.alias.as_str());
    let all = "A model is written PROVIDER/MODEL; `hob model list` lists them.";
    Err(unknown(
        "model or alias",
        wanted,
        nearest(wanted, known),
        all,
    ))
}

/// Checks the address of a server. The most common slip is a missing scheme.
pub fn url(url: &str) -> Result<(), CommandFailure> {
    if url.contains("://") || url.is_empty() {
        return Ok(());
    }
    let sentence = format!("'{}' is no address: the scheme is missing.", one_line(url));
    let meant = format!("http://{url}");
    Err(CommandFailure::usage(sentence).next(format!("Did you mean '{}'?", one_line(&meant))))
}

async fn list(
    client: &Client,
    provider: Option<&str>,
    names_only: bool,
) -> Result<ModelListResult, hob_client::ClientError> {
    let params = ModelListParams {
        provider: provider.map(str::to_owned),
        names_only,
    };
    client.call_with_retry::<List>(&params).await
}

/// The failure for an unknown name, with the name that was probably meant, or how to see `all`.
fn unknown(what: &str, name: &str, near: Option<&str>, all: &str) -> CommandFailure {
    let sentence = format!("There is no {what} '{}'.", one_line(name));
    let failure = CommandFailure::new(ExitStatus::NotFound, "NOT_FOUND", sentence);
    match near {
        Some(near) => failure.next(format!("Did you mean '{}'?", one_line(near))),
        None => failure.next(all),
    }
}
