//! Ids. They are `UUIDv7`: unique without coordination and ordered by creation time. A session also
//! has a key, so every API takes a [`SessionRef`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use uuid::Uuid;

macro_rules! uuid_ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;
            fn from_str(text: &str) -> Result<Self, uuid::Error> {
                Uuid::try_parse(text).map($name)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "format": "uuid" })
            }
        }
    )*};
}

uuid_ids! {
    /// The id of a session. It never changes.
    SessionId;
    /// The id of a message of a session.
    MessageId;
    /// The id of a run: one execution of a task on a session.
    RunId;
    /// The id of a command in a terminal.
    CommandId;
}

impl RunId {
    /// The id of no run.
    pub const NIL: RunId = RunId(Uuid::nil());

    /// Returns a `UUIDv7` with the timestamp of this id and the given last ten bytes.
    #[must_use]
    pub fn with_tail(self, tail: [u8; 10]) -> RunId {
        let mut bytes = *self.0.as_bytes();
        bytes[6..].copy_from_slice(&tail);
        let made = uuid::Builder::from_bytes(bytes)
            .with_version(uuid::Version::SortRand)
            .with_variant(uuid::Variant::RFC4122);
        RunId(made.into_uuid())
    }
}

impl CommandId {
    /// Returns a `UUIDv7` with the given time and last ten bytes.
    #[must_use]
    pub fn from_timestamp(wall_ms: u64, tail: [u8; 10]) -> CommandId {
        CommandId(uuid::Builder::from_unix_timestamp_millis(wall_ms, &tail).into_uuid())
    }
}

/// A reference to a session: its id or its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionRef {
    Id(SessionId),
    Key(String),
}

impl SessionRef {
    /// Parses a UUID as an id and anything else as a key. Keys in UUID form cannot be created, so
    /// the two never overlap.
    pub fn parse(text: &str) -> Self {
        // Only the hyphenated form is an id, so that a key of 32 hex digits stays a key.
        match (text.len(), Uuid::try_parse(text)) {
            (36, Ok(id)) => SessionRef::Id(SessionId(id)),
            _ => SessionRef::Key(text.to_owned()),
        }
    }
}

impl fmt::Display for SessionRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SessionRef::Id(id) => id.fmt(f),
            SessionRef::Key(key) => f.write_str(key),
        }
    }
}
