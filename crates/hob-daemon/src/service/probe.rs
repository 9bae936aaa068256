//! Asking a service for its health. Invariants: an answer is a head within the time allowed; its body
//! is not read; a listener of a user who is not trusted is asked nothing, and shown no password.

use hob_kit::secret::Secret;
use hob_net::{Http, Request, TrustedUsers, UntrustedListener, check_listener_of};
use hob_services::{Filling, Health};
use std::ffi::OsStr;
use std::time::Duration;

/// What is asked, and how its answer is read.
#[derive(Clone, Debug)]
pub(super) struct Checkup {
    pub(super) url: String,
    pub(super) login: Option<(String, Secret)>,
    /// Any answer but a failure of its own is well: it is somebody else's, and has no health page
    /// that we know of.
    pub(super) lenient: bool,
}

impl Checkup {
    /// What a descriptor says is asked.
    pub(super) fn of(health: &Health, filling: &Filling<'_>) -> Option<Checkup> {
        let url = match health {
            Health::Path(path) => format!("http://127.0.0.1:{}{path}", filling.port?),
            Health::Url(url) => filling.fill(OsStr::new(url)).into_string().ok()?,
        };
        Some(Checkup {
            url,
            login: None,
            lenient: false,
        })
    }

    /// Whether it is well. `trusted` are the users whose listener is asked.
    pub(super) async fn ask(&self, http: &Http, trusted: TrustedUsers, timeout: Duration) -> bool {
        if may_be_sent(&self.url, trusted, self.lenient).await.is_err() {
            return false;
        }
        let mut request = Request::get(&self.url).head_timeout(timeout);
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

/// Whether something may be sent to a service at this address. One that hob started may listen
/// where the kernel's list does not show it, such as behind a rule of root's; one that was found
/// (`adopted`) must be seen to belong to somebody trusted.
pub(super) async fn may_be_sent(
    url: &str,
    trusted: TrustedUsers,
    adopted: bool,
) -> Result<(), UntrustedListener> {
    match check_listener_of(url.to_owned(), trusted).await {
        Err(UntrustedListener::Nobody { .. }) if !adopted => Ok(()),
        checked => checked,
    }
}
