//! The scopes of credentials. They come only from the daemon's own record of a token.
//!
//! The four ranks include each other: `admin` ⊃ `control` ⊃ `chat` ⊃ `read`. `service:NAME` is
//! separate: it lets its holder register the service NAME and nothing else.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// The rank that a method or event requires.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Read sessions, runs and events.
    Read,
    /// Also create sessions, send messages and run the agent. The agent may only read, in
    /// configured folders.
    Chat,
    /// Also control services, loops, jobs and tools, and run the agent in any folder.
    Control,
    /// Also manage tokens, config, grants and permissions, use the shared terminal, and register
    /// services.
    Admin,
}

impl Scope {
    pub const ALL: [Scope; 4] = [Scope::Read, Scope::Chat, Scope::Control, Scope::Admin];

    pub fn as_str(self) -> &'static str {
        match self {
            Scope::Read => "read",
            Scope::Chat => "chat",
            Scope::Control => "control",
            Scope::Admin => "admin",
        }
    }
}

/// The scopes of one credential.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scopes {
    rank: Option<Scope>,
    services: BTreeSet<String>,
    any_service: bool,
}

impl Scopes {
    pub fn none() -> Self {
        Scopes::default()
    }

    /// Returns the scopes of the owner: all of them.
    pub fn owner() -> Self {
        Scopes::rank(Scope::Admin)
    }

    pub fn rank(rank: Scope) -> Self {
        Scopes {
            rank: Some(rank),
            ..Scopes::default()
        }
    }

    #[must_use]
    pub fn with_service(mut self, name: &str) -> Self {
        self.services.insert(name.to_owned());
        self
    }

    /// Also allows registering any service that is not built in, under any name. The user grants
    /// this by opening a listener for a dialect without tokens. A token cannot have it.
    #[must_use]
    pub fn with_any_service(mut self) -> Self {
        self.any_service = true;
        self
    }

    pub fn allow(&self, needed: Scope) -> bool {
        self.rank.is_some_and(|rank| rank >= needed)
    }

    /// Returns true if the holder may register the service `name`.
    pub fn allow_service(&self, name: &str) -> bool {
        self.allow_any_service() || self.services.contains(name)
    }

    /// Returns true if the holder may register any service, with methods and events of any prefix.
    pub fn allow_any_service(&self) -> bool {
        self.any_service || self.allow(Scope::Admin)
    }

    pub fn is_empty(&self) -> bool {
        self.rank.is_none() && self.services.is_empty() && !self.any_service
    }

    /// Returns each scope as text, without implied ranks.
    pub fn to_strings(&self) -> Vec<String> {
        let rank = self.rank.iter().map(|rank| rank.as_str().to_owned());
        let services = self.services.iter().map(|name| format!("service:{name}"));
        let any = self.any_service.then(|| "service:*".to_owned());
        rank.chain(services).chain(any).collect()
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_strings().join(","))
    }
}

/// The error for a text that is not a scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownScope(pub String);

impl fmt::Display for UnknownScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "'{}' is not a scope; use read, chat, control, admin or service:NAME",
            self.0
        )
    }
}

impl std::error::Error for UnknownScope {}

impl FromStr for Scopes {
    type Err = UnknownScope;

    fn from_str(text: &str) -> Result<Self, UnknownScope> {
        let mut scopes = Scopes::none();
        for part in text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            if let Some(name) = part.strip_prefix("service:") {
                if !is_service_name(name) {
                    return Err(UnknownScope(part.to_owned()));
                }
                scopes.services.insert(name.to_owned());
                continue;
            }
            let rank = Scope::ALL.into_iter().find(|scope| scope.as_str() == part);
            let rank = rank.ok_or_else(|| UnknownScope(part.to_owned()))?;
            scopes.rank = scopes.rank.max(Some(rank));
        }
        Ok(scopes)
    }
}

/// Returns true if `name` is a valid service name: the prefix of its methods before the dot.
pub fn is_service_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && name.len() <= crate::limits::NAME_BYTES_MAX && name.chars().all(allowed)
}
