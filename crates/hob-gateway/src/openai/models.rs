//! `GET /v1/models` and `GET /v1/models/{id}`: hob itself, and the models of every provider.

use crate::http::{Desk, Known, RequestId};
use crate::openai::fault::Fault;
use crate::openai::request::HOB;
use crate::openai::{SURFACE, json_response, need_scope};
use crate::shared;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Extension, Path, State};
use axum::http::Response;
use hob_bus::Caller;
use hob_wire::rooms::model;
use hob_wire::{ErrorCode, Method, Scope};
use serde_json::{Value, json};
use std::sync::Arc;

pub(crate) async fn list(
    State(desk): State<Arc<Desk>>,
    Known(principal): Known,
    Extension(RequestId(trace)): Extension<RequestId>,
) -> Result<Response<Body>, Fault> {
    need_scope(&principal, Scope::Read)?;
    let caller = desk
        .shared
        .bus
        .caller_as(shared::peer(&principal, SURFACE))?;
    let known = models(&caller, None, &trace).await?;
    let known = known.models.iter().map(|it| entry(&it.id, &it.provider));
    let data: Vec<Value> = std::iter::once(entry(HOB, HOB)).chain(known).collect();
    Ok(json_response(&json!({ "object": "list", "data": data })))
}

pub(crate) async fn get(
    State(desk): State<Arc<Desk>>,
    Known(principal): Known,
    Extension(RequestId(trace)): Extension<RequestId>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Response<Body>, Fault> {
    need_scope(&principal, Scope::Read)?;
    let Path(id) = id.map_err(|failure| Fault::invalid("model", failure.body_text()))?;
    if id == HOB {
        return Ok(json_response(&entry(HOB, HOB)));
    }
    let caller = desk
        .shared
        .bus
        .caller_as(shared::peer(&principal, SURFACE))?;
    // Only its own provider need be asked; a name without one may be an alias.
    let provider = id.split_once('/').map(|(provider, _)| provider);
    let known = models(&caller, provider, &trace).await?;
    if let Some(found) = known.models.iter().find(|it| it.id == id) {
        return Ok(json_response(&entry(&found.id, &found.provider)));
    }
    if known.aliases.iter().any(|it| it.alias == id) {
        return Ok(json_response(&entry(&id, HOB)));
    }
    Err(Fault::no_such_model(&id, ""))
}

async fn models(
    caller: &Caller,
    provider: Option<&str>,
    trace: &str,
) -> Result<model::Models, Fault> {
    let params = model::ListParams {
        provider: provider.map(str::to_owned),
        ..model::ListParams::default()
    };
    let params = serde_json::to_vec(&params).map_err(|error| Fault::internal(error.to_string()))?;
    let name = model::List::SPEC.name;
    let answer = match caller
        .call_raw(name, Some(params.into()), Some(trace))
        .await
    {
        // A provider nobody configured has no models.
        Err(error) if error.code == ErrorCode::NotFound => return Ok(no_models()),
        answer => answer?,
    };
    serde_json::from_slice(answer.as_deref().unwrap_or(b"null"))
        .map_err(|error| Fault::internal(error.to_string()))
}

fn no_models() -> model::Models {
    model::Models {
        models: Vec::new(),
        providers: Vec::new(),
        aliases: Vec::new(),
    }
}

/// When a model was made is nothing hob knows, and the form needs a number.
fn entry(id: &str, owner: &str) -> Value {
    json!({ "id": id, "object": "model", "created": 0, "owned_by": owner })
}
