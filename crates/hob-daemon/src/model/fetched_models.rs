//! `model.catalog`, `model.downloads` and `model.delete`: what could be fetched, and what was.

use super::ModelContext;
use super::pull::not_here;
use hob_bus::RequestContext;
use hob_core::permission::to_audit_value;
use hob_services::models::catalog::MODELS;
use hob_services::models::{ModelFolder, ModelPlace, ModelRecord, PullError, machine_room};
use hob_store::{AuditedDecision, NewAuditEntry};
use hob_wire::rooms::model_files::{
    CatalogModelInfo, DownloadState, ModelCatalogParams, ModelCatalogResult, ModelDeleteResult,
    ModelDownload, ModelDownloadsParams, ModelDownloadsResult, ModelFileSelector,
};
use hob_wire::{ErrorCode, WireError};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Lists the catalogue with what fits this machine.
pub(super) async fn catalog(
    context: &Arc<ModelContext>,
    _: ModelCatalogParams,
) -> Result<ModelCatalogResult, WireError> {
    let context = Arc::clone(context);
    blocking(move || {
        let home = &context.deps.home;
        let room = machine_room(home);
        let (found, _) = ModelFolder::new(home).list();
        let complete = found
            .iter()
            .filter(|(place, record)| place.is_complete(record));
        let fetched: BTreeSet<_> = complete.map(|(place, _)| place.name.as_str()).collect();
        let models = MODELS.iter().map(|model| CatalogModelInfo {
            name: model.name.to_owned(),
            about: model.about.to_owned(),
            repository: model.repository.to_owned(),
            file: model.file.to_owned(),
            licence: model.licence.to_owned(),
            tools: model.tools,
            bytes: model.bytes,
            memory_bytes: model.memory_bytes,
            checked: model.checked.to_owned(),
            // One that is here needs no more room on the disk.
            fits: model.fits(room) || fetched.contains(model.name) && model.fits_memory(room),
            fetched: fetched.contains(model.name),
        });
        Ok(ModelCatalogResult {
            models: models.collect(),
            memory_bytes: room.memory_bytes,
            disk_free_bytes: room.disk_bytes,
        })
    })
    .await
}

/// Lists what is on the disk and what is under way.
pub(super) async fn downloads(
    context: &Arc<ModelContext>,
    _: ModelDownloadsParams,
) -> Result<ModelDownloadsResult, WireError> {
    let context = Arc::clone(context);
    blocking(move || {
        let folder = ModelFolder::new(&context.deps.home);
        let (found, problems) = folder.list();
        let stored = found.iter();
        let mut downloads: Vec<_> = stored
            .map(|(place, record)| download_of(&context, place, record))
            .collect();
        for job in context.pulls.all() {
            let stored = downloads.iter_mut().find(|it| it.name == job.name);
            // Models of Ollama are kept by Ollama, so only what is not complete is listed here.
            match stored {
                Some(stored) if job.state.is_active() => *stored = job,
                None if job.state != DownloadState::Complete => downloads.push(job),
                Some(_) | None => {}
            }
        }
        downloads.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(ModelDownloadsResult {
            downloads,
            folder: folder.root().display().to_string(),
            problems,
        })
    })
    .await
}

/// Deletes a model, or the rest of a download, which is stopped first.
pub(super) async fn delete(
    context: &Arc<ModelContext>,
    call: RequestContext,
    params: ModelFileSelector,
) -> Result<ModelDeleteResult, WireError> {
    let name = params.name;
    let _guard = context.pulls.changing.lock().await;
    let place = ModelFolder::new(&context.deps.home).place(&name);
    let place = place.map_err(|_| not_here(&name))?;
    let is_there = place.exists();
    let job = context.pulls.find_active(&name);
    if !is_there && job.is_none() {
        // A failed pull through Ollama is only remembered.
        if context.pulls.forget(&name) {
            return Ok(deleted(name, 0, false));
        }
        return Err(not_here(&name));
    }
    record(
        context,
        &call.caller,
        "model.delete",
        &json!({ "model": name }),
    )
    .await?;
    if let Some(job) = job {
        job.stop().await;
    }
    // Before the file goes, because the server reads it while it answers.
    let was_local = context.forget_local(&place).await?;
    let freed = if place.exists() {
        blocking(move || place.delete().map_err(|error| wire_error(&error))).await?
    } else {
        0
    };
    context.pulls.forget(&name);
    Ok(deleted(name, freed, was_local))
}

fn deleted(name: String, freed_bytes: u64, was_local: bool) -> ModelDeleteResult {
    ModelDeleteResult {
        name,
        freed_bytes,
        was_local,
    }
}

/// A stored model as the wire has it. Blocks.
pub(super) fn download_of(
    context: &ModelContext,
    place: &ModelPlace,
    record: &ModelRecord,
) -> ModelDownload {
    let is_complete = place.is_complete(record);
    let file = place.file(record);
    let state = match (is_complete, &record.failure) {
        (true, _) => DownloadState::Complete,
        (false, Some(_)) => DownloadState::Failed,
        (false, None) => DownloadState::Partial,
    };
    ModelDownload {
        name: place.name.clone(),
        source: record.source.clone(),
        file: record.path.clone(),
        state,
        bytes_done: if is_complete {
            record.bytes
        } else {
            place.bytes_done(record)
        },
        bytes_total: record.bytes,
        bytes_per_second: None,
        seconds_left: None,
        licence: record.licence.clone(),
        local: is_complete && context.is_used_file(&file),
        path: is_complete.then(|| file.display().to_string()),
        message: record.failure.clone().filter(|_| !is_complete),
    }
}

/// Audits an act of the user. If that fails, the act does not happen.
pub(super) async fn record(
    context: &ModelContext,
    by: &str,
    act: &str,
    matter: &Value,
) -> Result<(), WireError> {
    let mask = &context.deps.mask;
    let entry = NewAuditEntry {
        act: "own-act",
        by: by.to_owned(),
        session_key: None,
        run_id: None,
        tool: Some(act.to_owned()),
        matter: to_audit_value(matter, &|text| mask.apply(text).into_owned()),
    };
    let decision = AuditedDecision {
        entries: vec![entry],
        ..AuditedDecision::default()
    };
    context.deps.store.record_decision(decision).await?;
    Ok(())
}

pub(super) fn wire_error(error: &PullError) -> WireError {
    let code = match error {
        PullError::Source(_) => ErrorCode::InvalidParams,
        PullError::NotFound(_) => ErrorCode::NotFound,
        PullError::Gated(_) => ErrorCode::Forbidden,
        PullError::Conflict(_) | PullError::NoRoom { .. } | PullError::Full => ErrorCode::Conflict,
        PullError::Hub(_) => ErrorCode::ServiceUnavailable,
        PullError::Disk { .. } | PullError::Wrong { .. } | PullError::Stopped => {
            ErrorCode::MethodError
        }
    };
    WireError::new(code, error.to_string())
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, WireError> + Send + 'static,
) -> Result<T, WireError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(WireError::new(ErrorCode::Internal, error.to_string())))
}
