//! The handlers that change a loop.
//!
//! Invariant: a change of the settings is checked completely before any part is applied.

use crate::looprunner::client::LoopRunnerClient;
use crate::looprunner::translate::{self, LoopRunnerChange};
use crate::looprunner::types::{
    LoopRunnerAck, LoopRunnerConfigChange, LoopRunnerConfigReply, LoopRunnerCreateBody,
    LoopRunnerCreateReply, PersistentBody, WorkingBody,
};
use crate::looprunner::{json, model_choice};
use crate::request_body::{read_body, require_body};
use axum::body::Body;
use axum::extract::Request;
use axum::http::{Response, StatusCode};
use hob_gateway::http_error::HttpError;
use hob_wire::rooms::loops::{
    self, Loop, LoopCreateParams, LoopPersistentParams, LoopUpdateParams, LoopWorkingParams,
};
use hob_wire::rooms::model;
use serde::de::{DeserializeOwned, IgnoredAny};

const DONE: LoopRunnerAck = LoopRunnerAck { ok: true };

pub(crate) async fn configure(
    client: LoopRunnerClient,
    request: Request,
) -> Result<Response<Body>, HttpError> {
    let requested: LoopRunnerConfigChange = required_json(request).await?;
    let found = client.get_loop().await?;
    // Checked before the first call, because the calls below are not one transaction.
    let change = check_change(&client, requested, &found).await?;
    let LoopRunnerChange {
        settings,
        working,
        persistent,
    } = change;
    if !settings.is_empty() {
        let params = LoopUpdateParams {
            name: client.name.clone(),
            config: settings,
        };
        client.call::<loops::Update>(&params).await?;
    }
    if let Some(text) = working {
        set_working(&client, text).await?;
    }
    if let Some(text) = persistent {
        set_persistent(&client, text).await?;
    }
    let config = client.config().await?;
    json(&LoopRunnerConfigReply { ok: true, config })
}

pub(crate) async fn start(
    client: LoopRunnerClient,
    request: Request,
) -> Result<Response<Body>, HttpError> {
    optional_json::<IgnoredAny>(request).await?;
    let found = client.get_loop().await?;
    // A page that does not look at a refused config starts all the same. Without a task the model
    // would be asked nothing, again and again.
    if !found.state.running && found.config.user.trim().is_empty() {
        let why = format!(
            "The loop '{}' has no task yet. Send one first: POST /api/config {{\"user\": \"…\"}}.",
            client.name
        );
        return Err(HttpError::bad_request(why));
    }
    client.call::<loops::Start>(&client.name_params()).await?;
    json(&DONE)
}

pub(crate) async fn stop(
    client: LoopRunnerClient,
    request: Request,
) -> Result<Response<Body>, HttpError> {
    optional_json::<IgnoredAny>(request).await?;
    client.call::<loops::Stop>(&client.name_params()).await?;
    json(&DONE)
}

pub(crate) async fn working(
    client: LoopRunnerClient,
    request: Request,
) -> Result<Response<Body>, HttpError> {
    let WorkingBody { working } = required_json(request).await?;
    let working = working.unwrap_or_default();
    translate::check_text("working", &working).map_err(HttpError::bad_request)?;
    set_working(&client, working).await?;
    json(&DONE)
}

pub(crate) async fn persistent(
    client: LoopRunnerClient,
    request: Request,
) -> Result<Response<Body>, HttpError> {
    let PersistentBody { persistent } = required_json(request).await?;
    let persistent = persistent.unwrap_or_default();
    translate::check_text("persistent", &persistent).map_err(HttpError::bad_request)?;
    set_persistent(&client, persistent).await?;
    json(&DONE)
}

/// `POST /api/loops`.
pub(crate) async fn create(
    mut client: LoopRunnerClient,
    request: Request,
) -> Result<Response<Body>, HttpError> {
    let LoopRunnerCreateBody { id, config } = required_json(request).await?;
    let change = check_change(&client, config, &translate::blank_loop()).await?;
    let params = LoopCreateParams {
        name: id.clone(),
        config: change.settings,
        persistent: change.persistent,
        working: change.working,
    };
    client.call::<loops::Create>(&params).await?;
    client.name.clone_from(&id);
    let config = client.config().await?;
    let mut response = json(&LoopRunnerCreateReply {
        ok: true,
        id,
        config,
    })?;
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

/// `DELETE /api/loops/{id}`.
pub(crate) async fn delete(
    client: LoopRunnerClient,
    request: Request,
) -> Result<Response<Body>, HttpError> {
    // Reading the body also refuses requests from pages of other origins.
    optional_json::<IgnoredAny>(request).await?;
    client.call::<loops::Delete>(&client.name_params()).await?;
    json(&DONE)
}

async fn set_working(client: &LoopRunnerClient, text: String) -> Result<(), HttpError> {
    let params = LoopWorkingParams {
        name: client.name.clone(),
        text,
    };
    client.call::<loops::Working>(&params).await?;
    Ok(())
}

async fn set_persistent(client: &LoopRunnerClient, text: String) -> Result<(), HttpError> {
    let params = LoopPersistentParams {
        name: client.name.clone(),
        text: Some(text),
        ..LoopPersistentParams::default()
    };
    client.call::<loops::Persistent>(&params).await?;
    Ok(())
}

/// Checks a change of the loop `of` and finds the model that it names.
async fn check_change(
    client: &LoopRunnerClient,
    requested: LoopRunnerConfigChange,
    of: &Loop,
) -> Result<LoopRunnerChange, HttpError> {
    let aliases = client.aliases().await?;
    let shown = translate::model(of.config.model.as_deref(), &aliases);
    let chosen = match &requested.model {
        Some(model) if !model_choice::names_shown(model, &shown) => {
            let all = model::ModelListParams::default();
            let listed = client.call::<model::List>(&all).await?;
            model_choice::choose(model, &shown, &listed).map_err(HttpError::bad_request)?
        }
        _ => None,
    };
    translate::parse_change(requested, chosen, of, &aliases).map_err(HttpError::bad_request)
}

async fn required_json<T: DeserializeOwned>(request: Request) -> Result<T, HttpError> {
    let (parts, body) = request.into_parts();
    require_body(&parts.headers, body).await
}

async fn optional_json<T: DeserializeOwned>(request: Request) -> Result<Option<T>, HttpError> {
    let (parts, body) = request.into_parts();
    read_body(&parts.headers, body).await
}
