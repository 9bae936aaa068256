//! Vargos: its clients use hob's own frames at `/`, but can send neither a token nor a path, so an
//! opt-in listener is their only way in. `import` reads what Vargos stored.
//!
//! Invariant: a client has the scope `control` and may register any service that is not built in, no
//! more.

mod import;
mod import_config;

pub(crate) use import::IMPORTER;

use axum::Router;
use axum::routing::get;
use hob_gateway::dialect::{DialectEntry, HttpProtocol, OptInListener, OptInProtocol};
use hob_gateway::settings::{check_optional_address, non_empty};
use hob_gateway::websocket;
use hob_kit::settings::{SettingKey, SettingKind};
use hob_wire::{Scope, Scopes};

pub(crate) const ENTRY: DialectEntry = DialectEntry {
    keys: KEYS,
    opt_in: Some(OptInListener {
        scopes: || Scopes::rank(Scope::Control).with_any_service(),
        place: |settings| non_empty(settings, "listen.vargos"),
        protocol: OptInProtocol::Http(HttpProtocol {
            routes: || Router::new().route("/", get(websocket::open)),
            on_open: |_, _| {},
        }),
    }),
    ..DialectEntry::new("vargos", "Vargos")
};

const KEYS: &[SettingKey] = &[SettingKey::new(
    "listen.vargos",
    SettingKind::Checked {
        expects: "a loopback address such as 127.0.0.1:9000, or nothing",
        check: check_optional_address,
    },
    "",
    "A second WebSocket listener for Vargos clients, which can send neither a token nor a path. Setting it is the grant: any program of your user may then call methods of scope control and register services.",
)];
