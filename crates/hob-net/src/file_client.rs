//! Requests to a configured origin whose files lie elsewhere: a hub of models answers with a redirect
//! to its storage.
//!
//! Invariants: the token goes to the configured origin only, never to the target of a redirect; a
//! redirect to another origin leads over https to the open internet (or to a private host that the
//! user listed), and only from an origin on this machine to this machine; each one is checked before
//! it is requested.

use crate::http_client::{HttpClient, HttpResponse};
use crate::private_hosts::PrivateHosts;
use crate::web_client::{WebClient, redirect_target};
use crate::{HttpRequest, NetError};
use hob_kit::secret::Secret;
use reqwest::Url;
use std::net::IpAddr;
use std::time::Duration;

/// The redirects that are followed for one file.
const REDIRECTS_MAX: usize = 5;
/// The timeout for the head of each response.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// A configured origin: https, or http on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileOrigin {
    base: Url,
}

impl FileOrigin {
    /// Parses `https://HOST[:PORT][/PATH]`, or http for a loopback address.
    pub fn parse(text: &str) -> Result<FileOrigin, NetError> {
        let text = text.trim().trim_end_matches('/');
        let base = crate::egress::check(text)?.url;
        if base.query().is_some() || base.fragment().is_some() {
            return refused("it must be a plain address");
        }
        if base.scheme() != "https" && !is_loopback(&base) {
            return refused("only https is supported, and http on this machine");
        }
        Ok(FileOrigin { base })
    }

    /// Returns the address of a path, which begins with a slash and is encoded already.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base.as_str().trim_end_matches('/'))
    }

    /// Host and port, for messages.
    pub fn host(&self) -> String {
        let name = self.base.host_str().unwrap_or_default();
        match self.base.port() {
            Some(port) => format!("{name}:{port}"),
            None => name.to_owned(),
        }
    }

    fn contains(&self, url: &Url) -> bool {
        self.base.origin() == url.origin()
    }
}

/// Requests files of one origin; cheap to clone.
#[derive(Clone, Debug)]
pub struct FileClient {
    pub http: HttpClient,
    pub web: WebClient,
    pub origin: FileOrigin,
    /// Sent to the origin only.
    pub token: Option<Secret>,
    /// Private hosts that a redirect may lead to.
    pub private_hosts: PrivateHosts,
}

/// The answer to a request for a file.
#[derive(Debug)]
pub struct FileResponse {
    /// The final answer, with any status.
    pub response: HttpResponse,
    /// The origin's own answer, if it redirected to another origin.
    pub redirected: Option<HttpResponse>,
}

/// The way to the next address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RedirectRoute {
    /// Within the configured origin, with the token.
    Origin,
    /// From this machine to this machine, without the token.
    Loopback,
    /// On the open internet, without the token.
    Internet,
}

impl FileClient {
    /// Requests a path of the origin from a byte on, and follows its redirects.
    pub async fn get(&self, path: &str, from: Option<u64>) -> Result<FileResponse, NetError> {
        let text = self.origin.url(path);
        let mut url = Url::parse(&text)
            .map_err(|_| NetError::Refused("the path is not part of a URL".to_owned()))?;
        // A path such as `//other.host/` must not lead away from the origin.
        if !self.origin.contains(&url) {
            return refused("it is not an address of the configured origin");
        }
        let range = from.map(|from| format!("bytes={from}-"));
        let mut route = RedirectRoute::Origin;
        let mut redirected = None;
        for _ in 0..=REDIRECTS_MAX {
            let response = self.send(&url, route, range.as_deref()).await?;
            let Some(target) = redirect_target(&url, &response) else {
                return Ok(FileResponse {
                    response,
                    redirected,
                });
            };
            let next = self.origin.check_redirect(&target)?;
            if route == RedirectRoute::Origin && next != RedirectRoute::Origin {
                redirected = Some(response);
            }
            (url, route) = (target, next);
        }
        refused(&format!("it redirected more than {REDIRECTS_MAX} times"))
    }

    async fn send(
        &self,
        url: &Url,
        route: RedirectRoute,
        range: Option<&str>,
    ) -> Result<HttpResponse, NetError> {
        // The bytes are compared with a checksum, so they must come as they are stored.
        let mut headers = vec![("accept-encoding", "identity")];
        headers.extend(range.map(|range| ("range", range)));
        if route == RedirectRoute::Internet {
            let (url, hosts) = (url.clone(), &self.private_hosts);
            let sent = self.web.get_redirected(url, &headers, hosts, HEAD_TIMEOUT);
            return sent.await;
        }
        let mut request = HttpRequest::get(url.as_str()).head_timeout(HEAD_TIMEOUT);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let token = self
            .token
            .as_ref()
            .filter(|_| route == RedirectRoute::Origin);
        if let Some(token) = token {
            let bearer = Secret::new(format!("Bearer {}", token.expose()));
            request = request.secret_header("authorization", bearer);
        }
        self.http.send(request).await
    }
}

impl FileOrigin {
    /// Decides about the target of a redirect. Addresses on the open internet are checked once more
    /// when the name is resolved.
    fn check_redirect(&self, target: &Url) -> Result<RedirectRoute, NetError> {
        if self.contains(target) {
            return Ok(RedirectRoute::Origin);
        }
        if is_loopback(&self.base) && is_loopback(target) {
            return Ok(RedirectRoute::Loopback);
        }
        if target.scheme() != "https" {
            return refused("the server redirects to an address without https");
        }
        Ok(RedirectRoute::Internet)
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let literal = host.trim_start_matches('[').trim_end_matches(']');
    let address = literal.parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

fn refused<T>(why: &str) -> Result<T, NetError> {
    Err(NetError::Refused(why.to_owned()))
}

#[cfg(test)]
#[path = "file_client_tests.rs"]
mod tests;
