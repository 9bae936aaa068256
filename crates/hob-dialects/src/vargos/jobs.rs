//! The methods `cron.*`. A Vargos job is a task with any name, and several may have the same.

use crate::vargos::client::VargosClient;
use crate::vargos::job_names;
use crate::vargos::params::{VargosParams, invalid};
use hob_wire::rooms::cron::{
    self, CronAddParams, CronJob, CronListParams, CronUpdateParams, JobSelector, JobWork,
};
use hob_wire::{ErrorCode, WireError};
use serde_json::{Map, Value, json};

/// Jobs of one answer.
const JOBS_MAX: usize = 5_000;

pub(crate) async fn list(client: &VargosClient, params: VargosParams) -> Result<Value, WireError> {
    params.finish()?;
    let mut jobs = Vec::new();
    let mut after = None;
    loop {
        let page = CronListParams { after, limit: None };
        let page = client.call::<cron::List>(&page).await?;
        after = page.jobs.last().map(|job| job.terms.name.clone());
        jobs.extend(page.jobs.iter().map(job_shape));
        if !page.more || after.is_none() || jobs.len() >= JOBS_MAX {
            return Ok(Value::Array(jobs));
        }
    }
}

pub(crate) async fn add(
    client: &VargosClient,
    mut params: VargosParams,
) -> Result<Value, WireError> {
    // Later clients send an id of their own and no name.
    let id = params.take_text("id")?;
    let shown = params.take_text("name")?.or(id);
    let shown = shown.ok_or_else(|| invalid("`name` is missing."))?;
    translate_notify(&mut params)?;
    params.set("name", "");
    let mut job: CronAddParams = params.decode()?;
    let mut refusal = invalid("`name` is taken too often.");
    for name in job_names::candidates(&shown) {
        job.title = (name != shown).then(|| shown.clone());
        job.name = name;
        match client.call::<cron::Add>(&job).await {
            Ok(added) => return Ok(job_shape(&added)),
            Err(error) if error.code == ErrorCode::Conflict => refusal = error,
            Err(error) => return Err(error),
        }
    }
    Err(refusal)
}

/// Changes a job. A new name is its new title: the name in its session keys stays.
pub(crate) async fn update(
    client: &VargosClient,
    mut params: VargosParams,
) -> Result<Value, WireError> {
    if let Some(shown) = params.take_text("name")? {
        params.set("title", shown);
    }
    translate_notify(&mut params)?;
    let change: CronUpdateParams = params.decode()?;
    let job = client.call::<cron::Update>(&change).await?;
    Ok(job_shape(&job))
}

pub(crate) async fn remove(
    client: &VargosClient,
    params: VargosParams,
) -> Result<Value, WireError> {
    let job: JobSelector = params.decode()?;
    match client.call::<cron::Remove>(&job).await {
        Ok(_) => Ok(Value::Bool(true)),
        Err(error) if error.code == ErrorCode::NotFound => Ok(Value::Bool(false)),
        Err(error) => Err(error),
    }
}

/// Translates Vargos's list of targets, whose names are session keys, to hob's one session.
fn translate_notify(params: &mut VargosParams) -> Result<(), WireError> {
    let targets = match params.take("notify") {
        None => return Ok(()),
        Some(Value::Array(targets)) => targets,
        Some(hobs) => {
            params.set("notify", hobs);
            return Ok(());
        }
    };
    let target = match targets.as_slice() {
        // An empty key switches the notices off.
        [] => "",
        [Value::String(target)] => target,
        _ => {
            return Err(invalid(
                "`notify` names one session: hob adds the result of a job to one session, and sends it to no channel.",
            ));
        }
    };
    params.set("notify", json!({"sessionKey": target}));
    Ok(())
}

fn job_shape(job: &CronJob) -> Value {
    let mut shape = match serde_json::to_value(job) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    let terms = &job.terms;
    let shown = terms.title.as_ref().unwrap_or(&terms.name);
    let description = terms.description.clone().unwrap_or_default();
    let task = match &terms.work {
        JobWork::Agent(agent) => agent.task.clone(),
        JobWork::Command(command) => command.command.clone(),
        JobWork::Loop { name } => format!("One iteration of the loop '{name}'."),
        JobWork::Heartbeat(_) => "The instructions in HEARTBEAT.md.".to_owned(),
    };
    shape.insert("slug".to_owned(), json!(terms.name));
    shape.insert("name".to_owned(), json!(shown));
    shape.insert("task".to_owned(), Value::String(task));
    shape.insert("description".to_owned(), Value::String(description));
    if let Some(notify) = &terms.notify {
        shape.insert("notify".to_owned(), json!([notify.session_key]));
    }
    Value::Object(shape)
}

#[cfg(test)]
#[path = "jobs_tests.rs"]
mod tests;
