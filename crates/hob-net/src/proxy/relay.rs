//! Relays bytes in both directions between a program and a host.
//!
//! Invariant: an idle connection ends by itself, sooner if one side is closed.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

/// The buffer size in each direction.
const BUFFER_BYTES: usize = 64 * 1024;
/// The longest idle time.
const IDLE_TIME_MAX: Duration = Duration::from_mins(5);
/// The longest idle time after one side has closed.
const HALF_CLOSED_TIME_MAX: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// The traffic so far.
#[derive(Default)]
struct RelayTraffic {
    bytes: AtomicU64,
    is_half_closed: AtomicBool,
}

/// Relays until both sides are closed, one fails, or the connection is idle.
pub(super) async fn relay(program: TcpStream, host: TcpStream) {
    let traffic = RelayTraffic::default();
    let (program_reads, program_writes) = program.into_split();
    let (host_reads, host_writes) = host.into_split();
    let both = async {
        // A failure in one direction ends both: the rest could not be delivered.
        tokio::try_join!(
            carry(program_reads, host_writes, &traffic),
            carry(host_reads, program_writes, &traffic)
        )
    };
    tokio::select! {
        _ = both => {}
        () = until_idle(&traffic) => {}
    }
}

async fn carry(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    traffic: &RelayTraffic,
) -> std::io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let read = from.read(&mut buffer).await?;
        if read == 0 {
            traffic.is_half_closed.store(true, Ordering::Relaxed);
            return to.shutdown().await;
        }
        to.write_all(&buffer[..read]).await?;
        // Counted after the write, so that a receiver that does not read counts as idle.
        traffic.bytes.fetch_add(read as u64, Ordering::Relaxed);
    }
}

async fn until_idle(traffic: &RelayTraffic) {
    let mut seen = 0;
    let mut since = tokio::time::Instant::now();
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let bytes = traffic.bytes.load(Ordering::Relaxed);
        if bytes != seen {
            (seen, since) = (bytes, tokio::time::Instant::now());
        }
        let most = if traffic.is_half_closed.load(Ordering::Relaxed) {
            HALF_CLOSED_TIME_MAX
        } else {
            IDLE_TIME_MAX
        };
        if since.elapsed() >= most {
            return;
        }
    }
}
