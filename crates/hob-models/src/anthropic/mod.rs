//! Anthropic's Messages API. See README.md.

mod request;
mod stream;

use crate::dialect::{
    ModelListPage, ProviderDialect, ProviderModel, ProviderRequest, RequestInput, StreamDecoder,
};
use hob_kit::secret::Secret;
use hob_net::HttpRequest;
use serde_json::Value;

#[derive(Debug)]
pub(crate) struct AnthropicDialect;

impl ProviderDialect for AnthropicDialect {
    fn base_url(&self, url: &str) -> String {
        let url = url.trim_end_matches('/');
        let url = url.strip_suffix("/messages").unwrap_or(url);
        url.strip_suffix("/v1").unwrap_or(url).to_owned()
    }

    fn build_request(&self, ask: &RequestInput<'_>) -> ProviderRequest {
        ProviderRequest {
            path: "/v1/messages".to_owned(),
            body: request::body(ask),
        }
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("anthropic-version", "2023-06-01")]
    }

    fn authorize(&self, request: HttpRequest, key: &Secret) -> HttpRequest {
        request.secret_header("x-api-key", key.clone())
    }

    fn decoder(&self) -> Box<dyn StreamDecoder> {
        Box::new(stream::AnthropicStream::default())
    }

    fn models_path(&self) -> &'static str {
        "/v1/models?limit=1000"
    }

    fn parse_models(&self, body: &Value) -> Option<ModelListPage> {
        let rows = body.get("data")?.as_array()?;
        let models = rows.iter().filter_map(|row| {
            Some(ProviderModel {
                name: row.get("id")?.as_str()?.to_owned(),
                context_tokens: row.get("max_input_tokens").and_then(Value::as_u64),
                price: None,
            })
        });
        let more = body.get("has_more") == Some(&Value::Bool(true));
        let last = body.get("last_id").and_then(Value::as_str);
        // The id becomes part of a URL, so an odd one ends the list.
        let next = last.filter(|id| more && is_plain(id));
        Some(ModelListPage {
            models: models.collect(),
            next: next.map(|id| format!("{}&after_id={id}", self.models_path())),
        })
    }
}

/// True if the id needs no escaping in a URL.
fn is_plain(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !id.is_empty() && id.bytes().all(plain)
}

#[cfg(test)]
#[path = "anthropic_tests.rs"]
mod tests;
