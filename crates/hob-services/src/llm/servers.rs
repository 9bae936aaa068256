//! Finds a running model server: Ollama, LM Studio or llama-server, identified by answers that only
//! they give. Any other server is ignored, and so is every server of another user; see [`trust`].

use super::NAME;
use crate::discovery::{DiscoveryContext, FoundService};
use crate::trust;
use hob_kit::settings::Settings;
use hob_net::{HttpClient, HttpRequest};
use serde::Deserialize;
use std::time::Duration;

/// The time limit of an answer; on the same machine it comes at once or not at all.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(800);
const ANSWER_BYTES_MAX: usize = 1024 * 1024;
const SERVERS_MAX: usize = 8;
/// The most models of a server that are listed.
const MODELS_MAX: usize = 100;
/// The maximum length of a version; a longer text is ignored.
const VERSION_BYTES_MAX: usize = 32;

/// The answer to `GET /v1/models`.
#[derive(Debug, Default, Deserialize)]
struct ModelList {
    #[serde(default)]
    data: Vec<ListedModel>,
}

#[derive(Debug, Deserialize)]
struct ListedModel {
    id: String,
    #[serde(default)]
    owned_by: String,
    /// The purpose of a model; only in LM Studio's own list, like `state`.
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    state: Option<String>,
}

#[derive(Debug, Deserialize)]
struct OllamaVersion {
    version: String,
}

/// The result of checking the configured addresses.
#[derive(Debug, Default)]
pub(super) struct ServerSearch {
    /// The first server that answers and has a model.
    pub(super) found: Option<FoundService>,
    /// Messages about servers of other users, which were not asked.
    pub(super) left_alone: Vec<String>,
}

/// A model server that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningModelServer {
    /// The address as the setting has it.
    pub address: String,
    /// `http://HOST:PORT`, without a path.
    pub url: String,
    /// Its name and address, for people.
    pub what: String,
    /// Its chat models, the one that is used first. Not empty.
    pub models: Vec<String>,
}

/// Finds the first server that can be used.
pub(super) async fn find(context: &DiscoveryContext<'_>) -> ServerSearch {
    let mut search = ServerSearch::default();
    for address in addresses(context) {
        match check_server(context, address).await {
            Ok(None) => {}
            Ok(Some(server)) => {
                search.found = Some(FoundService::Running {
                    model: server.models.into_iter().next(),
                    what: server.what,
                    url: server.url,
                });
                return search;
            }
            Err(left_alone) => search.left_alone.push(left_alone),
        }
    }
    search
}

/// Finds every server that can be used, and the messages about servers of other users.
pub async fn find_all(context: &DiscoveryContext<'_>) -> (Vec<RunningModelServer>, Vec<String>) {
    let (mut servers, mut left_alone) = (Vec::new(), Vec::new());
    for address in addresses(context) {
        match check_server(context, address).await {
            Ok(server) => servers.extend(server),
            Err(message) => left_alone.push(message),
        }
    }
    (servers, left_alone)
}

fn addresses<'a>(context: &DiscoveryContext<'a>) -> impl Iterator<Item = &'a String> + use<'a> {
    let all = context.settings.list("llm.servers");
    all.iter().take(SERVERS_MAX)
}

/// Returns the server at this address, if one runs there, or the message about one that is left
/// alone.
async fn check_server(
    context: &DiscoveryContext<'_>,
    address: &str,
) -> Result<Option<RunningModelServer>, String> {
    let url = server_url(address);
    // Before the first request: an untrusted server must not see anything.
    if let Err(untrusted) = trust::check_found_server(&url, context.settings, NAME).await {
        return if untrusted.is_foreign() {
            Err(untrusted.sentence)
        } else {
            Ok(None)
        };
    }
    Ok(identify_server(context.http, address, url).await)
}

/// Returns the address of the first running Ollama that hob may use, or what stands in the way.
pub async fn find_ollama(http: &HttpClient, settings: &Settings) -> Result<String, String> {
    let mut left_alone = Vec::new();
    let addresses = settings.list("llm.servers");
    for address in addresses.iter().take(SERVERS_MAX) {
        let url = server_url(address);
        if let Err(untrusted) = trust::check_found_server(&url, settings, NAME).await {
            left_alone.extend(untrusted.is_foreign().then_some(untrusted.sentence));
            continue;
        }
        let version = format!("{url}/api/version");
        if get::<OllamaVersion>(http, &version).await.is_some() {
            return Ok(url);
        }
    }
    let none = "No running Ollama of yours is found at the addresses of llm.servers. Start it with `ollama serve`, or pull a GGUF file: hob model catalog";
    left_alone.push(none.to_owned());
    Err(left_alone.join("\n"))
}

fn server_url(address: &str) -> String {
    match address.split_once("://") {
        Some(_) => address.trim_end_matches('/').to_owned(),
        None => format!("http://{address}"),
    }
}

async fn identify_server(
    http: &HttpClient,
    address: &str,
    url: String,
) -> Option<RunningModelServer> {
    let models: ModelList = get(http, &format!("{url}/v1/models")).await?;
    let (what, models) = if models.data.iter().any(|model| model.owned_by == "llamacpp") {
        ("llama-server".to_owned(), chat_models(&models))
    } else if let Some(answer) = get::<OllamaVersion>(http, &format!("{url}/api/version")).await {
        (
            format!("Ollama{}", version_suffix(&answer)),
            chat_models(&models),
        )
    } else {
        let own: ModelList = get(http, &format!("{url}/api/v0/models")).await?;
        ("LM Studio".to_owned(), chat_models(&own))
    };
    (!models.is_empty()).then(|| RunningModelServer {
        address: address.to_owned(),
        what: format!("{what} at {address}"),
        models,
        url,
    })
}

/// Returns ` 0.12.0`, or an empty text if the answer is no version.
fn version_suffix(answer: &OllamaVersion) -> String {
    // The text comes from a server and is shown to the user, so only a plain version passes.
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'+');
    let is_version = (1..=VERSION_BYTES_MAX).contains(&answer.version.len());
    if is_version && answer.version.bytes().all(plain) {
        format!(" {}", answer.version)
    } else {
        String::new()
    }
}

/// The chat models: first the one to use, preferably a loaded one.
fn chat_models(models: &ModelList) -> Vec<String> {
    let talks = |model: &&ListedModel| match model.kind.as_deref() {
        Some(kind) => kind == "llm" || kind == "vlm",
        // Other servers list embedding models without a type.
        None => !model.id.contains("embed"),
    };
    let loaded = |model: &&ListedModel| model.state.as_deref() == Some("loaded");
    let mut talking: Vec<&ListedModel> = models.data.iter().filter(talks).collect();
    if let Some(at) = talking.iter().position(loaded) {
        talking[..=at].rotate_right(1);
    }
    let names = talking.into_iter().map(|model| model.id.clone());
    names.take(MODELS_MAX).collect()
}

async fn get<T: for<'de> Deserialize<'de>>(http: &HttpClient, url: &str) -> Option<T> {
    let request = HttpRequest::get(url).head_timeout(ANSWER_TIMEOUT);
    let response = http.send(request).await.ok()?;
    if response.status() != 200 {
        return None;
    }
    let text = response.text(ANSWER_TIMEOUT, ANSWER_BYTES_MAX).await.ok()?;
    serde_json::from_str(&text).ok()
}
