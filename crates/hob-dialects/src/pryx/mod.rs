//! Pryx's API: translates the requests of its TUI, host and scripts into bus calls, and bus events
//! into its events. Served on an opt-in listener only, because its clients can send no token and
//! its paths `/health` and `/ws` are taken on the main one. Its launcher starts hob in place of its
//! own runtime and reads the address from what hob prints, or from a file.
//!
//! - `client`: the sender of a request and its bus calls; `shared`: what all clients of the
//!   listener share
//! - `providers`, `sessions`, `fork`, `agents`, `tasks`, `tools`, `costs`, `policies`: the handlers
//!   of the REST API; `absent`: what hob does not have
//! - `approvals`: shows and answers questions; `run_status`, `task_translate`: runs and jobs in
//!   Pryx's words
//! - `socket`: `/ws`; `commands`: what its clients send; `command_message`: the fields of a command
//! - `event_pump`: follows the bus for one client; `event_translator`: bus events in Pryx's words;
//!   `event_filter`, `envelope`: what a client gets, and its form
//! - `settings`: the configuration keys; `timestamp`: times as text; `import`: what Pryx stored
//!
//! Invariants: this surface only translates. A client has the scope `control`; questions are
//! answered for it only while `dialect.pryx.approvals` is true. No answer has a provider's key. What hob
//! does not have is an empty list, or refused by name.

mod absent;
mod agents;
mod approvals;
mod client;
mod command_message;
mod commands;
mod costs;
mod envelope;
mod event_filter;
mod event_pump;
mod event_translator;
mod fork;
mod import;
mod policies;
mod providers;
mod run_status;
mod sessions;
mod settings;
mod shared;
mod socket;
mod task_translate;
mod tasks;
mod timestamp;
mod tools;

pub(crate) use import::IMPORTER;

use axum::routing::{get, post};
use axum::{Extension, Router};
use hob_gateway::dialect::{
    DialectEntry, HttpProtocol, HttpRoutes, LauncherVariables, OptInListener, OptInProtocol,
    RefusedVariable,
};
use hob_wire::{Scope, Scopes};
use shared::PryxShared;
use std::sync::Arc;

/// The surface of all Pryx clients.
const SURFACE: &str = "pryx";

pub(crate) const ENTRY: DialectEntry = DialectEntry {
    keys: settings::KEYS,
    launcher: Some(LauncherVariables {
        listen: settings::LISTEN_VARIABLE,
        announced: "PRYX_CORE_LISTEN_ADDR",
        port_file: Some(".pryx/runtime.port"),
        refused: &[RefusedVariable {
            name: "PRYX_DB_PATH",
            advice: "hob keeps its database in a home of its own and cannot use a Pryx database; unset PRYX_DB_PATH, and set HOB_HOME to choose the folder",
        }],
    }),
    opt_in: Some(OptInListener {
        scopes: || Scopes::rank(Scope::Control),
        place: settings::address,
        protocol: OptInProtocol::Http(HttpProtocol {
            routes,
            on_open: |_, _| {},
        }),
    }),
    ..DialectEntry::new(SURFACE, "Pryx")
};

fn routes() -> HttpRoutes {
    Router::new()
        .route("/health", get(providers::health))
        .route("/ws", get(socket::open))
        .merge(runtime_routes())
        .merge(task_routes())
        .merge(page_routes())
        .merge(absent::routes())
        .layer(Extension(Arc::new(PryxShared::default())))
}

/// The runtime's API, without jobs.
fn runtime_routes() -> HttpRoutes {
    let key = get(providers::key)
        .post(providers::refuse_key)
        .delete(providers::refuse_key);
    let session = get(sessions::show)
        .put(sessions::rename)
        .patch(sessions::rename)
        .delete(sessions::delete);
    Router::new()
        .route("/api/v1/providers", get(providers::list))
        .route("/api/v1/providers/{id}/models", get(providers::models_of))
        .route("/api/v1/providers/{id}/key", key)
        .route("/api/v1/models", get(providers::models))
        .route(
            "/api/v1/config",
            get(providers::config).patch(providers::refuse_config),
        )
        .route("/api/v1/agents", get(agents::list))
        .route("/api/v1/agents/spawn", post(agents::spawn))
        .route("/api/v1/agents/{id}", get(agents::show))
        .route("/api/v1/agents/{id}/cancel", post(agents::cancel))
        .route(
            "/api/v1/sessions",
            get(sessions::list).post(sessions::create),
        )
        .route("/api/v1/sessions/fork", post(fork::fork))
        .route("/api/v1/sessions/{id}", session)
        .route("/mcp/tools", get(tools::list))
        .route("/mcp/tools/call", post(tools::call))
}

fn task_routes() -> HttpRoutes {
    let task = get(tasks::show)
        .put(tasks::update)
        .patch(tasks::update)
        .delete(tasks::delete);
    Router::new()
        .route("/api/v1/tasks", get(tasks::list).post(tasks::create))
        .route("/api/v1/tasks/validate", post(tasks::validate))
        .route("/api/v1/tasks/{id}", task)
        .route("/api/v1/tasks/{id}/enable", post(tasks::enable))
        .route("/api/v1/tasks/{id}/disable", post(tasks::disable))
        .route("/api/v1/tasks/{id}/runs", get(tasks::runs))
}

/// What the views of the TUI ask for, below `/api`.
fn page_routes() -> HttpRoutes {
    let policy = get(policies::show)
        .put(policies::refuse_change)
        .delete(policies::refuse_change);
    Router::new()
        .route("/api/cost", get(costs::list))
        .route("/api/cost/{view}", get(costs::view))
        .route(
            "/api/policies",
            get(policies::list).post(policies::refuse_change),
        )
        .route("/api/policies/{id}", policy)
        .route("/api/policies/{id}/toggle", post(policies::refuse_change))
        .route("/api/approvals", get(approvals::list))
        .route("/api/approvals/pending", get(approvals::list))
        .route("/api/approvals/{id}/approve", post(approvals::approve))
        .route("/api/approvals/{id}/deny", post(approvals::deny))
        .route(
            "/api/agents",
            get(agents::list_for_page).post(agents::start_from_page),
        )
        .route("/api/agents/{id}", get(agents::show))
        .route("/api/agents/{id}/stop", post(agents::cancel))
        .route("/api/agents/{id}/kill", post(agents::cancel))
        .route("/api/agents/{id}/restart", post(agents::refuse_restart))
}
