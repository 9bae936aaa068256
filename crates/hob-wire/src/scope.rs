//! What a credential may do. Scopes come only from the server's own record of a token.
//!
//! The four ranks contain each other: `admin` ⊃ `control` ⊃ `chat` ⊃ `read`. `service:NAME` stands
//! beside them: it lets its holder register the service NAME and nothing else.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// A rank that a method or event needs.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// See sessions, runs, events.
    Read,
    /// Also talk: create sessions, send messages, run the agent. A model only reads for it, in
    /// folders that were configured.
    Chat,
    /// Also act: services, loops, jobs, tools, runs in any folder.
    Control,
    /// Also rule: tokens, config, grants, answers to permissions, the shared terminal, registering
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

/// Everything one credential may do.
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

    /// The owner's: every scope.
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

    /// May register any service that is not built in, under any name: what a person grants by
    /// opening a listener for a dialect without tokens. No token's text can say this.
    #[must_use]
    pub fn with_any_service(mut self) -> Self {
        self.any_service = true;
        self
    }

    pub fn allow(&self, needed: Scope) -> bool {
        self.rank.is_some_and(|rank| rank >= needed)
    }

    /// Whether the holder may register the service `name`.
    pub fn allow_service(&self, name: &str) -> bool {
        self.allow_any_service() || self.services.contains(name)
    }

    /// Whether the holder may register any service, with methods and events of any prefix.
    pub fn allow_any_service(&self) -> bool {
        self.any_service || self.allow(Scope::Admin)
    }

    pub fn is_empty(&self) -> bool {
        self.rank.is_none() && self.services.is_empty() && !self.any_service
    }

    /// Each scope as the text a person writes, the implied ranks left out.
    pub fn to_texts(&self) -> Vec<String> {
        let rank = self.rank.iter().map(|rank| rank.as_str().to_owned());
        let services = self.services.iter().map(|name| format!("service:{name}"));
        let any = self.any_service.then(|| "service:*".to_owned());
        rank.chain(services).chain(any).collect()
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_texts().join(","))
    }
}

/// The text is not a list of scopes.
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

/// Service names are what stands before the dot of their methods.
pub fn is_service_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && name.len() <= crate::limits::NAME_BYTES_MAX && name.chars().all(allowed)
}
