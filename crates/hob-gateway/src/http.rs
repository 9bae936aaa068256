//! What every HTTP request passes, in this order: Host, Origin, path, token, scope. Then what the
//! answer always carries: a request id, and headers that keep browsers from storing, framing or
//! guessing it. No CORS header is ever sent.

use crate::book::Principal;
use crate::door::{self, Door};
use crate::origin::HostList;
use crate::refusal::Refusal;
use crate::shared::{Seat, Shared};
use crate::{
    agentloop, hooks, looprunner, openai, openapi, probes, rest, speech, subprotocol, tools,
    websocket,
};
use axum::Router;
use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, Uri, header};
use axum::routing::{get, post};
use hob_wire::{ErrorCode, Scope, WireError, limits};
use std::sync::Arc;
use tower::ServiceExt;

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// A caller may name the trace its request belongs to.
const TRACE: HeaderName = HeaderName::from_static("x-hob-trace");

const ALWAYS: [(HeaderName, HeaderValue); 6] = [
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

/// What one HTTP listener serves.
#[derive(Debug)]
pub(crate) struct Site {
    desk: Arc<Desk>,
    router: Router,
}

/// What the handlers of one listener work with.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) shared: Arc<Shared>,
    pub(crate) hosts: HostList,
    pub(crate) door: Arc<Door>,
}

/// The id of a request: in the answer's header, in its error, and as the trace on the bus.
#[derive(Clone, Debug)]
pub(crate) struct RequestId(pub(crate) Arc<str>);

impl Site {
    /// The surfaces of the first listener.
    pub(crate) fn new(desk: Desk) -> Site {
        let desk = Arc::new(desk);
        let router = Router::new()
            .route("/health", get(probes::health))
            .route("/ready", get(probes::ready))
            .route("/metrics", get(probes::metrics))
            .route("/ws", get(websocket::open))
            .route("/agentloop", get(agentloop::open))
            .route("/api/openapi.json", get(openapi::serve))
            .route("/api/rpc/{method}", post(rest::call))
            .route("/api/tools/openapi.json", get(tools::describe))
            .route("/api/tools/{name}", post(tools::execute))
            .route("/hooks/{id}", post(hooks::deliver))
            .merge(looprunner::routes())
            .merge(openai::routes())
            .merge(speech::routes());
        Site::with_router(desk, router)
    }

    /// A listener with surfaces of its own.
    pub(crate) fn with_router(desk: Arc<Desk>, router: Router<Arc<Desk>>) -> Site {
        let router = router
            .fallback(async || no_such_path())
            .method_not_allowed_fallback(async || wrong_method())
            .with_state(Arc::clone(&desk));
        Site { desk, router }
    }

    /// Answers one request of a connection that holds `seat`.
    pub(crate) async fn answer<B>(&self, request: Request<B>, seat: Seat) -> Response<Body>
    where
        B: hyper::body::Body<Data = bytes::Bytes> + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        let shared = &self.desk.shared;
        let id: Arc<str> = match trace_of(request.headers()) {
            Some(trace) => trace.into(),
            None => shared.dice.hex(8).into(),
        };
        let in_openai_form = openai::is_ours(request.uri().path());
        let render = |refusal: Refusal| {
            if in_openai_form {
                return openai::refuse(refusal);
            }
            refusal.render(&id, shared.clock.wall_ms())
        };
        let mut response = match self.check(&request) {
            Ok(()) => self.route(request, seat, Arc::clone(&id)).await,
            Err(refusal) => render(refusal),
        };
        if let Some(refusal) = response.extensions_mut().remove::<Refusal>() {
            let allow = response.headers_mut().remove(header::ALLOW);
            response = render(refusal);
            response
                .headers_mut()
                .extend(allow.map(|allow| (header::ALLOW, allow)));
        }
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            for (name, value) in ALWAYS {
                response.headers_mut().insert(name, value);
            }
        }
        if let Ok(id) = HeaderValue::from_str(&id) {
            response.headers_mut().insert(REQUEST_ID, id);
        }
        response
    }

    fn check<B>(&self, request: &Request<B>) -> Result<(), Refusal> {
        self.desk.hosts.check(request.uri(), request.headers())?;
        refuse_token_in_url(request.uri())
    }

    async fn route<B>(&self, request: Request<B>, seat: Seat, id: Arc<str>) -> Response<Body>
    where
        B: hyper::body::Body<Data = bytes::Bytes> + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(seat);
        request.extensions_mut().insert(RequestId(id));
        match self.router.clone().oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}

impl Desk {
    /// Lets the sender of these headers in by its bearer token.
    pub(crate) fn admit(&self, headers: &HeaderMap) -> Result<Principal, Refusal> {
        let token = bearer(headers)?;
        self.admit_holder(token, headers)
    }

    /// Lets the opener of a WebSocket in, which in a browser cannot set headers: by its bearer
    /// token or by the one among the subprotocols it offers.
    pub(crate) fn admit_socket(&self, headers: &HeaderMap) -> Result<Principal, Refusal> {
        let token = match (bearer(headers)?, subprotocol::read(headers)?.token) {
            (Some(_), Some(_)) => {
                return Err(Refusal::bad_request(
                    "Send the token once: as a header or as a subprotocol.",
                ));
            }
            (one, other) => one.or(other),
        };
        self.admit_holder(token, headers)
    }

    fn admit_holder(&self, token: Option<&str>, headers: &HeaderMap) -> Result<Principal, Refusal> {
        let Some(token) = token else {
            if hob_kit::failpoint::broken(41) {
                return Ok(crate::vargos::principal());
            }
            return Err(unauthorized(door::no_credential()));
        };
        let mut principal = self.door.admit(token).map_err(unauthorized)?;
        if hob_kit::failpoint::broken(44)
            && let Some(declared) = headers.get("x-hob-scopes")
        {
            let declared = declared.to_str().unwrap_or_default();
            principal.scopes = declared.parse().unwrap_or(principal.scopes);
        }
        Ok(principal)
    }
}

/// A request whose bearer token the book knows.
pub(crate) struct Known(pub(crate) Principal);

impl FromRequestParts<Arc<Desk>> for Known {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, desk: &Arc<Desk>) -> Result<Self, Refusal> {
        desk.admit(&parts.headers).map(Known)
    }
}

/// A request whose bearer token has scope `read`.
pub(crate) struct Reader;

impl FromRequestParts<Arc<Desk>> for Reader {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, desk: &Arc<Desk>) -> Result<Self, Refusal> {
        let principal = desk.admit(&parts.headers)?;
        if principal.scopes.allow(Scope::Read) {
            return Ok(Reader);
        }
        Err(Refusal::forbidden("This token lacks the scope 'read'."))
    }
}

fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Refusal> {
    let mut lines = headers.get_all(header::AUTHORIZATION).iter();
    let Some(line) = lines.next() else {
        return Ok(None);
    };
    if lines.next().is_some() {
        return Err(Refusal::bad_request("Send one Authorization header."));
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

/// What a wrong or missing credential is told.
pub(crate) fn unauthorized(error: WireError) -> Refusal {
    let limited = error.code == ErrorCode::Overloaded;
    let refusal = Refusal::from(error);
    if limited {
        // Each guess beyond the rate costs its connection.
        return refusal.with_header(header::CONNECTION, HeaderValue::from_static("close"));
    }
    refusal.with_header(
        header::WWW_AUTHENTICATE,
        HeaderValue::from_static("Bearer realm=\"hob\""),
    )
}

/// URLs end up in histories, logs and referrers.
fn refuse_token_in_url(uri: &Uri) -> Result<(), Refusal> {
    let query = uri.query().unwrap_or_default();
    let names = query
        .split('&')
        .map(|pair| pair.split_once('=').map_or(pair, |(name, _)| name));
    for name in names {
        if name.eq_ignore_ascii_case("token") || name.eq_ignore_ascii_case("access_token") {
            return Err(Refusal::bad_request(format!(
                "A token in the URL ('{name}=') is never read, because URLs are logged and kept; send 'Authorization: Bearer TOKEN', or the subprotocols hob.v1 and hob.token.TOKEN."
            )));
        }
    }
    Ok(())
}

fn trace_of(headers: &HeaderMap) -> Option<&str> {
    let trace = headers.get(TRACE)?.to_str().ok()?;
    (!trace.is_empty() && trace.len() <= limits::NAME_BYTES_MAX).then_some(trace)
}

fn no_such_path() -> Refusal {
    Refusal::new(
        StatusCode::NOT_FOUND,
        ErrorCode::NotFound,
        "Nothing is served at this path; GET /api/openapi.json lists what is.",
    )
}

fn wrong_method() -> Refusal {
    Refusal::new(
        StatusCode::METHOD_NOT_ALLOWED,
        ErrorCode::InvalidParams,
        "This path does not take this HTTP method; the Allow header says which it takes.",
    )
}
