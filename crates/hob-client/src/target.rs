//! [`DaemonTarget`]: the daemon to connect to. Its address and token are read again for every
//! connection, because a restarted daemon may have another address.

use crate::error::ClientError;
use hob_kit::home::Home;
use hob_wire::PROTOCOL_VERSION;
use hob_wire::rooms::daemon::StateFile;
use std::fmt;
use std::io::ErrorKind;
use std::path::PathBuf;

/// A daemon to connect to.
#[derive(Clone)]
pub struct DaemonTarget {
    location: TargetLocation,
    token: TokenSource,
}

#[derive(Clone)]
enum TargetLocation {
    Home { root: String, state_file: PathBuf },
    Url(WebSocketUrl),
}

#[derive(Clone)]
enum TokenSource {
    File(PathBuf),
    Text(String),
}

/// The current address of a daemon.
pub(crate) enum DaemonAddress {
    Unix { path: PathBuf },
    Ws(WebSocketUrl),
}

/// A parsed `ws://` URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WebSocketUrl {
    pub(crate) text: String,
    /// `host:port`.
    pub(crate) authority: String,
}

impl DaemonTarget {
    /// Returns the daemon of `home`, by its unix socket and with the owner's token.
    pub fn home(home: &Home) -> Self {
        DaemonTarget {
            location: TargetLocation::Home {
                root: home.root().display().to_string(),
                state_file: home.state_file(),
            },
            token: TokenSource::File(home.owner_token()),
        }
    }

    /// Returns the daemon at `ws://HOST:PORT/ws`. For a daemon on another machine use `ssh -L`,
    /// since hob listens on loopback only.
    pub fn url(url: &str, token: impl Into<String>) -> Result<Self, ClientError> {
        Ok(DaemonTarget {
            location: TargetLocation::Url(WebSocketUrl::parse(url)?),
            token: TokenSource::Text(token.into()),
        })
    }

    /// Replaces the owner's token with another token.
    #[must_use]
    pub fn with_token(mut self, token: impl Into<String>) -> Self {
        self.token = TokenSource::Text(token.into());
        self
    }

    /// Returns its name for people.
    pub(crate) fn display_name(&self) -> String {
        match &self.location {
            TargetLocation::Home { root, .. } => root.clone(),
            TargetLocation::Url(url) => url.text.clone(),
        }
    }

    pub(crate) fn token(&self) -> Result<String, ClientError> {
        match &self.token {
            TokenSource::Text(text) => Ok(text.clone()),
            TokenSource::File(path) => match std::fs::read_to_string(path) {
                Ok(text) => Ok(text.trim().to_owned()),
                Err(error) if error.kind() == ErrorKind::NotFound => Err(self.not_running()),
                Err(error) => Err(ClientError::RefusedToken {
                    message: format!("{} cannot be read: {error}", path.display()),
                }),
            },
        }
    }

    pub(crate) fn address(&self) -> Result<DaemonAddress, ClientError> {
        let state_file = match &self.location {
            TargetLocation::Url(url) => return Ok(DaemonAddress::Ws(url.clone())),
            TargetLocation::Home { state_file, .. } => state_file,
        };
        let text = match std::fs::read_to_string(state_file) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(self.not_running()),
            Err(error) => return Err(self.unreachable(&error)),
        };
        // Check the protocol first: a newer daemon may write fields that this version cannot read.
        let protocol = serde_json::from_str::<OnlyProtocol>(&text).unwrap_or_default();
        if let Some(theirs) = protocol.protocol
            && theirs != PROTOCOL_VERSION
        {
            return Err(ClientError::ProtocolSkew {
                ours: PROTOCOL_VERSION,
                theirs,
                daemon: protocol.version.unwrap_or_else(|| "unknown".to_owned()),
            });
        }
        match serde_json::from_str::<StateFile>(&text) {
            Ok(state) => Ok(DaemonAddress::Unix {
                path: state.socket.into(),
            }),
            // hob replaces the file atomically, so an unreadable one was not written by hob.
            Err(error) => Err(self.unreachable(&error)),
        }
    }

    pub(crate) fn not_running(&self) -> ClientError {
        match &self.location {
            TargetLocation::Home { root, .. } => ClientError::NotRunning { home: root.clone() },
            TargetLocation::Url(_) => self.unreachable(&"nothing listens there"),
        }
    }

    pub(crate) fn unreachable(&self, reason: &dyn fmt::Display) -> ClientError {
        ClientError::Unreachable {
            address: self.display_name(),
            reason: reason.to_string(),
        }
    }
}

impl fmt::Debug for DaemonTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DaemonTarget({})", self.display_name())
    }
}

#[derive(Default, serde::Deserialize)]
struct OnlyProtocol {
    protocol: Option<u32>,
    version: Option<String>,
}

impl WebSocketUrl {
    fn parse(text: &str) -> Result<Self, ClientError> {
        let bad = |reason: &str| ClientError::BadTarget {
            reason: format!("'{text}' cannot be used: {reason}"),
        };
        let rest = text.strip_prefix("ws://").ok_or_else(|| {
            bad("write ws://HOST:PORT/ws; hob listens on loopback only, so tunnel with ssh -L instead of wss")
        })?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, "ws"));
        // Credentials in a URL end up in logs and shell histories.
        if authority.is_empty() || authority.contains('@') {
            return Err(bad("it needs a host and a port, and never a credential"));
        }
        if path.contains('?') {
            return Err(bad("a token goes in the header, never in the URL"));
        }
        // An IPv6 address without a port ends with a bracket.
        let with_port = if authority.ends_with(']') || !authority.contains(':') {
            format!("{authority}:80")
        } else {
            authority.to_owned()
        };
        let path = if path.is_empty() { "ws" } else { path };
        Ok(WebSocketUrl {
            text: format!("ws://{authority}/{path}"),
            authority: with_port,
        })
    }
}

#[cfg(test)]
#[path = "target_tests.rs"]
mod tests;
