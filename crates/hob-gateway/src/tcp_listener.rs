//! The TCP listener: accepts loopback connections and serves HTTP/1.
//!
//! Invariants: a connection has a permit or is refused at once. A request's head (its first line
//! and all header lines) has at most 64 KiB and arrives in time, or the connection ends. A peer
//! that stops reading is disconnected after a while.

use crate::gateway::GatewayError;
use crate::http::HttpService;
use crate::peer_check::PeerCheck;
use crate::shared::{self, ConnectionPermit, GatewayShared};
use crate::write_timeout::WriteTimeoutStream;
use hob_wire::limits;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Time for a request's head to arrive, and the idle time of a kept-alive connection.
const HEAD_MS_MAX: u64 = 10_000;
/// Time in which a peer must read some of what is written to it.
const STALL_MS_MAX: u64 = 120_000;
/// Maximum header lines of one request.
const HEADERS_MAX: usize = 64;
/// Connections without a permit that get a 503 at the same time; further ones are just closed.
const TURN_AWAY_MAX: usize = 64;
/// Time to send that 503.
const TURN_AWAY_MS_MAX: u64 = 500;
/// Pause after a failed accept.
const ACCEPT_RETRY_MS: u64 = 100;

/// Binds an address. With `or_any`, falls back to any free port on 127.0.0.1 if it is in use.
pub(crate) async fn bind(address: SocketAddr, or_any: bool) -> Result<TcpListener, GatewayError> {
    let failed = |source| GatewayError::Bind { address, source };
    match TcpListener::bind(address).await {
        Err(failure) if or_any && failure.kind() == io::ErrorKind::AddrInUse => {
            let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
            TcpListener::bind(any).await.map_err(failed)
        }
        bound => bound.map_err(failed),
    }
}

/// Accepts connections until the gateway stops.
pub(crate) async fn accept(
    listener: TcpListener,
    http_service: Arc<HttpService>,
    shared: Arc<GatewayShared>,
    check: Option<PeerCheck>,
) {
    let busy: Arc<[u8]> = busy_response().into();
    let turn_away_permits = Arc::new(Semaphore::new(TURN_AWAY_MAX));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = shared.accepting.cancelled() => return,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(failure) => {
                pause_after_accept_error("tcp", &failure).await;
                continue;
            }
        };
        let Some(permit) = shared.try_acquire_connection() else {
            // The 503 needs a task, so a flood of connections must not get one each.
            if let Ok(permit) = Arc::clone(&turn_away_permits).try_acquire_owned() {
                let refusal = turn_away(stream, Arc::clone(&busy), permit);
                shared.tasks.spawn_until_stop("turn-away", refusal);
            }
            continue;
        };
        // Frames are small and written whole; Nagle's algorithm would only delay them.
        let _ = stream.set_nodelay(true);
        let (http_service, served) = (Arc::clone(&http_service), Arc::clone(&shared));
        let check = check.clone();
        // The peer check may block on /proc, so it runs in the task and not in the accept loop.
        shared.tasks.spawn("http", async move {
            let admitted = match &check {
                Some(check) => check.admits_tcp(&stream).await,
                None => true,
            };
            if admitted {
                serve(stream, permit, http_service, &served).await;
            }
        });
    }
}

/// Logs a failed accept and pauses. The machine is out of a resource or the peer left early;
/// neither ends the listener.
pub(crate) async fn pause_after_accept_error(listener: &'static str, failure: &io::Error) {
    tracing::warn!(listener, "accept failed: {failure}");
    tokio::time::sleep(Duration::from_millis(ACCEPT_RETRY_MS)).await;
}

/// The HTTP answer to a connection without a permit. It is sent without reading the request.
fn busy_response() -> Vec<u8> {
    let body = serde_json::json!({ "error": shared::too_many_connections() }).to_string();
    let head = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Type: application/json";
    format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// Sends the 503 and reads what the peer still sends. Closing at once would reset the connection
/// before the peer has read the answer.
async fn turn_away(mut stream: TcpStream, response: Arc<[u8]>, _permit: OwnedSemaphorePermit) {
    let parting = async {
        stream.write_all(&response).await?;
        stream.shutdown().await?;
        let mut discarded = [0; 4_096];
        while stream.read(&mut discarded).await? > 0 {}
        Ok::<(), io::Error>(())
    };
    let _ = tokio::time::timeout(Duration::from_millis(TURN_AWAY_MS_MAX), parting).await;
}

async fn serve(
    stream: TcpStream,
    permit: ConnectionPermit,
    http_service: Arc<HttpService>,
    shared: &GatewayShared,
) {
    // The closure owns the permit, so it is released with the connection.
    let service = service_fn(move |request| {
        let http_service = Arc::clone(&http_service);
        let permit = Arc::clone(&permit);
        async move { Ok::<_, Infallible>(http_service.handle(request, permit).await) }
    });
    // Generous: a slow network may pause for a while, but a run must not wait for ever.
    let wait_max = Duration::from_millis(STALL_MS_MAX);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_millis(HEAD_MS_MAX))
        .max_headers(HEADERS_MAX)
        // max_buf_size alone is no limit: a head that arrives whole in an already larger buffer
        // passes.
        .max_header_size(limits::UNAUTHENTICATED_BYTES_MAX)
        .max_buf_size(limits::UNAUTHENTICATED_BYTES_MAX)
        .serve_connection(
            TokioIo::new(WriteTimeoutStream::new(stream, wait_max)),
            service,
        )
        .with_upgrades();
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => {
            if let Err(failure) = ended {
                tracing::debug!("an HTTP connection ended: {failure}");
            }
            return;
        }
        // Ends a kept-alive connection after its current answer.
        () = shared.tasks.stopping() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
