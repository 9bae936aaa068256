//! What Loop Runner's clients do to a loop.
//!
//! Invariant: a change of the settings is checked whole before any of it is made.

use crate::looprunner::client::{Client, need_body, read_body};
use crate::looprunner::json;
use crate::looprunner::translate::{self, Change};
use crate::refusal::Refusal;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{Response, StatusCode};
use hob_wire::looprunner::{
    ConfigChange, Configured, Done, Made, NewLoop, PersistentBody, WorkingBody,
};
use hob_wire::rooms::loops::{
    self, CreateParams, LoopChange, NameParams, PersistentParams, UpdateParams, WorkingParams,
};
use hob_wire::rooms::model;
use hob_wire::{ErrorCode, Method};
use serde::de::{DeserializeOwned, IgnoredAny};

const DONE: Done = Done { ok: true };

pub(crate) async fn configure(client: Client, request: Request) -> Result<Response<Body>, Refusal> {
    let asked: ConfigChange = needed(request).await?;
    let found = client.find().await?;
    let aliases = client.aliases().await?;
    let change = translate::change(asked, &found, &aliases).map_err(Refusal::bad_request)?;
    check_model(&client, &change.settings).await?;
    let Change {
        settings,
        working,
        persistent,
    } = change;
    if !settings.is_empty() {
        let params = UpdateParams {
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
    json(&Configured { ok: true, config })
}

pub(crate) async fn start(client: Client, request: Request) -> Result<Response<Body>, Refusal> {
    without_body::<loops::Start>(&client, request).await
}

pub(crate) async fn stop(client: Client, request: Request) -> Result<Response<Body>, Refusal> {
    without_body::<loops::Stop>(&client, request).await
}

pub(crate) async fn working(client: Client, request: Request) -> Result<Response<Body>, Refusal> {
    let WorkingBody { working } = needed(request).await?;
    translate::check_text("working", &working).map_err(Refusal::bad_request)?;
    set_working(&client, working).await?;
    json(&DONE)
}

pub(crate) async fn persistent(
    client: Client,
    request: Request,
) -> Result<Response<Body>, Refusal> {
    let PersistentBody { persistent } = needed(request).await?;
    translate::check_text("persistent", &persistent).map_err(Refusal::bad_request)?;
    set_persistent(&client, persistent).await?;
    json(&DONE)
}

/// `POST /api/loops`.
pub(crate) async fn create(
    mut client: Client,
    request: Request,
) -> Result<Response<Body>, Refusal> {
    let NewLoop { id, config } = needed(request).await?;
    let aliases = client.aliases().await?;
    let blank = translate::blank();
    let change = translate::change(config, &blank, &aliases).map_err(Refusal::bad_request)?;
    check_model(&client, &change.settings).await?;
    let params = CreateParams {
        name: id.clone(),
        config: change.settings,
        persistent: change.persistent,
        working: change.working,
    };
    client.call::<loops::Create>(&params).await?;
    client.name.clone_from(&id);
    let config = client.config().await?;
    let mut response = json(&Made {
        ok: true,
        id,
        config,
    })?;
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

/// `DELETE /api/loops/{id}`.
pub(crate) async fn delete(client: Client, request: Request) -> Result<Response<Body>, Refusal> {
    optional::<IgnoredAny>(request).await?;
    client.call::<loops::Delete>(&client.params()).await?;
    json(&DONE)
}

/// Something that needs no body; one that is there is read and passed over.
async fn without_body<M: Method<Params = NameParams>>(
    client: &Client,
    request: Request,
) -> Result<Response<Body>, Refusal> {
    optional::<IgnoredAny>(request).await?;
    client.call::<M>(&client.params()).await?;
    json(&DONE)
}

async fn set_working(client: &Client, text: String) -> Result<(), Refusal> {
    let params = WorkingParams {
        name: client.name.clone(),
        text,
    };
    client.call::<loops::Working>(&params).await?;
    Ok(())
}

async fn set_persistent(client: &Client, text: String) -> Result<(), Refusal> {
    let params = PersistentParams {
        name: client.name.clone(),
        text: Some(text),
        ..PersistentParams::default()
    };
    client.call::<loops::Persistent>(&params).await?;
    Ok(())
}

/// Refuses a model that its provider does not list. One that cannot list its models now is taken
/// at its word: the iteration will tell.
async fn check_model(client: &Client, change: &LoopChange) -> Result<(), Refusal> {
    let Some(Some(id)) = &change.model else {
        return Ok(());
    };
    let provider = id.split_once('/').map(|(provider, _)| provider.to_owned());
    let params = model::ListParams {
        provider,
        ..model::ListParams::default()
    };
    let listed = match client.call::<model::List>(&params).await {
        Err(error) if error.code == ErrorCode::NotFound => {
            return Err(Refusal::bad_request(error.message));
        }
        listed => listed?,
    };
    let can_list = listed.providers.iter().all(|provider| provider.ready);
    if !can_list || listed.models.iter().any(|model| model.id == *id) {
        return Ok(());
    }
    let id: String = id.chars().take(200).collect();
    Err(Refusal::bad_request(format!(
        "There is no model '{id}'; GET /api/models lists those there are."
    )))
}

async fn needed<T: DeserializeOwned>(request: Request) -> Result<T, Refusal> {
    let (parts, body) = request.into_parts();
    need_body(&parts.headers, body).await
}

async fn optional<T: DeserializeOwned>(request: Request) -> Result<Option<T>, Refusal> {
    let (parts, body) = request.into_parts();
    read_body(&parts.headers, body).await
}
