//! The HTTP client for pages that a model named, on the open internet only.
//!
//! Names are resolved here, and connections use exactly the addresses that were checked: there is no
//! second lookup that could give another answer. Nothing is kept between two requests, neither
//! cookies nor connections.
//!
//! Invariants: every URL, also the target of a redirect, passes `egress` before it is requested; a
//! redirect is followed only within the same host; no proxy of the environment is used.

use crate::NetError;
use crate::address::reserved;
use crate::egress::{self, AllowedUrl};
use crate::http_client::{HttpOptions, HttpResponse, build, builder, install_crypto};
use crate::private_hosts::PrivateHosts;
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

/// The redirects that are followed for one page.
pub const REDIRECTS_MAX: usize = 5;
/// The addresses of a name that are used; no ordinary name has more.
const ADDRESSES_MAX: usize = 64;

/// Connections of all proxies of this client together; each uses two file descriptors. A proxy that
/// waits for its next connection counts as one.
const PROXY_CONNECTIONS_MAX: usize = 512;

/// Resolves a name to its addresses.
pub type DnsLookup = Arc<dyn Fn(String) -> DnsLookupFuture + Send + Sync>;
pub type DnsLookupFuture = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Fetches pages; cheap to clone.
#[derive(Clone)]
pub struct WebClient(Arc<WebClientInner>);

struct WebClientInner {
    parts: HttpOptions,
    lookup: DnsLookup,
    /// Addresses that a test treats as the open internet.
    treated_as_public: Vec<IpAddr>,
    /// Built when first needed: most daemons never fetch a page, and loading certificates is slow.
    public_client: OnceLock<reqwest::Client>,
    /// For private hosts that the user listed, whose names may resolve to any address.
    private_client: OnceLock<reqwest::Client>,
    proxy_permits: Arc<Semaphore>,
}

type LookupError = Box<dyn std::error::Error + Send + Sync>;

/// A request for a page.
#[derive(Clone, Debug)]
pub struct PageRequest {
    pub url: String,
    pub accept: String,
    /// The timeout for the head of each response.
    pub head_timeout: Duration,
}

/// The result of fetching a page.
#[derive(Debug)]
pub enum PageOutcome {
    /// A page, with its final URL.
    Page { url: String, response: HttpResponse },
    /// A redirect to another host, which was not followed.
    OtherHost { url: String, status: u16 },
}

impl WebClient {
    pub fn new(clock: Clock) -> WebClient {
        WebClient::with_lookup(clock, Arc::new(system_lookup), Vec::new())
    }

    /// For tests: names lead where `lookup` says, and may lead to `treated_as_public`.
    pub fn with_lookup(
        clock: Clock,
        lookup: DnsLookup,
        treated_as_public: Vec<IpAddr>,
    ) -> WebClient {
        WebClient(Arc::new(WebClientInner {
            parts: HttpOptions::new(clock),
            lookup,
            treated_as_public,
            public_client: OnceLock::new(),
            private_client: OnceLock::new(),
            proxy_permits: Arc::new(Semaphore::new(PROXY_CONNECTIONS_MAX)),
        }))
    }

    /// Checks a URL without any network traffic, not even a DNS lookup.
    pub fn check(&self, url: &str, private_hosts: &PrivateHosts) -> Result<(), NetError> {
        let (place, is_private_host) = egress::check_page(url, private_hosts)?;
        let host = place.url.host_str().unwrap_or_default();
        // These names always mean this machine, so they are refused without a lookup.
        let is_loopback = host == "localhost" || host.ends_with(".localhost");
        match self.0.forbidden(IpAddr::V4(Ipv4Addr::LOCALHOST)) {
            Some(what) if is_loopback && !is_private_host => {
                Err(NetError::Refused(egress::private(host, what)))
            }
            _ => Ok(()),
        }
    }

    /// Fetches a page and follows redirects within its host.
    pub async fn get(
        &self,
        request: &PageRequest,
        private_hosts: &PrivateHosts,
    ) -> Result<PageOutcome, NetError> {
        let (mut place, mut is_private_host) = egress::check_page(&request.url, private_hosts)?;
        for _ in 0..=REDIRECTS_MAX {
            // A fragment is for the reader only and is never sent.
            place.url.set_fragment(None);
            let headers = [("accept", request.accept.as_str())];
            let response = self
                .send_request(&place, is_private_host, &headers, request.head_timeout)
                .await?;
            let Some(redirect_target) = redirect_target(&place.url, &response) else {
                let url = place.url.to_string();
                return Ok(PageOutcome::Page { url, response });
            };
            // A permission is granted for one host. The model must ask for the other one itself.
            if !is_same_host(&place.url, &redirect_target) {
                let status = response.status();
                let url = redirect_target.to_string();
                return Ok(PageOutcome::OtherHost { url, status });
            }
            (place, is_private_host) = egress::check_redirect(redirect_target, private_hosts)?;
        }
        let why = format!("it redirected more than {REDIRECTS_MAX} times");
        Err(NetError::Refused(why))
    }

    /// Requests a target of a redirect once, without following another one.
    pub(crate) async fn get_redirected(
        &self,
        url: Url,
        headers: &[(&str, &str)],
        private_hosts: &PrivateHosts,
        head_timeout: Duration,
    ) -> Result<HttpResponse, NetError> {
        let (place, is_private_host) = egress::check_redirect(url, private_hosts)?;
        self.send_request(&place, is_private_host, headers, head_timeout)
            .await
    }

    /// Resolves a URL that passed `egress`, once, and checks every address. The caller connects to
    /// these addresses without another lookup.
    pub(crate) async fn addresses(
        &self,
        place: &AllowedUrl,
        is_private_host: bool,
    ) -> Result<Vec<IpAddr>, NetError> {
        let host = place.url.host_str().unwrap_or_default();
        let literal = host.trim_start_matches('[').trim_end_matches(']');
        let found = match literal.parse() {
            Ok(address) => self.0.check(host, vec![address], is_private_host),
            Err(_) => self.0.resolve_checked(host, is_private_host).await,
        };
        found.map_err(|error| match error.downcast::<ForbiddenAddress>() {
            Ok(forbidden) => NetError::Refused(forbidden.0),
            Err(error) => NetError::Connect {
                host: place.host.clone(),
                reason: error.to_string(),
            },
        })
    }

    /// The permits for connections of all proxies.
    pub(crate) fn proxy_permits(&self) -> &Arc<Semaphore> {
        &self.0.proxy_permits
    }

    async fn send_request(
        &self,
        place: &AllowedUrl,
        is_private_host: bool,
        headers: &[(&str, &str)],
        head_timeout: Duration,
    ) -> Result<HttpResponse, NetError> {
        let mut builder = self.client(is_private_host)?.get(place.url.clone());
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        let sent = builder.send();
        let response =
            HttpResponse::await_head(&self.0.parts.clock, &place.host, sent, head_timeout);
        let response = response.await?;
        // A second line of defence: the resolver already returned only checked addresses.
        if let Some(address) = response.remote_address()
            && !is_private_host
            && let Some(what) = self.0.forbidden(address)
        {
            return Err(NetError::Refused(egress::private(&place.host, what)));
        }
        Ok(response)
    }

    fn client(&self, is_private_host: bool) -> Result<&reqwest::Client, NetError> {
        let cell = if is_private_host {
            &self.0.private_client
        } else {
            &self.0.public_client
        };
        if let Some(client) = cell.get() {
            return Ok(client);
        }
        install_crypto();
        let resolver = CheckedResolver {
            // Weak, because the inner value owns the client and the client owns the resolver.
            inner: Arc::downgrade(&self.0),
            is_private_host,
        };
        let resolver = Arc::new(resolver);
        let client = build(|| {
            builder(&self.0.parts)
                .dns_resolver(Arc::clone(&resolver))
                // No connection is reused: each request resolves and checks its host again.
                .pool_max_idle_per_host(0)
                .gzip(true)
                .deflate(true)
        })?;
        // Another task may have built a client meanwhile; then that one is used.
        Ok(cell.get_or_init(|| client))
    }
}

impl WebClientInner {
    fn forbidden(&self, address: IpAddr) -> Option<&'static str> {
        let is_treated_as_public = self.treated_as_public.contains(&address);
        reserved(address).filter(|_| !is_treated_as_public)
    }

    async fn resolve_checked(
        &self,
        name: &str,
        is_private_host: bool,
    ) -> Result<Vec<IpAddr>, LookupError> {
        let mut addresses = (self.lookup)(name.to_owned()).await?;
        // Cut before the check, so that no unchecked address is left in the list.
        addresses.truncate(ADDRESSES_MAX);
        self.check(name, addresses, is_private_host)
    }

    /// Returns the addresses if every one is allowed.
    fn check(
        &self,
        name: &str,
        addresses: Vec<IpAddr>,
        is_private_host: bool,
    ) -> Result<Vec<IpAddr>, LookupError> {
        // One forbidden address refuses the name: the client may connect to any of them.
        let mut wrong = addresses.iter().filter_map(|one| self.forbidden(*one));
        match wrong.next().filter(|_| !is_private_host) {
            Some(what) => Err(Box::new(ForbiddenAddress(egress::private(name, what)))),
            None => Ok(addresses),
        }
    }
}

impl fmt::Debug for WebClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Web")
    }
}

/// A DNS resolver that returns the addresses of a name only if every one is allowed.
struct CheckedResolver {
    inner: std::sync::Weak<WebClientInner>,
    is_private_host: bool,
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (inner, is_private_host) = (self.inner.upgrade(), self.is_private_host);
        Box::pin(async move {
            let Some(inner) = inner else {
                return Err("the client is gone".into());
            };
            let addresses = inner
                .resolve_checked(name.as_str(), is_private_host)
                .await?;
            let places = addresses
                .into_iter()
                .map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(places) as Addrs)
        })
    }
}

/// The error for a name that resolves to a forbidden address.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct ForbiddenAddress(pub(crate) String);

fn system_lookup(name: String) -> DnsLookupFuture {
    Box::pin(async move {
        let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
        Ok(found.map(|place| place.ip()).collect())
    })
}

/// Returns the target of a redirect.
pub(crate) fn redirect_target(from: &Url, response: &HttpResponse) -> Option<Url> {
    if !matches!(response.status(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    from.join(response.header("location")?).ok()
}

/// Returns true if a permission for `from` includes `to`: the same host, the same port or both
/// default ports, and never from https to http.
fn is_same_host(from: &Url, to: &Url) -> bool {
    let ports = from.port() == to.port();
    let is_sealed = from.scheme() == to.scheme() || to.scheme() == "https";
    from.host_str() == to.host_str() && ports && is_sealed
}
