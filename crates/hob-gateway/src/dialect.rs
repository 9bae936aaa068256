//! A dialect: an adapter for another system's clients, as a value. The gateway serves the dialects
//! that the composition root hands to it, and knows nothing else about them.
//!
//! Invariants: the routes of a dialect on the main listener need a token, like all others. An opt-in
//! listener needs none: the setting that opens it is the grant, its clients have the scopes that the
//! dialect names, and only programs that pass `peer_check` may connect.

use crate::http::HttpState;
use crate::openapi::SchemaRegistry;
use crate::shared::GatewayShared;
use axum::Router;
use futures_util::future::BoxFuture;
use hob_bus::Caller;
use hob_kit::settings::{SettingKey, Settings};
use hob_wire::Scopes;
use serde_json::{Map, Value};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::UnixStream;

/// The routes of one HTTP listener.
pub type HttpRoutes = Router<Arc<HttpState>>;

/// Everything that hob knows about a dialect.
#[derive(Clone, Copy, Debug)]
pub struct DialectEntry {
    /// The surface of its clients: their name on the bus, in `daemon.status` and in service files.
    pub surface: &'static str,
    /// The name of the other system, for people.
    pub system: &'static str,
    pub keys: &'static [SettingKey],
    pub launcher: Option<LauncherVariables>,
    /// The routes on the main listener.
    pub routes: fn() -> HttpRoutes,
    /// The same routes in the OpenAPI document.
    pub openapi_paths: fn(&mut SchemaRegistry) -> Map<String, Value>,
    pub opt_in: Option<OptInListener>,
    /// True if a TCP address of `opt_in` that another program holds is only reported. Else it stops
    /// the gateway.
    pub may_be_taken: bool,
}

impl DialectEntry {
    /// A dialect that serves nothing yet; an entry overrides what it has.
    pub const fn new(surface: &'static str, system: &'static str) -> DialectEntry {
        DialectEntry {
            surface,
            system,
            keys: &[],
            launcher: None,
            routes: Router::new,
            openapi_paths: |_| Map::new(),
            opt_in: None,
            may_be_taken: false,
        }
    }
}

/// The environment variables of another system's launcher, which starts hob in place of its own
/// daemon.
#[derive(Clone, Copy, Debug)]
pub struct LauncherVariables {
    /// Opens the opt-in listener of the dialect, and says that the launcher started hob.
    pub listen: &'static str,
    /// The name under which hob prints the address of that listener for the launcher.
    pub announced: &'static str,
    /// The file with its port, below the person's home folder.
    pub port_file: Option<&'static str>,
    /// Variables of the launcher that hob does not follow: it refuses to start.
    pub refused: &'static [RefusedVariable],
}

/// A variable that would mean something else to hob than to the launcher.
#[derive(Clone, Copy, Debug)]
pub struct RefusedVariable {
    pub name: &'static str,
    /// What to do instead, as a clause.
    pub advice: &'static str,
}

/// A listener for clients that can send no token.
#[derive(Clone, Copy, Debug)]
pub struct OptInListener {
    /// The scopes of its clients.
    pub scopes: fn() -> Scopes,
    /// The configured address or path; `None` if the listener stays closed.
    pub place: fn(&Settings) -> Option<String>,
    pub protocol: OptInProtocol,
}

/// The protocol of an opt-in listener.
#[derive(Clone, Copy, Debug)]
pub enum OptInProtocol {
    Http(HttpProtocol),
    Socket(SocketProtocol),
}

/// HTTP, with WebSocket, on a loopback address.
#[derive(Clone, Copy, Debug)]
pub struct HttpProtocol {
    pub routes: fn() -> HttpRoutes,
    /// Called with the bound address, which differs from the setting if its port is 0.
    pub on_open: fn(SocketAddr, &Arc<GatewayShared>),
}

/// Another protocol, on a unix socket.
#[derive(Clone, Copy, Debug)]
pub struct SocketProtocol {
    /// Serves one connection until it ends. The caller has the scopes of the listener.
    pub serve: fn(UnixStream, Caller, Arc<GatewayShared>) -> BoxFuture<'static, ()>,
    /// Encodes the reason why a connection is not served.
    pub refusal: fn(&str) -> Vec<u8>,
}
