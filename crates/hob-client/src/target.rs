//! Which daemon a client means, and how its address and token are found. Both are read anew at
//! every connection, because a restarted daemon may stand elsewhere.

use crate::error::ClientError;
use hob_kit::home::Home;
use hob_wire::PROTOCOL_VERSION;
use hob_wire::rooms::daemon::StateFile;
use std::fmt;
use std::io::ErrorKind;
use std::path::PathBuf;

/// A daemon to connect to.
#[derive(Clone)]
pub struct Target {
    place: Place,
    token: Token,
}

#[derive(Clone)]
enum Place {
    Home { shown: String, state_file: PathBuf },
    Url(Url),
}

#[derive(Clone)]
enum Token {
    File(PathBuf),
    Text(String),
}

/// Where to connect right now.
pub(crate) enum Address {
    Unix { path: PathBuf },
    Ws(Url),
}

/// A `ws://` URL, taken apart as far as connecting needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Url {
    pub(crate) text: String,
    /// `host:port`.
    pub(crate) authority: String,
}

impl Target {
    /// The daemon of `home` through its unix socket, as its owner.
    pub fn home(home: &Home) -> Self {
        Target {
            place: Place::Home {
                shown: home.root().display().to_string(),
                state_file: home.state_file(),
            },
            token: Token::File(home.owner_token()),
        }
    }

    /// A daemon behind `ws://HOST:PORT/ws`; a daemon on another machine is reached through
    /// `ssh -L`, since hob listens on loopback only.
    pub fn url(url: &str, token: impl Into<String>) -> Result<Self, ClientError> {
        Ok(Target {
            place: Place::Url(Url::parse(url)?),
            token: Token::Text(token.into()),
        })
    }

    /// The same daemon with another credential than its owner's.
    #[must_use]
    pub fn with_token(mut self, token: impl Into<String>) -> Self {
        self.token = Token::Text(token.into());
        self
    }

    /// What a person would call it.
    pub(crate) fn shown(&self) -> String {
        match &self.place {
            Place::Home { shown, .. } => shown.clone(),
            Place::Url(url) => url.text.clone(),
        }
    }

    pub(crate) fn token(&self) -> Result<String, ClientError> {
        match &self.token {
            Token::Text(text) => Ok(text.clone()),
            Token::File(path) => match std::fs::read_to_string(path) {
                Ok(text) => Ok(text.trim().to_owned()),
                Err(error) if error.kind() == ErrorKind::NotFound => Err(self.not_running()),
                Err(error) => Err(ClientError::RefusedToken {
                    message: format!("{} cannot be read: {error}", path.display()),
                }),
            },
        }
    }

    pub(crate) fn address(&self) -> Result<Address, ClientError> {
        let state_file = match &self.place {
            Place::Url(url) => return Ok(Address::Ws(url.clone())),
            Place::Home { state_file, .. } => state_file,
        };
        let text = match std::fs::read_to_string(state_file) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(self.not_running()),
            Err(error) => return Err(self.unreachable(&error)),
        };
        // A newer daemon may write what this version cannot read; its protocol number comes
        // before everything else.
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
            Ok(state) => Ok(Address::Unix {
                path: state.socket.into(),
            }),
            // The file is replaced whole, so a half-written one is a stranger's.
            Err(error) => Err(self.unreachable(&error)),
        }
    }

    pub(crate) fn not_running(&self) -> ClientError {
        match &self.place {
            Place::Home { shown, .. } => ClientError::NotRunning {
                home: shown.clone(),
            },
            Place::Url(_) => self.unreachable(&"nothing listens there"),
        }
    }

    pub(crate) fn unreachable(&self, reason: &dyn fmt::Display) -> ClientError {
        ClientError::Unreachable {
            address: self.shown(),
            reason: reason.to_string(),
        }
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({})", self.shown())
    }
}

#[derive(Default, serde::Deserialize)]
struct OnlyProtocol {
    protocol: Option<u32>,
    version: Option<String>,
}

impl Url {
    fn parse(text: &str) -> Result<Self, ClientError> {
        let bad = |reason: &str| ClientError::BadTarget {
            reason: format!("'{text}' cannot be used: {reason}"),
        };
        let rest = text.strip_prefix("ws://").ok_or_else(|| {
            bad("write ws://HOST:PORT/ws; hob listens on loopback only, so tunnel with ssh -L instead of wss")
        })?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, "ws"));
        if authority.is_empty() || authority.contains('@') {
            return Err(bad("it needs a host and a port, and never a credential"));
        }
        if path.contains('?') {
            return Err(bad("a token goes in the header, never in the URL"));
        }
        let with_port = if authority.ends_with(']') || !authority.contains(':') {
            format!("{authority}:80")
        } else {
            authority.to_owned()
        };
        let path = if path.is_empty() { "ws" } else { path };
        Ok(Url {
            text: format!("ws://{authority}/{path}"),
            authority: with_port,
        })
    }
}

#[cfg(test)]
#[path = "target_tests.rs"]
mod tests;
