//! The proxy that is the only exit of a command's own network. It accepts on a socket inside the
//! command's network namespace and speaks HTTP and SOCKS5 on that one port.
//!
//! - [`Proxy`]: one for each run
//! - `destination`: whether a host may be reached, and the connection to it
//! - [`AllowedHosts`]: the hosts that a grant names
//! - `http`, `socks`: what programs say to it
//! - `relay`: the bytes after that
//!
//! Invariants: a host is reached only if `egress` lets it through as for a page of `web_fetch`, and
//! only if the grant names it; every connection, head, buffer and silence has a bound; what was
//! refused is remembered, so that the result can say so.

mod destination;
mod hosts;
mod http;
mod relay;
mod socks;

pub use hosts::{AllowedHosts, HOSTS_MAX};

use crate::{NetError, Openings, Web};
use destination::{Destination, Policy};
use http::Head;
use socks::Message;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// Connections of one run at once; more wait until one ends.
const CONNECTIONS_MAX: usize = 64;
/// How long a program may take to say where it wants to go.
const HEAD_TIME_MAX: Duration = Duration::from_secs(10);
/// How long an answer of the proxy's own may take to be read.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(5);
/// How long accepting pauses when the machine has no descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Different refusals that are remembered of one run.
pub const REFUSED_MAX: usize = 16;
/// Letters of a host, or of the reason, as they are told.
const SHOWN_CHARS_MAX: usize = 240;

/// The proxy of one run; cheap to clone.
#[derive(Clone, Debug)]
pub struct Proxy {
    policy: Arc<Policy>,
    // A std mutex: held to note or read a few lines, never over an await.
    refused: Arc<Mutex<BTreeMap<String, String>>>,
}

impl Proxy {
    /// `hosts` are the only ones that may be reached; every host of the open internet when missing.
    /// Private hosts are reached only by `openings`.
    pub fn new(web: Web, openings: Openings, hosts: Option<AllowedHosts>) -> Proxy {
        Proxy {
            policy: Arc::new(Policy {
                web,
                openings,
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
        // With it go all connections.
        let mut connections = JoinSet::new();
        tokio::select! {
            () = self.accept(&listener, &mut connections) => {}
            () = ended => {}
        }
    }

    /// The hosts that were refused so far, each with the reason; the first ones of many.
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
            let everybody = Arc::clone(self.policy.web.proxied());
            // Neither semaphore is ever closed.
            let (Ok(of_run), Ok(of_all)) = (
                Arc::clone(&own).acquire_owned().await,
                everybody.acquire_owned().await,
            ) else {
                return;
            };
            // Those that ended leave their results behind.
            while connections.try_join_next().is_some() {}
            let Ok((stream, _)) = listener.accept().await else {
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            };
            let proxy = self.clone();
            connections.spawn(async move {
                // A program that breaks off is nobody's fault.
                let _ = proxy.handle(stream).await;
                drop((of_run, of_all));
            });
        }
    }

    async fn handle(&self, mut stream: TcpStream) -> io::Result<()> {
        let _ = stream.set_nodelay(true);
        let mut read = Vec::with_capacity(1024);
        let asked = async {
            more(&mut stream, &mut read).await?;
            if read.first() == Some(&socks::VERSION) {
                self.ask_socks(&mut stream, &mut read).await
            } else {
                self.ask_http(&mut stream, &mut read).await
            }
        };
        let host = match tokio::time::timeout(HEAD_TIME_MAX, asked).await {
            Ok(asked) => asked?,
            Err(_) => return Ok(()),
        };
        let Some(Asked { destination, kind }) = host else {
            return Ok(());
        };
        let mut host = match self.reach(&destination).await {
            Ok(host) => host,
            Err(error) => return say(&mut stream, &kind.refusal(&error)).await,
        };
        match kind {
            Kind::Tunnel => stream.write_all(http::ESTABLISHED).await?,
            Kind::Socks => stream.write_all(&socks::reply(socks::GRANTED)).await?,
            Kind::Plain(head) => host.write_all(&head).await?,
        }
        // What came with the head belongs to the host.
        host.write_all(&read).await?;
        drop(read);
        relay::relay(stream, host).await;
        Ok(())
    }

    /// Reads an HTTP head; leaves what came after it in `read`. None: it was answered already.
    async fn ask_http(
        &self,
        stream: &mut TcpStream,
        read: &mut Vec<u8>,
    ) -> io::Result<Option<Asked>> {
        let wrong = loop {
            match http::read_head(read) {
                Head::Whole(request) => {
                    read.drain(..request.head_bytes);
                    let kind = request.forwarded.map_or(Kind::Tunnel, Kind::Plain);
                    let destination = request.destination;
                    return Ok(Some(Asked { destination, kind }));
                }
                Head::Partial if read.len() < http::HEAD_BYTES_MAX => more(stream, read).await?,
                Head::Partial => break "Its head is too long.",
                Head::Wrong(why) => break why,
            }
        };
        say(stream, &http::answer(400, "Bad Request", wrong)).await?;
        Ok(None)
    }

    /// The same for SOCKS5.
    async fn ask_socks(
        &self,
        stream: &mut TcpStream,
        read: &mut Vec<u8>,
    ) -> io::Result<Option<Asked>> {
        let wrong = loop {
            match socks::read_greeting(read) {
                Message::Whole((), length) => {
                    read.drain(..length);
                    break None;
                }
                Message::Partial => more(stream, read).await?,
                Message::Wrong(answer) => break Some(answer),
            }
        };
        if let Some(wrong) = wrong {
            say(stream, &wrong).await?;
            return Ok(None);
        }
        stream.write_all(&socks::CHOSEN).await?;
        let wrong = loop {
            match socks::read_request(read) {
                Message::Whole(destination, length) => {
                    read.drain(..length);
                    let kind = Kind::Socks;
                    return Ok(Some(Asked { destination, kind }));
                }
                Message::Partial => more(stream, read).await?,
                Message::Wrong(answer) => break answer,
            }
        };
        say(stream, &wrong).await?;
        Ok(None)
    }

    async fn reach(&self, destination: &Destination) -> Result<TcpStream, NetError> {
        let reached = async {
            let (place, is_open) = self.policy.check(destination)?;
            self.policy.connect(&place, is_open).await
        };
        reached.await.inspect_err(|error| {
            if let NetError::Refused(why) = error {
                self.note(&destination.shown(), why);
            }
        })
    }

    fn note(&self, host: &str, why: &str) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() < REFUSED_MAX {
            refused.insert(shown(host), shown(why));
        }
    }
}

/// A program's words as they are told: they come from the sandbox.
fn shown(text: &str) -> String {
    let plain = |letter: char| letter.is_ascii_graphic() || letter == ' ';
    let letters = text
        .chars()
        .map(|letter| if plain(letter) { letter } else { '?' });
    letters.take(SHOWN_CHARS_MAX).collect()
}

/// Where a program wants to go, and how it asked.
struct Asked {
    destination: Destination,
    kind: Kind,
}

enum Kind {
    Tunnel,
    Socks,
    /// What is sent to the host before anything else.
    Plain(Vec<u8>),
}

impl Kind {
    fn refusal(&self, error: &NetError) -> Vec<u8> {
        let is_refused = matches!(error, NetError::Refused(_));
        match (self, is_refused) {
            (Kind::Socks, true) => socks::reply(socks::REFUSED),
            (Kind::Socks, false) => socks::reply(socks::UNREACHABLE),
            (_, true) => http::answer(403, "Forbidden", &error.to_string()),
            (_, false) => http::answer(502, "Bad Gateway", &error.to_string()),
        }
    }
}

/// Reads some more bytes; the end of them is an error here.
async fn more(stream: &mut TcpStream, read: &mut Vec<u8>) -> io::Result<()> {
    let mut buffer = [0; 4096];
    match stream.read(&mut buffer).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        length => {
            read.extend_from_slice(&buffer[..length]);
            Ok(())
        }
    }
}

/// Says a last word. What the program still sends is read for a moment: closing with unread bytes
/// would cut the answer off.
async fn say(stream: &mut TcpStream, answer: &[u8]) -> io::Result<()> {
    let said = async {
        stream.write_all(answer).await?;
        stream.shutdown().await?;
        let mut buffer = [0; 4096];
        while stream.read(&mut buffer).await? > 0 {}
        Ok(())
    };
    tokio::time::timeout(ANSWER_TIME_MAX, said)
        .await
        .unwrap_or(Ok(()))
}
