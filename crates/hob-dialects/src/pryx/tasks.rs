//! Scheduled tasks: hob's jobs.

use crate::pryx::client::{
    PathParameter, PryxAnswer, PryxClient, body_of, json, json_with, limit_of, no_content,
    not_found, not_implemented,
};
use crate::pryx::task_translate::{self, PryxTaskFields, TaskRefusal, slot_json, task_json};
use crate::pryx::timestamp;
use axum::extract::{RawQuery, Request};
use axum::http::StatusCode;
use hob_core::schedule::Calendar;
use hob_gateway::http_error::HttpError;
use hob_wire::rooms::cron::{self, CronHistoryParams, CronJob, CronListParams, JobSelector};
use hob_wire::{Method, WireError};
use jiff::tz::TimeZone;
use serde::Deserialize;
use serde_json::{Value, json};

/// Maximum pages of jobs that are read for one list.
const PAGES_MAX: usize = 16;
/// Runs of one list if the query names no `limit`, and at most.
const RUNS_LISTED: u32 = 50;
const RUNS_LISTED_MAX: u32 = 500;
/// Due times that a validation shows.
const NEXT_SHOWN: usize = 5;

#[derive(Debug, Deserialize)]
struct ScheduleToCheck {
    cron_expression: String,
    #[serde(default)]
    timezone: Option<String>,
}

/// `GET /api/v1/tasks`.
pub(crate) async fn list(client: PryxClient) -> PryxAnswer {
    let jobs = list_jobs(&client).await?;
    let tasks: Vec<Value> = jobs.iter().map(task_json).collect();
    json(&tasks)
}

/// `POST /api/v1/tasks`.
pub(crate) async fn create(client: PryxClient, request: Request) -> PryxAnswer {
    let fields: PryxTaskFields = body_of(request).await?;
    let params = fields.into_job().map_err(refusal)?;
    let job = client.call::<cron::Add>(&params).await?;
    json_with(StatusCode::CREATED, &task_json(&job))
}

/// `GET /api/v1/tasks/{id}`.
pub(crate) async fn show(client: PryxClient, PathParameter(id): PathParameter) -> PryxAnswer {
    let jobs = list_jobs(&client).await?;
    let found = jobs.iter().find(|job| job.id == id || job.terms.name == id);
    let found = found.ok_or_else(|| {
        not_found("There is no such task; GET /api/v1/tasks lists those there are.")
    })?;
    json(&task_json(found))
}

/// `PUT` and `PATCH /api/v1/tasks/{id}`.
pub(crate) async fn update(
    client: PryxClient,
    PathParameter(id): PathParameter,
    request: Request,
) -> PryxAnswer {
    let fields: PryxTaskFields = body_of(request).await?;
    let params = fields.into_change(id).map_err(refusal)?;
    let job = client.call::<cron::Update>(&params).await?;
    json(&task_json(&job))
}

/// `DELETE /api/v1/tasks/{id}`.
pub(crate) async fn delete(client: PryxClient, PathParameter(id): PathParameter) -> PryxAnswer {
    client.call::<cron::Remove>(&JobSelector { id }).await?;
    Ok(no_content())
}

/// `POST /api/v1/tasks/{id}/enable`.
pub(crate) async fn enable(client: PryxClient, id: PathParameter) -> PryxAnswer {
    switch::<cron::Enable>(&client, id).await
}

/// `POST /api/v1/tasks/{id}/disable`.
pub(crate) async fn disable(client: PryxClient, id: PathParameter) -> PryxAnswer {
    switch::<cron::Disable>(&client, id).await
}

async fn switch<M>(client: &PryxClient, PathParameter(id): PathParameter) -> PryxAnswer
where
    M: Method<Params = JobSelector, Result = CronJob>,
{
    json(&task_json(&client.call::<M>(&JobSelector { id }).await?))
}

/// `GET /api/v1/tasks/{id}/runs`.
pub(crate) async fn runs(
    client: PryxClient,
    PathParameter(id): PathParameter,
    query: RawQuery,
) -> PryxAnswer {
    let params = CronHistoryParams {
        id: Some(id),
        limit: Some(limit_of(&query, RUNS_LISTED, RUNS_LISTED_MAX)),
        ..CronHistoryParams::default()
    };
    let history = client.call::<cron::History>(&params).await?;
    let runs: Vec<Value> = history.slots.iter().map(slot_json).collect();
    json(&runs)
}

/// `POST /api/v1/tasks/validate`.
pub(crate) async fn validate(client: PryxClient, request: Request) -> PryxAnswer {
    let asked: ScheduleToCheck = body_of(request).await?;
    task_translate::check_schedule(&asked.cron_expression).map_err(refusal)?;
    let now_ms = client.state.shared.clock.wall_ms();
    let zone = match asked.timezone.as_deref() {
        None | Some("") => Ok(TimeZone::system()),
        Some(name) => {
            TimeZone::get(name).map_err(|_| "This time zone is not known here.".to_owned())
        }
    };
    let calendar = zone.and_then(|zone| Calendar::parse(&asked.cron_expression, zone, now_ms));
    match calendar {
        Ok(calendar) => {
            let next = calendar.next_few(now_ms, None, NEXT_SHOWN);
            let next: Vec<String> = next.into_iter().map(timestamp::from_ms).collect();
            let message = calendar.describe(&asked.cron_expression);
            json(&json!({ "valid": true, "message": message, "next_runs": next }))
        }
        Err(why) => json(&json!({
            "valid": false, "error": why, "message": "This is not a schedule.",
        })),
    }
}

/// Returns all jobs, as far as a list may reach.
async fn list_jobs(client: &PryxClient) -> Result<Vec<CronJob>, WireError> {
    let mut jobs: Vec<CronJob> = Vec::new();
    for _ in 0..PAGES_MAX {
        let params = CronListParams {
            after: jobs.last().map(|job| job.terms.name.clone()),
            limit: None,
        };
        let Some(page) = client.call_if_served::<cron::List>(&params).await? else {
            break;
        };
        jobs.extend(page.jobs);
        if !page.more {
            break;
        }
    }
    Ok(jobs)
}

fn refusal(refused: TaskRefusal) -> HttpError {
    match refused {
        TaskRefusal::Wrong(why) => HttpError::bad_request(why),
        TaskRefusal::Absent(why) => not_implemented(why),
    }
}
