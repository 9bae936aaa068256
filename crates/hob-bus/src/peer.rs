//! Who is at the other end of a link, and why a link ended.

use hob_wire::Scopes;

/// A party as the gateway authenticated it. Scopes come only from the server's own record.
#[derive(Clone, Debug)]
pub struct Peer {
    /// For people: the token's name, or the service's.
    pub name: String,
    /// How it came: `ws`, `unix`, `http`, `vargos`, `house`.
    pub surface: &'static str,
    /// The credential's id; re-registration and revocation go by it.
    pub principal: String,
    pub scopes: Scopes,
}

/// Why a link is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// The peer left.
    Normal,
    /// It did not keep up; the last frame may be a `gateway.gap`.
    Slow,
    /// The same service registered on a newer connection.
    Replaced,
    /// Its credential was revoked.
    Revoked,
    /// The daemon stops.
    ShuttingDown,
}
