//! Google's `streamGenerateContent`. See README.md.

mod request;
mod stream;

use crate::dialect::{
    ModelListPage, ProviderDialect, ProviderModel, ProviderRequest, RequestInput, StreamDecoder,
    text,
};
use hob_kit::secret::Secret;
use hob_net::HttpRequest;
use serde_json::Value;
use std::fmt::Write;

#[derive(Debug)]
pub(crate) struct GeminiDialect;

impl ProviderDialect for GeminiDialect {
    fn base_url(&self, url: &str) -> String {
        let url = url.trim_end_matches('/');
        let url = url.strip_suffix("/models").unwrap_or(url);
        url.strip_suffix("/v1beta").unwrap_or(url).to_owned()
    }

    fn build_request(&self, ask: &RequestInput<'_>) -> ProviderRequest {
        let model = &ask.prompt.model;
        // A tuned model brings its own folder, such as `tunedModels/NAME`.
        let folder = if model.contains('/') { "" } else { "models/" };
        let model = percent_encode(model);
        ProviderRequest {
            path: format!("/v1beta/{folder}{model}:streamGenerateContent?alt=sse"),
            body: request::body(ask),
        }
    }

    fn authorize(&self, request: HttpRequest, key: &Secret) -> HttpRequest {
        // Not in the URL, where logs would record it.
        request.secret_header("x-goog-api-key", key.clone())
    }

    fn decoder(&self) -> Box<dyn StreamDecoder> {
        Box::new(stream::GeminiStream::default())
    }

    fn models_path(&self) -> &'static str {
        "/v1beta/models?pageSize=1000"
    }

    fn parse_models(&self, body: &Value) -> Option<ModelListPage> {
        let rows = body.get("models")?.as_array()?;
        let models = rows
            .iter()
            .filter(|row| can_generate(row))
            .filter_map(|row| {
                let name = row.get("name")?.as_str()?;
                Some(ProviderModel {
                    name: name.strip_prefix("models/").unwrap_or(name).to_owned(),
                    context_tokens: row.get("inputTokenLimit").and_then(Value::as_u64),
                    price: None,
                })
            });
        let token = text(body, "/nextPageToken");
        let next = (!token.is_empty())
            .then(|| format!("{}&pageToken={}", self.models_path(), percent_encode(token)));
        Some(ModelListPage {
            models: models.collect(),
            next,
        })
    }
}

/// True if a listed model answers prompts. Others embed or make pictures.
fn can_generate(row: &Value) -> bool {
    let methods = row
        .get("supportedGenerationMethods")
        .and_then(Value::as_array);
    methods.is_none_or(|methods| methods.contains(&Value::from("generateContent")))
}

fn percent_encode(text: &str) -> String {
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
