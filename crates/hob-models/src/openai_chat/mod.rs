//! OpenAI's chat completions, the protocol of most providers and local servers. See README.md.

mod request;
mod stream;

use crate::dialect::{
    ModelListPage, ProviderDialect, ProviderModel, ProviderRequest, RequestInput, StreamDecoder,
};
use hob_wire::rooms::model::ModelPrice;
use serde_json::Value;

/// Chat completions of any server.
#[derive(Debug)]
pub(crate) struct OpenaiChatDialect;

/// Chat completions of Ollama, whose URL is usually written without `/v1`.
#[derive(Debug)]
pub(crate) struct OllamaDialect;

impl ProviderDialect for OpenaiChatDialect {
    fn base_url(&self, url: &str) -> String {
        let url = url.trim_end_matches('/');
        let url = url.strip_suffix("/chat/completions").unwrap_or(url);
        let after_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
        // A bare host means the usual path.
        if after_scheme.contains('/') {
            url.to_owned()
        } else {
            format!("{url}/v1")
        }
    }

    fn build_request(&self, ask: &RequestInput<'_>) -> ProviderRequest {
        ProviderRequest {
            path: "/chat/completions".to_owned(),
            body: request::body(ask),
        }
    }

    fn decoder(&self) -> Box<dyn StreamDecoder> {
        Box::new(stream::OpenaiChatStream::default())
    }

    fn models_path(&self) -> &'static str {
        "/models"
    }

    fn parse_models(&self, body: &Value) -> Option<ModelListPage> {
        // Some servers return the bare list.
        let rows = body.get("data").unwrap_or(body).as_array()?;
        let models = rows.iter().filter_map(listed).collect();
        Some(ModelListPage { models, next: None })
    }
}

impl ProviderDialect for OllamaDialect {
    fn base_url(&self, url: &str) -> String {
        let url = url.trim_end_matches('/');
        let url = url.strip_suffix("/v1").unwrap_or(url);
        format!("{}/v1", url.strip_suffix("/api").unwrap_or(url))
    }

    fn build_request(&self, ask: &RequestInput<'_>) -> ProviderRequest {
        OpenaiChatDialect.build_request(ask)
    }

    fn decoder(&self) -> Box<dyn StreamDecoder> {
        OpenaiChatDialect.decoder()
    }

    fn models_path(&self) -> &'static str {
        OpenaiChatDialect.models_path()
    }

    fn parse_models(&self, body: &Value) -> Option<ModelListPage> {
        OpenaiChatDialect.parse_models(body)
    }
}

fn listed(row: &Value) -> Option<ProviderModel> {
    // The window in use comes before the one that the model could have.
    const WINDOWS: [&str; 6] = [
        "/meta/n_ctx",
        "/context_length",
        "/context_window",
        "/max_context_length",
        "/max_model_len",
        "/meta/n_ctx_train",
    ];
    let name = row.get("id")?.as_str()?.to_owned();
    let window = |pointer: &&str| row.pointer(pointer)?.as_u64().filter(|tokens| *tokens > 0);
    Some(ProviderModel {
        name,
        context_tokens: WINDOWS.iter().find_map(window),
        price: price(row),
    })
}

/// The price in an OpenRouter list, which has dollars per token as a string.
fn price(row: &Value) -> Option<ModelPrice> {
    let each = |key: &str| {
        let text = row.pointer(key)?.as_str()?;
        for_a_million(text)
    };
    Some(ModelPrice {
        input: each("/pricing/prompt")?,
        output: each("/pricing/completion")?,
        cached: each("/pricing/input_cache_read"),
    })
}

/// Converts dollars per token to millionths of a dollar per million tokens: twelve decimal places.
fn for_a_million(text: &str) -> Option<u64> {
    const PLACES: usize = 12;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    // Text of a server: the cut may fall inside a character, and then it is no number anyway.
    let fraction = fraction.get(..fraction.len().min(PLACES))?;
    format!("{whole}{fraction:0<PLACES$}").parse().ok()
}

#[cfg(test)]
#[path = "chat_tests.rs"]
mod tests;
