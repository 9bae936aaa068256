//! A TCP listener on loopback: accepts, bounds, and serves HTTP/1.
//!
//! Invariants: a connection has a seat or is turned away at once; a request's head, its first line
//! and all header lines together, has at most 64 KiB and arrives in time, or its connection ends; a peer that stops reading is given up after a while.

use crate::gateway::GatewayError;
use crate::http::Site;
use crate::patience::Patience;
use crate::peer_check::PeerCheck;
use crate::shared::{self, Seat, Shared};
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

/// Time for a request's head to arrive, and for an idle connection to be kept.
const HEAD_MS_MAX: u64 = 10_000;
/// Time in which a peer must take something of what is written to it.
const STALL_MS_MAX: u64 = 120_000;
/// Header lines of one request.
const HEADERS_MAX: usize = 64;
/// Connections without a seat that are told so; beyond them one is closed without a word.
const PORCH_MAX: usize = 64;
/// Time that telling them takes at the most.
const PORCH_MS_MAX: u64 = 500;
/// Wait before accepting again when the machine is short of something.
const ACCEPT_RETRY_MS: u64 = 100;

/// Binds an address; with `or_any`, any free port of it when its own is taken.
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

/// Accepts until no connection is wanted any more.
pub(crate) async fn accept(
    listener: TcpListener,
    site: Arc<Site>,
    shared: Arc<Shared>,
    check: Option<PeerCheck>,
) {
    let no_seat: Arc<[u8]> = no_seat().into();
    let porch = Arc::new(Semaphore::new(PORCH_MAX));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = shared.accepting.cancelled() => return,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(failure) => {
                accept_failed("tcp", &failure).await;
                continue;
            }
        };
        let Some(seat) = shared.seat() else {
            if let Ok(place) = Arc::clone(&porch).try_acquire_owned() {
                let told = turn_away(stream, Arc::clone(&no_seat), place);
                shared.tasks.spawn_until_stop("turn-away", told);
            }
            continue;
        };
        let _ = stream.set_nodelay(true);
        let (site, served) = (Arc::clone(&site), Arc::clone(&shared));
        let check = check.clone();
        shared.tasks.spawn("http", async move {
            let admitted = match &check {
                Some(check) => check.admits(&stream).await,
                None => true,
            };
            if admitted {
                serve(stream, seat, site, &served).await;
            }
        });
    }
}

/// A failed accept is the machine's shortage or the peer's haste; neither ends the listener.
pub(crate) async fn accept_failed(listener: &'static str, failure: &io::Error) {
    tracing::warn!(listener, "a connection could not be accepted: {failure}");
    tokio::time::sleep(Duration::from_millis(ACCEPT_RETRY_MS)).await;
}

/// What a connection without a seat is told, before anything of it is read.
fn no_seat() -> Vec<u8> {
    let body = serde_json::json!({ "error": shared::too_many() }).to_string();
    let head = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Type: application/json";
    format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// Tells a connection that there is no seat. Closing at once would reset it before the peer,
/// which is still sending, has read why.
async fn turn_away(mut stream: TcpStream, told: Arc<[u8]>, _place: OwnedSemaphorePermit) {
    let parting = async {
        stream.write_all(&told).await?;
        stream.shutdown().await?;
        let mut thrown_away = [0; 4_096];
        while stream.read(&mut thrown_away).await? > 0 {}
        Ok::<(), io::Error>(())
    };
    let _ = tokio::time::timeout(Duration::from_millis(PORCH_MS_MAX), parting).await;
}

async fn serve(stream: TcpStream, seat: Seat, site: Arc<Site>, shared: &Shared) {
    let service = service_fn(move |request| {
        let site = Arc::clone(&site);
        let seat = Arc::clone(&seat);
        async move { Ok::<_, Infallible>(site.answer(request, seat).await) }
    });
    let wait_max = Duration::from_millis(STALL_MS_MAX);
    // The buffer alone is no bound: a head that arrived whole in a buffer grown beyond it passes.
    let head_bytes_max = if hob_kit::failpoint::broken(43) {
        usize::MAX
    } else {
        limits::UNAUTHENTICATED_BYTES_MAX
    };
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_millis(HEAD_MS_MAX))
        .max_headers(HEADERS_MAX)
        .max_header_size(head_bytes_max)
        .max_buf_size(limits::UNAUTHENTICATED_BYTES_MAX)
        .serve_connection(TokioIo::new(Patience::new(stream, wait_max)), service)
        .with_upgrades();
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => {
            if let Err(failure) = ended {
                tracing::debug!("an HTTP connection ended: {failure}");
            }
            return;
        }
        () = shared.tasks.stopping() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
