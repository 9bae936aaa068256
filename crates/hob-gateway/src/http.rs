//! The HTTP service of a listener. Checks every request in this order: Host, Origin, path, token,
//! scope. Every answer has a request id and headers that forbid browsers to cache, frame or sniff
//! it. No CORS header is ever sent.

use crate::authenticator::{self, Authenticator};
use crate::http_error::HttpError;
use crate::origin::HostList;
use crate::shared::{ConnectionPermit, GatewayShared};
use crate::token_cache::Principal;
use crate::{hooks, openai, openapi, probes, rest, shared, speech, subprotocol, tools, websocket};
use axum::Router;
use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, Uri, header};
use axum::routing::{get, post};
use hob_bus::{BusLink, BusOutlet, Caller};
use hob_wire::{ErrorCode, Scope, WireError, limits};
use std::sync::Arc;
use tower::ServiceExt;

pub const JSON: HeaderValue = HeaderValue::from_static("application/json");
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// A caller may name the trace its request belongs to.
const TRACE: HeaderName = HeaderName::from_static("x-hob-trace");

const SECURITY_HEADERS: [(HeaderName, HeaderValue); 6] = [
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    (
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    ),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (
        header::REFERRER_POLICY,
        HeaderValue::from_static("no-referrer"),
    ),
    (
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"),
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    ),
];

/// The router of one HTTP listener, with the checks in front of it.
#[derive(Debug)]
pub(crate) struct HttpService {
    state: Arc<HttpState>,
    router: Router,
}

/// The axum state of one listener's handlers.
#[derive(Debug)]
pub struct HttpState {
    pub shared: Arc<GatewayShared>,
    pub(crate) hosts: HostList,
    pub(crate) authenticator: Arc<Authenticator>,
}

/// The id of a request: a header of its answer, a field of its error, and the trace on the bus.
#[derive(Clone, Debug)]
pub struct RequestId(pub Arc<str>);

impl HttpService {
    /// Builds the service of the main listener.
    pub(crate) fn new(state: HttpState) -> HttpService {
        let state = Arc::new(state);
        let router = Router::new()
            .route("/health", get(probes::health))
            .route("/ready", get(probes::ready))
            .route("/metrics", get(probes::metrics))
            .route("/ws", get(websocket::open))
            .route("/api/openapi.json", get(openapi::serve))
            .route("/api/rpc/{method}", post(rest::call))
            .route("/api/tools/openapi.json", get(tools::describe))
            .route("/api/tools/{name}", post(tools::execute))
            .route("/hooks/{id}", post(hooks::deliver))
            .merge(openai::routes())
            .merge(speech::routes());
        let dialects = state.shared.dialects.iter();
        let router = dialects.fold(router, |router, it| router.merge((it.routes)()));
        HttpService::with_router(state, router)
    }

    /// Builds the service of a listener with its own routes.
    pub(crate) fn with_router(
        state: Arc<HttpState>,
        router: Router<Arc<HttpState>>,
    ) -> HttpService {
        let router = router
            .fallback(async || no_such_path())
            .method_not_allowed_fallback(async || wrong_method())
            .with_state(Arc::clone(&state));
        HttpService { state, router }
    }

    /// Answers one request of the connection that holds `permit`.
    pub(crate) async fn handle<B>(
        &self,
        request: Request<B>,
        permit: ConnectionPermit,
    ) -> Response<Body>
    where
        B: hyper::body::Body<Data = bytes::Bytes> + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        let shared = &self.state.shared;
        // A caller's trace is reused, so that its whole chain of requests shares one id.
        let id: Arc<str> = match trace_of(request.headers()) {
            Some(trace) => trace.into(),
            None => shared.randomness.hex(8).into(),
        };
        // OpenAI's clients parse errors in their own format, also those raised before the route.
        let in_openai_form = openai::is_openai_path(request.uri().path());
        let render = |refusal: HttpError| {
            if in_openai_form {
                return openai::render_error(refusal);
            }
            refusal.render(&id, shared.clock.wall_ms())
        };
        let mut response = match self.check(&request) {
            Ok(()) => self.dispatch(request, permit, Arc::clone(&id)).await,
            Err(refusal) => render(refusal),
        };
        // Handlers return errors unrendered, because only this place knows the request id and
        // format.
        if let Some(refusal) = response.extensions_mut().remove::<HttpError>() {
            // axum sets Allow on the unrendered response; RFC 9110 requires it on a 405.
            let allow = response.headers_mut().remove(header::ALLOW);
            response = render(refusal);
            response
                .headers_mut()
                .extend(allow.map(|allow| (header::ALLOW, allow)));
        }
        // A 101 answer has no body that a browser could cache or sniff.
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            for (name, value) in SECURITY_HEADERS {
                response.headers_mut().insert(name, value);
            }
        }
        if let Ok(id) = HeaderValue::from_str(&id) {
            response.headers_mut().insert(REQUEST_ID, id);
        }
        response
    }

    fn check<B>(&self, request: &Request<B>) -> Result<(), HttpError> {
        self.state.hosts.check(request.uri(), request.headers())?;
        refuse_token_in_url(request.uri())
    }

    async fn dispatch<B>(
        &self,
        request: Request<B>,
        permit: ConnectionPermit,
        id: Arc<str>,
    ) -> Response<Body>
    where
        B: hyper::body::Body<Data = bytes::Bytes> + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        let mut request = request.map(Body::new);
        // The permit travels with the request, because a WebSocket outlives the HTTP connection.
        request.extensions_mut().insert(permit);
        request.extensions_mut().insert(RequestId(id));
        // A router is consumed by its request; the clones share their routes.
        match self.router.clone().oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}

impl HttpState {
    /// Authenticates a request by its bearer token, or by the grant of an opt-in listener.
    pub fn authenticate(&self, headers: &HeaderMap) -> Result<Principal, HttpError> {
        if let Some(granted) = self.authenticator.grant() {
            return Ok(granted.clone());
        }
        self.authenticate_token(bearer(headers)?)
    }

    /// Like [`HttpState::authenticate`], for a WebSocket request. Its token may be among its
    /// subprotocols, because a browser cannot set headers on a WebSocket.
    pub(crate) fn authenticate_websocket(
        &self,
        headers: &HeaderMap,
    ) -> Result<Principal, HttpError> {
        if let Some(granted) = self.authenticator.grant() {
            return Ok(granted.clone());
        }
        let token = match (bearer(headers)?, subprotocol::read(headers)?.token) {
            // Two tokens are ambiguous: neither may silently win.
            (Some(_), Some(_)) => {
                return Err(HttpError::bad_request(
                    "Send the token once: as a header or as a subprotocol.",
                ));
            }
            (one, other) => one.or(other),
        };
        self.authenticate_token(token)
    }

    /// Connects an authenticated client to the bus.
    pub fn connect(
        &self,
        principal: &Principal,
        surface: &'static str,
    ) -> Result<(BusLink, BusOutlet), WireError> {
        let authenticator = &self.authenticator;
        self.shared.connect(principal, surface, authenticator)
    }

    /// Creates a caller that acts for an authenticated client.
    pub fn caller(
        &self,
        principal: &Principal,
        surface: &'static str,
    ) -> Result<Caller, WireError> {
        self.shared.bus.caller_as(shared::peer(principal, surface))
    }

    fn authenticate_token(&self, token: Option<&str>) -> Result<Principal, HttpError> {
        let token = token.ok_or_else(|| unauthorized(authenticator::missing_credential()))?;
        self.authenticator.authenticate(token).map_err(unauthorized)
    }
}

/// Extractor: the principal of a valid bearer token.
pub(crate) struct BearerAuth(pub(crate) Principal);

impl FromRequestParts<Arc<HttpState>> for BearerAuth {
    type Rejection = HttpError;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &Arc<HttpState>,
    ) -> Result<Self, HttpError> {
        state.authenticate(&parts.headers).map(BearerAuth)
    }
}

/// Extractor: a valid bearer token with scope `read`.
pub(crate) struct ReadScope;

impl FromRequestParts<Arc<HttpState>> for ReadScope {
    type Rejection = HttpError;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &Arc<HttpState>,
    ) -> Result<Self, HttpError> {
        let principal = state.authenticate(&parts.headers)?;
        if principal.scopes.allow(Scope::Read) {
            return Ok(ReadScope);
        }
        Err(HttpError::forbidden("This token lacks the scope 'read'."))
    }
}

fn bearer(headers: &HeaderMap) -> Result<Option<&str>, HttpError> {
    let mut lines = headers.get_all(header::AUTHORIZATION).iter();
    let Some(line) = lines.next() else {
        return Ok(None);
    };
    // Two headers are ambiguous: a proxy and hob could each use another one.
    if lines.next().is_some() {
        return Err(HttpError::bad_request("Send one Authorization header."));
    }
    let token = line.to_str().ok().and_then(|line| {
        let (scheme, token) = line.split_once(' ')?;
        let token = token.trim();
        (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
    });
    match token {
        Some(token) => Ok(Some(token)),
        None => Err(unauthorized(WireError::new(
            ErrorCode::Unauthorized,
            "Only 'Authorization: Bearer TOKEN' is understood.",
        ))),
    }
}

/// The HTTP error for a wrong or missing credential.
pub(crate) fn unauthorized(error: WireError) -> HttpError {
    let limited = error.code == ErrorCode::Overloaded;
    let refusal = HttpError::from(error);
    if limited {
        // Beyond the rate limit, every further guess costs a new connection.
        return refusal.with_header(header::CONNECTION, HeaderValue::from_static("close"));
    }
    refusal.with_header(
        header::WWW_AUTHENTICATE,
        HeaderValue::from_static("Bearer realm=\"hob\""),
    )
}

/// Refuses a token in the URL: URLs end up in histories, logs and referrers.
fn refuse_token_in_url(uri: &Uri) -> Result<(), HttpError> {
    let query = uri.query().unwrap_or_default();
    let names = query
        .split('&')
        .map(|pair| pair.split_once('=').map_or(pair, |(name, _)| name));
    for name in names {
        if name.eq_ignore_ascii_case("token") || name.eq_ignore_ascii_case("access_token") {
            return Err(HttpError::bad_request(format!(
                "A token in the URL ('{name}=') is never read, because URLs are logged and kept; send 'Authorization: Bearer TOKEN', or the subprotocols hob.v1 and hob.token.TOKEN."
            )));
        }
    }
    Ok(())
}

fn trace_of(headers: &HeaderMap) -> Option<&str> {
    let trace = headers.get(TRACE)?.to_str().ok()?;
    // The trace goes into logs and frames, so an oversized one is ignored.
    (!trace.is_empty() && trace.len() <= limits::NAME_BYTES_MAX).then_some(trace)
}

fn no_such_path() -> HttpError {
    HttpError::new(
        StatusCode::NOT_FOUND,
        ErrorCode::NotFound,
        "Nothing is served at this path; GET /api/openapi.json lists what is.",
    )
}

fn wrong_method() -> HttpError {
    HttpError::new(
        StatusCode::METHOD_NOT_ALLOWED,
        ErrorCode::InvalidParams,
        "This path does not take this HTTP method; the Allow header says which it takes.",
    )
}
