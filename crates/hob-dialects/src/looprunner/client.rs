//! The sender of a Loop Runner request, the loop that it names, and its calls on the bus.
//!
//! Invariant: a request has the scopes of its sender and no others.

use crate::looprunner::types::{
    HISTORY_MAX, LoopRunnerConfig, LoopRunnerIteration, LoopRunnerSnapshot,
};
use crate::looprunner::{SURFACE, translate};
use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use bytes::Bytes;
use hob_bus::Caller;
use hob_gateway::Principal;
use hob_gateway::bus_connection::BusConnection;
use hob_gateway::http::{HttpState, RequestId};
use hob_gateway::http_error::HttpError;
use hob_wire::rooms::loops::{
    self, DEFAULT_LOOP, IterationRecord, Loop, LoopHistoryParams, LoopSelector,
};
use hob_wire::rooms::model::{self, ModelAlias};
use hob_wire::{ErrorCode, Method, WireError};
use std::sync::Arc;
use std::time::Duration;

/// Maximum pages read for one history.
const PAGES_MAX: usize = 16;
/// Maximum bytes of the texts of one history; the oldest are left out.
const HISTORY_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The sender of a request, with the loop that it names.
#[derive(Debug)]
pub(crate) struct LoopRunnerClient {
    state: Arc<HttpState>,
    principal: Principal,
    trace: Arc<str>,
    caller: Caller,
    /// The loop in the path, or the default loop.
    pub(crate) name: String,
}

impl FromRequestParts<Arc<HttpState>> for LoopRunnerClient {
    type Rejection = HttpError;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &Arc<HttpState>,
    ) -> Result<Self, HttpError> {
        let principal = state.authenticate(&parts.headers)?;
        let name = loop_name(parts, state).await?;
        let trace = match parts.extensions.get::<RequestId>() {
            Some(RequestId(id)) => Arc::clone(id),
            None => "".into(),
        };
        let caller = state.caller(&principal, SURFACE)?;
        Ok(LoopRunnerClient {
            state: Arc::clone(state),
            principal,
            trace,
            caller,
            name,
        })
    }
}

/// Returns the loop in the path, or the default loop.
async fn loop_name(parts: &mut Parts, state: &Arc<HttpState>) -> Result<String, HttpError> {
    let params = RawPathParams::from_request_parts(parts, state).await;
    let params = params.map_err(|failure| HttpError::bad_request(failure.body_text()))?;
    let found = params.iter().find(|(key, _)| *key == "id");
    Ok(found.map_or(DEFAULT_LOOP, |(_, name)| name).to_owned())
}

impl LoopRunnerClient {
    /// Calls `M` with the trace of the HTTP request.
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

    /// Opens a bus connection for events.
    pub(crate) fn connect(&self) -> Result<BusConnection, WireError> {
        let trace = Arc::clone(&self.trace);
        BusConnection::open(&self.state, &self.principal, SURFACE, trace)
    }

    pub(crate) fn ping_interval(&self) -> Duration {
        self.state.shared.ping_interval()
    }

    pub(crate) fn name_params(&self) -> LoopSelector {
        LoopSelector {
            name: self.name.clone(),
        }
    }

    /// Returns the current loop.
    pub(crate) async fn get_loop(&self) -> Result<Loop, WireError> {
        self.call::<loops::Get>(&self.name_params()).await
    }

    pub(crate) async fn aliases(&self) -> Result<Vec<ModelAlias>, WireError> {
        let names = model::ModelListParams {
            names_only: true,
            ..model::ModelListParams::default()
        };
        Ok(self.call::<model::List>(&names).await?.aliases)
    }

    pub(crate) async fn config(&self) -> Result<LoopRunnerConfig, WireError> {
        let found = self.get_loop().await?;
        Ok(translate::config(&found, &self.aliases().await?))
    }

    /// Returns state, settings and history.
    pub(crate) async fn state_and_config(&self) -> Result<LoopRunnerSnapshot, WireError> {
        let found = self.get_loop().await?;
        let mut state = translate::state(&found);
        state.history = Some(self.history().await?);
        let config = translate::config(&found, &self.aliases().await?);
        Ok(LoopRunnerSnapshot { state, config })
    }

    /// Returns the latest answered iterations, oldest first.
    pub(crate) async fn history(&self) -> Result<Vec<LoopRunnerIteration>, WireError> {
        let mut all: Vec<IterationRecord> = Vec::new();
        let (mut answered, mut bytes) = (0, 0);
        // Failed iterations are left out, so one page may not give enough answered ones.
        let mut before = None;
        for _ in 0..PAGES_MAX {
            let params = LoopHistoryParams {
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
                // The newest come first, so what is left out is the oldest.
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
