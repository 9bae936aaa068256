//! A server of language models that runs already: Ollama, LM Studio or llama-server, told apart by
//! what only they answer. Whatever else listens there is left alone.

use crate::found::Found;
use hob_net::{Http, Request};
use serde::Deserialize;
use std::time::Duration;

/// On this machine an answer comes at once or not at all.
const PATIENCE: Duration = Duration::from_millis(800);
const ANSWER_BYTES_MAX: usize = 1024 * 1024;
const SERVERS_MAX: usize = 8;

/// `GET /v1/models`.
#[derive(Debug, Default, Deserialize)]
struct Models {
    #[serde(default)]
    data: Vec<Listed>,
}

#[derive(Debug, Deserialize)]
struct Listed {
    id: String,
    #[serde(default)]
    owned_by: String,
    /// LM Studio's own list says what a model is for and whether it is loaded.
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    state: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Version {
    #[serde(rename = "version")]
    _version: String,
}

/// The first of these addresses where one answers and has a model.
pub(super) async fn find(http: &Http, addresses: &[String]) -> Option<Found> {
    for address in addresses.iter().take(SERVERS_MAX) {
        if let Some(found) = ask(http, address).await {
            return Some(found);
        }
    }
    None
}

async fn ask(http: &Http, address: &str) -> Option<Found> {
    let url = match address.split_once("://") {
        Some(_) => address.trim_end_matches('/').to_owned(),
        None => format!("http://{address}"),
    };
    let models: Models = get(http, &format!("{url}/v1/models")).await?;
    let (what, model) = if models.data.iter().any(|model| model.owned_by == "llamacpp") {
        ("llama-server", first(&models))
    } else if get::<Version>(http, &format!("{url}/api/version"))
        .await
        .is_some()
    {
        ("Ollama", first(&models))
    } else {
        let own: Models = get(http, &format!("{url}/api/v0/models")).await?;
        ("LM Studio", first(&own))
    };
    Some(Found::Running {
        what: format!("{what} at {address}"),
        model: Some(model?),
        url,
    })
}

/// A model to talk with: one that is loaded before one that is not.
fn first(models: &Models) -> Option<String> {
    let talks = |model: &&Listed| match model.kind.as_deref() {
        Some(kind) => kind == "llm" || kind == "vlm",
        None => !model.id.contains("embed"),
    };
    let loaded = |model: &&Listed| model.state.as_deref() == Some("loaded");
    let mut talking = models.data.iter().filter(talks);
    let first = talking.clone().next();
    talking.find(loaded).or(first).map(|model| model.id.clone())
}

async fn get<T: for<'de> Deserialize<'de>>(http: &Http, url: &str) -> Option<T> {
    let request = Request::get(url).head_timeout(PATIENCE);
    let response = http.send(request).await.ok()?;
    if response.status() != 200 {
        return None;
    }
    let text = response.text(PATIENCE, ANSWER_BYTES_MAX).await.ok()?;
    serde_json::from_str(&text).ok()
}
