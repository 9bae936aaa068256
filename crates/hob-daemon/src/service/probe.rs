//! Health checks of services.
//!
//! Invariants: an answer counts only if its head arrives in time; its body is not read; nothing,
//! and no password, is sent to a listener of a user who is not trusted.

use hob_kit::secret::Secret;
use hob_net::{HttpClient, HttpRequest, TrustedUsers, UntrustedListener, check_listener_async};
use hob_services::{HealthProbe, StartValues};
use std::ffi::OsStr;
use std::time::Duration;

/// A health check: the address, the login, and how strictly the answer is read.
#[derive(Clone, Debug)]
pub(super) struct HealthCheck {
    pub(super) url: String,
    pub(super) login: Option<(String, Secret)>,
    /// Accepts every answer below 500. Used for a server that hob did not start and whose health page
    /// is unknown.
    pub(super) lenient: bool,
}

impl HealthCheck {
    /// Builds the check that a descriptor describes.
    pub(super) fn from_health(
        health: &HealthProbe,
        filling: &StartValues<'_>,
    ) -> Option<HealthCheck> {
        let url = match health {
            HealthProbe::Path(path) => format!("http://127.0.0.1:{}{path}", filling.port?),
            HealthProbe::Url(url) => filling.fill(OsStr::new(url)).into_string().ok()?,
        };
        Some(HealthCheck {
            url,
            login: None,
            lenient: false,
        })
    }

    /// Returns true if the service is healthy. Only listeners of `trusted` users are asked.
    pub(super) async fn is_healthy(
        &self,
        http: &HttpClient,
        trusted: TrustedUsers,
        timeout: Duration,
    ) -> bool {
        // Before every request: another user's program may listen on the port by now, and the request
        // carries the password.
        if check_address(&self.url, trusted, self.lenient)
            .await
            .is_err()
        {
            return false;
        }
        let mut request = HttpRequest::get(&self.url).head_timeout(timeout);
        if let Some((name, password)) = &self.login {
            let pair = format!("{name}:{}", password.expose());
            let basic = data_encoding::BASE64.encode(pair.as_bytes());
            let header = Secret::new(format!("Basic {basic}"));
            request = request.secret_header("authorization", header);
        }
        match http.send(request).await {
            Ok(answer) if self.lenient => answer.status() < 500,
            Ok(answer) => (200..300).contains(&answer.status()),
            Err(_) => false,
        }
    }
}

/// Checks that the listener at this address belongs to a trusted user. A service that hob started
/// may listen where the kernel's list does not show it, such as behind a firewall rule; a service
/// that was found (`adopted`) must be in the list.
pub(super) async fn check_address(
    url: &str,
    trusted: TrustedUsers,
    adopted: bool,
) -> Result<(), UntrustedListener> {
    match check_listener_async(url.to_owned(), trusted).await {
        Err(UntrustedListener::NotListening { .. }) if !adopted => Ok(()),
        checked => checked,
    }
}
