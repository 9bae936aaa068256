//! Asking for pages that a model named: the client of the open internet.
//!
//! Names are resolved here, and the very addresses that were checked are the ones connected to:
//! nobody asks again between the check and the connection. Nothing is kept between two requests,
//! no cookie and no connection.
//!
//! Invariants: every place, the first and those that redirects name, passes `egress` before it is
//! asked; a redirect is followed only within the same host; no proxy of the environment is used.

use crate::NetError;
use crate::egress::{self, Allowed};
use crate::http::{NetParts, Response, build, builder, install_crypto};
use crate::openings::Openings;
use hob_kit::clock::Clock;
use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Redirects followed for one page.
pub const REDIRECTS_MAX: usize = 5;
/// Addresses of a name that are looked at; more is no ordinary name.
const ADDRESSES_MAX: usize = 64;

/// Connections that all proxies of this client serve at once; each takes two descriptors. A proxy
/// that waits for its next connection counts as one.
const PROXIED_MAX: usize = 512;

/// How a name's addresses are found.
pub type Lookup = Arc<dyn Fn(String) -> LookingUp + Send + Sync>;
pub type LookingUp = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Asks for pages; cheap to clone.
#[derive(Clone)]
pub struct Web(Arc<Inner>);

struct Inner {
    parts: NetParts,
    lookup: Lookup,
    /// Where a test's names may lead as if it were the open internet.
    taken_for_public: Vec<IpAddr>,
    /// Made when first needed: most daemons never fetch a page, and certificates take a while.
    outward: OnceLock<reqwest::Client>,
    /// For hosts that a person opened: their names may lead anywhere.
    inward: OnceLock<reqwest::Client>,
    proxied: Arc<Semaphore>,
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What to ask for.
#[derive(Clone, Debug)]
pub struct PageRequest {
    pub url: String,
    pub accept: String,
    /// How long the head of each answer may take.
    pub head_timeout: Duration,
}

/// Where asking led.
#[derive(Debug)]
pub enum Visit {
    /// A page, at its last address.
    Here { url: String, response: Response },
    /// The place says that the page is at another host, which was not asked.
    Elsewhere { url: String, status: u16 },
}

impl Web {
    pub fn new(clock: Clock) -> Web {
        Web::with_lookup(clock, Arc::new(system_lookup), Vec::new())
    }

    /// For tests: names lead where `lookup` says, and may lead to `taken_for_public`.
    pub fn with_lookup(clock: Clock, lookup: Lookup, taken_for_public: Vec<IpAddr>) -> Web {
        Web(Arc::new(Inner {
            parts: NetParts::new(clock),
            lookup,
            taken_for_public,
            outward: OnceLock::new(),
            inward: OnceLock::new(),
            proxied: Arc::new(Semaphore::new(PROXIED_MAX)),
        }))
    }

    /// Checks an address without asking anybody, not even for the addresses of its name.
    pub fn check(&self, url: &str, openings: &Openings) -> Result<(), NetError> {
        let (place, is_open) = egress::check_page(url, openings)?;
        let host = place.url.host_str().unwrap_or_default();
        let is_loopback = host == "localhost" || host.ends_with(".localhost");
        match self.0.forbidden(IpAddr::V4(Ipv4Addr::LOCALHOST)) {
            Some(what) if is_loopback && !is_open => {
                Err(NetError::Refused(egress::private(host, what)))
            }
            _ => Ok(()),
        }
    }

    /// Asks for a page and follows redirects within its host.
    pub async fn get(&self, asked: &PageRequest, openings: &Openings) -> Result<Visit, NetError> {
        let (mut place, mut is_open) = egress::check_page(&asked.url, openings)?;
        for _ in 0..=REDIRECTS_MAX {
            place.url.set_fragment(None);
            let response = self.ask(&place, is_open, asked).await?;
            let Some(moved) = moved(&place.url, &response) else {
                let url = place.url.to_string();
                return Ok(Visit::Here { url, response });
            };
            if !is_same_host(&place.url, &moved) {
                let status = response.status();
                let url = moved.to_string();
                return Ok(Visit::Elsewhere { url, status });
            }
            (place, is_open) = egress::check_moved(moved, openings)?;
        }
        let why = format!("it led on more than {REDIRECTS_MAX} times");
        Err(NetError::Refused(why))
    }

    /// The addresses of a place that passed `egress`: looked up once, and every one checked. Whoever
    /// connects uses these and asks no more.
    pub(crate) async fn addresses(
        &self,
        place: &Allowed,
        is_open: bool,
    ) -> Result<Vec<IpAddr>, NetError> {
        let host = place.url.host_str().unwrap_or_default();
        let literal = host.trim_start_matches('[').trim_end_matches(']');
        let found = match literal.parse() {
            Ok(address) => self.0.check(host, vec![address], is_open),
            Err(_) => self.0.look_up(host, is_open).await,
        };
        found.map_err(|error| match error.downcast::<Forbidden>() {
            Ok(forbidden) => NetError::Refused(forbidden.0),
            Err(error) => NetError::Connect {
                host: place.host.clone(),
                reason: error.to_string(),
            },
        })
    }

    /// Connections of all proxies at once.
    pub(crate) fn proxied(&self) -> &Arc<Semaphore> {
        &self.0.proxied
    }

    async fn ask(
        &self,
        place: &Allowed,
        is_open: bool,
        asked: &PageRequest,
    ) -> Result<Response, NetError> {
        let client = self.client(is_open)?;
        let sent = client
            .get(place.url.clone())
            .header("accept", asked.accept.as_str())
            .send();
        let response =
            Response::await_head(&self.0.parts.clock, &place.host, sent, asked.head_timeout);
        let response = response.await?;
        // The resolver let only checked addresses through; this holds even if that were wrong.
        if let Some(address) = response.remote_address()
            && !is_open
            && let Some(what) = self.0.forbidden(address)
        {
            return Err(NetError::Refused(egress::private(&place.host, what)));
        }
        Ok(response)
    }

    fn client(&self, is_open: bool) -> Result<&reqwest::Client, NetError> {
        let cell = if is_open {
            &self.0.inward
        } else {
            &self.0.outward
        };
        if let Some(client) = cell.get() {
            return Ok(client);
        }
        install_crypto();
        let resolver = Resolver {
            inner: Arc::downgrade(&self.0),
            is_open,
        };
        let resolver = Arc::new(resolver);
        let client = build(|| {
            builder(&self.0.parts)
                .dns_resolver(Arc::clone(&resolver))
                .pool_max_idle_per_host(0)
                .gzip(true)
                .deflate(true)
        })?;
        Ok(cell.get_or_init(|| client))
    }
}

impl Inner {
    fn forbidden(&self, address: IpAddr) -> Option<&'static str> {
        let is_taken = self.taken_for_public.contains(&address);
        egress::forbidden(address).filter(|_| !is_taken)
    }

    async fn look_up(&self, name: &str, is_open: bool) -> Result<Vec<IpAddr>, Failure> {
        let mut addresses = (self.lookup)(name.to_owned()).await?;
        addresses.truncate(ADDRESSES_MAX);
        self.check(name, addresses, is_open)
    }

    /// Lets addresses through if every one may be asked.
    fn check(
        &self,
        name: &str,
        addresses: Vec<IpAddr>,
        is_open: bool,
    ) -> Result<Vec<IpAddr>, Failure> {
        let mut wrong = addresses.iter().filter_map(|one| self.forbidden(*one));
        match wrong.next().filter(|_| !is_open) {
            Some(what) => Err(Box::new(Forbidden(egress::private(name, what)))),
            None => Ok(addresses),
        }
    }
}

impl fmt::Debug for Web {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Web")
    }
}

/// Finds a name's addresses and lets them through if every one may be asked.
struct Resolver {
    inner: std::sync::Weak<Inner>,
    is_open: bool,
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (inner, is_open) = (self.inner.upgrade(), self.is_open);
        Box::pin(async move {
            let Some(inner) = inner else {
                return Err("the client is gone".into());
            };
            let addresses = inner.look_up(name.as_str(), is_open).await?;
            let places = addresses
                .into_iter()
                .map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(places) as Addrs)
        })
    }
}

/// A name that leads where nobody may ask.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Forbidden(pub(crate) String);

fn system_lookup(name: String) -> LookingUp {
    Box::pin(async move {
        let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
        Ok(found.map(|place| place.ip()).collect())
    })
}

/// Where an answer says that the page is.
fn moved(from: &Url, response: &Response) -> Option<Url> {
    if !matches!(response.status(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    from.join(response.header("location")?).ok()
}

/// Whether a permission for `from` is one for `to`: the same host, the same port or the usual
/// ones, and never from a sealed connection to an open one.
fn is_same_host(from: &Url, to: &Url) -> bool {
    let ports = from.port() == to.port();
    let is_sealed = from.scheme() == to.scheme() || to.scheme() == "https";
    from.host_str() == to.host_str() && ports && is_sealed
}
