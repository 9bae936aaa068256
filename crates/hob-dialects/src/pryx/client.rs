//! The sender of a request and its calls on the bus, and the answers of the REST API.
//!
//! Invariants: a request has the scopes of its sender and no others. A page of another origin
//! changes nothing.

use crate::pryx::SURFACE;
use crate::pryx::settings;
use crate::pryx::shared::PryxShared;
use crate::request_body::{check_sender, require_body};
use axum::body::Body;
use axum::extract::{FromRequestParts, RawPathParams, RawQuery, Request};
use axum::http::request::Parts;
use axum::http::{Method, Response, StatusCode, header};
use bytes::Bytes;
use hob_bus::Caller;
use hob_gateway::Principal;
use hob_gateway::http::{HttpState, JSON, RequestId};
use hob_gateway::http_error::HttpError;
use hob_wire::{ErrorCode, WireError, limits};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// The answer of a handler.
pub(crate) type PryxAnswer = Result<Response<Body>, HttpError>;

#[derive(Debug)]
pub(crate) struct PryxClient {
    pub(crate) state: Arc<HttpState>,
    pub(crate) principal: Principal,
    pub(crate) shared: Arc<PryxShared>,
    caller: Caller,
    trace: Arc<str>,
}

impl FromRequestParts<Arc<HttpState>> for PryxClient {
    type Rejection = HttpError;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &Arc<HttpState>,
    ) -> Result<Self, HttpError> {
        let principal = state.authenticate(&parts.headers)?;
        // Many changes have no body that could be checked later.
        if parts.method != Method::GET {
            check_sender(&parts.headers)?;
        }
        let trace = match parts.extensions.get::<RequestId>() {
            Some(RequestId(id)) => Arc::clone(id),
            None => "".into(),
        };
        let shared = parts.extensions.get::<Arc<PryxShared>>().cloned();
        let client = PryxClient::new(state, principal, shared.unwrap_or_default(), trace)?;
        Ok(client)
    }
}

impl PryxClient {
    pub(crate) fn new(
        state: &Arc<HttpState>,
        principal: Principal,
        shared: Arc<PryxShared>,
        trace: Arc<str>,
    ) -> Result<PryxClient, WireError> {
        let caller = state.caller(&principal, SURFACE)?;
        Ok(PryxClient {
            state: Arc::clone(state),
            principal,
            shared,
            caller,
            trace,
        })
    }

    /// The folder in which the tools of this client's runs work.
    pub(crate) fn workspace(&self) -> Option<String> {
        settings::workspace(&self.state.shared.settings.borrow())
    }

    /// Calls `M` with the trace of the request.
    pub(crate) async fn call<M: hob_wire::Method>(
        &self,
        params: &M::Params,
    ) -> Result<M::Result, WireError> {
        call::<M>(&self.caller, params, &self.trace).await
    }

    /// Like [`PryxClient::call`]; `None` if hob runs without this room.
    pub(crate) async fn call_if_served<M: hob_wire::Method>(
        &self,
        params: &M::Params,
    ) -> Result<Option<M::Result>, WireError> {
        match self.call::<M>(params).await {
            Ok(result) => Ok(Some(result)),
            Err(error) if error.code == ErrorCode::NoHandler => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Calls `M` as another principal.
    pub(crate) async fn call_as<M: hob_wire::Method>(
        &self,
        principal: &Principal,
        params: &M::Params,
    ) -> Result<M::Result, WireError> {
        let caller = self.state.caller(principal, SURFACE)?;
        call::<M>(&caller, params, &self.trace).await
    }
}

async fn call<M: hob_wire::Method>(
    caller: &Caller,
    params: &M::Params,
    trace: &str,
) -> Result<M::Result, WireError> {
    let wrong = |error: serde_json::Error| {
        let message = format!("'{}' was not understood: {error}", M::SPEC.name);
        WireError::new(ErrorCode::Internal, message)
    };
    let params = serde_json::to_vec(params).map_err(wrong)?;
    let (name, params) = (M::SPEC.name, Some(Bytes::from(params)));
    let answer = caller.call_raw(name, params, Some(trace)).await?;
    serde_json::from_slice(answer.as_deref().unwrap_or(b"null")).map_err(wrong)
}

/// The `{id}` or other single parameter of a path.
#[derive(Debug)]
pub(crate) struct PathParameter(pub(crate) String);

impl FromRequestParts<Arc<HttpState>> for PathParameter {
    type Rejection = HttpError;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &Arc<HttpState>,
    ) -> Result<Self, HttpError> {
        let params = RawPathParams::from_request_parts(parts, state).await;
        let params = params.map_err(|failure| HttpError::bad_request(failure.body_text()))?;
        let value = params.iter().next().map_or("", |(_, value)| value);
        if value.is_empty() || value.len() > limits::NAME_BYTES_MAX {
            return Err(HttpError::bad_request("This path does not name anything."));
        }
        Ok(PathParameter(value.to_owned()))
    }
}

/// The number that a query names `limit`, between 1 and `max`; `default` if it names none.
pub(crate) fn limit_of(RawQuery(query): &RawQuery, default: u32, max: u32) -> u32 {
    let query = query.as_deref().unwrap_or_default();
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    let limit = pairs.find(|(name, _)| name == "limit");
    let limit = limit.and_then(|(_, value)| value.parse().ok());
    limit.unwrap_or(default).clamp(1, max)
}

/// Reads the body of a request that changes something.
pub(crate) async fn body_of<T: DeserializeOwned>(request: Request) -> Result<T, HttpError> {
    let (parts, body) = request.into_parts();
    require_body(&parts.headers, body).await
}

pub(crate) fn json<T: Serialize>(value: &T) -> PryxAnswer {
    json_with(StatusCode::OK, value)
}

pub(crate) fn json_with<T: Serialize>(status: StatusCode, value: &T) -> PryxAnswer {
    let bytes = serde_json::to_vec(value)
        .map_err(|error| WireError::new(ErrorCode::Internal, error.to_string()))?;
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    Ok(response)
}

pub(crate) fn no_content() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

/// The error for what hob does not have.
pub(crate) fn not_implemented(message: impl Into<String>) -> HttpError {
    HttpError::new(StatusCode::NOT_IMPLEMENTED, ErrorCode::NoHandler, message)
}

pub(crate) fn not_found(message: impl Into<String>) -> HttpError {
    HttpError::new(StatusCode::NOT_FOUND, ErrorCode::NotFound, message)
}
