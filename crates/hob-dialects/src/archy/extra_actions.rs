//! Actions that Archy does not have but its clients need here. Commands are queued, so a program
//! that asks a question is answered with keys, and one that does not end is cancelled.

use crate::archy::client::{ArchyClient, ArchyFailure};
use crate::archy::fields::ArchyFields;
use crate::archy::types::ArchyResponse;
use hob_wire::rooms::terminal::{self, TerminalCancelParams, TerminalInfo, TerminalKeysParams};
use serde_json::Value;

/// `send_keys`: types keys into the session, whatever runs in it.
pub(crate) async fn send_keys(
    client: &ArchyClient<'_>,
    data: ArchyFields<'_>,
) -> Result<ArchyResponse, ArchyFailure> {
    let text = data.text("text")?.map(str::to_owned);
    let keys = match data.0.get("keys").filter(|keys| !keys.is_null()) {
        None => Vec::new(),
        Some(keys) => key_names(keys).ok_or("Invalid keys: a list of texts is needed")?,
    };
    if text.is_none() && keys.is_empty() {
        return Err("Missing text or keys parameter".into());
    }
    let name = Some(data.session(&client.settings)?);
    let params = TerminalKeysParams {
        name,
        text,
        keys,
        run_id: None,
    };
    client.call::<terminal::Keys>(&params).await?;
    Ok(ArchyResponse::success_with("✓ Keys sent"))
}

fn key_names(keys: &Value) -> Option<Vec<String>> {
    let keys = keys.as_array()?.iter();
    keys.map(|key| key.as_str().map(str::to_owned)).collect()
}

/// `cancel`: ends the running and queued commands of clients in the session.
pub(crate) async fn cancel(
    client: &ArchyClient<'_>,
    data: ArchyFields<'_>,
) -> Result<ArchyResponse, ArchyFailure> {
    let params = TerminalCancelParams {
        name: Some(data.session(&client.settings)?),
        id: None,
    };
    let ended = client.call::<terminal::Cancel>(&params).await?.ended.len();
    Ok(ArchyResponse::success_with(format!(
        "✓ Commands ended: {ended}"
    )))
}

/// `list_sessions`: the names of the live sessions, one per line.
pub(crate) async fn list_sessions(client: &ArchyClient<'_>) -> Result<ArchyResponse, ArchyFailure> {
    let all = terminal::TerminalListParams::default();
    let listed = client.call::<terminal::List>(&all).await?;
    let alive = listed.terminals.into_iter().filter(ArchyClient::is_alive);
    let names: Vec<String> = alive.map(|it: TerminalInfo| it.name).collect();
    let some = !names.is_empty();
    Ok(ArchyResponse::success_with(names.join("\n")).with_exists(some))
}
