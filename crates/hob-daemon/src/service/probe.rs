//! Asking a service for its health. Invariant: an answer is a head within the time allowed; its body
//! is not read.

use hob_kit::secret::Secret;
use hob_net::{Http, Request};
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

    pub(super) async fn ask(&self, http: &Http, timeout: Duration) -> bool {
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
