//! `GET /v1/models` and `GET /v1/models/{id}`: hob itself and the models of all providers.

use crate::http::{BearerAuth, HttpState, RequestId};
use crate::openai::error::OpenaiError;
use crate::openai::request::HOB;
use crate::openai::{SURFACE, json_response, require_scope};
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
    State(state): State<Arc<HttpState>>,
    BearerAuth(principal): BearerAuth,
    Extension(RequestId(trace)): Extension<RequestId>,
) -> Result<Response<Body>, OpenaiError> {
    require_scope(&principal, Scope::Read)?;
    let caller = state
        .shared
        .bus
        .caller_as(shared::peer(&principal, SURFACE))?;
    let known = list_models(&caller, None, &trace).await?;
    let known = known
        .models
        .iter()
        .map(|it| model_object(&it.id, &it.provider));
    // hob itself is a model too: the default agent on the default model.
    let data: Vec<Value> = std::iter::once(model_object(HOB, HOB))
        .chain(known)
        .collect();
    Ok(json_response(&json!({ "object": "list", "data": data })))
}

pub(crate) async fn get(
    State(state): State<Arc<HttpState>>,
    BearerAuth(principal): BearerAuth,
    Extension(RequestId(trace)): Extension<RequestId>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Response<Body>, OpenaiError> {
    require_scope(&principal, Scope::Read)?;
    let Path(id) = id.map_err(|failure| OpenaiError::invalid("model", failure.body_text()))?;
    if id == HOB {
        return Ok(json_response(&model_object(HOB, HOB)));
    }
    let caller = state
        .shared
        .bus
        .caller_as(shared::peer(&principal, SURFACE))?;
    // Only the model's own provider is asked. A name without a provider may be an alias.
    let provider = id.split_once('/').map(|(provider, _)| provider);
    let known = list_models(&caller, provider, &trace).await?;
    if let Some(found) = known.models.iter().find(|it| it.id == id) {
        return Ok(json_response(&model_object(&found.id, &found.provider)));
    }
    if known.aliases.iter().any(|it| it.alias == id) {
        return Ok(json_response(&model_object(&id, HOB)));
    }
    Err(OpenaiError::no_such_model(&id, ""))
}

async fn list_models(
    caller: &Caller,
    provider: Option<&str>,
    trace: &str,
) -> Result<model::ModelListResult, OpenaiError> {
    let params = model::ModelListParams {
        provider: provider.map(str::to_owned),
        ..model::ModelListParams::default()
    };
    let params =
        serde_json::to_vec(&params).map_err(|error| OpenaiError::internal(error.to_string()))?;
    let name = model::List::SPEC.name;
    let answer = match caller
        .call_raw(name, Some(params.into()), Some(trace))
        .await
    {
        // A provider that is not configured has no models.
        Err(error) if error.code == ErrorCode::NotFound => return Ok(no_models()),
        answer => answer?,
    };
    serde_json::from_slice(answer.as_deref().unwrap_or(b"null"))
        .map_err(|error| OpenaiError::internal(error.to_string()))
}

fn no_models() -> model::ModelListResult {
    model::ModelListResult {
        models: Vec::new(),
        providers: Vec::new(),
        aliases: Vec::new(),
    }
}

/// OpenAI's model object. `created` is required, but hob does not know it.
fn model_object(id: &str, owner: &str) -> Value {
    json!({ "id": id, "object": "model", "created": 0, "owned_by": owner })
}
