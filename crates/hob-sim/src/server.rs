//! Turns a request into an HTTP response.

use crate::answer::{Answer, AnswerHold};
use crate::answer_body::{AnswerBody, ConnectionCut};
use crate::draft::{AnswerDraft, StreamFrame};
use crate::fault::{Fault, GarbageKind, RetryAfter};
use crate::refusal::{ReadResult, SimRefusal};
use crate::request::{Dialect, DialectFlavour, SimRequest};
use crate::route::{Route, RouteTarget, route};
use crate::sim::{SimState, StreamGuard};
use crate::{anthropic, chat, damage, gemini, responses};
use bytes::Bytes;
use hob_kit::tasks::TaskGroup;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

/// The largest request: more than any provider takes.
const REQUEST_BYTES_MAX: usize = 64 * 1_024 * 1_024;
/// The delay before accepting again after a resource error.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// Serves until told to stop.
pub(crate) async fn serve(
    listener: std::net::TcpListener,
    shared: Arc<SimState>,
    stop: CancellationToken,
) {
    let listener = match TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(failure) => {
            tracing::error!("the scripted server cannot listen: {failure}");
            return;
        }
    };
    let tasks = TaskGroup::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => return,
        };
        match accepted {
            Ok((stream, _)) => tasks.spawn("sim", connection(stream, Arc::clone(&shared))),
            Err(_) => tokio::time::sleep(ACCEPT_RETRY).await,
        }
    }
}

async fn connection(stream: TcpStream, shared: Arc<SimState>) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let shared = Arc::clone(&shared);
        async move { answer(request, &shared).await }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(stream), service)
        .await;
    if let Err(failure) = served {
        tracing::debug!("a connection ended: {failure}");
    }
}

async fn answer(
    request: Request<Incoming>,
    shared: &SimState,
) -> Result<Response<AnswerBody>, ConnectionCut> {
    let watch = StreamGuard::new(&shared.counts);
    let (head, body) = request.into_parts();
    let path = head.uri.path().to_owned();
    let query = head.uri.query().unwrap_or_default().to_owned();
    let Some(route) = route(&head.method, &path, &query, &head.headers) else {
        let refusal = SimRefusal::new(404, format!("Invalid URL ({} {path})", head.method));
        return Ok(refused(shared, Dialect::OpenaiChat.into(), refusal, watch));
    };
    let (Route::Ask(dialect, _) | Route::Models(dialect, _)) = &route;
    let dialect = *dialect;
    if let Err(refusal) = check_key(shared, dialect, &head.headers, &query) {
        return Ok(refused(shared, dialect.into(), refusal, watch));
    }
    let target = match route {
        Route::Models(dialect, one) => return Ok(models(shared, dialect, one.as_deref(), watch)),
        Route::Ask(_, target) => target,
    };
    let checked = match read(body, &head.headers).await {
        Ok(body) => understood(dialect, &target, &head.headers, &body),
        Err(refusal) => Err(refusal),
    };
    match checked {
        Ok(asked) => say(shared, Arc::new(asked), &target, watch).await,
        Err(refusal) => {
            let flavour = target.flavour;
            let voice = DialectFlavour { dialect, flavour };
            Ok(refused(shared, voice, refusal, watch))
        }
    }
}

fn check_key(
    shared: &SimState,
    dialect: Dialect,
    headers: &HeaderMap,
    query: &str,
) -> Result<(), SimRefusal> {
    let Some(key) = shared.parts.key.as_deref() else {
        return Ok(());
    };
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let given = match dialect {
        Dialect::OpenaiChat | Dialect::OpenaiResponses => {
            header("authorization").and_then(|value| value.strip_prefix("Bearer "))
        }
        Dialect::Anthropic => header("x-api-key"),
        Dialect::Gemini => {
            let mut pairs = query.split('&');
            let in_query = pairs.find_map(|pair| pair.strip_prefix("key="));
            header("x-goog-api-key").or(in_query)
        }
    };
    match (given == Some(key), dialect) {
        (true, _) => Ok(()),
        (false, Dialect::Anthropic) => Err(SimRefusal::new(401, "invalid x-api-key")),
        (false, Dialect::Gemini) => Err(SimRefusal::bad(
            "API key not valid. Please pass a valid API key.",
        )),
        (false, _) => Err(SimRefusal::new(401, "Incorrect API key provided.")),
    }
}

async fn read(body: Incoming, headers: &HeaderMap) -> ReadResult<Bytes> {
    let kind = headers.get("content-type");
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !kind.starts_with("application/json") {
        return Err(SimRefusal::bad(format!(
            "Invalid Content-Type header ({kind}), expected application/json."
        )));
    }
    let collected = Limited::new(body, REQUEST_BYTES_MAX).collect().await;
    collected
        .map(http_body_util::Collected::to_bytes)
        .map_err(|_| SimRefusal::scripted(413))
}

/// Parses a request in its dialect.
fn understood(
    dialect: Dialect,
    target: &RouteTarget,
    headers: &HeaderMap,
    body: &[u8],
) -> ReadResult<SimRequest> {
    let body: Value = serde_json::from_slice(body).map_err(|failure| {
        SimRefusal::bad(format!(
            "We could not parse the JSON body of your request: {failure}"
        ))
    })?;
    let mut asked = match dialect {
        Dialect::OpenaiChat => chat::read(target.flavour, body),
        Dialect::OpenaiResponses => responses::read(body),
        Dialect::Anthropic => {
            if !headers.contains_key("anthropic-version") {
                return Err(SimRefusal::bad("anthropic-version: header is required"));
            }
            anthropic::read(body)
        }
        Dialect::Gemini => gemini::read(target, body),
    }?;
    asked.headers = headers
        .iter()
        .map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (name.as_str().to_owned(), value)
        })
        .collect();
    Ok(asked)
}

/// Calls the script and sends its answer.
async fn say(
    shared: &SimState,
    asked: Arc<SimRequest>,
    target: &RouteTarget,
    mut watch: StreamGuard,
) -> Result<Response<AnswerBody>, ConnectionCut> {
    shared.remember(&asked);
    let answer = (shared.brain)(&asked);
    if let Some(AnswerHold { gate, after: None }) = &answer.held {
        gate.clone().pass().await;
    }
    match &answer.fault {
        Some(Fault::HangUp) => {
            watch.done();
            return Err(ConnectionCut);
        }
        Some(Fault::Silence { headers: false }) => std::future::pending().await,
        Some(Fault::Status { code, retry_after }) => {
            let voice = DialectFlavour {
                dialect: asked.dialect,
                flavour: asked.flavour,
            };
            return Ok(failing(shared, voice, *code, *retry_after, watch));
        }
        _ => {}
    }
    let feed = if asked.stream {
        AnswerBody::new(frames(&asked, &answer, target), &shared.time, watch)
    } else {
        whole(shared, &asked, &answer, watch)
    };
    let html = answer.fault == Some(Fault::Garbage(GarbageKind::Html));
    let mut response = Response::new(feed.under(&answer));
    let kind = match (html, asked.stream) {
        (true, _) => "text/html",
        (false, true) if asked.dialect != Dialect::Gemini || target.events => {
            "text/event-stream; charset=utf-8"
        }
        _ => "application/json",
    };
    set(&mut response, "content-type", kind);
    set(&mut response, "cache-control", "no-cache");
    set(&mut response, "x-request-id", "req_sim");
    Ok(response)
}

/// The answer as a stream, encoded.
fn frames(asked: &SimRequest, answer: &Answer, target: &RouteTarget) -> Vec<StreamFrame> {
    let draft = AnswerDraft::new(asked, answer);
    let frames = match asked.dialect {
        Dialect::OpenaiChat => chat::frames(asked, &draft),
        Dialect::OpenaiResponses => responses::frames(&draft),
        Dialect::Anthropic => anthropic::frames(&draft),
        Dialect::Gemini => gemini::frames(&draft, target.events),
    };
    let frames = damage::damaged(asked, frames, answer.fault.as_ref());
    damage::grouped(frames, answer.pace.tokens)
}

/// The answer in one piece.
fn whole(shared: &SimState, asked: &SimRequest, answer: &Answer, watch: StreamGuard) -> AnswerBody {
    let draft = AnswerDraft::new(asked, answer);
    let body = match asked.dialect {
        Dialect::OpenaiChat => chat::whole(asked, &draft),
        Dialect::OpenaiResponses => responses::whole(&draft),
        Dialect::Anthropic => anthropic::whole(&draft),
        Dialect::Gemini => gemini::whole(&draft),
    };
    if let Some(frames) = damage::endless_whole(&body, answer.fault.as_ref()) {
        return AnswerBody::new(frames, &shared.time, watch);
    }
    let body = damage::whole(body.to_string(), answer.fault.as_ref());
    AnswerBody::whole(body, &shared.time, watch)
}

/// A scripted error.
fn failing(
    shared: &SimState,
    voice: DialectFlavour,
    code: u16,
    retry_after: Option<RetryAfter>,
    watch: StreamGuard,
) -> Response<AnswerBody> {
    let seconds = match retry_after {
        Some(RetryAfter::Seconds(seconds)) => Some(seconds),
        _ => None,
    };
    let body = SimRefusal::scripted(code).body(voice, seconds);
    let mut response = json(shared, code, &body, watch);
    match retry_after {
        Some(RetryAfter::Seconds(seconds)) => {
            set(&mut response, "retry-after", &seconds.to_string());
        }
        Some(RetryAfter::DateIn(ahead)) => {
            let date = http_date(shared.time.clock.wall_ms(), ahead);
            set(&mut response, "retry-after", &date);
        }
        Some(RetryAfter::Millis(millis)) => {
            set(&mut response, "retry-after-ms", &millis.to_string());
        }
        Some(RetryAfter::Nonsense) => set(&mut response, "retry-after", "soon, perhaps"),
        None => {}
    }
    response
}

fn refused(
    shared: &SimState,
    voice: DialectFlavour,
    refusal: SimRefusal,
    watch: StreamGuard,
) -> Response<AnswerBody> {
    let body = refusal.body(voice, None);
    let response = json(shared, refusal.code, &body, watch);
    shared.remember_refusal(refusal.message);
    response
}

fn models(
    shared: &SimState,
    dialect: Dialect,
    one: Option<&str>,
    watch: StreamGuard,
) -> Response<AnswerBody> {
    let known = &shared.parts.models;
    let listed: Vec<String> = match one {
        Some(one) => known
            .iter()
            .filter(|model| *model == one)
            .cloned()
            .collect(),
        None => known.clone(),
    };
    if listed.is_empty() && one.is_some() {
        return refused(shared, dialect.into(), SimRefusal::scripted(404), watch);
    }
    let body = match dialect {
        Dialect::OpenaiChat | Dialect::OpenaiResponses => chat::models(&listed, one.is_some()),
        Dialect::Anthropic => anthropic::models(&listed, one.is_some()),
        Dialect::Gemini => gemini::models(&listed, one.is_some()),
    };
    json(shared, 200, &body, watch)
}

fn json(shared: &SimState, code: u16, body: &Value, watch: StreamGuard) -> Response<AnswerBody> {
    let feed = AnswerBody::whole(body.to_string(), &shared.time, watch);
    let mut response = Response::new(feed);
    *response.status_mut() =
        StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    set(&mut response, "content-type", "application/json");
    response
}

fn set(response: &mut Response<AnswerBody>, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response
            .headers_mut()
            .insert(HeaderName::from_static(name), value);
    }
}

/// A moment as HTTP writes it.
fn http_date(now_ms: u64, ahead: Duration) -> String {
    let now_ms = i64::try_from(now_ms).unwrap_or_default();
    let ahead_ms = i64::try_from(ahead.as_millis()).unwrap_or_default();
    let moment = jiff::Timestamp::from_millisecond(now_ms.saturating_add(ahead_ms));
    let printer = jiff::fmt::rfc2822::DateTimePrinter::new();
    moment
        .and_then(|moment| printer.timestamp_to_rfc9110_string(&moment))
        .unwrap_or_default()
}
