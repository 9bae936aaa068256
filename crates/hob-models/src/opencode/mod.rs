//! `OpenCode`'s server: an agent used like a model. See README.md.
//!
//! Invariant: every prompt has its own session, which is deleted however the call ends, so that
//! nothing of one conversation reaches another.

mod request;
mod session;
mod stream;

use crate::dialect::{
    AnswerTransport, ModelListPage, ProviderDialect, ProviderModel, ProviderRequest, RequestInput,
    StreamDecoder,
};
use crate::served_model::UNNAMED;
use hob_kit::secret::Secret;
use hob_net::HttpRequest;
use hob_wire::rooms::model::ModelPrice;
use serde_json::Value;

pub(crate) use session::{OpencodeSession, open};

/// The user name of HTTP basic authentication.
const USER: &str = "opencode";

#[derive(Debug)]
pub(crate) struct OpencodeDialect;

impl ProviderDialect for OpencodeDialect {
    fn base_url(&self, url: &str) -> String {
        url.trim_end_matches('/').to_owned()
    }

    fn build_request(&self, ask: &RequestInput<'_>) -> ProviderRequest {
        ProviderRequest {
            path: "/session".to_owned(),
            body: request::body(ask),
        }
    }

    fn transport(&self) -> AnswerTransport {
        AnswerTransport::Session
    }

    fn authorize(&self, request: HttpRequest, key: &Secret) -> HttpRequest {
        let pair = format!("{USER}:{}", key.expose());
        let basic = data_encoding::BASE64.encode(pair.as_bytes());
        request.secret_header("authorization", Secret::new(format!("Basic {basic}")))
    }

    fn decoder(&self) -> Box<dyn StreamDecoder> {
        Box::new(stream::OpencodeStream::default())
    }

    fn models_path(&self) -> &'static str {
        "/config/providers"
    }

    fn parse_models(&self, body: &Value) -> Option<ModelListPage> {
        let its_own = ProviderModel {
            name: UNNAMED.to_owned(),
            ..ProviderModel::default()
        };
        let mut models = vec![its_own];
        for provider in body.get("providers")?.as_array()? {
            let Some(id) = provider.get("id").and_then(Value::as_str) else {
                continue;
            };
            let rows = provider.get("models").and_then(Value::as_object);
            let rows = rows.into_iter().flatten();
            models.extend(rows.map(|(name, row)| listed(id, name, row)));
        }
        Some(ModelListPage { models, next: None })
    }
}

fn listed(provider: &str, name: &str, row: &Value) -> ProviderModel {
    let window = row.pointer("/limit/context").and_then(Value::as_u64);
    let price = |pointer: &str| micro_dollars(row.pointer(pointer)?);
    let is_known = |price: &ModelPrice| price.input > 0 || price.output > 0;
    let listed = || {
        Some(ModelPrice {
            input: price("/cost/input")?,
            output: price("/cost/output")?,
            cached: price("/cost/cache/read"),
        })
    };
    ProviderModel {
        name: format!("{provider}/{name}"),
        context_tokens: window.filter(|tokens| *tokens > 0),
        // OpenCode writes zeros for an unknown price.
        price: listed().filter(is_known),
    }
}

/// Converts dollars to millionths; `None` if the value is not an amount.
fn micro_dollars(dollars: &Value) -> Option<u64> {
    const MILLION: f64 = 1_000_000.0;
    let micros = (dollars.as_f64()? * MILLION).ceil();
    let is_sum = (0.0..1e15).contains(&micros);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number between zero and a thousand million dollars"
    )]
    is_sum.then_some(micros as u64)
}

#[cfg(test)]
#[path = "opencode_tests.rs"]
mod tests;
