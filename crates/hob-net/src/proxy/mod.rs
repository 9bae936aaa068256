//! The proxy that is the only exit from the network namespace of a command. It listens on a socket
//! inside that namespace and speaks HTTP and SOCKS5 on the same port.
//!
//! - [`EgressProxy`]: one for each run
//! - `destination`: the check of a host and the connection to it
//! - [`AllowedHosts`]: the hosts of a grant
//! - `http`, `socks`: the two protocols
//! - `relay`: the bytes after the handshake
//!
//! Invariants: a host is reached only if `egress` allows it as for a page of `web_fetch`, and only
//! if the grant names it; every connection, head, buffer and idle time is bounded; refused hosts
//! are remembered, so that the result can name them.

mod destination;
mod hosts;
mod http;
mod relay;
mod socks;

pub use hosts::{AllowedHosts, HOSTS_MAX};

use crate::{NetError, PrivateHosts, WebClient};
use destination::{ProxyDestination, ProxyPolicy};
use http::HeadParse;
use socks::SocksParse;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// Concurrent connections of one run; further ones wait.
const CONNECTIONS_MAX: usize = 64;
/// The time in which a program must send its request.
const HEAD_TIME_MAX: Duration = Duration::from_secs(10);
/// The time in which a program must read the proxy's own answer.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(5);
/// The pause after a failed accept, for example without free file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Refused hosts that are remembered for one run.
pub const REFUSED_MAX: usize = 16;
/// The longest host or reason that is reported.
const SHOWN_CHARS_MAX: usize = 240;

/// The proxy of one run; cheap to clone.
#[derive(Clone, Debug)]
pub struct EgressProxy {
    policy: Arc<ProxyPolicy>,
    // A std mutex: held to note or read a few lines, never over an await.
    refused: Arc<Mutex<BTreeMap<String, String>>>,
}

impl EgressProxy {
    /// Creates a proxy that allows only `hosts`, or every host of the open internet if `None`.
    /// Private hosts also need an entry in `private_hosts`.
    pub fn new(
        web: WebClient,
        private_hosts: PrivateHosts,
        hosts: Option<AllowedHosts>,
    ) -> EgressProxy {
        EgressProxy {
            policy: Arc::new(ProxyPolicy {
                web,
                private_hosts,
                hosts,
            }),
            refused: Arc::default(),
        }
    }

    /// Serves until `ended` resolves; then every connection is closed.
    pub async fn serve(self, listener: std::net::TcpListener, ended: impl Future<Output = ()>) {
        let Ok(listener) = TcpListener::from_std(listener) else {
            return;
        };
        // Dropping the set aborts all connections.
        let mut connections = JoinSet::new();
        tokio::select! {
            () = self.accept(&listener, &mut connections) => {}
            () = ended => {}
        }
    }

    /// The first hosts that were refused, each with the reason.
    pub fn refused(&self) -> Vec<(String, String)> {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = refused.iter();
        lines
            .map(|(host, why)| (host.clone(), why.clone()))
            .collect()
    }

    async fn accept(&self, listener: &TcpListener, connections: &mut JoinSet<()>) {
        let own = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        loop {
            // Permits come before the accept: connections beyond the bound wait in the kernel's
            // backlog and use no descriptors.
            let everybody = Arc::clone(self.policy.web.proxy_permits());
            // Neither semaphore is ever closed.
            let (Ok(of_run), Ok(of_all)) = (
                Arc::clone(&own).acquire_owned().await,
                everybody.acquire_owned().await,
            ) else {
                return;
            };
            // Finished tasks stay in the set until they are joined.
            while connections.try_join_next().is_some() {}
            let Ok((stream, _)) = listener.accept().await else {
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            };
            let proxy = self.clone();
            connections.spawn(async move {
                // A program may close its connection at any time, which is not an error.
                let _ = proxy.handle(stream).await;
                drop((of_run, of_all));
            });
        }
    }

    async fn handle(&self, mut stream: TcpStream) -> io::Result<()> {
        let _ = stream.set_nodelay(true);
        let mut read = Vec::with_capacity(1024);
        let request = async {
            read_more(&mut stream, &mut read).await?;
            // No HTTP method starts with byte 5, so the first byte tells the protocols apart.
            if read.first() == Some(&socks::VERSION) {
                self.read_socks_request(&mut stream, &mut read).await
            } else {
                self.read_http_request(&mut stream, &mut read).await
            }
        };
        let host = match tokio::time::timeout(HEAD_TIME_MAX, request).await {
            Ok(request) => request?,
            // A program that sent no whole request in time gets no answer.
            Err(_) => return Ok(()),
        };
        let Some(AcceptedRequest { destination, kind }) = host else {
            return Ok(());
        };
        let mut host = match self.connect(&destination).await {
            Ok(host) => host,
            Err(error) => return send_final_answer(&mut stream, &kind.refusal(&error)).await,
        };
        match kind {
            ProxyProtocol::Tunnel => stream.write_all(http::ESTABLISHED).await?,
            ProxyProtocol::Socks => stream.write_all(&socks::reply(socks::GRANTED)).await?,
            ProxyProtocol::Plain(head) => host.write_all(&head).await?,
        }
        // Bytes that came with the head belong to the host.
        host.write_all(&read).await?;
        drop(read);
        relay::relay(stream, host).await;
        Ok(())
    }

    /// Reads an HTTP head and leaves the bytes after it in `read`. Returns `None` if the request was
    /// answered already.
    async fn read_http_request(
        &self,
        stream: &mut TcpStream,
        read: &mut Vec<u8>,
    ) -> io::Result<Option<AcceptedRequest>> {
        let wrong = loop {
            match http::read_head(read) {
                HeadParse::Whole(request) => {
                    read.drain(..request.head_bytes);
                    let kind = request
                        .forwarded
                        .map_or(ProxyProtocol::Tunnel, ProxyProtocol::Plain);
                    let destination = request.destination;
                    return Ok(Some(AcceptedRequest { destination, kind }));
                }
                HeadParse::Partial if read.len() < http::HEAD_BYTES_MAX => {
                    read_more(stream, read).await?;
                }
                HeadParse::Partial => break "Its head is too long.",
                HeadParse::Wrong(why) => break why,
            }
        };
        send_final_answer(stream, &http::answer(400, "Bad Request", wrong)).await?;
        Ok(None)
    }

    /// Like [`EgressProxy::read_http_request`], for SOCKS5.
    async fn read_socks_request(
        &self,
        stream: &mut TcpStream,
        read: &mut Vec<u8>,
    ) -> io::Result<Option<AcceptedRequest>> {
        let wrong = loop {
            match socks::read_greeting(read) {
                SocksParse::Whole((), length) => {
                    read.drain(..length);
                    break None;
                }
                SocksParse::Partial => read_more(stream, read).await?,
                SocksParse::Wrong(answer) => break Some(answer),
            }
        };
        if let Some(wrong) = wrong {
            send_final_answer(stream, &wrong).await?;
            return Ok(None);
        }
        stream.write_all(&socks::CHOSEN).await?;
        let wrong = loop {
            match socks::read_request(read) {
                SocksParse::Whole(destination, length) => {
                    read.drain(..length);
                    let kind = ProxyProtocol::Socks;
                    return Ok(Some(AcceptedRequest { destination, kind }));
                }
                SocksParse::Partial => read_more(stream, read).await?,
                SocksParse::Wrong(answer) => break answer,
            }
        };
        send_final_answer(stream, &wrong).await?;
        Ok(None)
    }

    async fn connect(&self, destination: &ProxyDestination) -> Result<TcpStream, NetError> {
        let reached = async {
            let (place, is_private_host) = self.policy.check(destination)?;
            self.policy.connect(&place, is_private_host).await
        };
        reached.await.inspect_err(|error| {
            if let NetError::Refused(why) = error {
                self.record_refusal(&destination.printable(), why);
            }
        })
    }

    fn record_refusal(&self, host: &str, why: &str) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() < REFUSED_MAX {
            refused.insert(printable(host), printable(why));
        }
    }
}

/// Makes text from the sandbox safe to show: printable ASCII only, and bounded.
fn printable(text: &str) -> String {
    let plain = |letter: char| letter.is_ascii_graphic() || letter == ' ';
    let letters = text
        .chars()
        .map(|letter| if plain(letter) { letter } else { '?' });
    letters.take(SHOWN_CHARS_MAX).collect()
}

/// The destination of a request and the protocol it came by.
struct AcceptedRequest {
    destination: ProxyDestination,
    kind: ProxyProtocol,
}

enum ProxyProtocol {
    Tunnel,
    Socks,
    /// The head that is sent to the host first.
    Plain(Vec<u8>),
}

impl ProxyProtocol {
    fn refusal(&self, error: &NetError) -> Vec<u8> {
        let is_refused = matches!(error, NetError::Refused(_));
        match (self, is_refused) {
            (ProxyProtocol::Socks, true) => socks::reply(socks::REFUSED),
            (ProxyProtocol::Socks, false) => socks::reply(socks::UNREACHABLE),
            (_, true) => http::answer(403, "Forbidden", &error.to_string()),
            (_, false) => http::answer(502, "Bad Gateway", &error.to_string()),
        }
    }
}

/// Reads more bytes. The end of the stream is an error.
async fn read_more(stream: &mut TcpStream, read: &mut Vec<u8>) -> io::Result<()> {
    let mut buffer = [0; 4096];
    match stream.read(&mut buffer).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        length => {
            read.extend_from_slice(&buffer[..length]);
            Ok(())
        }
    }
}

/// Sends an answer and closes the connection.
async fn send_final_answer(stream: &mut TcpStream, answer: &[u8]) -> io::Result<()> {
    let answered = async {
        stream.write_all(answer).await?;
        stream.shutdown().await?;
        let mut buffer = [0; 4096];
        // Closing a socket with unread bytes resets the connection, and the answer could be lost.
        while stream.read(&mut buffer).await? > 0 {}
        Ok(())
    };
    tokio::time::timeout(ANSWER_TIME_MAX, answered)
        .await
        .unwrap_or(Ok(()))
}
