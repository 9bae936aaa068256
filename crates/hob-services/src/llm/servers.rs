//! A server of language models that runs already: Ollama, LM Studio or llama-server, told apart by
//! what only they answer. Whatever else listens there is left alone, and so is every server of
//! another user's: see [`trust`].

use super::NAME;
use crate::found::{Found, Place};
use crate::trust;
use hob_net::{Http, Request};
use serde::Deserialize;
use std::time::Duration;

/// On this machine an answer comes at once or not at all.
const PATIENCE: Duration = Duration::from_millis(800);
const ANSWER_BYTES_MAX: usize = 1024 * 1024;
const SERVERS_MAX: usize = 8;
/// A version longer than this is none.
const VERSION_BYTES_MAX: usize = 32;

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
    version: String,
}

/// What looking at the addresses came to.
#[derive(Debug, Default)]
pub(super) struct Search {
    /// The first that answers and has a model.
    pub(super) found: Option<Found>,
    /// Sentences about servers of other users, which were asked nothing.
    pub(super) left_alone: Vec<String>,
}

pub(super) async fn find(place: &Place<'_>) -> Search {
    let mut search = Search::default();
    for address in place.settings.list("llm.servers").iter().take(SERVERS_MAX) {
        let url = match address.split_once("://") {
            Some(_) => address.trim_end_matches('/').to_owned(),
            None => format!("http://{address}"),
        };
        if let Err(distrust) = trust::check_found(&url, place.settings, NAME).await {
            let foreign = distrust.is_foreign().then_some(distrust.sentence);
            search.left_alone.extend(foreign);
            continue;
        }
        search.found = ask(place.http, address, url).await;
        if search.found.is_some() {
            break;
        }
    }
    search
}

async fn ask(http: &Http, address: &str, url: String) -> Option<Found> {
    let models: Models = get(http, &format!("{url}/v1/models")).await?;
    let (what, model) = if models.data.iter().any(|model| model.owned_by == "llamacpp") {
        ("llama-server".to_owned(), first(&models))
    } else if let Some(said) = get::<Version>(http, &format!("{url}/api/version")).await {
        (format!("Ollama{}", version(&said)), first(&models))
    } else {
        let own: Models = get(http, &format!("{url}/api/v0/models")).await?;
        ("LM Studio".to_owned(), first(&own))
    };
    Some(Found::Running {
        what: format!("{what} at {address}"),
        model: Some(model?),
        url,
    })
}

/// ` 0.12.0`, or nothing where what it says is no version.
fn version(said: &Version) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'+');
    let is_version = (1..=VERSION_BYTES_MAX).contains(&said.version.len());
    if is_version && said.version.bytes().all(plain) {
        format!(" {}", said.version)
    } else {
        String::new()
    }
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
