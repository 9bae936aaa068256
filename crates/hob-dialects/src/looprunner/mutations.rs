//! The handlers that change a loop.
//!
//! Invariant: a change of the settings is checked completely before any part is applied.

use crate::looprunner::client::LoopRunnerClient;
use crate::looprunner::json;
use crate::looprunner::translate::{self, LoopRunnerChange};
use crate::looprunner::types::{
    LoopRunnerAck, LoopRunnerConfigChange, LoopRunnerConfigReply, LoopRunnerCreateBody,
    LoopRunnerCreateReply, PersistentBody, WorkingBody,
};
use crate::request_body::{read_body, require_body};
use axum::body::Body;
use axum::extract::Request;
use axum::http::{Response, StatusCode};
use hob_gateway::http_error::HttpError;
use hob_wire::rooms::loops::{
    self, LoopChange, LoopCreateParams, LoopPersistentParams, LoopSelector, LoopUpdateParams,
    LoopWorkingParams,
};
use hob_wire::rooms::model;
use hob_wire::{ErrorCode, Method};
use serde::de::{DeserializeOwned, IgnoredAny};

const DONE: LoopRunnerAck = LoopRunnerAck { ok: true };

pub(crate) async fn configure(
    client: LoopRunnerClient,
    request: Request,
) -> Result<Response<Body>, HttpError> {
    let requested: LoopRunnerConfigChange = required_json(request).await?;
    let found = client.get_loop().await?;
    let aliases = client.aliases().await?;
    let change =
        translate::parse_change(requested, &found, &aliases).map_err(HttpError::bad_request)?;
    // Checked before the first call, because the calls below are not one transaction.
    check_model(&client, &change.settings).await?;
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
    call_without_body::<loops::Start>(&client, request).await
}

pub(crate) async fn stop(
    client: LoopRunnerClient,
    request: Request,
) -> Result<Response<Body>, HttpError> {
    call_without_body::<loops::Stop>(&client, request).await
}

pub(crate) async fn working(
    client: LoopRunnerClient,
    request: Request,
) -> Result<Response<Body>, HttpError> {
    let WorkingBody { working } = required_json(request).await?;
    translate::check_text("working", &working).map_err(HttpError::bad_request)?;
    set_working(&client, working).await?;
    json(&DONE)
}

pub(crate) async fn persistent(
    client: LoopRunnerClient,
    request: Request,
) -> Result<Response<Body>, HttpError> {
    let PersistentBody { persistent } = required_json(request).await?;
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
    let aliases = client.aliases().await?;
    let blank = translate::blank_loop();
    let change =
        translate::parse_change(config, &blank, &aliases).map_err(HttpError::bad_request)?;
    check_model(&client, &change.settings).await?;
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

/// Calls a method that needs no body. A given body is checked and ignored.
async fn call_without_body<M: Method<Params = LoopSelector>>(
    client: &LoopRunnerClient,
    request: Request,
) -> Result<Response<Body>, HttpError> {
    optional_json::<IgnoredAny>(request).await?;
    client.call::<M>(&client.name_params()).await?;
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

/// Refuses a model that its provider does not list. If the provider cannot list its models now, the
/// model is accepted; the next iteration will show.
async fn check_model(client: &LoopRunnerClient, change: &LoopChange) -> Result<(), HttpError> {
    let Some(Some(id)) = &change.model else {
        return Ok(());
    };
    let provider = id.split_once('/').map(|(provider, _)| provider.to_owned());
    let params = model::ModelListParams {
        provider,
        ..model::ModelListParams::default()
    };
    let listed = match client.call::<model::List>(&params).await {
        Err(error) if error.code == ErrorCode::NotFound => {
            return Err(HttpError::bad_request(error.message));
        }
        listed => listed?,
    };
    let can_list = listed.providers.iter().all(|provider| provider.ready);
    if !can_list || listed.models.iter().any(|model| model.id == *id) {
        return Ok(());
    }
    // The client's text is repeated in the error, so it is shortened.
    let id: String = id.chars().take(200).collect();
    Err(HttpError::bad_request(format!(
        "There is no model '{id}'; GET /api/models lists those there are."
    )))
}

async fn required_json<T: DeserializeOwned>(request: Request) -> Result<T, HttpError> {
    let (parts, body) = request.into_parts();
    require_body(&parts.headers, body).await
}

async fn optional_json<T: DeserializeOwned>(request: Request) -> Result<Option<T>, HttpError> {
    let (parts, body) = request.into_parts();
    read_body(&parts.headers, body).await
}
