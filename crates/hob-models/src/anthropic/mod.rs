//! Anthropic's messages. See README.md.

mod request;
mod stream;

use crate::dialect::{Ask, Call, Decoder, Dialect, ListPage, Listed};
use hob_kit::secret::Secret;
use hob_net::Request;
use serde_json::Value;

#[derive(Debug)]
pub(crate) struct Anthropic;

impl Dialect for Anthropic {
    fn base(&self, url: &str) -> String {
        let url = url.trim_end_matches('/');
        let url = url.strip_suffix("/messages").unwrap_or(url);
        url.strip_suffix("/v1").unwrap_or(url).to_owned()
    }

    fn call(&self, ask: &Ask<'_>) -> Call {
        Call {
            path: "/v1/messages".to_owned(),
            body: request::body(ask),
        }
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("anthropic-version", "2023-06-01")]
    }

    fn authorize(&self, request: Request, key: &Secret) -> Request {
        request.secret_header("x-api-key", key.clone())
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(stream::MessageStream::default())
    }

    fn list_path(&self) -> &'static str {
        "/v1/models?limit=1000"
    }

    fn read_list(&self, body: &Value) -> Option<ListPage> {
        let rows = body.get("data")?.as_array()?;
        let models = rows.iter().filter_map(|row| {
            Some(Listed {
                name: row.get("id")?.as_str()?.to_owned(),
                context_tokens: row.get("max_input_tokens").and_then(Value::as_u64),
                price: None,
            })
        });
        let more = body.get("has_more") == Some(&Value::Bool(true));
        let last = body.get("last_id").and_then(Value::as_str);
        let next = last.filter(|id| more && is_plain(id));
        Some(ListPage {
            models: models.collect(),
            next: next.map(|id| format!("{}&after_id={id}", self.list_path())),
        })
    }
}

/// What goes into an address as it is.
fn is_plain(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !id.is_empty() && id.bytes().all(plain)
}

#[cfg(test)]
#[path = "anthropic_tests.rs"]
mod tests;
