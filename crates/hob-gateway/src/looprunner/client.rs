//! One request of a client of Loop Runner's: who it is, of which loop it speaks, and what it asks
//! of the bus.
//!
//! Invariants: whoever is let in without a token came by the listener that grants it; a page of
//! another origin changes nothing, even where its browser says no Origin.

use crate::book::Principal;
use crate::http::{Desk, RequestId};
use crate::line::Line;
use crate::looprunner::{SURFACE, translate};
use crate::refusal::Refusal;
use crate::{rest, shared};
use axum::body::Body;
use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, header};
use bytes::Bytes;
use hob_bus::Caller;
use hob_wire::looprunner::{Config, HISTORY_MAX, Past, Whole};
use hob_wire::rooms::loops::{self, DEFAULT_LOOP, HistoryParams, Iteration, Loop, NameParams};
use hob_wire::rooms::model::{self, Alias};
use hob_wire::{ErrorCode, Method, WireError};
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::time::Duration;

/// Pages read for one history.
const PAGES_MAX: usize = 16;
/// Texts of one history; the oldest are left out beyond it.
const HISTORY_BYTES_MAX: usize = 8 * 1024 * 1024;
/// How a browser says whose page sends a request.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Marks the requests of a listener whose opening was the grant.
#[derive(Clone, Debug)]
pub(crate) struct Granted(pub(crate) Principal);

/// Whoever asks, and for which loop.
#[derive(Debug)]
pub(crate) struct Client {
    desk: Arc<Desk>,
    principal: Principal,
    granted: bool,
    trace: Arc<str>,
    caller: Caller,
    /// The loop of the path, or the default one.
    pub(crate) name: String,
}

impl FromRequestParts<Arc<Desk>> for Client {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, desk: &Arc<Desk>) -> Result<Self, Refusal> {
        let granted = parts.extensions.get::<Granted>().cloned();
        let is_granted = granted.is_some();
        let principal = match granted {
            Some(Granted(principal)) => principal,
            None => desk.admit(&parts.headers)?,
        };
        let name = named(parts, desk).await?;
        let trace = match parts.extensions.get::<RequestId>() {
            Some(RequestId(id)) => Arc::clone(id),
            None => "".into(),
        };
        let peer = shared::peer(&principal, SURFACE);
        let caller = desk.shared.bus.caller_as(peer)?;
        Ok(Client {
            desk: Arc::clone(desk),
            principal,
            granted: is_granted,
            trace,
            caller,
            name,
        })
    }
}

/// The loop that the path names.
async fn named(parts: &mut Parts, desk: &Arc<Desk>) -> Result<String, Refusal> {
    let params = RawPathParams::from_request_parts(parts, desk).await;
    let params = params.map_err(|failure| Refusal::bad_request(failure.body_text()))?;
    let found = params.iter().find(|(key, _)| *key == "id");
    Ok(found.map_or(DEFAULT_LOOP, |(_, name)| name).to_owned())
}

impl Client {
    /// Calls `M`, tied to the request it serves.
    pub(crate) async fn call<M: Method>(&self, params: &M::Params) -> Result<M::Result, WireError> {
        let wrong = |error: serde_json::Error| {
            let message = format!(
                "the words of '{}' are not understood: {error}",
                M::SPEC.name
            );
            WireError::new(ErrorCode::Internal, message)
        };
        let params = serde_json::to_vec(params).map_err(wrong)?;
        let (name, params) = (M::SPEC.name, Some(Bytes::from(params)));
        let answer = self
            .caller
            .call_raw(name, params, Some(&self.trace))
            .await?;
        serde_json::from_slice(answer.as_deref().unwrap_or(b"null")).map_err(wrong)
    }

    /// A line on which events come.
    pub(crate) fn line(&self) -> Result<Line, WireError> {
        let open = if self.granted {
            Line::open_granted
        } else {
            Line::open
        };
        open(
            &self.desk,
            &self.principal,
            SURFACE,
            Arc::clone(&self.trace),
        )
    }

    pub(crate) fn ping_interval(&self) -> Duration {
        self.desk.shared.ping_interval()
    }

    pub(crate) fn params(&self) -> NameParams {
        NameParams {
            name: self.name.clone(),
        }
    }

    /// The loop as it stands.
    pub(crate) async fn find(&self) -> Result<Loop, WireError> {
        self.call::<loops::Get>(&self.params()).await
    }

    pub(crate) async fn aliases(&self) -> Result<Vec<Alias>, WireError> {
        let names = model::ListParams {
            names_only: true,
            ..model::ListParams::default()
        };
        Ok(self.call::<model::List>(&names).await?.aliases)
    }

    pub(crate) async fn config(&self) -> Result<Config, WireError> {
        let found = self.find().await?;
        Ok(translate::config(&found, &self.aliases().await?))
    }

    /// State and settings, with the history.
    pub(crate) async fn whole(&self) -> Result<Whole, WireError> {
        let found = self.find().await?;
        let mut state = translate::state(&found);
        state.history = Some(self.history().await?);
        let config = translate::config(&found, &self.aliases().await?);
        Ok(Whole { state, config })
    }

    /// The latest iterations that were answered, the oldest first.
    pub(crate) async fn history(&self) -> Result<Vec<Past>, WireError> {
        let mut all: Vec<Iteration> = Vec::new();
        let (mut answered, mut bytes) = (0, 0);
        let mut before = None;
        for _ in 0..PAGES_MAX {
            let params = HistoryParams {
                name: self.name.clone(),
                before,
                limit: u32::try_from(HISTORY_MAX - answered).ok(),
            };
            let page = self.call::<loops::History>(&params).await?;
            before = page.iterations.last().map(|last| last.iteration);
            for one in page.iterations {
                let response = one.response.as_deref().unwrap_or_default();
                answered += usize::from(translate::is_answered(&one));
                bytes += one.prompt.len() + response.len();
                if bytes > HISTORY_BYTES_MAX {
                    return Ok(translate::history(all));
                }
                all.push(one);
            }
            if !page.more || before.is_none() || answered >= HISTORY_MAX {
                break;
            }
        }
        Ok(translate::history(all))
    }
}

/// The body of a request that changes something; nothing if there is none. A type may be missing,
/// but forms and plain texts, which any page can send, are not taken.
pub(crate) async fn read_body<T: DeserializeOwned>(
    headers: &HeaderMap,
    body: Body,
) -> Result<Option<T>, Refusal> {
    if headers.contains_key(header::CONTENT_TYPE) && !rest::is_json(headers) {
        return Err(rest::not_json());
    }
    refuse_other_pages(headers)?;
    let Some(bytes) = rest::read_json(body).await? else {
        return Ok(None);
    };
    let wrong = |why: &dyn std::fmt::Display| {
        Refusal::bad_request(format!("The body is not understood: {why}."))
    };
    // An array would be read as the fields of an object in their order.
    if bytes.trim_ascii_start().starts_with(b"[") {
        return Err(wrong(&"it is a list, and an object is needed"));
    }
    serde_json::from_slice(&bytes)
        .map(Some)
        .map_err(|error| wrong(&error))
}

/// As [`read_body`], where a body is needed.
pub(crate) async fn need_body<T: DeserializeOwned>(
    headers: &HeaderMap,
    body: Body,
) -> Result<T, Refusal> {
    let read = read_body(headers, body).await?;
    read.ok_or_else(|| Refusal::bad_request("A body of JSON is needed."))
}

/// A request without a type may come from any page; a browser says from where.
fn refuse_other_pages(headers: &HeaderMap) -> Result<(), Refusal> {
    let own = |site: &[u8]| matches!(site, b"same-origin" | b"none");
    if headers
        .get_all(FETCH_SITE)
        .iter()
        .all(|site| own(site.as_bytes()))
    {
        return Ok(());
    }
    Err(Refusal::forbidden(
        "Pages of other origins may not talk to hob.",
    ))
}
