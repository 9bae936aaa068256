//! OpenAI's chat completions: the protocol most providers and local servers speak. See README.md.

mod request;
mod stream;

use crate::dialect::{Ask, Call, Decoder, Dialect, ListPage, Listed};
use hob_wire::rooms::model::Price;
use serde_json::Value;

/// Chat completions anywhere.
#[derive(Debug)]
pub(crate) struct OpenaiChat;

/// Chat completions at Ollama, whose address people write without `/v1`.
#[derive(Debug)]
pub(crate) struct Ollama;

impl Dialect for OpenaiChat {
    fn base(&self, url: &str) -> String {
        let url = url.trim_end_matches('/');
        let url = url.strip_suffix("/chat/completions").unwrap_or(url);
        let after_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
        // A bare host is meant to be asked where everybody answers.
        if after_scheme.contains('/') {
            url.to_owned()
        } else {
            format!("{url}/v1")
        }
    }

    fn call(&self, ask: &Ask<'_>) -> Call {
        Call {
            path: "/chat/completions".to_owned(),
            body: request::body(ask),
        }
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(stream::ChatStream::default())
    }

    fn list_path(&self) -> &'static str {
        "/models"
    }

    fn read_list(&self, body: &Value) -> Option<ListPage> {
        // Some servers answer with the bare list.
        let rows = body.get("data").unwrap_or(body).as_array()?;
        let models = rows.iter().filter_map(listed).collect();
        Some(ListPage { models, next: None })
    }
}

impl Dialect for Ollama {
    fn base(&self, url: &str) -> String {
        let url = url.trim_end_matches('/');
        let url = url.strip_suffix("/v1").unwrap_or(url);
        format!("{}/v1", url.strip_suffix("/api").unwrap_or(url))
    }

    fn call(&self, ask: &Ask<'_>) -> Call {
        OpenaiChat.call(ask)
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        OpenaiChat.decoder()
    }

    fn list_path(&self) -> &'static str {
        OpenaiChat.list_path()
    }

    fn read_list(&self, body: &Value) -> Option<ListPage> {
        OpenaiChat.read_list(body)
    }
}

fn listed(row: &Value) -> Option<Listed> {
    const WINDOWS: [&str; 5] = [
        "/context_length",
        "/context_window",
        "/max_context_length",
        "/max_model_len",
        "/meta/n_ctx_train",
    ];
    let name = row.get("id")?.as_str()?.to_owned();
    let window = |pointer: &&str| row.pointer(pointer)?.as_u64().filter(|tokens| *tokens > 0);
    Some(Listed {
        name,
        context_tokens: WINDOWS.iter().find_map(window),
        price: price(row),
    })
}

/// OpenRouter gives dollars for one token, as text.
fn price(row: &Value) -> Option<Price> {
    let each = |key: &str| {
        let text = row.pointer(key)?.as_str()?;
        for_a_million(text)
    };
    Some(Price {
        input: each("/pricing/prompt")?,
        output: each("/pricing/completion")?,
        cached: each("/pricing/input_cache_read"),
    })
}

/// Dollars for one token as millionths of a dollar for a million: twelve places on.
fn for_a_million(text: &str) -> Option<u64> {
    const PLACES: usize = 12;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fraction = &fraction[..fraction.len().min(PLACES)];
    format!("{whole}{fraction:0<PLACES$}").parse().ok()
}

#[cfg(test)]
#[path = "chat_tests.rs"]
mod tests;
