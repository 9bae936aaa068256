//! The identity of a peer, and the reasons for which a link is closed.

use hob_wire::Scopes;

/// A peer as the gateway authenticated it. Scopes come only from the server's own record.
#[derive(Clone, Debug)]
pub struct PeerIdentity {
    /// The name of the token or of the service, for display.
    pub name: String,
    /// The surface it connected by: `ws`, `unix`, `http`, the name of a dialect, `house`.
    pub surface: &'static str,
    /// The id of the credential, by which re-registration and revocation are decided.
    pub principal: String,
    pub scopes: Scopes,
}

/// The reason for which a link was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// The peer left.
    Normal,
    /// The peer did not keep up; the last frame may be a `gateway.gap`.
    Slow,
    /// The same service registered on a newer connection.
    Replaced,
    /// Its credential was revoked.
    Revoked,
    /// The daemon is shutting down.
    ShuttingDown,
}
