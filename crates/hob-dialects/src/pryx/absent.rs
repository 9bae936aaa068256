//! What Pryx has and hob does not: memory entries, channels, skills, catalogues of MCP servers, the
//! cloud and the mesh. Lists are empty, single things are not found, and changes are refused with a
//! sentence.

use crate::pryx::client::{PryxAnswer, PryxClient, json, not_found, not_implemented};
use axum::Router;
use axum::routing::{any, delete, get, post};
use hob_gateway::dialect::HttpRoutes;
use serde_json::json;

const NO_MEMORY: &str = "hob keeps no memory entries yet; 'hob loop persistent' keeps the memory of a loop, and a session keeps its whole conversation.";
const NO_CHANNELS: &str = "hob has no channels yet; a webhook job ('hob cron add NAME --webhook') takes messages from outside.";
const NO_SKILLS: &str = "hob has no skills yet.";
const NO_CATALOGUE: &str = "hob has no catalogue of MCP servers; an outside service offers its tools over the bus ('tool.offer').";
const NO_CLOUD: &str = "hob has no cloud and needs no login.";
const NO_MESH: &str = "hob joins no mesh of devices.";
const NO_ADMIN: &str = "hob has no administration over HTTP; 'hob status' and GET /metrics on the main listener show its figures.";
const NO_EVENT_TASKS: &str = "hob has no tasks that wait for an event.";

pub(crate) fn routes() -> HttpRoutes {
    Router::new()
        .merge(memory_and_channels())
        .merge(skills_and_servers())
        .route("/api/v1/tasks/events/{event}/trigger", post(refuse_event))
        .route("/api/v1/cloud/status", get(cloud_status))
        .route("/api/v1/cloud/login/start", post(refuse_cloud))
        .route("/api/v1/cloud/login/poll", post(refuse_cloud))
        .route("/api/mesh/devices", get(devices))
        .route("/api/mesh/events", get(mesh_events))
        .route("/api/mesh/pair", post(refuse_mesh))
        .route("/api/mesh/qrcode", post(refuse_mesh))
        .route("/api/mesh/devices/{id}/unpair", post(refuse_mesh))
        .route("/api/admin/{*view}", any(refuse_admin))
}

fn memory_and_channels() -> HttpRoutes {
    let mut router = Router::new()
        .route("/api/v1/memory", get(memory).post(refuse_memory))
        .route("/api/v1/memory/search", get(memory).post(memory))
        .route("/api/v1/channels", get(channels).post(refuse_channel))
        // The TUI's service takes a bare list.
        .route("/api/channels", get(channel_list).post(refuse_channel));
    for root in ["/api/v1/channels", "/api/channels"] {
        let at = |what: &str| format!("{root}/{what}");
        let one = get(no_such_channel)
            .put(no_such_channel)
            .delete(no_such_channel);
        router = router
            .route(&at("types"), get(channel_types))
            .route(&at("{id}"), one)
            .route(&at("{id}/{what}"), any(no_such_channel));
    }
    router
}

fn skills_and_servers() -> HttpRoutes {
    let mut router = Router::new()
        .route("/skills", get(skills))
        .route("/skills/{id}", get(no_such_skill))
        .route("/skills/{id}/body", get(no_such_skill));
    for change in ["enable", "disable", "install", "uninstall"] {
        router = router.route(&format!("/skills/{change}"), post(refuse_skill));
    }
    router
        .route("/mcp/discovery/curated", get(servers))
        .route("/mcp/discovery/curated/{id}", get(no_such_server))
        .route("/mcp/discovery/categories", get(categories))
        .route("/mcp/discovery/validate", post(refuse_server))
        .route("/mcp/discovery/custom", get(servers).post(refuse_server))
        .route("/mcp/discovery/custom/{id}", delete(no_such_server))
}

async fn memory(_: PryxClient) -> PryxAnswer {
    json(&json!({ "entries": [], "results": [], "count": 0 }))
}

async fn refuse_memory(_: PryxClient) -> PryxAnswer {
    Err(not_implemented(NO_MEMORY))
}

async fn channels(_: PryxClient) -> PryxAnswer {
    json(&json!({ "channels": [], "count": 0 }))
}

async fn channel_list(_: PryxClient) -> PryxAnswer {
    json(&json!([]))
}

async fn channel_types(_: PryxClient) -> PryxAnswer {
    json(&json!({ "types": [] }))
}

async fn refuse_channel(_: PryxClient) -> PryxAnswer {
    Err(not_implemented(NO_CHANNELS))
}

async fn no_such_channel(_: PryxClient) -> PryxAnswer {
    Err(not_found(NO_CHANNELS))
}

async fn skills(_: PryxClient) -> PryxAnswer {
    json(&json!({ "skills": [] }))
}

async fn no_such_skill(_: PryxClient) -> PryxAnswer {
    Err(not_found(NO_SKILLS))
}

async fn refuse_skill(_: PryxClient) -> PryxAnswer {
    Err(not_implemented(NO_SKILLS))
}

async fn servers(_: PryxClient) -> PryxAnswer {
    json(&json!({ "servers": [] }))
}

async fn categories(_: PryxClient) -> PryxAnswer {
    json(&json!({ "categories": [] }))
}

async fn no_such_server(_: PryxClient) -> PryxAnswer {
    Err(not_found(NO_CATALOGUE))
}

async fn refuse_server(_: PryxClient) -> PryxAnswer {
    Err(not_implemented(NO_CATALOGUE))
}

async fn refuse_event(_: PryxClient) -> PryxAnswer {
    Err(not_implemented(NO_EVENT_TASKS))
}

async fn cloud_status(_: PryxClient) -> PryxAnswer {
    json(&json!({ "logged_in": false }))
}

async fn refuse_cloud(_: PryxClient) -> PryxAnswer {
    Err(not_implemented(NO_CLOUD))
}

async fn devices(_: PryxClient) -> PryxAnswer {
    json(&json!({ "devices": [] }))
}

async fn mesh_events(_: PryxClient) -> PryxAnswer {
    json(&json!({ "events": [] }))
}

async fn refuse_mesh(_: PryxClient) -> PryxAnswer {
    Err(not_implemented(NO_MESH))
}

async fn refuse_admin(_: PryxClient) -> PryxAnswer {
    Err(not_implemented(NO_ADMIN))
}
