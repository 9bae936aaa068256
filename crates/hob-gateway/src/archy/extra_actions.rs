//! Actions that Archy has not and its clients need here: commands wait for their turn, so a program
//! that asks something is answered with keys, and one that does not end is ended.

use crate::archy::client::{Client, Failure};
use crate::archy::fields::Fields;
use hob_wire::archy::Response;
use hob_wire::rooms::terminal::{self, CancelParams, KeysParams, Terminal};
use serde_json::Value;

/// `send_keys`: typed as a keyboard would, whatever runs in the session.
pub(crate) async fn send_keys(client: &Client<'_>, data: Fields<'_>) -> Result<Response, Failure> {
    let text = data.text("text")?.map(str::to_owned);
    let keys = match data.0.get("keys").filter(|keys| !keys.is_null()) {
        None => Vec::new(),
        Some(keys) => listed(keys).ok_or("Invalid keys: a list of texts is needed")?,
    };
    if text.is_none() && keys.is_empty() {
        return Err("Missing text or keys parameter".into());
    }
    let name = Some(data.session(&client.settings)?);
    let params = KeysParams {
        name,
        text,
        keys,
        run_id: None,
    };
    client.call::<terminal::Keys>(&params).await?;
    Ok(Response::said("✓ Keys sent"))
}

fn listed(keys: &Value) -> Option<Vec<String>> {
    let keys = keys.as_array()?.iter();
    keys.map(|key| key.as_str().map(str::to_owned)).collect()
}

/// `cancel`: ends what clients have running or waiting in the session.
pub(crate) async fn cancel(client: &Client<'_>, data: Fields<'_>) -> Result<Response, Failure> {
    let params = CancelParams {
        name: Some(data.session(&client.settings)?),
        id: None,
    };
    let ended = client.call::<terminal::Cancel>(&params).await?.ended.len();
    Ok(Response::said(format!("✓ Commands ended: {ended}")))
}

/// `list_sessions`: the names of those that live, a line each.
pub(crate) async fn list_sessions(client: &Client<'_>) -> Result<Response, Failure> {
    let all = terminal::ListParams::default();
    let listed = client.call::<terminal::List>(&all).await?;
    let alive = listed.terminals.into_iter().filter(Client::is_alive);
    let names: Vec<String> = alive.map(|it: Terminal| it.name).collect();
    let some = !names.is_empty();
    Ok(Response::said(names.join("\n")).with_exists(some))
}
