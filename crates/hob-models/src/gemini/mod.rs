//! Google's `streamGenerateContent`. See README.md.

mod request;
mod stream;

use crate::dialect::{Ask, Call, Decoder, Dialect, ListPage, Listed, text};
use hob_kit::secret::Secret;
use hob_net::Request;
use serde_json::Value;
use std::fmt::Write;

#[derive(Debug)]
pub(crate) struct Gemini;

impl Dialect for Gemini {
    fn base(&self, url: &str) -> String {
        let url = url.trim_end_matches('/');
        let url = url.strip_suffix("/models").unwrap_or(url);
        url.strip_suffix("/v1beta").unwrap_or(url).to_owned()
    }

    fn call(&self, ask: &Ask<'_>) -> Call {
        let model = &ask.prompt.model;
        let folder = if model.contains('/') { "" } else { "models/" };
        let model = in_address(model);
        Call {
            path: format!("/v1beta/{folder}{model}:streamGenerateContent?alt=sse"),
            body: request::body(ask),
        }
    }

    fn authorize(&self, request: Request, key: &Secret) -> Request {
        // Never in the address, where logs would keep it.
        request.secret_header("x-goog-api-key", key.clone())
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(stream::ContentStream::default())
    }

    fn list_path(&self) -> &'static str {
        "/v1beta/models?pageSize=1000"
    }

    fn read_list(&self, body: &Value) -> Option<ListPage> {
        let rows = body.get("models")?.as_array()?;
        let models = rows.iter().filter(|row| answers(row)).filter_map(|row| {
            let name = row.get("name")?.as_str()?;
            Some(Listed {
                name: name.strip_prefix("models/").unwrap_or(name).to_owned(),
                context_tokens: row.get("inputTokenLimit").and_then(Value::as_u64),
                price: None,
            })
        });
        let token = text(body, "/nextPageToken");
        let next = (!token.is_empty())
            .then(|| format!("{}&pageToken={}", self.list_path(), in_address(token)));
        Some(ListPage {
            models: models.collect(),
            next,
        })
    }
}

/// Whether a listed model answers prompts; others embed, or make pictures.
fn answers(row: &Value) -> bool {
    let methods = row
        .get("supportedGenerationMethods")
        .and_then(Value::as_array);
    methods.is_none_or(|methods| methods.contains(&Value::from("generateContent")))
}

fn in_address(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/' | b'@') {
            safe.push(char::from(byte));
        } else {
            let _ = write!(safe, "%{byte:02X}");
        }
    }
    safe
}

#[cfg(test)]
#[path = "gemini_tests.rs"]
mod tests;
