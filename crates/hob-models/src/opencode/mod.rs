//! `OpenCode`'s server: an agent of its own, asked like a model. See README.md.
//!
//! Invariant: every prompt has a session of its own, which is ended and deleted however the call
//! ends, so that nothing of one conversation reaches another.

mod request;
mod session;
mod stream;

use crate::dialect::{Ask, Call, Decoder, Dialect, ListPage, Listed, Way};
use crate::served::UNNAMED;
use hob_kit::secret::Secret;
use hob_net::Request;
use hob_wire::rooms::model::Price;
use serde_json::Value;

pub(crate) use session::{Session, open};

/// The user its password goes with.
const USER: &str = "opencode";

#[derive(Debug)]
pub(crate) struct Opencode;

impl Dialect for Opencode {
    fn base(&self, url: &str) -> String {
        url.trim_end_matches('/').to_owned()
    }

    fn call(&self, ask: &Ask<'_>) -> Call {
        Call {
            path: "/session".to_owned(),
            body: request::body(ask),
        }
    }

    fn way(&self) -> Way {
        Way::Session
    }

    fn authorize(&self, request: Request, key: &Secret) -> Request {
        let pair = format!("{USER}:{}", key.expose());
        let basic = data_encoding::BASE64.encode(pair.as_bytes());
        request.secret_header("authorization", Secret::new(format!("Basic {basic}")))
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(stream::Turn::default())
    }

    fn list_path(&self) -> &'static str {
        "/config/providers"
    }

    fn read_list(&self, body: &Value) -> Option<ListPage> {
        let its_own = Listed {
            name: UNNAMED.to_owned(),
            ..Listed::default()
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
        Some(ListPage { models, next: None })
    }
}

fn listed(provider: &str, name: &str, row: &Value) -> Listed {
    let window = row.pointer("/limit/context").and_then(Value::as_u64);
    let price = |pointer: &str| micro_dollars(row.pointer(pointer)?);
    let is_known = |price: &Price| price.input > 0 || price.output > 0;
    let listed = || {
        Some(Price {
            input: price("/cost/input")?,
            output: price("/cost/output")?,
            cached: price("/cost/cache/read"),
        })
    };
    Listed {
        name: format!("{provider}/{name}"),
        context_tokens: window.filter(|tokens| *tokens > 0),
        // A model nobody priced has zeros there.
        price: listed().filter(is_known),
    }
}

/// Dollars as millionths; none for what is no sum of money.
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
